// Package runner runs commands to their end, or as background jobs, with limits on
// their output, their time and their number. Package process starts and terminates
// them; neither decides whether a command may run.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/sandbox/netproxy"
	"github.com/toolserver/toolserver/sandbox/process"
)

// Options are the settings of a [Runner]. The zero value works.
type Options struct {
	// Timeout is for requests that have none; zero means 30 seconds.
	Timeout time.Duration
	// Grace is how long a command that timed out has to end after SIGTERM before it
	// is killed. Zero means 2 seconds, negative none. Cancelling kills at once.
	Grace time.Duration
	// Drain is how long processes that outlive the main one may go on, to finish
	// what they write. Zero means 200 ms, negative none.
	Drain time.Duration
	// MaxConcurrent is how many commands run at once, jobs included; others wait.
	// It is divided among the owners of requests as [share.Pool] does, so that one
	// alone may have three quarters of it. Zero means 128.
	MaxConcurrent int
	// MaxJobs is how many background jobs a session may have, MaxOwnerJobs how many
	// an owner may have in all sessions, finished ones that are remembered included.
	// MaxAge is how long a job may run and how long a finished one is remembered.
	// Zero means 8, 16 and [DefaultMaxAge].
	MaxJobs      int
	MaxOwnerJobs int
	MaxAge       time.Duration
}

// DefaultMaxAge is how long a job may run, unless [Options.MaxAge] says otherwise.
const DefaultMaxAge = time.Hour

func (o *Options) setDefaults() {
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Grace = cmp.Or(o.Grace, 2*time.Second)
	o.Drain = cmp.Or(o.Drain, 200*time.Millisecond)
	o.MaxAge = cmp.Or(o.MaxAge, DefaultMaxAge)
	o.MaxConcurrent = cmp.Or(o.MaxConcurrent, 128)
	o.MaxJobs = cmp.Or(o.MaxJobs, 8)
	o.MaxOwnerJobs = cmp.Or(o.MaxOwnerJobs, 16)
}

// A Request is one command to run. Shell, Argv, Program, Dir, Env, Bounds, Confine and User are
// those of [process.Spec].
type Request struct {
	Shell   string
	Argv    []string
	Program string
	Dir     string
	Env     []string
	Bounds  process.Bounds
	Confine []byte
	User    int
	// Notice is passed on to the Result.
	Notice string
	// Proxy, which may be nil, serves the network that Confine gives the command.
	Proxy *netproxy.Proxy
	// Owner is for whom the command runs, such as a principal. Owners share
	// [Options.MaxConcurrent] and each has [Options.MaxOwnerJobs].
	Owner string
	// ID names a job; [Runner.Start] makes one up if it is empty.
	ID string
	// Stdin is what the command reads. Nil means the null device, and never the
	// standard input of the server.
	Stdin []byte
	// Input is an open file that the command reads instead of Stdin.
	Input *os.File
	// Timeout is how long the command may run, including the wait for others; zero
	// means [Options.Timeout]. The time that Proxy waits for people comes on top.
	Timeout time.Duration
	// Split fills Result.Stdout and Result.Stderr. Otherwise the command has one
	// pipe for both, and Result.Output holds them in the order they were written in.
	Split bool
	// Limits bounds what is kept of the output.
	Limits Limits
	// OnOutput, when set, is called with the output as it comes, as valid UTF-8,
	// from one goroutine. It may be slow but must return: the command never waits
	// for it, and what it is too slow for is dropped.
	OnOutput func(text string)
	// Explain is that of the [Job].
	Explain func(Result) string
}

// A Result is how a command ended and what it wrote.
type Result struct {
	process.Exit
	// TimedOut says that the command was terminated because of its timeout, Canceled
	// that it was because the call's context or the Runner ended.
	TimedOut, Canceled bool
	// Notice is that of the request.
	Notice string
	// Unkillable says that some process did not end within seconds of being killed.
	Unkillable bool
	// Waited is how long the command waited for others to end, which is part of its
	// timeout. Duration is from the start until no process was left.
	Waited, Duration time.Duration
	// RefusedHosts are connections that the proxy refused.
	RefusedHosts []netproxy.Refusal
	// Output holds both streams as they came or, if the request says Split, Stdout and
	// Stderr each its own. The others are empty.
	Output, Stdout, Stderr *Output
}

// Close frees the temporary files of the output. What is in memory stays readable.
func (r *Result) Close() error {
	return errors.Join(r.Output.close(), r.Stdout.close(), r.Stderr.close())
}

