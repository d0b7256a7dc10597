package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	// ErrTooManyJobs is the error of a job beyond [Options.MaxJobs] or
	// [Options.MaxOwnerJobs].
	ErrTooManyJobs = errors.New("too many background jobs")
	// ErrNoJob is the error for an id that no job of the session has, or not any
	// more.
	ErrNoJob = errors.New("no such background job")
)

// A Job is a command in the background. It ends at the latest when its session or
// the Runner does, or after [Options.MaxAge].
type Job struct {
	// ID names the job among those of its session, Command is what it runs, Started
	// since when.
	ID, Command string
	Started     time.Time

	session string
	owner   string // of the request
	output  Output
	cancel  context.CancelFunc
	done    chan struct{}
	result  Result // with err, set before done is closed
	err     error
	ended   time.Time
	expiry  *time.Timer // guarded by jobTable.mu; nil while the job runs
}

// Done is closed when the job has ended and none of its processes is left.
func (j *Job) Done() <-chan struct{} { return j.done }

// Output is what the job has written so far, both streams as they came. It goes
// on growing while the job runs; see [Output.Page].
func (j *Job) Output() Output { return j.output }

// Result returns how the job ended; ok is false while it runs. The error is as
// that of [Runner.Run].
func (j *Job) Result() (res Result, ok bool, err error) {
	select {
	case <-j.done:
		return j.result, true, j.err
	default:
		return Result{}, false, nil
	}
}

// Stop kills the job and returns when it is gone. The job stays listed, with its
// output, until it expires.
func (j *Job) Stop() {
	j.cancel()
	<-j.done // bounded by killWait
}

// Start starts a command in the background, as a job of session. It returns when
// the command has started, or with the error [Runner.Run] would return. A request
// without a timeout may run for [Options.MaxAge], and none for longer; none waits
// longer than [Options.Timeout] for others. The output is always captured merged.
func (r *Runner) Start(ctx context.Context, session string, req Request) (*Job, error) {
	if !r.enter() {
		return nil, ErrClosed
	}
	if req.Timeout == 0 || req.Timeout > r.options.MaxAge {
		req.Timeout = r.options.MaxAge
	}
	req.Capture = CaptureMerged
	c, err := r.prepare(&req)
	if err != nil {
		r.calls.Done()
		return nil, err
	}
	c.launch.announce = true
	c.maxWait = min(c.timeout, r.options.Timeout)
	begun := make(chan struct{})
	c.started = func() { close(begun) }
	// Nothing of the call that starts it: a job is kept long after that.
	jobCtx, cancel := context.WithCancel(context.Background())
	j := &Job{
		ID: "job-" + strings.ToLower(rand.Text()[:8]), Command: commandText(&req), Started: time.Now(),
		session: session, owner: req.Owner, output: Output{c.merged}, cancel: cancel, done: make(chan struct{}),
	}
	if err := r.jobs.add(j); err != nil {
		cancel()
		r.calls.Done()
		return nil, err
	}
	go func() {
		defer r.calls.Done()
		defer cancel()
		j.result, j.err = c.run(jobCtx)
		j.ended = time.Now()
		r.jobs.expireAfter(j)
		close(j.done)
	}()
	return r.begun(ctx, j, begun)
}

// begun waits until j has started, and forgets it if that fails.
func (r *Runner) begun(ctx context.Context, j *Job, begun <-chan struct{}) (*Job, error) {
	err := error(nil)
	select {
	case <-begun:
		return j, nil
	case <-j.done:
		err = j.err
	case <-ctx.Done():
		j.Stop()
		err = ctx.Err()
	}
	if err != nil {
		r.jobs.remove(j)
		return nil, err
	}
	return j, nil
}

func commandText(req *Request) string {
	if req.Shell != "" {
		return req.Shell
	}
	return strings.Join(req.Argv, " ")
}

// Job returns a job of session. Those of others do not exist for it.
func (r *Runner) Job(session, id string) (*Job, error) {
	for _, j := range r.Jobs(session) {
		if j.ID == id {
			return j, nil
		}
	}
	return nil, fmt.Errorf("%w %q", ErrNoJob, id)
}

// Jobs returns the jobs of session, the oldest first.
func (r *Runner) Jobs(session string) []*Job { return r.jobs.of(session) }

// EndSession stops all jobs of session and forgets them.
func (r *Runner) EndSession(session string) {
	jobs := r.jobs.of(session)
	for _, j := range jobs {
		j.cancel()
	}
	for _, j := range jobs {
		<-j.done
		r.jobs.remove(j)
	}
}

// A jobTable holds the jobs that run and those that ended not long ago.
type jobTable struct {
	max      int           // for one session
	maxOwner int           // for one owner
	age      time.Duration // of a finished job

	mu   sync.Mutex
	jobs []*Job
}

// add makes room by forgetting the finished job that ended first.
func (t *jobTable) add(j *Job) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.room(t.max, "in this session", func(other *Job) bool { return other.session == j.session }); err != nil {
		return err
	}
	if err := t.room(t.maxOwner, "in your sessions together", func(other *Job) bool { return other.owner == j.owner }); err != nil {
		return err
	}
	t.jobs = append(t.jobs, j)
	return nil
}

// room is called with the lock held. It leaves fewer than limit jobs that count.
func (t *jobTable) room(limit int, where string, counts func(*Job) bool) error {
	count, oldest := 0, (*Job)(nil)
	for _, j := range t.jobs {
		if !counts(j) {
			continue
		}
		count++
		if _, ok, _ := j.Result(); ok && (oldest == nil || j.ended.Before(oldest.ended)) {
			oldest = j
		}
	}
	if count < limit {
		return nil
	}
	if oldest == nil {
		return fmt.Errorf("%w: %d are running %s, which is the limit; stop one first", ErrTooManyJobs, count, where)
	}
	t.drop(oldest)
	return nil
}

// drop is called with the lock held.
func (t *jobTable) drop(j *Job) {
	if i := slices.Index(t.jobs, j); i >= 0 {
		t.jobs = slices.Delete(t.jobs, i, i+1)
		if j.expiry != nil {
			j.expiry.Stop()
		}
		_ = j.output.close()
	}
}

func (t *jobTable) remove(j *Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(j)
}

func (t *jobTable) expireAfter(j *Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.Contains(t.jobs, j) {
		j.expiry = time.AfterFunc(t.age, func() { t.remove(j) })
	}
}

func (t *jobTable) of(session string) []*Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*Job
	for _, j := range t.jobs {
		if j.session == session {
			list = append(list, j)
		}
	}
	return list
}

func (t *jobTable) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.jobs) > 0 {
		t.drop(t.jobs[0])
	}
}
