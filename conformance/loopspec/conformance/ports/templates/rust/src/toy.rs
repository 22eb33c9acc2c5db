//! A toy agent loop: the part that you replace by your own.
//!
//! It takes prompts (`followup`), steering (`steer`, `inject`) and `cancel`, and waits at three
//! gates for somebody else: the assembly of the prompt, the pre-step decision, and the provider.
//! Between two waits it runs at once, in the stack of whoever called it: no thread, no timer.
//!
//! Whoever calls brings the ears that hear what happens. They get the loop as well, so that a
//! listener can call it inside the delivery.

use crate::json::{object, Json};

/// Hears what the loop does, while it does it.
pub trait Ears {
    /// A record or an event, told to the listener `by` (first or last); a gate, told to nobody.
    fn hears(&mut self, agent: &mut Loop, name: &str, by: &str, values: &Json);
}

/// Why the loop did not do what it was asked: a code of the contract.
#[derive(Debug)]
pub struct Refused(pub &'static str);

#[derive(Clone, Copy, PartialEq)]
enum Target {
    NextTurn,
    NextStep,
}

/// What a pending message asks of the driver.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    /// Nothing: it waits until somebody else brings a step about.
    Quiet,
    /// To be seen by the driver that runs.
    Waking,
    /// A driver that nobody has started yet.
    Due,
}

#[derive(Clone)]
struct Item {
    key: u64,
    message: Json,
    mark: Mark,
}

/// What the driver does on the next tick.
enum Work {
    Assembled(String),
    Decided(String, Option<Vec<Json>>),
    Replied(String),
    GoIdle,
}

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Completed,
    MaxTokens,
}

#[derive(Clone, Copy, PartialEq)]
enum Ending {
    Normal(Outcome),
    Empty,
    Blocked,
    Aborted,
    Error(&'static str),
}

/// One session: two lists of pending messages, and at most one driver that works them off.
#[derive(Default)]
pub struct Loop {
    next_turn: Vec<Item>,
    next_step: Vec<Item>,
    keys: u64,
    running: bool,
    /// Who aborted what runs; the first one counts.
    cause: Option<String>,
    /// Where the driver waits.
    gate: Option<&'static str>,
    ready: Option<Work>,
    /// The driver has looked at the lists for the last time.
    leaving: bool,
    /// While a record is told, nothing else can be recorded.
    recording: bool,
    turn: u64,
    step: u64,
    /// Claimed, and owned by the open turn.
    batch: Vec<Json>,
    /// What the steps of this turn amount to.
    outcome: Option<Outcome>,
    /// The last step owes a reply.
    owes: bool,
}

impl Loop {
    // --- What a user may ask -------------------------------------------------------------------

    /// Queues a prompt for a turn of its own, and wakes.
    pub fn followup(&mut self, message: &Json, ears: &mut dyn Ears) -> Result<(), Refused> {
        self.send(Target::NextTurn, message, ears)
    }

    /// Queues a message for the next step, and wakes.
    pub fn steer(&mut self, message: &Json, ears: &mut dyn Ears) -> Result<(), Refused> {
        self.send(Target::NextStep, message, ears)
    }

    /// Queues a message for the next step, whoever brings it about.
    pub fn inject(&mut self, message: &Json, ears: &mut dyn Ears) -> Result<(), Refused> {
        self.insert(Target::NextStep, message, Mark::Quiet, ears)
    }

    /// Aborts what runs; unless `keep` is set it withdraws first what is pending now.
    pub fn cancel(&mut self, cause: &str, keep: bool, ears: &mut dyn Ears) -> Result<(), Refused> {
        let was_running = self.running;
        let doomed: Vec<u64> = self.pending().map(|item| item.key).collect();
        let refused = !keep && !doomed.is_empty() && self.recording;
        if refused {
            self.remark(|_| Mark::Quiet);
        } else if !keep {
            self.withdraw(&doomed, ears);
        }
        if was_running && self.cause.is_none() {
            self.cause = Some(cause.to_owned());
        }
        match refused {
            true => Err(Refused("append-refused")),
            false => Ok(()),
        }
    }

    // --- What the environment does -------------------------------------------------------------

