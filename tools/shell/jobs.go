package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/runner"
	"github.com/toolserver/toolserver/store"
	"github.com/toolserver/toolserver/tools/lift"
)

const (
	jobsTool = "bash_jobs"
	jobID    = "job-" // begins the IDs of jobs
	// maxWait is how long a call waits for the end of a job, in seconds: shorter than
	// the minute that many clients wait for an answer.
	maxWait = 50
)

// start starts a background job. It may run for as long as jobs may, unless the
// caller says less.
func (t tool) start(ctx context.Context, in bashInput) (domain.ToolResult, error) {
	limit, err := t.timeout(in.Timeout, max(t.limit, runner.DefaultMaxAge))
	if err != nil {
		return domain.ToolResult{}, err
	}
	if in.Timeout == 0 {
		limit.Duration = runner.DefaultMaxAge
	}
	if call.SessionOf(ctx).Once {
		return domain.ToolResult{}, domain.InvalidArgument(t.name, "background",
			"is for clients of a server that goes on: this one ends with the call, and its jobs with it; run the command without background")
	}
	req := t.request(ctx, in.Command, in.WorkingDir, limit.Duration)
	if t.commands, err = lift.Commands(ctx, t.held, req); err != nil {
		return t.failure(err)
	}
	if keys := call.StoreOf(ctx).Keys(); keys.Shared() {
		req.Run.ID = jobID + call.StoreOf(ctx).NewHandle(req.Run.Owner)
	}
	req.Run.Explain = func(res runner.Result) string { told, _ := t.refusals(req, res, res.Output); return told }
	session := call.SessionOf(ctx).Key()
	job, err := t.commands.Start(ctx, session, req)
	if err == nil {
		err = shareJobs(ctx, session, t.commands.Jobs(), job)
	}
	switch {
	case errors.Is(err, store.ErrUnavailable) && call.StoreOf(ctx).Refuses():
		job.Stop()
		return domain.Failure("busy", t.name+": "+store.ErrUnavailable.Error(), "Run it again a little later."), nil
	case err != nil && job == nil:
		return t.failure(err)
	}
	started := fmt.Sprintf("[job %s started; read its output with %s(action=\"read\", job=%q), stop it with action=\"stop\"]", job.ID, jobsTool, job.ID)
	if waiting := t.waiting(req); waiting != "" {
		started += "\n[" + waiting + "]"
	}
	result := domain.Text(started)
	if call.Detach(ctx, started) {
		if result, err = t.follow(ctx, job, limit.Duration); err != nil {
			return result, err
		}
	}
	result.Made = map[string][]string{"job": {job.ID}}
	return result, nil
}

// follow waits for the end of a job whose caller follows it as a task, and returns what the
// last reading of it would. The job ends with its task.
func (t tool) follow(ctx context.Context, job *runner.Job, atMost time.Duration) (domain.ToolResult, error) {
	ended, err := call.Await(ctx, job.Done(), atMost+overtime)
	job.Stop() // unless it has ended
	switch {
	case ended:
		return read(job, 0, t.inline())
	case err == nil:
		err = domain.Errorf(domain.CodeExecutionFailed, "%s: the client is gone, and job %s was stopped; what it had done until then is unknown", t.name, job.ID)
	}
	return domain.ToolResult{}, err
}

type jobsInput struct {
	Action string `json:"action" default:"list" enum:"list|read|stop" doc:"What to do."`
	Job    string `json:"job,omitempty" also:"job_id id bash_id shell_id process_id session_id task_id" doc:"ID, to read or stop."`
	Offset int64  `json:"offset,omitempty" min:"0" max:"9007199254740991" doc:"Bytes, or jobs, to skip: next_offset of the last answer."`
	Wait   int    `json:"wait,omitempty" min:"0" max:"50" doc:"With read: seconds to wait for the end."`
}

// jobsResult is the structured result. With read and stop it is about one job.
type jobsResult struct {
	Jobs       []jobEntry `json:"jobs"`
	Output     *string    `json:"output,omitempty"`
	NextOffset *int64     `json:"next_offset,omitempty"`
	Sandbox    string     `json:"sandbox,omitempty"`
}

