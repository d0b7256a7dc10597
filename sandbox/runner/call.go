package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// killWait bounds how long a call waits for processes that were killed.
const killWait = 5 * time.Second

// A call is one command on its way from request to result.
type call struct {
	runner  *Runner
	launch  launch
	stdin   []byte
	owner   string
	timeout time.Duration // for waiting and running
	maxWait time.Duration // for waiting alone
	waited  time.Duration
	onText  func(string)
	started func() // may be nil: called once the command has started

	merged, stdout, stderr *capture // nil where not asked for
	pumps                  []*pump
	theirs                 []*os.File // the command's ends of the pipes
	feed                   *os.File   // our end of its standard input
	fed                    chan struct{}
}

func (r *Runner) prepare(req *Request) (*call, error) {
	dir, err := req.check()
	if err != nil {
		return nil, err
	}
	l, err := program(req, dir)
	if err != nil {
		return nil, err
	}
	r.ready()
	if r.starter == nil {
		return nil, &StartError{Op: "start", Path: l.path, Err: r.refused}
	}
	l.dir, l.env, l.confine = dir, withDir(req.Env, dir), req.Confine
	l.bounds = req.Bounds
	c := &call{runner: r, launch: l, stdin: req.Stdin, owner: req.Owner, timeout: req.Timeout, onText: req.OnOutput}
	if c.timeout == 0 {
		c.timeout = r.options.Timeout
	}
	c.maxWait = c.timeout
	limits := req.Limits.or(r.options.Limits)
	if req.Capture != CaptureSplit {
		c.merged = newCapture(limits)
	}
	if req.Capture != CaptureMerged {
		c.stdout, c.stderr = newCapture(limits), newCapture(limits)
	}
	return c, nil
}

// run waits for a place and runs the command.
func (c *call) run(ctx context.Context) (Result, error) {
	if err := c.acquire(ctx); err != nil {
		return Result{}, err
	}
	defer c.runner.places.Release(c.owner, 1)
	c.runner.spans.begin(c)
	defer c.runner.spans.end(c)
	live := startLive(c.onText)
	began := time.Now()
	t, err := c.start(live)
	if err != nil {
		c.finishIO(0)
		live.finish(0)
		return Result{}, err
	}
	res, err := c.wait(ctx, t)
	res.Exceeded = t.exceeded().String()
	t.close()
	res.Waited, res.Duration = c.waited, time.Since(began)
	c.finishIO(max(c.runner.options.Drain, 0))
	res.Dropped = live.finish(max(c.runner.options.Drain, 0))
	res.Output, res.Stdout, res.Stderr = Output{c.merged}, Output{c.stdout}, Output{c.stderr}
	if err != nil && !errors.Is(err, ErrSupervisorLost) {
		res.Close()
		return Result{}, err
	}
	return res, err
}

// acquire takes a place to run in. Waiting for it uses up the time of the command.
func (c *call) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.runner.places.TryAcquire(c.owner, 1) {
		return nil
	}
	began := time.Now()
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		timer := time.NewTimer(c.maxWait)
		defer timer.Stop()
		select {
		case <-timer.C:
			stop(fmt.Errorf("%w: all places for commands are taken by other commands, and none became free within %gs", ErrBusy, c.maxWait.Seconds()))
		case <-c.runner.closing:
			stop(ErrClosed)
		case <-waiting.Done():
		}
	}()
	if err := c.runner.places.Acquire(waiting, c.owner, 1); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	c.waited = time.Since(began)
	return nil
}

// start starts the command with its pipes and what serves them.
func (c *call) start(live *live) (tree, error) {
	err := c.openPipes(live)
	var t tree
	if err == nil {
		t, err = c.runner.starter.start(c.launch)
	}
	for _, f := range c.theirs {
		f.Close()
	}
	if err != nil {
		return nil, err
	}
	if c.feed != nil {
		c.fed = make(chan struct{})
		go func() {
			defer close(c.fed)
			_, _ = c.feed.Write(c.stdin) // a command need not read it all
			c.feed.Close()
		}()
	}
	return t, nil
}

func (c *call) openPipes(live *live) error {
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err != nil {
			err = &StartError{Op: "make a pipe for", Path: c.launch.path, Err: err}
		}
		return r, w, err
	}
	if c.stdin != nil {
		r, w, err := pipe()
		if err != nil {
			return err
		}
		c.launch.stdin, c.feed, c.theirs = r, w, append(c.theirs, r)
	}
	output := func(into ...*capture) (*os.File, error) {
		r, w, err := pipe()
		if err != nil {
			return nil, err
		}
		c.theirs = append(c.theirs, w)
		c.pumps = append(c.pumps, startPump(r, live, &c.runner.buffers, into...))
		return w, nil
	}
	var err error
	if c.stdout == nil {
		c.launch.stdout, err = output(c.merged)
		c.launch.stderr = c.launch.stdout
		return err
	}
	out, errs := []*capture{c.stdout}, []*capture{c.stderr}
	if c.merged != nil {
		out, errs = append(out, c.merged), append(errs, c.merged)
	}
	if c.launch.stdout, err = output(out...); err != nil {
		return err
	}
	c.launch.stderr, err = output(errs...)
	return err
}

// finishIO is called when the command is gone or was never started.
func (c *call) finishIO(wait time.Duration) {
	deadline := time.Now().Add(wait)
	for _, p := range c.pumps {
		p.finish(time.Until(deadline))
	}
	for _, capture := range []*capture{c.merged, c.stdout, c.stderr} {
		if capture != nil {
			capture.end()
		}
	}
	if c.feed != nil {
		c.feed.Close() // a write that nobody reads returns
	}
	if c.fed != nil {
		<-c.fed
	}
}