    /// Answers the open gate; the driver goes on with the next tick. False when it is closed.
    pub fn answer(&mut self, gate: &str, choice: &str, messages: Option<Vec<Json>>) -> bool {
        if self.gate != Some(gate) {
            return false;
        }
        let choice = choice.to_owned();
        self.ready = match self.gate.take() {
            Some("assemble") => Some(Work::Assembled(choice)),
            Some("pre-step") => Some(Work::Decided(choice, messages)),
            _ => Some(Work::Replied(choice)),
        };
        true
    }

    /// Lets the driver work up to its next wait. False when it has nothing to do.
    pub fn tick(&mut self, ears: &mut dyn Ears) -> bool {
        match self.ready.take() {
            Some(Work::Assembled(choice)) => self.assembled(&choice, ears),
            Some(Work::Decided(choice, messages)) => self.decided(&choice, messages, ears),
            Some(Work::Replied(choice)) => self.replied(&choice, ears),
            Some(Work::GoIdle) => self.go_idle(ears),
            None => return false,
        }
        true
    }

    // --- What it says of itself ----------------------------------------------------------------

    /// The messages that wait for a turn of their own.
    pub fn next_turn(&self) -> Vec<Json> {
        messages_of(&self.next_turn)
    }

    /// The messages that wait for the next step.
    pub fn next_step(&self) -> Vec<Json> {
        messages_of(&self.next_step)
    }

    /// `idle` or `running`.
    pub fn status(&self) -> &'static str {
        match self.running {
            true => "running",
            false => "idle",
        }
    }

