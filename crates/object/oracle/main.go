// Records what the Go libraries behind API servers and kubectl answer.
//
//	go run . <folder of OpenAPI v3 documents> ../tests/golden
//
// Reads the inputs in that folder (ours) and writes their answers beside them:
//
//	strategic.jsonl   one case per line, answered in place
//	variants.json     objects; variants.answers.jsonl has a patch for every
//	                  pair and every triple of them
//	fields.jsonl      one case per line, answered in place
//
// The versions of the libraries are those in go.mod.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

type Case struct {
	Name     string          `json:"name"`
	Op       string          `json:"op"`
	Kind     string          `json:"kind,omitempty"`
	Original json.RawMessage `json:"original,omitempty"`
	Modified json.RawMessage `json:"modified,omitempty"`
	Current  json.RawMessage `json:"current,omitempty"`
	Patch    json.RawMessage `json:"patch,omitempty"`
	Left     json.RawMessage `json:"left,omitempty"`
	Right    json.RawMessage `json:"right,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"`
	Refused  string          `json:"refused,omitempty"`
}

var structs = map[string]any{
	"v1 Pod":                        corev1.Pod{},
	"v1 Service":                    corev1.Service{},
	"v1 ServiceAccount":             corev1.ServiceAccount{},
	"v1 ConfigMap":                  corev1.ConfigMap{},
	"apps/v1 Deployment":            appsv1.Deployment{},
	"policy/v1 PodDisruptionBudget": policyv1.PodDisruptionBudget{},
	"rbac.authorization.k8s.io/v1 ClusterRole": rbacv1.ClusterRole{},
}

var types = map[string]string{}
var parser *typed.Parser

func main() {
	openapi, golden := os.Args[1], os.Args[2]
	loadTypes(openapi, filepath.Join(golden, "widget.openapi.json"))
	answerLines(filepath.Join(golden, "strategic.jsonl"))
	answerLines(filepath.Join(golden, "fields.jsonl"))
	answerVariants(filepath.Join(golden, "variants.json"))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func loadTypes(folder, extra string) {
	files := must(filepath.Glob(filepath.Join(folder, "*.json")))
	models := map[string]*spec.Schema{}
	for _, file := range append(files, extra) {
		var document struct {
			Components struct {
				Schemas map[string]*spec.Schema `json:"schemas"`
			} `json:"components"`
		}
		if err := json.Unmarshal(must(os.ReadFile(file)), &document); err != nil {
			panic(err)
		}
		for name, model := range document.Components.Schemas {
			models[name] = model
			kinds, _ := model.Extensions["x-kubernetes-group-version-kind"].([]any)
			for _, kind := range kinds {
				kind := kind.(map[string]any)
				version := strings.TrimPrefix(fmt.Sprintf("%v/%v", kind["group"], kind["version"]), "/")
				types[version+" "+kind["kind"].(string)] = name
			}
		}
	}
	types := must(schemaconv.ToSchemaFromOpenAPI(models, false))
	parser = &typed.Parser{Schema: schema.Schema{Types: types.Types}}
}

func answerLines(file string) {
	var out bytes.Buffer
	scanner := bufio.NewScanner(bytes.NewReader(must(os.ReadFile(file))))
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		var c Case
		if err := json.Unmarshal(scanner.Bytes(), &c); err != nil {
			panic(fmt.Sprintf("%v in %s", err, scanner.Text()))
		}
		c.Answer, c.Refused = nil, ""
		answer, err := guarded(c)
		if err != nil {
			c.Refused = strings.TrimSpace(err.Error())
		} else {
			c.Answer = answer
		}
		write(&out, c)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		panic(err)
	}
}

func write(out *bytes.Buffer, value any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
}

// A panic of the library is an answer too: "refused".
func guarded(c Case) (answer []byte, err error) {
	defer func() {
		if crash := recover(); crash != nil {
			err = fmt.Errorf("the library panics: %v", crash)
		}
	}()
	return answerTo(c)
}

