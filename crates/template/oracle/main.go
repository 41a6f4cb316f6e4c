// Oracle executes templates with Go's text/template, sprig and the libraries behind the functions
// that Argo CD adds for ApplicationSets. Standard input has one JSON object per line, of which the
// field "input", a template, counts; standard output repeats the input and adds "value", or "error"
// where Go refuses. A golden file therefore is its own list of questions:
//
//	oracle applicationset < ../tests/golden/applicationset.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/gosimple/slug"
	"sigs.k8s.io/yaml"
)

// data is what templates find below the dot; tests/applicationset.rs has the same.
const data = `{
	"name": "Feature/ABC_1.",
	"branch": "feat/a_really+long_pull_request_name_to_test_argo_slugification_and_branch_name_shortening_feature",
	"server": "https://10.0.0.1:6443",
	"path": {"path": "apps/web", "segments": ["apps", "web"], "basename": "web"},
	"metadata": {"labels": {"env": "prod", "tier": "1"}},
	"number": 3, "part": 2.5, "yes": true, "nothing": null, "list": ["b", "a", "c", "a"]
}`

type golden struct {
	Input string  `json:"input"`
	Value *string `json:"value,omitempty"`
	Error string  `json:"error,omitempty"`
}

func main() {
	if len(os.Args) != 2 || os.Args[1] != "applicationset" {
		fmt.Fprintln(os.Stderr, "usage: oracle applicationset < questions > answers")
		os.Exit(2)
	}
	questions := json.NewDecoder(bufio.NewReader(os.Stdin))
	answers := json.NewEncoder(os.Stdout)
	answers.SetEscapeHTML(false)
	for {
		var question golden
		if err := questions.Decode(&question); err == io.EOF {
			return
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		answer := golden{Input: question.Input}
		if text, err := execute(question.Input); err != nil {
			answer.Error = err.Error()
		} else {
			answer.Value = &text
		}
		if err := answers.Encode(answer); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func execute(text string) (string, error) {
	parsed, err := template.New("t").Funcs(functions()).Parse(text)
	if err != nil {
		return "", err
	}
	var dot any
	if err := json.Unmarshal([]byte(data), &dot); err != nil {
		return "", err
	}
	var out strings.Builder
	err = parsed.Execute(&out, dot)
	return out.String(), err
}

// functions are sprig's with those of ApplicationSets: names are made of letters, digits, dots and
// dashes before they become slugs; YAML is that of Kubernetes and its complaints are errors.
func functions() template.FuncMap {
	all := template.FuncMap(sprig.GenericFuncMap())
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(all, name)
	}
	all["normalize"] = subdomain
	all["slugify"] = func(given ...any) string {
		longest, whole, name := 50, true, ""
		if last := len(given) - 1; last >= 0 {
			name = given[last].(string)
			if last > 0 {
				longest = given[0].(int)
			}
			if last > 1 {
				whole = given[1].(bool)
			}
		}
		slug.MaxLength, slug.EnableSmartTruncate = longest, whole
		return slug.Make(subdomain(name))
	}
	all["toYaml"] = func(value any) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	all["fromYaml"] = func(text string) (map[string]any, error) {
		return read(text, map[string]any{})
	}
	all["fromYamlArray"] = func(text string) ([]any, error) {
		return read(text, []any{})
	}
	return all
}

func read[T any](text string, into T) (T, error) {
	err := yaml.Unmarshal([]byte(text), &into)
	return into, err
}

func subdomain(name string) string {
	allowed := func(letter rune) rune {
		if letter == '-' || letter == '.' || '0' <= letter && letter <= '9' || 'a' <= letter && letter <= 'z' {
			return letter
		}
		return '-'
	}
	name = strings.Map(allowed, strings.ToLower(name))
	return strings.Trim(name[:min(len(name), 253)], "-.")
}