// A Runner runs commands. It is safe for concurrent use.
type Runner struct {
	options  Options
	launcher *process.Launcher
	places   *share.Pool // for commands to run in
	periods  periods
	spills   atomic.Int64

	mu        sync.Mutex
	open      context.Context // ends with Close
	close     context.CancelFunc
	running   context.Context // of the commands that run; ends with Interrupt too
	interrupt context.CancelFunc
	calls     sync.WaitGroup // added to under mu while open
	jobs      []*Job         // those that run and those that ended not long ago
}

// New returns a Runner of commands that l starts. The caller closes l afterwards.
func New(l *process.Launcher, o Options) *Runner {
	o.setDefaults()
	r := &Runner{options: o, launcher: l, places: share.NewPool(int64(o.MaxConcurrent), 0)}
	r.open, r.close = context.WithCancel(context.Background())
	r.running, r.interrupt = context.WithCancel(r.open)
	return r
}

// Launcher returns what starts the commands.
func (r *Runner) Launcher() *process.Launcher { return r.launcher }

// Run runs a command to its end and returns when none of its processes is left. The
// error says that it was not started ([*process.StartError], [process.ErrBusy] and
// the like), except for [process.ErrSupervisorLost], which comes with the output so
// far. A command that fails, times out or is cancelled is no error.
func (r *Runner) Run(ctx context.Context, req Request) (Result, error) {
	c, err := r.begin(&req)
	if err != nil {
		return Result{}, err
	}
	defer r.calls.Done()
	return c.run(ctx)
}

// RanAt reports whether a command or job may have been running at t, which is not
// more than a few minutes ago.
func (r *Runner) RanAt(t time.Time) bool { return r.periods.contain(t) }

// Interrupt kills every command and job that runs. Their results say Canceled.
func (r *Runner) Interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupt()
	r.running, r.interrupt = context.WithCancel(r.open)
}

// interrupted is the context of commands that run now.
func (r *Runner) interrupted() context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// Close kills every command and job, and waits for that. Calls in flight return what
// they have.
func (r *Runner) Close() {
	r.mu.Lock()
	r.close()
	r.mu.Unlock()
	r.calls.Wait() // each returns within seconds: see [process.Process.Close]
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.jobs) > 0 {
		r.forget(r.jobs[0])
	}
}

// A call is one command from request to result.
type call struct {
	runner  *Runner
	request *Request
	spec    process.Spec
	maxWait time.Duration // for a place to run in
	waited  time.Duration

	merged, stdout, stderr *Output
	live                   *live // nil if not asked for
	pumps                  []*pump
	theirs                 []*os.File // the command's ends of the pipes
	input                  *os.File   // our end of its standard input
	written                chan struct{}
}

// begin counts a call in, unless the Runner is closed. It is over with calls.Done.
func (r *Runner) begin(req *Request) (*call, error) {
	if req.Timeout < 0 {
		return nil, &process.InvalidSpecError{Field: "timeout", Reason: fmt.Sprintf("is %v; it must be positive", req.Timeout)}
	}
	req.Timeout = cmp.Or(req.Timeout, r.options.Timeout)
	c := &call{runner: r, request: req, maxWait: req.Timeout}
	c.spec = process.Spec{
		Shell: req.Shell, Argv: req.Argv, Program: req.Program, Dir: req.Dir, Env: req.Env, Bounds: req.Bounds, Confine: req.Confine, User: req.User,
	}
	if req.Proxy != nil {
		c.spec.Serve = req.Proxy.Serve
	}
	limits := Limits{cmp.Or(req.Limits.Inline, 30_000), cmp.Or(req.Limits.Spill, 64<<20)}
	for _, o := range []**Output{&c.merged, &c.stdout, &c.stderr} {
		*o = &Output{limits: limits, spills: &r.spills}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open.Err() != nil {
		return nil, process.ErrClosed
	}
	r.calls.Add(1)
	return c, nil
}

// run waits for a place and runs the command.
func (c *call) run(ctx context.Context) (Result, error) {
	r := c.runner
	if err := c.acquire(ctx); err != nil {
		return Result{}, err
	}
	defer r.places.Release(c.request.Owner, 1)
	r.periods.begin()
	defer r.periods.end()
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.interrupted(), cancel)() // from before it is started: no interruption of what has started is missed
	c.live = startLive(c.request.OnOutput)
	p, err := c.start()
	if err != nil {
		c.finish(0)
		return Result{}, err
	}
	res := Result{Notice: c.request.Notice, Waited: c.waited, Output: c.merged, Stdout: c.stdout, Stderr: c.stderr}
	c.wait(ctx, p, &res)
	res.Exit, err = p.Exit()
	res.Duration, res.RefusedHosts = time.Since(began), c.request.Proxy.Refusals()
	c.finish(max(r.options.Drain, 0))
	if err != nil && !errors.Is(err, process.ErrSupervisorLost) {
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
	places, owner := c.runner.places, c.request.Owner
	if places.TryAcquire(owner, 1) {
		return nil
	}
	began := time.Now()
	waiting, stop := context.WithTimeoutCause(ctx, c.maxWait, fmt.Errorf(
		"%w: all places for commands are taken by other commands, and none became free within %gs", process.ErrBusy, c.maxWait.Seconds()))
	defer stop()
	waiting, cancel := context.WithCancelCause(waiting)
	defer cancel(nil)
	defer context.AfterFunc(c.runner.open, func() { cancel(process.ErrClosed) })()
	if err := places.Acquire(waiting, owner, 1); err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	c.waited = time.Since(began)
	return nil
}

// start starts the command with its pipes and what serves them.
func (c *call) start() (p *process.Process, err error) {
	if err = c.openPipes(); err == nil {
		p, err = c.runner.launcher.Start(context.Background(), c.spec)
	}
	for _, f := range c.theirs {
		f.Close()
	}
	if err != nil {
		return nil, err
	}
	if c.input != nil {
		c.written = make(chan struct{})
		go func() {
			defer close(c.written)
			_, _ = c.input.Write(c.request.Stdin) // a command need not read it all
			c.input.Close()
		}()
	}
	return p, nil
}

func (c *call) openPipes() (err error) {
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err != nil {
				err = &process.StartError{Op: "make a pipe for", Path: commandText(c.request), Err: err}
			}
		}
		return r, w
	}
	output := func(into *Output) *os.File {
		r, w := pipe()
		if err == nil {
			c.theirs = append(c.theirs, w)
			c.pumps = append(c.pumps, c.startPump(r, into))
		}
		return w
	}
	if c.request.Input != nil {
		c.spec.Stdin = c.request.Input
	} else if c.request.Stdin != nil {
		c.spec.Stdin, c.input = pipe()
		c.theirs = append(c.theirs, c.spec.Stdin)
	}
	if !c.request.Split {
		c.spec.Stdout = output(c.merged)
		c.spec.Stderr = c.spec.Stdout
		return err
	}
	c.spec.Stdout, c.spec.Stderr = output(c.stdout), output(c.stderr)
	return err
}

