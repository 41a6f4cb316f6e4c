// The life of a pod on this node: it starts, its containers run and end or
// crash, it is stopped and goes away.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// stopTime is how long a running container takes to end when asked to: long
// enough to be seen terminating, short enough not to be waited for.
const stopTime = 200 * time.Millisecond

type podPlayer struct {
	client    kubernetes.Interface
	addresses atomic.Uint32

	mutex sync.Mutex
	lives map[types.UID]*life
}

func newPodPlayer(client kubernetes.Interface) *podPlayer {
	return &podPlayer{client: client, lives: map[types.UID]*life{}}
}

// A life is one pod from the moment it is scheduled here.
type life struct {
	*corev1.Pod
	address    string
	started    time.Time
	containers []*container
	conditions map[corev1.PodConditionType]corev1.PodCondition
	end        context.CancelFunc
	ended      chan struct{}
	stopping   bool
}

// seen starts a pod the first time, and stops it once it is marked for
// deletion.
func (p *podPlayer) seen(pod *corev1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	playing := p.lives[pod.UID]
	if playing == nil {
		playing = p.begin(pod)
		p.lives[pod.UID] = playing
	}
	if pod.DeletionTimestamp != nil && !playing.stopping {
		playing.stopping = true
		go p.stop(playing, pod)
	}
}

func (p *podPlayer) gone(pod *corev1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if playing := p.lives[pod.UID]; playing != nil {
		playing.end()
		delete(p.lives, pod.UID)
	}
}

func (p *podPlayer) find(namespace, name string) *life {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, playing := range p.lives {
		if playing.Namespace == namespace && playing.Name == name {
			return playing
		}
	}
	return nil
}

func (p *podPlayer) begin(pod *corev1.Pod) *life {
	ctx, end := context.WithCancel(context.Background())
	number := p.addresses.Add(1)
	begun := &life{
		Pod:        pod,
		address:    fmt.Sprintf("10.244.%d.%d", number>>8&0xff, number&0xff),
		started:    time.Now(),
		conditions: map[corev1.PodConditionType]corev1.PodCondition{},
		end:        end,
		ended:      make(chan struct{}),
	}
	for _, spec := range pod.Spec.Containers {
		begun.containers = append(begun.containers, newContainer(spec, pod.Spec.RestartPolicy, begun.started))
	}
	go func() {
		defer close(begun.ended)
		p.play(ctx, begun)
	}()
	return begun
}

// play writes the pod's status each time it changes, until nothing more will.
func (p *podPlayer) play(ctx context.Context, pod *life) {
	for {
		next := forever
		for _, container := range pod.containers {
			if wait := container.advance(time.Now()); wait != forever && (next == forever || wait < next) {
				next = wait
			}
		}
		p.write(ctx, pod)
		if next == forever {
			if pod.phase() != corev1.PodSucceeded && pod.phase() != corev1.PodFailed {
				<-ctx.Done()
			}
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
	}
}

// stop ends the containers as a kubelet would, says so, and lets the API server
// remove the pod. One with finalizers stays, ended, until they are gone.
func (p *podPlayer) stop(playing *life, pod *corev1.Pod) {
	playing.end()
	<-playing.ended
	ctx := context.Background()
	if playing.phase() == corev1.PodRunning {
		time.Sleep(playing.timeToStop(pod))
		for _, container := range playing.containers {
			container.terminate(time.Now())
		}
		p.write(ctx, playing)
	}
	now := metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	}
	persist(ctx, "delete pod "+pod.Name, func(ctx context.Context) error {
		return p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, now)
	})
}

func (l *life) timeToStop(pod *corev1.Pod) time.Duration {
	grace := time.Duration(0)
	if pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	needed := stopTime
	for _, container := range l.containers {
		needed = max(needed, stopTime+preStopTime(container.spec))
	}
	return min(needed, grace)
}

func (p *podPlayer) write(ctx context.Context, pod *life) {
	patch, err := json.Marshal(map[string]any{
		// The pod of this name may by now be another one.
		"metadata": map[string]any{"uid": pod.UID},
		"status":   pod.status(),
	})
	if err != nil {
		complain("encode the status of pod "+pod.Name, err)
		return
	}
	persist(ctx, "write the status of pod "+pod.Name, func(ctx context.Context) error {
		_, err := p.client.CoreV1().Pods(pod.Namespace).Patch(
			ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}
