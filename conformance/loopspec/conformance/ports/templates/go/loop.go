package main

// A toy agent loop: the part that you replace by your own.
//
// It takes prompts (Followup), steering (Steer, Inject) and Cancel, and waits at three gates for
// somebody else: the assembly of the prompt, the pre-step decision, and the provider. Between two
// waits it runs at once, in the stack of whoever called it: no goroutine, no timer.

// Message is one queued input.
type Message struct {
	ID     string  `json:"id"`
	Role   string  `json:"role"`
	Source string  `json:"source"`
	Blocks []Block `json:"blocks"`
}

// Block is one piece of a message's content.
type Block struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Refused is why the loop did not do what it was asked: a code of the contract.
type Refused string

func (code Refused) Error() string { return string(code) }

// Values are what a record, an event or a gate tells.
type Values map[string]any

// Listener hears what the loop does, while it does it.
type Listener func(name string, values Values)

const (
	nextTurn = "next-turn"
	nextStep = "next-step"
)

// What a pending message asks of the driver.
type mark int

const (
	quiet  mark = iota // nothing: it waits until somebody else brings a step about
	waking             // to be seen by the driver that runs
	due                // a driver that nobody has started yet
)

type item struct {
	message Message
	mark    mark
}

// Loop is one session: two lists of pending messages, and at most one driver that works them off.
type Loop struct {
	listeners []Listener
	atGate    Listener

	lists     map[string][]*item
	running   bool
	cause     string // who aborted what runs; the first one counts
	gate      string // where the driver waits
	ready     func() // what it does on the next tick
	leaving   bool   // it has looked at the lists for the last time
	recording bool   // while a record is told, nothing else can be recorded

	turn, step int
	batch      []Message // claimed, and owned by the open turn
	outcome    string    // what the steps of this turn amount to
	owes       bool      // the last step owes a reply
}

// NewLoop makes an idle loop. Every record and event goes to each listener, every gate to atGate.
func NewLoop(atGate Listener, listeners ...Listener) *Loop {
	return &Loop{listeners: listeners, atGate: atGate, lists: map[string][]*item{}}
}

// --- What a user may ask -------------------------------------------------------------------------

// Followup queues a prompt for a turn of its own, and wakes.
func (l *Loop) Followup(message Message) error { return l.send(nextTurn, message) }

// Steer queues a message for the next step, and wakes.
func (l *Loop) Steer(message Message) error { return l.send(nextStep, message) }

// Inject queues a message for the next step, whoever brings it about.
func (l *Loop) Inject(message Message) error { return l.insert(nextStep, &item{message, quiet}) }

// Cancel aborts what runs; unless keep is set it withdraws first what is pending now.
func (l *Loop) Cancel(cause string, keep bool) error {
	wasRunning, doomed := l.running, l.pending()
	refused := !keep && len(doomed) > 0 && l.recording
	if refused {
		for _, each := range doomed {
			each.mark = quiet
		}
	} else if !keep {
		l.withdraw(doomed)
	}
	if wasRunning && l.cause == "" {
		l.cause = cause
	}
	if refused {
		return Refused("append-refused")
	}
	return nil
}

// --- What the environment does -------------------------------------------------------------------

// Answer answers the open gate; the driver goes on with the next tick. False when it is closed.
// No messages mean those that were proposed.
func (l *Loop) Answer(gate, choice string, messages *[]Message) bool {
	if gate != l.gate {
		return false
	}
	l.gate = ""
	l.ready = map[string]func(){
		"assemble": func() { l.assembled(choice) },
		"pre-step": func() { l.decided(choice, messages) },
		"provider": func() { l.replied(choice) },
	}[gate]
	return true
}

// Tick lets the driver work up to its next wait. False when it has nothing to do.
func (l *Loop) Tick() bool {
	goOn := l.ready
	l.ready = nil
	if goOn != nil {
		goOn()
	}
	return goOn != nil
}

// --- The lists -----------------------------------------------------------------------------------

