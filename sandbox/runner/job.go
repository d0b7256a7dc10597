package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/sandbox/netproxy"
)

// ErrTooManyJobs is the error of a job beyond [Options.MaxJobs] or [Options.MaxOwnerJobs].
var ErrTooManyJobs = errors.New("too many background jobs")

// A Job is a command in the background. It ends at the latest when its session or
// the Runner does, or after [Options.MaxAge].
type Job struct {
	ID      string // unique in its session
	Command string
	Started time.Time
	Explain func(Result) string // says what the job was refused, if it is not nil

	session, owner string
	proxy          *netproxy.Proxy
	output         *Output
	cancel         context.CancelFunc
	done           chan struct{}
	result         Result // with err and ended, set before done is closed
	err            error
	ended          time.Time
	expiry         *time.Timer // guarded by Runner.mu; nil while the job runs
}

// Done is closed when the job has ended and none of its processes is left.
func (j *Job) Done() <-chan struct{} { return j.done }

// Output is what the job has written so far, both streams as they came. It goes
// on growing while the job runs; see [Output.Page].
func (j *Job) Output() *Output { return j.output }

// Refused are connections that the job's proxy has refused so far.
func (j *Job) Refused() []netproxy.Refusal { return j.proxy.Refusals() }

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
	<-j.done
}

// Start starts a command in the background, as a job of session. It returns when
// the command has started, or with the error [Runner.Run] would return. A request
// without a timeout may run for [Options.MaxAge], and none for longer; none waits
// longer than [Options.Timeout] for others. The output is never split.
func (r *Runner) Start(ctx context.Context, session string, req Request) (*Job, error) {
	if req.Timeout == 0 || req.Timeout > r.options.MaxAge {
		req.Timeout = r.options.MaxAge
	}
	req.Split = false
	c, err := r.begin(&req)
	if err != nil {
		return nil, err
	}
	c.maxWait = min(req.Timeout, r.options.Timeout)
	started := make(chan struct{})
	c.spec.OnStart = func() { close(started) }
	// Nothing of the call that starts it: a job is kept long after that.
	jobCtx, cancel := context.WithCancel(context.Background())
	j := &Job{
		ID: cmp.Or(req.ID, "job-"+strings.ToLower(rand.Text()[:8])), Command: commandText(&req), Started: time.Now(), Explain: req.Explain,
		session: session, owner: req.Owner, proxy: req.Proxy, output: c.merged, cancel: cancel, done: make(chan struct{}),
	}
	if err := r.remember(j); err != nil {
		cancel()
		r.calls.Done()
		return nil, err
	}
	go func() {
		defer r.calls.Done()
		defer cancel()
		j.result, j.err = c.run(jobCtx)
		j.ended = time.Now()
		close(j.done)
		r.mu.Lock()
		defer r.mu.Unlock()
		if slices.Contains(r.jobs, j) {
			j.expiry = time.AfterFunc(r.options.MaxAge, func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.forget(j)
			})
		}
	}()
	select {
	case <-started:
		return j, nil
	case <-j.done:
		if err = j.err; err == nil {
			return j, nil
		}
	case <-ctx.Done():
		j.Stop()
		err = ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(j)
	return nil, err
}

func commandText(req *Request) string {
	if req.Shell != "" {
		return req.Shell
	}
	return strings.Join(req.Argv, " ")
}

// Jobs returns the jobs of session, the oldest first.
func (r *Runner) Jobs(session string) []*Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobsThat(func(j *Job) bool { return j.session == session })
}

func (r *Runner) jobsThat(match func(*Job) bool) (list []*Job) {
	for _, j := range r.jobs {
		if match(j) {
			list = append(list, j)
		}
	}
	return list
}

// EndSession stops all jobs of session and forgets them.
func (r *Runner) EndSession(session string) {
	jobs := r.Jobs(session)
	for _, j := range jobs {
		j.cancel()
	}
	for _, j := range jobs {
		<-j.done
		r.mu.Lock()
		r.forget(j)
		r.mu.Unlock()
	}
}

// Owners returns who has jobs; an owner may be there several times.
func (r *Runner) Owners() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		all = append(all, j.owner)
	}
	return all
}

// remember adds a job, in place of the finished one that ended first if there are
// too many.
func (r *Runner) remember(j *Job) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, limit := range []struct {
		most   int
		where  string
		counts func(*Job) bool
	}{
		{r.options.MaxJobs, "in this session", func(other *Job) bool { return other.session == j.session }},
		{r.options.MaxOwnerJobs, "in your sessions together", func(other *Job) bool { return other.owner == j.owner }},
	} {
		jobs := r.jobsThat(limit.counts)
		if len(jobs) < limit.most {
			continue
		}
		var oldest *Job
		for _, other := range jobs {
			if _, ended, _ := other.Result(); ended && (oldest == nil || other.ended.Before(oldest.ended)) {
				oldest = other
			}
		}
		if oldest == nil {
			return fmt.Errorf("%w: %d are running %s, which is the limit; stop one first", ErrTooManyJobs, len(jobs), limit.where)
		}
		r.forget(oldest)
	}
	r.jobs = append(r.jobs, j)
	return nil
}

// forget is called with the lock held.
func (r *Runner) forget(j *Job) {
	if i := slices.Index(r.jobs, j); i >= 0 {
		r.jobs = slices.Delete(r.jobs, i, i+1)
		if j.expiry != nil {
			j.expiry.Stop()
		}
		_ = j.output.close()
	}
}
