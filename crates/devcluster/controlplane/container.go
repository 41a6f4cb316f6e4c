// What a container would do, read off its command line.
//
// Nothing runs. The rules are few and fixed so that a test can tell from a
// manifest what will happen; README.md lists them for users.

package main

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// forever is how long a server runs.
const forever = time.Duration(-1)

// A program is how long a container runs and how it ends.
type program struct {
	runs     time.Duration
	exitCode int32
}

var (
	exitStatement  = regexp.MustCompile(`\bexit ([0-9]{1,3})\b`)
	sleepStatement = regexp.MustCompile(`\bsleep ([0-9]+(?:\.[0-9]+)?)([smhd]?)\b`)
	sleepUnits     = map[string]time.Duration{
		"": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}
	statementEnd = regexp.MustCompile(`[;&|\n]+`)
)

// programOf reads `true`, `false`, `sleep N` and `exit N`, alone or in a shell
// script. Any other command succeeds at once where the pod says that it ends,
// and is taken for a server where it is to be restarted for ever.
func programOf(container corev1.Container, policy corev1.RestartPolicy) program {
	words := append(append([]string{}, container.Command...), container.Args...)
	line := strings.Join(words, " ")
	found := program{runs: sleepsIn(line), exitCode: exitCodeOf(line)}
	restarts := policy == corev1.RestartPolicyAlways
	if restarts && (found.exitCode == 0 || found.runs > 0) {
		return program{runs: forever}
	}
	return found
}

func sleepsIn(line string) time.Duration {
	var total time.Duration
	for _, match := range sleepStatement.FindAllStringSubmatch(line, -1) {
		amount, err := strconv.ParseFloat(match[1], 64)
		if err == nil {
			total += time.Duration(amount * float64(sleepUnits[match[2]]))
		}
	}
	return total
}

func exitCodeOf(line string) int32 {
	if match := exitStatement.FindStringSubmatch(line); match != nil {
		code, _ := strconv.Atoi(match[1])
		return int32(code & 0xff)
	}
	statements := statementEnd.Split(strings.TrimRight(line, "; \n"), -1)
	last := strings.Fields(statements[len(statements)-1])
	if len(last) >= 3 && isShell(last[0]) && last[1] == "-c" {
		last = last[2:]
	}
	if len(last) > 0 && path.Base(last[0]) == "false" {
		return 1
	}
	return 0
}

func isShell(word string) bool {
	switch path.Base(word) {
	case "sh", "bash", "ash", "dash":
		return true
	}
	return false
}

// isPullable is false for an image name that no registry could hold.
func isPullable(container corev1.Container) bool {
	return !strings.Contains(container.Image, "!")
}

// becomesReady is false for a readiness probe that asks for a path, or runs a
// command, with `does-not-exist` in it.
func becomesReady(container corev1.Container) bool {
	probe := container.ReadinessProbe
	if probe == nil {
		return true
	}
	asked := ""
	if probe.HTTPGet != nil {
		asked = probe.HTTPGet.Path
	}
	if probe.Exec != nil {
		asked += strings.Join(probe.Exec.Command, " ")
	}
	return !strings.Contains(asked, "does-not-exist")
}

// preStopTime is how long the container's preStop hooks sleep.
func preStopTime(container corev1.Container) time.Duration {
	if container.Lifecycle == nil || container.Lifecycle.PreStop == nil {
		return 0
	}
	hook := container.Lifecycle.PreStop
	switch {
	case hook.Sleep != nil:
		return time.Duration(hook.Sleep.Seconds) * time.Second
	case hook.Exec != nil:
		return sleepsIn(strings.Join(hook.Exec.Command, " "))
	}
	return 0
}
