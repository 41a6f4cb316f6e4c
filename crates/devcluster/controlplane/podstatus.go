// What a pod's status says about its containers.

package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A real kubelet waits ten seconds before it restarts a container that crashed
// and up to five minutes later on; tests wait for the restart.
const (
	firstCrashDelay = 500 * time.Millisecond
	lastCrashDelay  = 10 * time.Second
	killedBySignal  = 143 // 128 + SIGTERM
)

// A container of a life. Exactly one of waiting, running and terminated is set
// in its state.
type container struct {
	spec       corev1.Container
	program    program
	restarts   bool
	state      corev1.ContainerState
	lastState  corev1.ContainerState
	crashes    int32
	nextChange time.Time // zero: none will come
}

func newContainer(spec corev1.Container, policy corev1.RestartPolicy, now time.Time) *container {
	created := &container{
		spec:    spec,
		program: programOf(spec, policy),
		// A pod that ends is not restarted for having succeeded.
		restarts: policy != corev1.RestartPolicyNever,
	}
	if isPullable(spec) {
		created.run(now)
	} else {
		created.state.Waiting = &corev1.ContainerStateWaiting{
			Reason: "InvalidImageName", Message: "couldn't parse image name \"" + spec.Image + "\"",
		}
	}
	return created
}

// advance brings the container to now and says how long it will stay so.
func (c *container) advance(now time.Time) time.Duration {
	for !c.nextChange.IsZero() && !c.nextChange.After(now) {
		switch {
		case c.state.Waiting != nil:
			c.run(now)
		case c.program.exitCode != 0 && c.restarts:
			c.crash(now)
		default:
			c.exit(c.program.exitCode, now)
		}
	}
	if c.nextChange.IsZero() {
		return forever
	}
	return c.nextChange.Sub(now)
}

// terminate is what a stop of the pod does to a container that still runs.
func (c *container) terminate(now time.Time) {
	if c.state.Running != nil {
		c.exit(killedBySignal, now)
	}
}

func (c *container) run(now time.Time) {
	c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
	c.nextChange = time.Time{}
	if c.program.runs != forever {
		c.nextChange = now.Add(c.program.runs)
	}
}

func (c *container) exit(code int32, now time.Time) {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	c.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, ContainerID: c.id(),
		StartedAt: c.state.Running.StartedAt, FinishedAt: metav1.NewTime(now),
	}}
	c.nextChange = time.Time{}
}

func (c *container) crash(now time.Time) {
	c.exit(c.program.exitCode, now)
	c.lastState = c.state
	c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: "back-off restarting failed container " + c.spec.Name,
	}}
	delay := min(firstCrashDelay<<min(c.crashes, 10), lastCrashDelay)
	c.crashes++
	c.nextChange = now.Add(delay)
}

func (c *container) id() string { return "none://" + c.spec.Name }

func (c *container) isReady() bool { return c.state.Running != nil && becomesReady(c.spec) }

func (c *container) status() corev1.ContainerStatus {
	started := c.state.Running != nil
	status := corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, State: c.state, LastTerminationState: c.lastState,
		RestartCount: c.crashes, Ready: c.isReady(), Started: &started,
	}
	if c.state.Waiting == nil {
		status.ContainerID = c.id()
		status.ImageID = "none://" + c.spec.Image
	}
	return status
}

func (l *life) phase() corev1.PodPhase {
	ended, failed, begun := true, false, false
	for _, container := range l.containers {
		terminated := container.state.Terminated
		ended = ended && terminated != nil
		failed = failed || terminated != nil && terminated.ExitCode != 0
		begun = begun || container.state.Waiting == nil || container.crashes > 0
	}
	switch {
	case ended && failed:
		return corev1.PodFailed
	case ended:
		return corev1.PodSucceeded
	case begun:
		return corev1.PodRunning
	}
	return corev1.PodPending
}

func (l *life) isReady() bool {
	for _, container := range l.containers {
		if !container.isReady() {
			return false
		}
	}
	return true
}

func (l *life) status() corev1.PodStatus {
	started := metav1.NewTime(l.started)
	status := corev1.PodStatus{
		ObservedGeneration: l.Generation,
		Phase:              l.phase(),
		StartTime:          &started,
		HostIP:             nodeAddress,
		HostIPs:            []corev1.HostIP{{IP: nodeAddress}},
		PodIP:              l.address,
		PodIPs:             []corev1.PodIP{{IP: l.address}},
		QOSClass:           l.Status.QOSClass,
	}
	for _, container := range l.containers {
		status.ContainerStatuses = append(status.ContainerStatuses, container.status())
	}
	for _, spec := range l.Spec.InitContainers {
		status.InitContainerStatuses = append(status.InitContainerStatuses, l.initStatus(spec))
	}
	status.Conditions = l.conditionsNow(status.Phase)
	return status
}

// initStatus is that of a step that succeeded, or of a sidecar that runs as
// long as the pod.
func (l *life) initStatus(spec corev1.Container) corev1.ContainerStatus {
	step := &container{spec: spec, program: program{runs: 0}}
	step.run(l.started)
	isSidecar := spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
	phase := l.phase()
	if !isSidecar || phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		step.exit(0, l.started)
	}
	status := step.status()
	status.Ready = true
	return status
}

func (l *life) conditionsNow(phase corev1.PodPhase) []corev1.PodCondition {
	ready, reason := corev1.ConditionTrue, ""
	switch {
	case phase == corev1.PodSucceeded:
		ready, reason = corev1.ConditionFalse, "PodCompleted"
	case phase == corev1.PodFailed:
		ready, reason = corev1.ConditionFalse, "PodFailed"
	case !l.isReady():
		ready, reason = corev1.ConditionFalse, "ContainersNotReady"
	}
	initReason := ""
	if phase == corev1.PodSucceeded {
		initReason = reason
	}
	return []corev1.PodCondition{
		l.condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, ""),
		l.condition(corev1.PodInitialized, corev1.ConditionTrue, initReason),
		l.condition(corev1.ContainersReady, ready, reason),
		l.condition(corev1.PodReady, ready, reason),
	}
}

// condition keeps the time of the last transition as long as the status stays.
func (l *life) condition(
	kind corev1.PodConditionType, status corev1.ConditionStatus, reason string,
) corev1.PodCondition {
	condition := corev1.PodCondition{
		Type: kind, Status: status, Reason: reason,
		ObservedGeneration: l.Generation, LastTransitionTime: metav1.Now(),
	}
	if last, known := l.conditions[kind]; known && last.Status == status {
		condition.LastTransitionTime = last.LastTransitionTime
	}
	l.conditions[kind] = condition
	return condition
}
