package runner

import (
	"context"
	"time"
)

// A phase is what a call waits for, and until when.
type phase int

const (
	running     phase = iota // for the main process, until the timeout
	draining                 // for the others, for the drain time
	terminating              // for all to obey SIGTERM, for the grace time
	killing                  // for all to be gone, for killWait
)

// A waiter sees a command through its phases.
type waiter struct {
	tree    tree
	options *Options
	phase   phase
	timer   *time.Timer
	result  Result
	err     error
}

// wait returns when no process of the command is left, or none that can be killed.
func (c *call) wait(ctx context.Context, t tree) (Result, error) {
	w := &waiter{tree: t, options: &c.runner.options, timer: time.NewTimer(c.timeout - c.waited)}
	w.result.ExitCode = -1
	defer w.timer.Stop()
	canceled, closing, interrupted := ctx.Done(), c.runner.closing, c.runner.interrupted()
	var started <-chan struct{}
	if c.started != nil {
		started = t.started()
	}
	for {
		select {
		case <-started:
			started = nil
			c.started()
		case e := <-t.exited():
			w.exited(e)
		case <-t.gone():
			select { // the news of both may come at once
			case e := <-t.exited():
				w.exited(e)
			default:
			}
			w.result.Leftovers = t.leftovers()
			return w.result, w.err
		case <-w.timer.C:
			if w.phase == killing {
				w.result.Unkillable = true
				return w.result, w.err
			}
			w.timeUp()
		case <-canceled:
			canceled = nil
			w.cancel()
		case <-closing:
			closing = nil
			w.cancel()
		case <-interrupted:
			interrupted = nil
			w.cancel()
		}
	}
}

func (w *waiter) enter(p phase, limit time.Duration) {
	w.phase = p
	w.timer.Reset(limit)
}

func (w *waiter) kill() {
	w.tree.kill()
	w.enter(killing, killWait)
}

func (w *waiter) exited(e exit) {
	w.result.ExitCode, w.result.Signal, w.result.CPU, w.err = e.code, e.signal, e.cpu, e.err
	if w.phase == running {
		w.enter(draining, w.options.Drain)
	}
}

// timeUp ends what a phase waited for in vain.
func (w *waiter) timeUp() {
	if w.phase == running {
		w.result.TimedOut = true
		if w.options.Grace > 0 {
			w.tree.terminate()
			w.enter(terminating, w.options.Grace)
			return
		}
	}
	w.kill()
}

func (w *waiter) cancel() {
	w.result.Canceled = w.result.Canceled || w.phase == running
	w.kill()
}
