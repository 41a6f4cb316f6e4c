// Children must not outlive the program that started them, not even when it is
// killed with -9 and can run no clean-up.

package main

import (
	"io"
	"os"
	"time"
)

// endWithParent ends this process when its standard input closes, if
// DEVCLUSTER_LIFELINE is set. The starter holds the other end of that pipe and
// never writes to it; the kernel closes it whichever way the starter dies.
//
// The exit is abrupt on purpose: the data is thrown away, so there is nothing
// to save, and a graceful stop of the API server takes seconds.
//
// The one child that has DEVCLUSTER_SWEEP removes that folder first, because a
// starter that was killed cannot.
func endWithParent() {
	if os.Getenv("DEVCLUSTER_LIFELINE") == "" {
		return
	}
	folder := os.Getenv("DEVCLUSTER_SWEEP")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		if folder != "" {
			sweep(folder)
		}
		os.Exit(1)
	}()
}

// sweep tries more than once: the other children are ending at this moment and
// may still write a last file.
func sweep(folder string) {
	for range 50 {
		_ = os.RemoveAll(folder)
		time.Sleep(20 * time.Millisecond)
		if _, err := os.Stat(folder); os.IsNotExist(err) {
			return
		}
	}
}