type jobEntry struct {
	Job      string `json:"job"`
	State    string `json:"state"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Seconds  int64  `json:"seconds"` // that it has run
	Command  string `json:"command"` // its last line, no more than is readable in a list
	Error    string `json:"error,omitempty"`
}

// watcher is the tool that lists, reads and stops background jobs.
type watcher struct{ *sandbox.Jobs }

func newJobs(c sandbox.Capabilities) domain.Tool {
	return domain.Define(domain.Tool{
		Name: jobsTool, Title: "Background jobs", Follows: "bash", Target: []string{"action", "job"},
		Description: "List, read or stop the background jobs of this session, which bash starts with background: true.",
		Annotations: domain.Annotations{Destructive: true},
		Output:      schema.OutputOf[jobsResult](),
		Timeout:     maxWait*time.Second + overtime,
		View:        "jobs", Ability: "watch and stop background commands",
	}, watcher{c.Jobs()}.run)
}

func (w watcher) run(ctx context.Context, in jobsInput) (domain.ToolResult, error) {
	session := call.SessionOf(ctx).Key()
	jobs, room := w.Of(session), call.ListRoom(ctx)-room
	i := slices.IndexFunc(jobs, func(j *runner.Job) bool { return j.ID == in.Job })
	if i >= 0 && in.Action != "list" {
		return use(ctx, jobs[i], in, room)
	}
	others, err := otherJobs(ctx, session)
	if errors.Is(err, store.ErrUnavailable) {
		return domain.Failure("busy", jobsTool+": "+store.ErrUnavailable.Error(), "Call it again a little later."), nil
	}
	entries := []jobEntry{} // none is an empty list, too
	for _, j := range jobs {
		entries = append(entries, entryOf(j))
	}
	for _, o := range others {
		entries = append(entries, o.jobEntry)
	}
	if in.Action == "list" {
		return list(ctx, entries, in.Offset)
	}
	o := slices.IndexFunc(others, func(o otherJob) bool { return o.Job == in.Job })
	switch {
	case in.Job == "" && len(entries) == 1 && len(jobs) == 1:
		return use(ctx, jobs[0], in, room)
	case in.Job == "" && len(entries) == 1:
		o = 0
	case in.Job == "":
		return domain.ToolResult{}, domain.InvalidArgument(jobsTool, "job", "is required to "+in.Action+"; jobs: "+ids(entries))
	case o < 0:
		return unknown(ctx, brief.Name(in.Job), entries), nil
	}
	return others[o].elsewhere(ctx, session, in, room)
}

// use reads or stops a job of this process.
func use(ctx context.Context, job *runner.Job, in jobsInput, room int) (domain.ToolResult, error) {
	if in.Action == "stop" {
		job.Stop()
	} else if in.Wait > 0 {
		enough := time.NewTimer(time.Duration(in.Wait) * time.Second)
		defer enough.Stop()
		select {
		case <-job.Done():
		case <-enough.C:
		case <-ctx.Done(): // with what there is
		}
	}
	return read(job, in.Offset, room)
}

// list returns jobs from an offset on, one in a line.
func list(ctx context.Context, jobs []jobEntry, offset int64) (domain.ToolResult, error) {
	l := call.ListFrom(jobs, int(min(offset, math.MaxInt32)))
	l.None = "no jobs"
	l.Text = func(entries []jobEntry) string {
		if len(jobs) == 0 {
			return "none"
		}
		var lines []string
		for _, e := range entries {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", e.Job, e.words(), e.Command))
		}
		return strings.Join(lines, "\n")
	}
	l.Results = func(entries []jobEntry, next int) any {
		r := jobsResult{Jobs: entries}
		if next > 0 {
			r.NextOffset = new(int64(next))
		}
		return r
	}
	return l.Result(ctx)
}

// read returns the state of a job and its output from an offset, as much as there is
// room for, in both forms.
func read(job *runner.Job, offset int64, room int) (domain.ToolResult, error) {
	entry := entryOf(job)
	var told notes
	for _, r := range job.Refused() {
		told.add(r.Error(), "")
	}
	refused := told.String()
	if res, ended, _ := job.Result(); ended && res.Output != nil && job.Explain != nil {
		refused = job.Explain(res)
	}
	for most := room; ; most /= 2 {
		page, err := job.Output().Page(offset, most)
		if err != nil {
			return domain.ToolResult{}, err
		}
		results := jobsResult{Jobs: []jobEntry{entry}, Output: &page.Text, NextOffset: &page.Next, Sandbox: refused}
		b, err := json.Marshal(results)
		if err != nil {
			return domain.ToolResult{}, err
		}
		if len(b) > room && most > minRead {
			continue // quoted it is longer
		}
		text := strings.TrimSuffix(page.Text, "\n")
		if page.Start > offset {
			text = fmt.Sprintf("[%d bytes before offset %d are gone]\n%s", page.Start-offset, page.Start, text)
		}
		if refused != "" {
			text = line(text, "["+refused+"]")
		}
		note := fmt.Sprintf("[job %s %s; next offset %d]", job.ID, entry.words(), page.Next)
		if page.Next < job.Output().Total() {
			note = fmt.Sprintf("[job %s %s; there is more output: read on with offset=%d]", job.ID, entry.words(), page.Next)
		}
		result := domain.Answer(line(text, note), results)
		if refused != "" {
			result.Refused = []domain.Refusal{{Reason: refused}}
		}
		return result, nil
	}
}

// minRead is what a page of output has at least if there is as much.
const minRead = 100

func ids(jobs []jobEntry) string {
	var all []string
	for _, j := range jobs {
		all = append(all, j.Job)
	}
	if all == nil {
		return "none"
	}
	return strings.Join(all, ", ")
}

func entryOf(job *runner.Job) jobEntry {
	e := jobEntry{Job: job.ID, State: "running", Command: lastLine(job.Command), Seconds: int64(time.Since(job.Started).Seconds())}
	res, ended, err := job.Result()
	if !ended {
		return e
	}
	e.State, e.Seconds = "ended", int64(res.Duration.Seconds())
	switch {
	case err != nil:
		e.State, e.Error = "failed", err.Error()
	case res.TimedOut:
		e.State = call.TimedOut
	case res.Canceled:
		e.State = "stopped"
	default:
		e.ExitCode = &res.Code
	}
	return e
}

// words says the state of a job in text.
func (e *jobEntry) words() string {
	switch {
	case e.State == "running":
		return fmt.Sprintf("running for %ds", e.Seconds)
	case e.State == call.TimedOut:
		return fmt.Sprintf("timed out after %ds", e.Seconds)
	case e.ExitCode != nil:
		return fmt.Sprintf("ended with exit code %d", *e.ExitCode)
	case e.Error != "":
		return "failed: " + e.Error
	}
	return e.State
}