    /// Where the driver waits.
    pub fn gate(&self) -> Option<&'static str> {
        self.gate
    }

    /// Whether what runs was told to end.
    pub fn is_aborted(&self) -> bool {
        self.cause.is_some()
    }

    // --- The lists -----------------------------------------------------------------------------

    fn list(&mut self, target: Target) -> &mut Vec<Item> {
        match target {
            Target::NextTurn => &mut self.next_turn,
            Target::NextStep => &mut self.next_step,
        }
    }

    fn pending(&self) -> impl Iterator<Item = &Item> {
        self.next_step.iter().chain(&self.next_turn)
    }

    fn remark(&mut self, change: fn(Mark) -> Mark) {
        for item in self.next_step.iter_mut().chain(&mut self.next_turn) {
            item.mark = change(item.mark);
        }
    }

    /// Inserts and wakes. What it asks for is judged now: a listener may change what runs.
    fn send(&mut self, target: Target, message: &Json, ears: &mut dyn Ears) -> Result<(), Refused> {
        let is_seen = self.running && self.cause.is_none() && !self.leaving;
        let place = match self.cause {
            Some(_) => Target::NextTurn, // the step that it was meant for will not come
            None => target,
        };
        let mark = if is_seen { Mark::Waking } else { Mark::Due };
        self.insert(place, message, mark, ears)?;
        if !self.running {
            self.start(ears);
        }
        Ok(())
    }

    /// Puts one item behind the last of a list.
    fn insert(
        &mut self,
        target: Target,
        message: &Json,
        mark: Mark,
        ears: &mut dyn Ears,
    ) -> Result<(), Refused> {
        if self.pending().any(|item| item.message.get("id") == message.get("id")) {
            return Err(Refused("duplicate-id"));
        }
        if self.recording {
            return Err(Refused("append-refused"));
        }
        self.keys += 1;
        let item = Item { key: self.keys, message: message.clone(), mark };
        let tail = self.list(target).len();
        self.splice(target, tail, 0, vec![item], None, ears);
        self.tell("agent/inbox/inserted", object([("message", message.clone())]), ears);
        Ok(())
    }

    /// Removes these items, run by run; what listeners add meanwhile stays.
    fn withdraw(&mut self, doomed: &[u64], ears: &mut dyn Ears) {
        let is_doomed = |item: &Item| doomed.contains(&item.key);
        for target in [Target::NextStep, Target::NextTurn] {
            while let Some(start) = self.list(target).iter().position(is_doomed) {
                let run = self.list(target)[start..].iter().take_while(|item| is_doomed(item));
                let count = run.count();
                for item in self.splice(target, start, count, vec![], Some("canceled"), ears) {
                    self.tell("agent/inbox/discarded", object([("message", item.message)]), ears);
                }
            }
        }
    }

    /// Records one edit of a list, then makes it. Returns what was removed.
    fn splice(
        &mut self,
        target: Target,
        start: usize,
        removed: usize,
        items: Vec<Item>,
        outcome: Option<&str>,
        ears: &mut dyn Ears,
    ) -> Vec<Item> {
        let name = match target {
            Target::NextTurn => "next-turn",
            Target::NextStep => "next-step",
        };
        let edit = object([
            ("target", name.into()),
            ("start", start.into()),
            ("removed", removed.into()),
            ("inserted", messages_of(&items).into()),
            ("outcome", outcome.into()),
        ]);
        self.record("agent/inbox/spliced", edit, ears);
        self.list(target).splice(start..start + removed, items).collect()
    }

    // --- The driver: from a wake to idle ---------------------------------------------------------

    /// Begins to work; everything that was due has its driver now.
    fn start(&mut self, ears: &mut dyn Ears) {
        self.remark(|mark| if mark == Mark::Due { Mark::Waking } else { mark });
        self.running = true;
        self.tell("agent/status", object([("status", "running".into())]), ears);
        match self.cause {
            None => self.open_turn(ears),
            Some(_) => self.go_idle(ears),
        }
    }

    fn open_turn(&mut self, ears: &mut dyn Ears) {
        self.turn += 1;
        self.step = 0;
        self.outcome = None;
        self.owes = false;
        self.record("turn/start", object([("turn", self.turn.into())]), ears);
        self.claim(1, ears);
    }

    /// Takes all of next-step and that many prompts; from now on the turn owns them.
    fn claim(&mut self, prompts: usize, ears: &mut dyn Ears) {
        let head = prompts.min(self.next_turn.len());
        self.batch = self.take(Target::NextStep, self.next_step.len(), ears);
        let prompts = self.take(Target::NextTurn, head, ears);
        self.batch.extend(prompts);
        for message in self.batch.clone() {
            let claimed = object([("message", message), ("turn", self.turn.into())]);
            self.tell("agent/inbox/claimed", claimed, ears);
        }
        self.wait("assemble", self.at(self.step + 1), ears);
    }

    fn take(&mut self, target: Target, count: usize, ears: &mut dyn Ears) -> Vec<Json> {
        match count {
            0 => vec![],
            _ => messages_of(&self.splice(target, 0, count, vec![], None, ears)),
        }
    }

    fn assembled(&mut self, choice: &str, ears: &mut dyn Ears) {
        if self.is_aborted() {
            self.end_turn(Ending::Aborted, ears);
        } else if choice == "failed" {
            self.end_turn(Ending::Error("assembly failed"), ears);
        } else {
            let proposed = object([
                ("turn", self.turn.into()),
                ("step", (self.step + 1).into()),
                ("messages", self.batch.clone().into()),
            ]);
            self.wait("pre-step", proposed, ears);
        }
    }

    /// An abort wins over any decision, and what was claimed never goes back.
    fn decided(&mut self, choice: &str, messages: Option<Vec<Json>>, ears: &mut dyn Ears) {
        let entering = messages.unwrap_or_else(|| self.batch.clone());
        if self.is_aborted() {
            self.end_turn(Ending::Aborted, ears);
        } else if choice == "raise" {
            self.end_turn(Ending::Error("pre-step raised"), ears);
        } else if choice == "reject" {
            self.end_turn(Ending::Blocked, ears);
        } else if entering.is_empty() && self.step == 0 {
            self.end_turn(Ending::Empty, ears);
        } else if entering.is_empty() && !self.owes {
            self.end_turn(self.normal(), ears);
        } else {
            self.enter(entering, ears);
        }
    }

    fn enter(&mut self, messages: Vec<Json>, ears: &mut dyn Ears) {
        self.step += 1;
        self.record("step/start", self.at(self.step), ears);
        for message in messages {
            self.record("user/message", object([("message", message)]), ears);
        }
        if self.is_aborted() {
            self.end_step(None, ears);
        } else {
            self.wait("provider", self.at(self.step), ears);
        }
    }

    fn replied(&mut self, choice: &str, ears: &mut dyn Ears) {
        let failed = matches!(choice, "error" | "cut");
        if !self.is_aborted() && !failed {
            self.outcome = match (self.outcome, choice) {
                (Some(Outcome::MaxTokens), _) => self.outcome, // once truncated, always truncated
                (_, "max-tokens") => Some(Outcome::MaxTokens),
                (_, "done") => Some(Outcome::Completed),
                _ => None,
            };
            self.owes = choice == "owes";
            let reply = object([
                ("turn", self.turn.into()),
                ("step", self.step.into()),
                ("calls", Json::List(vec![])),
                ("interrupted", false.into()),
            ]);
            self.record("assistant/message", reply, ears);
        }
        self.end_step(failed.then_some("provider failed"), ears);
    }

    fn end_step(&mut self, error: Option<&'static str>, ears: &mut dyn Ears) {
        self.record("step/end", self.at(self.step), ears);
        if self.is_aborted() {
            self.end_turn(Ending::Aborted, ears);
        } else if let Some(error) = error {
            self.end_turn(Ending::Error(error), ears);
        } else if self.owes || !self.next_step.is_empty() {
            self.claim(0, ears);
        } else {
            self.end_turn(self.normal(), ears);
        }
    }

    /// The ending of a turn whose steps have all gone well.
    fn normal(&self) -> Ending {
        Ending::Normal(self.outcome.unwrap_or(Outcome::Completed))
    }

    /// Closes the turn; goes on with what is pending only if it ended well.
    fn end_turn(&mut self, ending: Ending, ears: &mut dyn Ears) {
        let (reason, error) = match ending {
            Ending::Normal(Outcome::MaxTokens) => ("max-tokens", None),
            Ending::Normal(Outcome::Completed) | Ending::Empty => ("completed", None),
            Ending::Blocked => ("blocked", None),
            Ending::Aborted => ("aborted", None),
            Ending::Error(text) => ("error", Some(text)),
        };
        if let Some(text) = error {
            let report = object([
                ("turn", self.turn.into()),
                ("step", self.step.into()),
                ("error", text.into()),
            ]);
            self.tell("agent/error", report, ears);
        }
        let cause = self.cause.as_deref().filter(|_| ending == Ending::Aborted);
        let end = object([
            ("turn", self.turn.into()),
            ("reason", reason.into()),
            ("cause", cause.into()),
            ("error", error.into()),
        ]);
        self.record("turn/end", end, ears);
        if matches!(ending, Ending::Normal(_)) && self.pending().next().is_some() {
            self.cause = None;
            return self.open_turn(ears);
        }
        if ending == Ending::Aborted {
            // The driver of these was aborted: they are owed another one.
            self.remark(|mark| if mark == Mark::Waking { Mark::Due } else { mark });
        }
        self.leaving = true;
        self.ready = Some(Work::GoIdle);
    }

    /// Idle; but what came too late for this driver starts another one in the same tick.
    fn go_idle(&mut self, ears: &mut dyn Ears) {
        self.running = false;
        self.cause = None;
        self.leaving = false;
        self.tell("agent/status", object([("status", "idle".into())]), ears);
        if !self.running && self.pending().any(|item| item.mark == Mark::Due) {
            self.start(ears);
        }
    }

    // --- What is told ----------------------------------------------------------------------------

    fn at(&self, step: u64) -> Json {
        object([("turn", self.turn.into()), ("step", step.into())])
    }

    /// Opens a gate; nothing more happens until it is answered.
    fn wait(&mut self, gate: &'static str, values: Json, ears: &mut dyn Ears) {
        self.gate = Some(gate);
        ears.hears(self, gate, "", &values);
    }

    /// Tells a durable record; until all listeners have it, no other can be made.
    fn record(&mut self, name: &str, values: Json, ears: &mut dyn Ears) {
        self.recording = true;
        self.tell(name, values, ears);
        self.recording = false;
    }

    fn tell(&mut self, name: &str, values: Json, ears: &mut dyn Ears) {
        for by in ["first", "last"] {
            ears.hears(self, name, by, &values);
        }
    }
}

fn messages_of(items: &[Item]) -> Vec<Json> {
    items.iter().map(|item| item.message.clone()).collect()
}