func (l *Loop) pending() []*item {
	return append(append([]*item{}, l.lists[nextStep]...), l.lists[nextTurn]...)
}

// send inserts and wakes. What it asks for is judged now: a listener may change what runs.
func (l *Loop) send(target string, message Message) error {
	if l.cause != "" {
		target = nextTurn // the step that it was meant for will not come
	}
	asks := due
	if l.running && l.cause == "" && !l.leaving {
		asks = waking
	}
	if err := l.insert(target, &item{message, asks}); err != nil {
		return err
	}
	if !l.running {
		l.start()
	}
	return nil
}

// insert puts one item behind the last of a list.
func (l *Loop) insert(target string, new *item) error {
	for _, each := range l.pending() {
		if each.message.ID == new.message.ID {
			return Refused("duplicate-id")
		}
	}
	if l.recording {
		return Refused("append-refused")
	}
	l.splice(target, len(l.lists[target]), 0, []*item{new}, "")
	l.tell("agent/inbox/inserted", Values{"message": new.message})
	return nil
}

// withdraw removes these items, run by run; what listeners add meanwhile stays.
func (l *Loop) withdraw(doomed []*item) {
	isDoomed := map[*item]bool{}
	for _, each := range doomed {
		isDoomed[each] = true
	}
	for _, target := range []string{nextStep, nextTurn} {
		for {
			list, start := l.lists[target], 0
			for start < len(list) && !isDoomed[list[start]] {
				start++
			}
			end := start
			for end < len(list) && isDoomed[list[end]] {
				end++
			}
			if start == end {
				break
			}
			for _, each := range l.splice(target, start, end-start, nil, "canceled") {
				l.tell("agent/inbox/discarded", Values{"message": each.message})
			}
		}
	}
}

// splice records one edit of a list, then makes it. It returns what was removed.
func (l *Loop) splice(target string, start, removed int, items []*item, outcome string) []*item {
	edit := Values{"target": target, "start": start, "removed": removed}
	edit["inserted"], edit["outcome"] = messagesOf(items), orNull(outcome)
	l.record("agent/inbox/spliced", edit)
	old := l.lists[target]
	edited := append(append([]*item{}, old[:start]...), items...)
	l.lists[target] = append(edited, old[start+removed:]...)
	return old[start : start+removed]
}

func messagesOf(items []*item) []Message {
	messages := []Message{}
	for _, each := range items {
		messages = append(messages, each.message)
	}
	return messages
}

// --- The driver: from a wake to idle -------------------------------------------------------------

// start begins to work; everything that was due has its driver now.
func (l *Loop) start() {
	for _, each := range l.pending() {
		if each.mark == due {
			each.mark = waking
		}
	}
	l.running = true
	l.tell("agent/status", Values{"status": l.Status()})
	if l.cause == "" {
		l.openTurn()
	} else {
		l.goIdle()
	}
}

func (l *Loop) openTurn() {
	l.turn, l.step = l.turn+1, 0
	l.outcome, l.owes = "", false
	l.record("turn/start", Values{"turn": l.turn})
	l.claim(1)
}

// claim takes all of next-step and that many prompts; from now on the turn owns them.
func (l *Loop) claim(prompts int) {
	if waiting := len(l.lists[nextTurn]); waiting < prompts {
		prompts = waiting
	}
	l.batch = append(l.take(nextStep, len(l.lists[nextStep])), l.take(nextTurn, prompts)...)
	for _, message := range l.batch {
		l.tell("agent/inbox/claimed", Values{"message": message, "turn": l.turn})
	}
	l.wait("assemble", Values{"turn": l.turn, "step": l.step + 1})
}

func (l *Loop) take(target string, count int) []Message {
	if count == 0 {
		return []Message{}
	}
	return messagesOf(l.splice(target, 0, count, nil, ""))
}

func (l *Loop) assembled(choice string) {
	switch {
	case l.cause != "":
		l.endTurn("aborted", "")
	case choice == "failed":
		l.endTurn("error", "assembly failed")
	default:
		l.wait("pre-step", Values{"turn": l.turn, "step": l.step + 1, "messages": l.batch})
	}
}

