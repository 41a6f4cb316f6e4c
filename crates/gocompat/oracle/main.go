// Oracle answers questions with the Go libraries whose behaviour the Rust crate
// copies. Standard input has one JSON object per line, of which the field "input"
// counts; standard output repeats the input and adds "value", or "error" where the
// library refuses. The first argument names the subject. A golden file therefore
// is its own list of questions:
//
//	oracle yaml-read < ../tests/golden/yaml-read.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// subjects maps the first argument to the function that answers one line.
var subjects = map[string]func(input json.RawMessage) (any, error){
	"cron-next":        cronNext,
	"duration-parse":   durationParse,
	"filepath-match":   filepathMatch,
	"glob-match":       globMatch,
	"int-or-percent":   intOrPercent,
	"number-format":    numberFormat,
	"quantity-compare": quantityCompare,
	"quantity-parse":   quantityParse,
	"semver-check":     semverCheck,
	"semver-compare":   semverCompare,
	"semver-parse":     semverParse,
	"yaml-read":        yamlRead,
	"yaml-strict":      yamlStrict,
	"yaml-split":       yamlSplit,
	"yaml-write":       yamlWrite,
	"yaml-pretty":      yamlPretty,
}

func main() {
	if len(os.Args) != 2 || subjects[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: oracle SUBJECT < questions > answers")
		os.Exit(2)
	}
	answer := recovered(subjects[os.Args[1]])
	questions := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	answers := json.NewEncoder(out)
	answers.SetEscapeHTML(false)
	for {
		var question struct {
			Input json.RawMessage `json:"input"`
		}
		if err := questions.Decode(&question); err == io.EOF {
			return
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		value, err := answer(question.Input)
		if err := answers.Encode(newGolden(question.Input, value, err)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// text decodes a question that is one string.
func text(question json.RawMessage) string {
	var content string
	if err := json.Unmarshal(question, &content); err != nil {
		panic(err)
	}
	return content
}

// golden is one line of output.
type golden struct {
	Input json.RawMessage `json:"input"`
	Value any             `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
}

func newGolden(input json.RawMessage, value any, err error) golden {
	if err != nil {
		return golden{Input: input, Error: err.Error()}
	}
	return golden{Input: input, Value: value}
}
