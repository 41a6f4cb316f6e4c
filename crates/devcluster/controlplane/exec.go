// Exec: the one thing of a container that really runs.
//
// A command is started on this machine, in an empty folder and with little more
// in its environment than a search path. It ends with its pod, and with
// whoever asked for it.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const execIdleTime = 4 * time.Hour

func (p *podPlayer) serveExec(w http.ResponseWriter, r *http.Request) {
	pod := p.find(r.PathValue("namespace"), r.PathValue("pod"))
	if pod == nil {
		http.Error(w, "no such pod on this node", http.StatusNotFound)
		return
	}
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	command := r.URL.Query()["command"]
	// The fifth protocol is for web sockets alone: an API server that is offered it here speaks it,
	// and waits in vain.
	remotecommand.ServeExec(w, r, pod, pod.Name, string(pod.UID), r.PathValue("container"), command, options,
		execIdleTime, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

// ExecInContainer runs a command until it ends, its pod does, or nobody is
// there any more to type.
func (l *life) ExecInContainer(
	_ context.Context, _, _, container string, command []string, in io.Reader, out, complaints io.WriteCloser,
	tty bool, sizes <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	if len(command) == 0 {
		return fmt.Errorf("container %s was given no command", container)
	}
	folder, err := os.MkdirTemp("", "exec")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go func() {
		select {
		case <-l.ended:
			end()
		case <-ctx.Done():
		}
	}()
	process := exec.CommandContext(ctx, command[0], command[1:]...)
	process.Dir = folder
	process.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "HOSTNAME=" + l.Name, "TERM=xterm", "PS1=" + l.Name + "$ ",
	}
	// What the command started goes with it.
	process.Cancel = func() error { return syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }
	if tty {
		return exitOf(onTerminal(process, in, out, sizes, end))
	}
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Stdin, process.Stdout, process.Stderr = in, out, complaints
	process.WaitDelay = time.Second
	return exitOf(process.Run())
}

func onTerminal(
	process *exec.Cmd, in io.Reader, out io.Writer, sizes <-chan remotecommand.TerminalSize, end func(),
) error {
	outer, inner, err := openTerminal()
	if err != nil {
		return err
	}
	defer outer.Close()
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	process.Stdin, process.Stdout, process.Stderr = inner, inner, inner
	err = process.Start()
	inner.Close()
	if err != nil {
		return err
	}
	go func() {
		for size := range sizes {
			_ = unix.IoctlSetWinsize(int(outer.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Height, Col: size.Width})
		}
	}()
	if in != nil {
		go func() {
			_, _ = io.Copy(outer, in)
			end()
		}()
	}
	// Reading fails when the last process that has the terminal open is gone.
	_, _ = io.Copy(out, outer)
	return process.Wait()
}

// openTerminal makes a pseudo terminal: what a person would sit at, and what a
// program is given.
func openTerminal() (outer, inner *os.File, err error) {
	outer, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	descriptor := int(outer.Fd())
	number, err := unix.IoctlGetInt(descriptor, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(descriptor, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		inner, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		outer.Close()
		return nil, nil, err
	}
	return outer, inner, nil
}

// exitOf tells a command that failed from one that could not be run.
func exitOf(err error) error {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return utilexec.CodeExitError{Err: err, Code: max(ended.ExitCode(), 1)}
	}
	if err != nil && strings.Contains(err.Error(), "executable file not found") {
		return utilexec.CodeExitError{Err: err, Code: 127}
	}
	return err
}