// decided: an abort wins over any decision, and what was claimed never goes back.
func (l *Loop) decided(choice string, messages *[]Message) {
	entering := l.batch
	if messages != nil {
		entering = *messages
	}
	switch {
	case l.cause != "":
		l.endTurn("aborted", "")
	case choice == "raise":
		l.endTurn("error", "pre-step raised")
	case choice == "reject":
		l.endTurn("blocked", "")
	case len(entering) == 0 && l.step == 0:
		l.endTurn("empty", "")
	case len(entering) == 0 && !l.owes:
		l.endTurn(l.outcome, "")
	default:
		l.enter(entering)
	}
}

func (l *Loop) enter(messages []Message) {
	l.step++
	l.record("step/start", Values{"turn": l.turn, "step": l.step})
	for _, message := range messages {
		l.record("user/message", Values{"message": message})
	}
	if l.cause == "" {
		l.wait("provider", Values{"turn": l.turn, "step": l.step})
	} else {
		l.endStep("")
	}
}

func (l *Loop) replied(choice string) {
	failure := ""
	if choice == "error" || choice == "cut" {
		failure = "provider failed"
	}
	if l.cause == "" && failure == "" {
		if l.outcome != "max-tokens" { // once truncated, always truncated
			l.outcome = map[string]string{"done": "completed", "max-tokens": "max-tokens"}[choice]
		}
		l.owes = choice == "owes"
		reply := Values{"turn": l.turn, "step": l.step, "calls": []string{}, "interrupted": false}
		l.record("assistant/message", reply)
	}
	l.endStep(failure)
}

func (l *Loop) endStep(failure string) {
	l.record("step/end", Values{"turn": l.turn, "step": l.step})
	switch {
	case l.cause != "":
		l.endTurn("aborted", "")
	case failure != "":
		l.endTurn("error", failure)
	case l.owes || len(l.lists[nextStep]) > 0:
		l.claim(0)
	default:
		l.endTurn(l.outcome, "")
	}
}

// endTurn closes the turn, and goes on with what is pending only if it ended well.
func (l *Loop) endTurn(ending, failure string) {
	if failure != "" {
		l.tell("agent/error", Values{"turn": l.turn, "step": l.step, "error": failure})
	}
	reason, cause := ending, ""
	switch ending {
	case "empty":
		reason = "completed"
	case "aborted":
		cause = l.cause
	}
	end := Values{"turn": l.turn, "reason": reason, "cause": orNull(cause), "error": orNull(failure)}
	l.record("turn/end", end)
	if (ending == "completed" || ending == "max-tokens") && len(l.pending()) > 0 {
		l.cause = ""
		l.openTurn()
		return
	}
	for _, each := range l.pending() {
		if ending == "aborted" && each.mark == waking {
			each.mark = due // its driver was aborted: it is owed another one
		}
	}
	l.leaving = true
	l.ready = l.goIdle
}

// goIdle: what came too late for this driver starts another one in the same tick.
func (l *Loop) goIdle() {
	l.running, l.cause, l.leaving = false, "", false
	l.tell("agent/status", Values{"status": l.Status()})
	for _, each := range l.pending() {
		if each.mark == due && !l.running {
			l.start()
			return
		}
	}
}

// --- What is told --------------------------------------------------------------------------------

// Status is idle or running.
func (l *Loop) Status() string {
	if l.running {
		return "running"
	}
	return "idle"
}

// wait opens a gate; nothing more happens until it is answered.
func (l *Loop) wait(gate string, values Values) {
	l.gate = gate
	l.atGate(gate, values)
}

// record tells a durable record; until all listeners have it, no other can be made.
func (l *Loop) record(name string, values Values) {
	l.recording = true
	l.tell(name, values)
	l.recording = false
}

func (l *Loop) tell(name string, values Values) {
	for _, listener := range l.listeners {
		listener(name, values)
	}
}

// orNull is the text, or nil when there is none.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
