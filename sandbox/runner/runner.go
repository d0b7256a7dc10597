package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"toolserver/share"
)

// Options are the settings of a [Runner]. The zero value works.
type Options struct {
	// Supervisor is a program whose main calls [Supervise] when [IsSupervisor]
	// says so, as a rule [Self]. Empty means that there is none, and
	// [MethodGroup] is used; a program that does not know the mode would run as
	// it always does, so it is never guessed.
	Supervisor string
	// Wrap turns the program and arguments of a request with Confine into those of
	// a program that confines it, for commands without a supervisor. Nil fails them.
	Wrap func(spec []byte, path string, argv []string) (program string, wrapped []string, err error)
	// Method is the one way to use; empty means the best that works.
	Method Method
	// Timeout is for requests that have none; zero means 30 seconds.
	Timeout time.Duration
	// Grace is how long a command whose time is up has to end after SIGTERM
	// before it is killed. Zero means 2 seconds, negative none. Cancelling kills
	// at once.
	Grace time.Duration
	// Drain is how long processes that outlive the main one may go on, to finish
	// what they write. Zero means 200 ms, negative none.
	Drain time.Duration
	// Limits are for requests that have none: 30,000 bytes in memory and 64 MiB
	// in a file.
	Limits Limits
	// MaxConcurrent is how many commands run at once, jobs included; others wait.
	// It is divided among the owners of requests as [share.Pool] does, so that one
	// alone may have three quarters of it. Zero means 128.
	MaxConcurrent int
	// MaxJobs is how many background jobs a session may have, MaxOwnerJobs how many
	// an owner may have in all sessions, finished ones that are remembered included.
	// MaxAge is how long a job may run and how long a finished one is remembered.
	// Zero means 8, 16 and an hour.
	MaxJobs      int
	MaxOwnerJobs int
	MaxAge       time.Duration
}

func (o *Options) setDefaults() {
	o.Limits = o.Limits.or(Limits{Inline: 30_000, Spill: 64 << 20})
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.Timeout, 30 * time.Second}, {&o.Grace, 2 * time.Second}, {&o.Drain, 200 * time.Millisecond}, {&o.MaxAge, time.Hour}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = 128
	}
	if o.MaxJobs <= 0 {
		o.MaxJobs = 8
	}
	if o.MaxOwnerJobs <= 0 {
		o.MaxOwnerJobs = 16
	}
}

// A Runner runs commands. It is safe for concurrent use. Its first command takes
// some milliseconds more, for the start of a supervisor.
type Runner struct {
	options  Options
	launcher *launcher
	places   *share.Pool // for commands to run in
	buffers  pumpBuffers
	jobs     jobTable
	spans    spans
	closing  chan struct{}

	choose  sync.Once // sets starter, or refused
	starter starter
	refused error // why a better way is not used, or none is

	mu        sync.Mutex
	closed    bool
	interrupt chan struct{}  // closed to kill what runs, and replaced
	calls     sync.WaitGroup // added to under mu while not closed
}

// New returns a Runner. It starts nothing before it is used.
func New(o Options) *Runner {
	o.setDefaults()
	r := &Runner{
		options:  o,
		launcher: newLauncher(),
		places:   share.NewPool(int64(o.MaxConcurrent), 0),
		closing:  make(chan struct{}),

		interrupt: make(chan struct{}),
	}
	r.jobs.max, r.jobs.maxOwner, r.jobs.age = o.MaxJobs, o.MaxOwnerJobs, o.MaxAge
	return r
}

// Method says how the processes of commands are kept together here. When that is
// not the best way there is err says why, and when method is empty why commands
// cannot run at all.
func (r *Runner) Method() (method Method, err error) {
	if !r.enter() {
		return "", ErrClosed
	}
	defer r.calls.Done()
	r.ready()
	if r.starter == nil {
		return "", r.refused
	}
	return r.starter.method(), r.refused
}

// ready finds out by trying which way works.
func (r *Runner) ready() {
	r.choose.Do(func() {
		var refused []error
		for _, how := range supervisedMethods {
			if r.options.Supervisor == "" || r.options.Method != "" && r.options.Method != how {
				continue
			}
			s, err := newSupervisedStarter(r.options.Supervisor, how, r.launcher)
			if err == nil {
				r.starter = s
				break
			}
			refused = append(refused, fmt.Errorf("%s: %w", how, err))
		}
		if r.starter == nil && (r.options.Method == "" || r.options.Method == groupMethod) {
			r.starter = &direct{launcher: r.launcher, wrap: r.options.Wrap}
		}
		r.refused = errors.Join(refused...)
		if r.starter == nil && r.refused == nil {
			r.refused = fmt.Errorf("commands cannot be kept together by %q here", r.options.Method)
		}
	})
}

// enter counts a call in, unless the Runner is closed.
func (r *Runner) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.calls.Add(1)
	return true
}

// Run runs a command to its end and returns when none of its processes is left.
// The error says that it could not be started ([*StartError],
// [*InvalidRequestError], [ErrBusy], or that of ctx while it waited), except for
// [ErrSupervisorLost], which comes with the output so far. A command that
// fails, runs out of time or is cancelled is no error.
func (r *Runner) Run(ctx context.Context, req Request) (Result, error) {
	if !r.enter() {
		return Result{}, ErrClosed
	}
	defer r.calls.Done()
	c, err := r.prepare(&req)
	if err != nil {
		return Result{}, err
	}
	return c.run(ctx)
}

// RanAt reports whether a command or job may have been running at t, of which not
// more than a few minutes are over.
func (r *Runner) RanAt(t time.Time) bool { return r.spans.at(t) }

// Interrupt kills every command and job that runs. Their results say Canceled.
func (r *Runner) Interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		close(r.interrupt)
		r.interrupt = make(chan struct{})
	}
}

// interrupted is closed when what runs now is to be killed.
func (r *Runner) interrupted() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.interrupt
}

// Close ends every command and job and what keeps them, and waits for it. Calls
// in flight return what they have.
func (r *Runner) Close() {
	r.mu.Lock()
	first := !r.closed
	if first {
		r.closed = true
		close(r.closing)
	}
	r.mu.Unlock()
	r.calls.Wait() // each is bounded by killWait
	if !first {
		return
	}
	if r.starter != nil {
		r.starter.close()
	}
	r.launcher.close()
	r.jobs.clear()
}
