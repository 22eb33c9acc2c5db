package main

import "os"

// The adapter: your loop in the words of the port protocol. This is the file that you edit.

const (
	portName     = "my-loop"
	portVersion  = "0.1.0"
	portLanguage = "Go"
	portProfile  = "notes"
)

// capabilities are what the loop can do. Whatever is not declared is skipped; whatever is must
// conform.
var capabilities = []string{
	"steering", // Steer and Inject
	"cancel",
	"assemble-gate",      // the assembly of the prompt waits to be answered
	"calls-in-listeners", // a listener may call the loop, inside the delivery
	"first-listener",     // somebody listens before all others
	"ticks",              // a call can be made between two ticks of the loop
	"batch",              // done by the protocol: many commands in one line
}

var (
	gates   = set("assemble", "pre-step", "provider", "tool", "maintenance")
	replies = set("done", "owes", "max-tokens", "error", "cut")
)

// Adapter is one loop at a time, driven from outside.
type Adapter struct{ loop *Loop }

// Reset begins afresh. From now on tell gets every record, event and gate as it happens.
func (a *Adapter) Reset(held []string, tell func(Entry)) error {
	for _, gate := range held {
		if !gates[gate] {
			return CannotDo("this adapter has no gate " + gate)
		}
	}
	heard := func(by string) Listener {
		return func(name string, values Values) { tell(entryOf(name, by, values)) }
	}
	atGate := func(gate string, values Values) { tell(entryOf(gate, "", values)) }
	a.loop = NewLoop(atGate, heard("first"), heard("last"))
	return nil
}

func entryOf(name, by string, values Values) Entry {
	entry := Entry{"saw": name}
	if by != "" {
		entry["by"] = by
	}
	for key, value := range values {
		entry[key] = value
	}
	return entry
}

// Call makes a call and gives what it returns; a Refused carries the code of a refusal.
func (a *Adapter) Call(command *Command) (any, error) {
	switch command.Do {
	case "followup":
		return nil, a.loop.Followup(*command.Message)
	case "steer":
		return nil, a.loop.Steer(*command.Message)
	case "inject":
		return nil, a.loop.Inject(*command.Message)
	case "cancel":
		return nil, a.loop.Cancel(command.Cause, command.Mode == "keep")
	}
	return nil, CannotDo("this adapter has no " + command.Do)
}

// Answer answers a gate. False, and nothing done, when no such gate is open.
func (a *Adapter) Answer(command *Command) (bool, error) {
	if command.Gate == "provider" && !replies[command.Choice] {
		return false, CannotDo("this adapter's provider has no answer " + command.Choice)
	}
	return a.loop.Answer(command.Gate, command.Choice, command.Messages), nil
}

// Tick lets the loop do its next piece of work. False when there is none.
func (a *Adapter) Tick() bool { return a.loop.Tick() }

// State is what the loop says of itself at rest.
func (a *Adapter) State() State {
	open := []OpenGate{}
	if a.loop.gate != "" {
		open = append(open, OpenGate{Gate: a.loop.gate, Aborted: a.loop.cause != ""})
	}
	lists := a.loop.lists
	return State{messagesOf(lists[nextTurn]), messagesOf(lists[nextStep]), a.loop.Status(), open}
}

func set(words ...string) map[string]bool {
	found := map[string]bool{}
	for _, word := range words {
		found[word] = true
	}
	return found
}

func main() {
	if err := Serve(os.Stdin, os.Stdout); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