// wait returns when no process of the command is left, or none that can be killed.
func (c *call) wait(ctx context.Context, p *process.Process, res *Result) {
	timer := time.NewTimer(c.request.Timeout - c.waited)
	defer timer.Stop()
	until := func(event <-chan struct{}) bool {
		select {
		case <-event:
			return true
		case <-timer.C:
		case <-ctx.Done():
		}
		return false
	}
	exited := until(p.Exited())
	for asked := time.Duration(0); !exited && ctx.Err() == nil; exited = until(p.Exited()) {
		more := c.request.Proxy.Waited() - asked
		if more <= 0 {
			break
		}
		asked += more
		timer.Reset(more)
	}
	o := &c.runner.options
	switch {
	case exited:
		timer.Reset(o.Drain)
		until(p.Done())
	case ctx.Err() != nil:
		res.Canceled = true
	default:
		if res.TimedOut = true; o.Grace > 0 {
			p.Signal(syscall.SIGTERM)
			timer.Reset(o.Grace)
			until(p.Done())
		}
	}
	res.Unkillable = !p.Close()
}

// finish is called when the command is gone or was never started. It waits for what
// is still to be read and reported, at most as long as wait.
func (c *call) finish(wait time.Duration) {
	deadline := time.Now().Add(wait)
	for _, p := range c.pumps {
		p.finish(time.Until(deadline))
	}
	for _, o := range []*Output{c.merged, c.stdout, c.stderr} {
		o.finish()
	}
	if c.input != nil {
		c.input.Close() // ends a write that is not read
	}
	if c.written != nil {
		<-c.written
	}
	c.live.finish(wait)
}

// periods are when commands ran.
type periods struct {
	mu      sync.Mutex
	running int
	list    []period // the last one goes on while running is not zero
}

type period struct{ from, to time.Time }

const maxPeriods = 256

func (s *periods) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == 0 {
		if len(s.list) == maxPeriods {
			s.list = slices.Delete(s.list, 0, 1)
		}
		s.list = append(s.list, period{from: time.Now()})
	}
	s.running++
}

func (s *periods) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.list[len(s.list)-1].to = time.Now()
}

// contain reports whether a command may have run at t.
func (s *periods) contain(t time.Time) bool {
	const tick = 10 * time.Millisecond // file systems round times down to one
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.list {
		goesOn := s.running > 0 && i == len(s.list)-1
		if p.from.Before(t.Add(tick)) && (goesOn || p.to.After(t)) {
			return true
		}
	}
	return len(s.list) == maxPeriods && s.list[0].from.After(t) // there may have been one before
}
