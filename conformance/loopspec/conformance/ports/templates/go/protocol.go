package main

// The port protocol: JSON lines in, one JSON line out for each. Nothing here knows your loop.
//
// The judge sends a command and waits; the port answers when its loop has come to rest, with
// everything that was seen on the way. Calls that the judge wants made *inside* a delivery, or some
// ticks behind it, come with the reset as hooks and are made here.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	protocolVersion  = 1
	contractRevision = 1
)

// CannotDo says in one sentence that the adapter was asked for what it has not declared.
type CannotDo string

func (sentence CannotDo) Error() string { return string(sentence) }

// Command is any command; which keys it has depends on Do. Calls of other capabilities have more.
type Command struct {
	Do       string     `json:"do"`
	Seq      int64      `json:"seq"`
	Commands []Command  `json:"commands"`
	Held     []string   `json:"held"`
	Hooks    []Hook     `json:"hooks"`
	Message  *Message   `json:"message"`
	Cause    string     `json:"cause"`
	Mode     string     `json:"mode"`
	Gate     string     `json:"gate"`
	Choice   string     `json:"choice"`
	Messages *[]Message `json:"messages"`
}

// Hook is a call that waits for the n-th delivery of something to a listener, or for k ticks more.
type Hook struct {
	Hook int     `json:"hook"`
	At   string  `json:"at"`
	By   string  `json:"by"`
	N    int     `json:"n"`
	K    int     `json:"k"`
	Call Command `json:"call"`
}

// Entry is one thing that was seen, under "saw", with the keys that the contract has for it.
type Entry map[string]any

// OpenGate is a gate that waits for its answer.
type OpenGate struct {
	Gate    string `json:"gate"`
	Aborted bool   `json:"aborted"`
}

// State is what a loop says of itself at rest.
type State struct {
	NextTurn []Message  `json:"next_turn"`
	NextStep []Message  `json:"next_step"`
	Status   string     `json:"status"`
	Gates    []OpenGate `json:"gates"`
}

// Report is the answer to whatever the loop was asked to do.
type Report struct {
	Trace []Entry `json:"trace"`
	State
	Open bool `json:"open"`
}

// Port is one adapter behind the protocol: a command comes in, an answer goes out.
type Port struct {
	adapter Adapter
	trace   []Entry
	hooks   []Hook
	later   []waiting
	seen    map[[2]string]int
	failure error // what a hook could not do; nobody above it can be told
}

type waiting struct {
	ticks int
	hook  Hook
}

// AnswerTo does what a command asks. The answer is an object without its seq.
func (p *Port) AnswerTo(command *Command) (any, error) {
	switch command.Do {
	case "hello":
		return map[string]any{
			"protocol": protocolVersion, "contract": contractRevision,
			"name": portName, "version": portVersion, "language": portLanguage,
			"profile": portProfile, "capabilities": capabilities, "sum": true,
		}, nil
	case "batch":
		reports := []Report{}
		for i := range command.Commands {
			report, err := p.do(&command.Commands[i])
			if err != nil {
				return nil, err
			}
			reports = append(reports, report)
		}
		return map[string]any{"answers": reports}, nil
	case "bye":
		return map[string]any{"bye": true}, nil
	}
	return p.do(command)
}

// do does one command until the loop is at rest, and reports.
func (p *Port) do(command *Command) (Report, error) {
	p.trace, p.failure = []Entry{}, nil
	open, err := true, error(nil)
	switch command.Do {
	case "reset":
		err = p.reset(command)
	case "answer":
		open, err = p.give(command)
	default:
		err = p.call(command)
	}
	if err != nil {
		return Report{}, err
	}
	if open {
		p.settle()
	}
	return Report{p.trace, p.adapter.State(), open}, p.failure
}

// reset forgets everything, keeps the new hooks, and opens a fresh session.
func (p *Port) reset(command *Command) error {
	p.hooks, p.later, p.seen = command.Hooks, nil, map[[2]string]int{}
	return p.adapter.Reset(command.Held, p.tell)
}

// call makes a call where the loop is now, and tells what came back.
func (p *Port) call(command *Command) error {
	value, err := p.adapter.Call(command)
	returned := Entry{"saw": "return", "call": command.Do, "value": value}
	var code Refused
	if errors.As(err, &code) {
		returned["raised"] = string(code)
	} else if err != nil {
		return err
	}
	p.trace = append(p.trace, returned)
	return nil
}

// give answers a gate; calls that wait for this answer come before the loop acts on it.
func (p *Port) give(command *Command) (bool, error) {
	open, err := p.adapter.Answer(command)
	if open {
		p.come(command.Gate+" answer", "")
	}
	return open, err
}

// settle ticks until nothing is left to do; calls that are due go between two ticks.
func (p *Port) settle() {
	for {
		var due []Hook
		var rest []waiting
		for _, each := range p.later {
			if each.ticks <= 1 {
				due = append(due, each.hook)
			} else {
				rest = append(rest, waiting{each.ticks - 1, each.hook})
			}
		}
		p.later = rest
		for _, hook := range due {
			p.make(hook)
		}
		if len(due) == 0 && !p.adapter.Tick() && len(p.later) == 0 {
			return
		}
	}
}

// tell writes down what the loop does; calls that wait for it are made inside this delivery.
func (p *Port) tell(entry Entry) {
	p.trace = append(p.trace, entry)
	by, _ := entry["by"].(string)
	p.come(entry["saw"].(string), by)
}

// come: something came for the n-th time. Calls that wait for that are made, or begin to count.
func (p *Port) come(at, by string) {
	p.seen[[2]string{at, by}]++
	n := p.seen[[2]string{at, by}]
	var due, rest []Hook
	for _, hook := range p.hooks {
		switch {
		case hook.At != at || hook.By != by || hook.N != n:
			rest = append(rest, hook)
		case hook.K > 0:
			p.later = append(p.later, waiting{hook.K, hook})
		default:
			due = append(due, hook)
		}
	}
	p.hooks = rest
	for _, hook := range due {
		p.make(hook)
	}
}

// make makes the call of a hook here.
func (p *Port) make(hook Hook) {
	p.trace = append(p.trace, Entry{"saw": "made", "hook": hook.Hook})
	if err := p.call(&hook.Call); err != nil {
		p.failure = err
	}
}

// Serve answers commands until bye or the end of the input.
func Serve(commands io.Reader, answers io.Writer) error {
	port, lines := &Port{}, bufio.NewReader(commands)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			command, answer := Command{}, any(nil)
			failure := json.Unmarshal(line, &command)
			if failure == nil {
				answer, failure = port.AnswerTo(&command)
			}
			if failure != nil {
				answer = map[string]any{"failed": failure.Error()}
			}
			text, err := lineOf(command.Seq, answer, command.Do != "hello")
			if err != nil {
				return err
			}
			if _, err := answers.Write(text); err != nil {
				return err
			}
			if command.Do == "bye" {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lineOf is an answer as it is sent, with a checksum at its end, so that no damaged line is
// believed. The welcome announces the checksum and has none.
func lineOf(seq int64, answer any, sum bool) ([]byte, error) {
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	line := append([]byte(fmt.Sprintf(`{"seq":%d,`, seq)), bytes.TrimPrefix(text, []byte("{"))...)
	if sum {
		line = bytes.TrimSuffix(line, []byte("}"))
		line = append(line, fmt.Sprintf(`,"sum":"%08x"}`, crc32.ChecksumIEEE(line))...)
	}
	return append(line, '\n'), nil
}
