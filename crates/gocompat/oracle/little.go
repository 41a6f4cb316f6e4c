// Answers about everything but YAML: globs, versions, schedules, durations, quantities, numbers.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/gobwas/glob"
	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// question decodes the input of a subject that needs more than one string.
func question[T any](input json.RawMessage) (decoded T) {
	if err := json.Unmarshal(input, &decoded); err != nil {
		panic(err)
	}
	return decoded
}

// recovered turns a panic of the library into a refusal.
func recovered(answer func(json.RawMessage) (any, error)) func(json.RawMessage) (any, error) {
	return func(input json.RawMessage) (value any, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				err = fmt.Errorf("panic: %v", cause)
			}
		}()
		return answer(input)
	}
}

func globMatch(input json.RawMessage) (any, error) {
	asked := question[struct{ Pattern, Text, Separators string }](input)
	compiled, err := glob.Compile(asked.Pattern, []rune(asked.Separators)...)
	if err != nil {
		return nil, err
	}
	return compiled.Match(asked.Text), nil
}

func filepathMatch(input json.RawMessage) (any, error) {
	asked := question[struct{ Pattern, Text string }](input)
	return filepath.Match(asked.Pattern, asked.Text)
}

func durationParse(input json.RawMessage) (any, error) {
	parsed, err := time.ParseDuration(text(input))
	if err != nil {
		return nil, err
	}
	return map[string]any{"nanos": int64(parsed), "string": parsed.String()}, nil
}

func semverCheck(input json.RawMessage) (any, error) {
	asked := question[struct{ Constraint, Version string }](input)
	constraint, err := semver.NewConstraint(asked.Constraint)
	if err != nil {
		return nil, err
	}
	version, err := semver.NewVersion(asked.Version)
	if err != nil {
		return nil, err
	}
	return constraint.Check(version), nil
}

func semverParse(input json.RawMessage) (any, error) {
	version, err := semver.NewVersion(text(input))
	if err != nil {
		return nil, err
	}
	_, strict := semver.StrictNewVersion(text(input))
	return map[string]any{"string": version.String(), "strict": strict == nil}, nil
}

func semverCompare(input json.RawMessage) (any, error) {
	asked := question[[2]string](input)
	left, err := semver.NewVersion(asked[0])
	if err != nil {
		return nil, err
	}
	right, err := semver.NewVersion(asked[1])
	if err != nil {
		return nil, err
	}
	return left.Compare(right), nil
}

// cronNext answers with the next times of a schedule, in UTC.
func cronNext(input json.RawMessage) (any, error) {
	asked := question[struct {
		Schedule, Zone, After string
		Count                 int
	}](input)
	schedule, err := cron.ParseStandard(asked.Schedule)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(asked.Zone)
	if err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339Nano, asked.After)
	if err != nil {
		return nil, err
	}
	answer := make(chan []string, 1)
	go func() { answer <- nextTimes(schedule, at.In(zone), asked.Count) }()
	select {
	case found := <-answer:
		return found, nil
	case <-time.After(2 * time.Second):
		// The library walks in circles where the clocks skip midnight.
		return nil, errors.New("does not return")
	}
}

func nextTimes(schedule cron.Schedule, at time.Time, count int) []string {
	found := []string{}
	for range count {
		if at = schedule.Next(at); at.IsZero() {
			break
		}
		found = append(found, at.UTC().Format(time.RFC3339Nano))
	}
	return found
}

func quantityParse(input json.RawMessage) (any, error) {
	quantity, err := resource.ParseQuantity(text(input))
	if err != nil {
		return nil, err
	}
	answer := map[string]any{"string": quantity.String()}
	// Beyond, the conversions overflow without a word; below zero they round oddly.
	if quantity.Sign() >= 0 && quantity.CmpInt64(1e15) < 0 {
		answer["value"] = quantity.Value()
		answer["milli"] = quantity.MilliValue()
	}
	return answer, nil
}

func quantityCompare(input json.RawMessage) (any, error) {
	asked := question[[2]string](input)
	left, err := resource.ParseQuantity(asked[0])
	if err != nil {
		return nil, err
	}
	right, err := resource.ParseQuantity(asked[1])
	if err != nil {
		return nil, err
	}
	return left.Cmp(right), nil
}

func numberFormat(input json.RawMessage) (any, error) {
	number, err := strconv.ParseFloat(text(input), 64)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(number)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"v":    fmt.Sprint(number),
		"g32":  strconv.FormatFloat(number, 'g', -1, 32),
		"json": string(encoded),
	}, nil
}

func intOrPercent(input json.RawMessage) (any, error) {
	asked := question[struct {
		Value intstr.IntOrString
		Total int
		Up    bool
	}](input)
	return intstr.GetScaledValueFromIntOrPercent(&asked.Value, asked.Total, asked.Up)
}
