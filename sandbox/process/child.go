package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Children starts long-lived processes, whose holder reads and writes their standard
// streams. They have no timeout, and places of their own: how many commands run
// makes no difference to them, nor the reverse. It is safe for concurrent use.
type Children struct {
	launcher *Launcher
	places   chan struct{}
}

// NewChildren returns a Children of l for at most max processes at once.
func NewChildren(l *Launcher, max int) *Children {
	return &Children{l, make(chan struct{}, max)}
}

// A Child is a long-lived process. When its main process ends, what that has left
// is killed; so is all of it when the context of its start ends, with
// [Launcher.Close], and when the server dies, even by SIGKILL.
type Child struct {
	*Process
	Stdin  io.WriteCloser // closing it asks many programs to end
	Stdout io.ReadCloser  // ends when no process is left that holds it
	Stderr *Tail          // of the standard error
	said   chan struct{}
}

// Said returns a channel that is closed when Stderr has all that there will be, which is
// soon after the process has ended.
func (c *Child) Said() <-chan struct{} { return c.said }

// stderrWait bounds how long the standard error is read after the end of a Child,
// should something outside its tree hold it open.
const stderrWait = 2 * time.Second

// Start starts a process and returns when its program runs. The streams of s are
// ignored. stderr, which may be nil, gets the standard error as it comes, and must
// not block. The error is as that of [Launcher.Start] and [Process.Exit], or
// [ErrBusy] when all places are taken. The caller closes the Child.
func (c *Children) Start(ctx context.Context, s Spec, stderr io.Writer) (*Child, error) {
	select {
	case c.places <- struct{}{}:
	default:
		return nil, fmt.Errorf("%w: %d long-lived processes run already, which is the limit", ErrBusy, cap(c.places))
	}
	child, err := c.start(ctx, s, stderr)
	if err != nil {
		<-c.places
		return nil, err
	}
	return child, nil
}

func (c *Children) start(ctx context.Context, s Spec, stderr io.Writer) (*Child, error) {
	var ours, theirs [3]*os.File
	closeAll := func(files [3]*os.File) {
		for _, f := range files {
			f.Close() // of a nil file does nothing
		}
	}
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return nil, fmt.Errorf("make a pipe for the process: %w", err)
		}
		if ours[i], theirs[i] = r, w; i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	s.Stdin, s.Stdout, s.Stderr = theirs[0], theirs[1], theirs[2]
	running := make(chan struct{})
	s.OnStart = func() { close(running) }
	p, err := c.launcher.Start(ctx, s)
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	child := &Child{Process: p, Stdin: ours[0], Stdout: ours[1], Stderr: new(Tail), said: make(chan struct{})}
	select {
	case <-running:
	case <-p.Exited():
		if _, err := p.Exit(); err != nil {
			closeAll(ours)
			return nil, err
		}
	case <-ctx.Done():
		p.Close()
		closeAll(ours)
		return nil, ctx.Err()
	}
	go func() {
		defer ours[2].Close()
		defer close(child.said)
		to := io.Writer(child.Stderr)
		if stderr != nil {
			to = io.MultiWriter(child.Stderr, stderr)
		}
		_, _ = io.Copy(to, ours[2])
		_, _ = io.Copy(child.Stderr, ours[2]) // where stderr failed: the child must not block
	}()
	go func() {
		<-p.Exited()
		p.Kill()
		<-p.Done()
		_ = ours[2].SetReadDeadline(time.Now().Add(stderrWait))
		<-c.places
	}()
	return child, nil
}

// Close kills the process with everything it started, waits for that, and closes
// the streams. It returns false as [Process.Close] does.
func (c *Child) Close() bool {
	gone := c.Process.Close()
	c.Stdin.Close()
	c.Stdout.Close()
	return gone
}

// tailSize is how much a [Tail] keeps.
const tailSize = 16 << 10

// A Tail keeps the end of what is written to it. It is safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > 2*tailSize {
		t.text = append(t.text[:0], t.text[len(t.text)-tailSize:]...)
	}
	return len(p), nil
}

// String returns the last 16 KiB at most.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text[max(0, len(t.text)-tailSize):])
}
