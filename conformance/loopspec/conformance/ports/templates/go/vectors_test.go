package main

// The loop against recorded vectors, in this process: no judge and no Python is needed.
//
// vectors.json holds scenarios as commands, and what the specification answers to each. The file
// comes from `loopspec vectors`; write it anew when you move to a newer contract.

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

type document struct {
	Minimum []struct {
		Needs   []string
		Vectors int
	}
	Vectors []struct {
		Name     string
		Title    string
		Rules    []string
		Needs    []string
		Commands []Command
		Answers  []any
	}
}

func TestVectors(t *testing.T) {
	text, err := os.ReadFile("vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var read document
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	played, wanted := 0, 0
	for _, row := range read.Minimum {
		if declared(row.Needs) {
			wanted += row.Vectors
		}
	}
	for _, vector := range read.Vectors {
		if !declared(vector.Needs) {
			continue
		}
		played++
		t.Run(vector.Name, func(t *testing.T) {
			port := &Port{}
			for i := range vector.Commands {
				answer, err := port.AnswerTo(&vector.Commands[i])
				if err != nil {
					t.Fatal(err)
				}
				if got := told(t, answer); !reflect.DeepEqual(vector.Answers[i], got) {
					t.Fatalf("%s (%s), command %d, %s:\nexpected %s\ngot      %s", vector.Title,
						strings.Join(vector.Rules, " "), i+1, vector.Commands[i].Do,
						show(vector.Answers[i]), show(got))
				}
			}
		})
	}
	if played != wanted || played == 0 {
		t.Errorf("expected %d vectors within the capabilities, got %d", wanted, played)
	}
}

// declared tells whether all that a vector needs is declared.
func declared(needs []string) bool {
	can := set(capabilities...)
	for _, need := range needs {
		if !can[need] {
			return false
		}
	}
	return true
}

// told is an answer as the file would have it.
func told(t *testing.T, answer any) any {
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return trimmed(value)
}

// trimmed is a value without what an answer leaves open: keys that are null, and those that may be
// missing.
func trimmed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "folded")
		for key, each := range value {
			if each == nil {
				delete(value, key)
			} else {
				value[key] = trimmed(each)
			}
		}
	case []any:
		for i, each := range value {
			value[i] = trimmed(each)
		}
	}
	return value
}

func show(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