func answerTo(c Case) ([]byte, error) {
	switch c.Op {
	case "apply":
		return strategicpatch.StrategicMergePatch(c.Original, c.Patch, structs[c.Kind])
	case "two-way":
		return strategicpatch.CreateTwoWayMergePatch(c.Original, c.Modified, structs[c.Kind])
	case "three-way":
		meta := must(strategicpatch.NewPatchMetaFromStruct(structs[c.Kind]))
		return strategicpatch.CreateThreeWayMergePatch(c.Original, c.Modified, c.Current, meta, true)
	case "merge-three-way":
		return jsonmergepatch.CreateThreeWayJSONMergePatch(c.Original, c.Modified, c.Current)
	case "set-of":
		set, err := asTyped(c.Kind, c.Left).ToFieldSet()
		if err != nil {
			return nil, err
		}
		return set.ToJSON()
	case "union":
		return asSet(c.Left).Union(asSet(c.Right)).ToJSON()
	case "intersection":
		return asSet(c.Left).Intersection(asSet(c.Right)).ToJSON()
	case "difference":
		return asSet(c.Left).Difference(asSet(c.Right)).ToJSON()
	case "difference-with-children":
		return asSet(c.Left).RecursiveDifference(asSet(c.Right)).ToJSON()
	case "leaves":
		return asSet(c.Left).Leaves().ToJSON()
	case "read":
		set := fieldpath.NewSet()
		if err := set.FromJSON(bytes.NewReader(c.Left)); err != nil {
			return nil, err
		}
		return set.ToJSON()
	case "project":
		return plain(asTyped(c.Kind, c.Left).ExtractItems(asSet(c.Right).Leaves()))
	case "remove":
		return plain(asTyped(c.Kind, c.Left).RemoveItems(asSet(c.Right)))
	case "merge":
		merged, err := asTyped(c.Kind, c.Left).Merge(asTyped(c.Kind, c.Right))
		if err != nil {
			return nil, err
		}
		return plain(merged)
	}
	return nil, fmt.Errorf("unknown operation %q", c.Op)
}

func asTyped(kind string, text []byte) *typed.TypedValue {
	var object any
	if err := utiljson.Unmarshal(text, &object); err != nil {
		panic(err)
	}
	if kind == "" {
		return must(typed.DeducedParseableType.FromUnstructured(object))
	}
	return must(parser.Type(types[kind]).FromUnstructured(object, typed.AllowDuplicates))
}

func asSet(text []byte) *fieldpath.Set {
	set := fieldpath.NewSet()
	if err := set.FromJSON(bytes.NewReader(text)); err != nil {
		panic(err)
	}
	return set
}

func plain(value *typed.TypedValue) ([]byte, error) {
	return json.Marshal(value.AsValue().Unstructured())
}

// Every pair and every triple of a few objects.
func answerVariants(file string) {
	var variants struct {
		Kind    string            `json:"kind"`
		Objects []json.RawMessage `json:"objects"`
	}
	if err := json.Unmarshal(must(os.ReadFile(file)), &variants); err != nil {
		panic(err)
	}
	var out bytes.Buffer
	of := structs[variants.Kind]
	for i, left := range variants.Objects {
		for j, right := range variants.Objects {
			patch := must(strategicpatch.CreateTwoWayMergePatch(left, right, of))
			applied := must(strategicpatch.StrategicMergePatch(left, patch, of))
			write(&out, map[string]any{"of": []int{i, j}, "patch": json.RawMessage(patch), "applied": json.RawMessage(applied)})
			for k, current := range variants.Objects {
				patch, err := answerTo(Case{Op: "three-way", Kind: variants.Kind, Original: left, Modified: right, Current: current})
				write(&out, map[string]any{"of": []int{i, j, k}, "patch": json.RawMessage(must(patch, err))})
			}
		}
	}
	answers := strings.TrimSuffix(file, ".json") + ".answers.jsonl"
	if err := os.WriteFile(answers, out.Bytes(), 0o644); err != nil {
		panic(err)
	}
}
