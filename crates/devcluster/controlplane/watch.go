// Watching one kind of object, and writing until the API server takes it.

package main

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// Fault tests stop the API server. A node that came back only after the usual
// half minute of back-off would make each of them wait for it.
const retryInterval = 200 * time.Millisecond

// watch calls seen for every object that matches, now and whenever it changes,
// and gone when it is deleted. Calls come one at a time.
func watch[T metav1.Object](
	ctx context.Context, client cache.Getter, resource string, selector fields.Selector,
	seen func(T), gone func(T),
) {
	var kind T
	source := cache.NewListWatchFromClient(client, resource, metav1.NamespaceAll, selector)
	reflector := cache.NewReflectorWithOptions(source, kind, &watched[T]{seen: seen, gone: gone},
		cache.ReflectorOptions{Backoff: &wait.Backoff{Duration: retryInterval, Factor: 1, Steps: 1}})
	go reflector.RunWithContext(ctx)
}

// watched hands a reflector's events on. It remembers the last state of each
// object only to notice what was deleted while the watch was interrupted.
type watched[T metav1.Object] struct {
	seen, gone func(T)
	known      map[types.UID]T
}

func (w *watched[T]) Add(object any) error { return w.Update(object) }
func (w *watched[T]) Resync() error        { return nil }
func (w *watched[T]) Update(object any) error {
	if w.known == nil {
		w.known = map[types.UID]T{}
	}
	typed := object.(T)
	w.known[typed.GetUID()] = typed
	w.seen(typed)
	return nil
}

func (w *watched[T]) Delete(object any) error {
	typed := object.(T)
	delete(w.known, typed.GetUID())
	w.gone(typed)
	return nil
}

func (w *watched[T]) Replace(objects []any, _ string) error {
	missing := w.known
	w.known = map[types.UID]T{}
	for _, object := range objects {
		delete(missing, object.(T).GetUID())
		if err := w.Update(object); err != nil {
			return err
		}
	}
	for _, object := range missing {
		w.gone(object)
	}
	return nil
}

// persist writes until the API server has answered, whatever the answer: a
// write that met a restarting API server is not lost.
func persist(ctx context.Context, doing string, write func(context.Context) error) {
	for {
		err := write(ctx)
		if err == nil || isAnswer(err) {
			complain(doing, err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryInterval):
		}
	}
}

// isAnswer tells a refusal of this object from a server that is not there.
func isAnswer(err error) bool {
	status, ok := err.(apierrors.APIStatus)
	return ok && status.Status().Code < 500 && !apierrors.IsTooManyRequests(err) && !apierrors.IsUnauthorized(err)
}
