//! The adapter: your loop in the words of the port protocol. This is the file that you edit.

use crate::json::{object, Json};
use crate::protocol::Failure;
use crate::toy::{Ears, Refused};

pub use crate::toy::Loop;

pub const NAME: &str = "my-loop";
pub const VERSION: &str = "0.1.0";
pub const LANGUAGE: &str = "Rust";
pub const PROFILE: &str = "notes";

/// What the loop can do. Whatever is not declared is skipped; whatever is must conform.
pub const CAPABILITIES: [&str; 7] = [
    "steering", // steer and inject
    "cancel",
    "assemble-gate",      // the assembly of the prompt waits to be answered
    "calls-in-listeners", // a listener may call the loop, inside the delivery
    "first-listener",     // somebody listens before all others
    "ticks",              // a call can be made between two ticks of the loop
    "batch",              // done by the protocol: many commands in one line
];

const GATES: [&str; 5] = ["assemble", "pre-step", "provider", "tool", "maintenance"];
const REPLIES: [&str; 5] = ["done", "owes", "max-tokens", "error", "cut"];

/// A fresh loop at which these gates wait to be answered.
pub fn reset(held: &[Json]) -> Result<Loop, Failure> {
    match held.iter().find(|gate| !GATES.contains(&gate.text())) {
        Some(gate) => Err(Failure::CannotDo(format!("this adapter has no gate {}", gate.text()))),
        None => Ok(Loop::default()),
    }
}

/// Makes a call and gives what it returns. The ears hear every record, event and gate.
pub fn call(agent: &mut Loop, command: &Json, ears: &mut dyn Ears) -> Result<Json, Failure> {
    let message = command.get("message");
    match command.get("do").text() {
        "followup" => agent.followup(message, ears)?,
        "steer" => agent.steer(message, ears)?,
        "inject" => agent.inject(message, ears)?,
        "cancel" => {
            let keep = command.get("mode").text() == "keep";
            agent.cancel(command.get("cause").text(), keep, ears)?;
        }
        other => return Err(Failure::CannotDo(format!("this adapter has no {other}"))),
    }
    Ok(Json::Null)
}

impl From<Refused> for Failure {
    fn from(Refused(code): Refused) -> Failure {
        Failure::Refused(code.to_owned())
    }
}

/// Answers a gate. False, and nothing done, when no such gate is open.
pub fn answer(agent: &mut Loop, command: &Json) -> Result<bool, Failure> {
    let (gate, choice) = (command.get("gate").text(), command.get("choice").text());
    if gate == "provider" && !REPLIES.contains(&choice) {
        let sentence = format!("this adapter's provider has no answer {choice}");
        return Err(Failure::CannotDo(sentence));
    }
    let messages = match command.get("messages") {
        Json::List(messages) => Some(messages.clone()),
        _ => None,
    };
    Ok(agent.answer(gate, choice, messages))
}

/// Lets the loop do its next piece of work. False when there is none.
pub fn tick(agent: &mut Loop, ears: &mut dyn Ears) -> bool {
    agent.tick(ears)
}

/// What the loop says of itself at rest: both lists, its status, its open gates.
pub fn state(agent: &Loop) -> [(&'static str, Json); 4] {
    let open = agent
        .gate()
        .map(|gate| object([("gate", gate.into()), ("aborted", agent.is_aborted().into())]));
    [
        ("next_turn", agent.next_turn().into()),
        ("next_step", agent.next_step().into()),
        ("status", agent.status().into()),
        ("gates", Json::List(open.into_iter().collect())),
    ]
}
