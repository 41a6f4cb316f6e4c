// Answers about YAML: how it is read, split and written.

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	goyaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func yamlRead(question json.RawMessage) (any, error) {
	converted, err := yaml.YAMLToJSON([]byte(text(question)))
	if err != nil {
		return nil, err
	}
	return json.RawMessage(converted), nil
}

func yamlStrict(question json.RawMessage) (any, error) {
	converted, err := yaml.YAMLToJSONStrict([]byte(text(question)))
	if err != nil {
		return nil, err
	}
	return json.RawMessage(converted), nil
}

// yamlSplit reads a manifest stream the way kubectl and GitOps tools on top of
// its libraries do, leaving out documents that hold nothing.
func yamlSplit(question json.RawMessage) (any, error) {
	decoder := kubeyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text(question))), 4096)
	found := []json.RawMessage{}
	for {
		document := runtime.RawExtension{}
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		raw := bytes.TrimSpace(document.Raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		converted, err := yaml.YAMLToJSON(raw)
		if err != nil {
			return nil, err
		}
		found = append(found, converted)
	}
}

func yamlWrite(question json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(question))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	written, err := yaml.Marshal(value)
	if err != nil {
		return nil, err
	}
	return string(written), nil
}

// yamlPretty takes numbers as Go's JSON reads them, which is how templates have
// them: all are floats.
func yamlPretty(question json.RawMessage) (any, error) {
	var value any
	if err := json.Unmarshal(question, &value); err != nil {
		return nil, err
	}
	var written bytes.Buffer
	encoder := goyaml.NewEncoder(&written)
	encoder.SetIndent(2)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return written.String(), nil
}
