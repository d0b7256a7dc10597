package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/runner"
	"github.com/toolserver/toolserver/store"
)

// Where replicas share a store, a session's jobs run on any of them: each notes in the store which it has, before it says so to a client, and is asked for the
// rest. What is noted of a replica that is gone is all that is known: whether its jobs had an effect is not, and none runs again.

const (
	jobsSet     = "jobs" // of a session, in the store
	jobsMessage = "jobs"
	askTime     = 2 * time.Second // for an answer, besides what it is asked to wait
)

// shareJobs notes in the store which jobs of a session this replica has, and again while one runs that has just begun, as the store may lose it.
func shareJobs(ctx context.Context, session string, jobs *sandbox.Jobs, begun *runner.Job) error {
	st := call.StoreOf(ctx)
	if !st.Shared() {
		return nil
	}
	note := func() error {
		entries := []jobEntry{}
		for _, j := range jobs.Of(session) {
			entries = append(entries, entryOf(j))
		}
		b, _ := json.Marshal(entries) // nothing of it can fail
		return st.PutField(ctx, session, jobsSet, b, runner.DefaultMaxAge)
	}
	go func() {
		for running := true; running; _ = note() { // whoever looks asks, unless this replica is gone by then
			select {
			case <-begun.Done():
				running = false
			case <-time.After(5 * time.Second):
			}
		}
	}()
	return note()
}

// otherJob is a job of another replica.
type otherJob struct {
	jobEntry
	replica string
	gone    bool // with its replica
}

// otherJobs returns the jobs of a session that other replicas have, or had.
func otherJobs(ctx context.Context, session string) (all []otherJob, err error) {
	st := call.StoreOf(ctx)
	noted, err := st.Fields(ctx, session, jobsSet)
	if err != nil {
		return nil, err
	}
	for _, replica := range slices.Sorted(maps.Keys(noted)) {
		var entries []jobEntry
		if replica == st.Name() || json.Unmarshal(noted[replica], &entries) != nil {
			continue
		}
		lives, err := st.Alive(ctx, replica)
		if err != nil {
			return nil, err
		}
		if lives {
			if now := askJobs(ctx, replica, jobsQuestion{Session: session}); now != nil {
				entries = now.Jobs
			}
		}
		for _, e := range entries {
			if !lives && e.State == "running" {
				e.State, e.Error = "failed", "its replica of the server is gone; whether it had an effect is unknown, and it is not run again"
			}
			all = append(all, otherJob{e, replica, !lives})
		}
	}
	return all, nil
}

// jobsQuestion is what one replica asks another about jobs of a session.
type jobsQuestion struct {
	Session string    `json:"session"`
	Input   jobsInput `json:"input"` // without a job, all are listed
	Room    int       `json:"room"`
}

// jobsAnswer is the answer.
type jobsAnswer struct {
	jobsResult
	Text    string           `json:"text,omitempty"`
	Refused []domain.Refusal `json:"refused,omitempty"`
	Failed  string           `json:"failed,omitempty"`
}

// askJobs asks a replica; nil if it does not answer.
func askJobs(ctx context.Context, replica string, q jobsQuestion) *jobsAnswer {
	body, _ := json.Marshal(q) // as above
	ctx, cancel := context.WithTimeout(ctx, askTime+time.Duration(q.Input.Wait)*time.Second)
	defer cancel()
	answers := call.StoreOf(ctx).Ask(ctx, replica, jobsMessage, body)
	var a jobsAnswer
	if len(answers) == 0 || json.Unmarshal(answers[0], &a) != nil {
		return nil
	}
	return &a
}

// ServeJobs answers what other replicas ask about the jobs of a runner.
func ServeJobs(st *store.Store, jobs func(session string) []*runner.Job) {
	st.On(jobsMessage, func(ctx context.Context, body []byte) []byte {
		var q jobsQuestion
		if json.Unmarshal(body, &q) != nil {
			return nil
		}
		a := jobsAnswer{jobsResult: jobsResult{Jobs: []jobEntry{}}}
		for _, j := range jobs(q.Session) {
			if q.Input.Job == "" {
				a.Jobs = append(a.Jobs, entryOf(j))
			} else if j.ID == q.Input.Job {
				a = about(ctx, j, q.Input, q.Room)
			}
		}
		b, err := json.Marshal(a)
		if err != nil {
			return nil
		}
		return b
	})
}

// about reads or stops a job for another replica.
func about(ctx context.Context, j *runner.Job, in jobsInput, room int) (a jobsAnswer) {
	result, err := use(ctx, j, in, room)
	if err != nil {
		return jobsAnswer{Failed: err.Error()}
	}
	a.jobsResult, _ = result.Results.(jobsResult)
	a.Text, a.Refused = result.Content[0].Text, result.Refused
	return a
}

// elsewhere reads or stops a job of another replica.
func (j otherJob) elsewhere(ctx context.Context, session string, in jobsInput, room int) (domain.ToolResult, error) {
	if j.gone {
		text := fmt.Sprintf("[job %s %s]", j.Job, j.words())
		return domain.Answer(text, jobsResult{Jobs: []jobEntry{j.jobEntry}}), nil
	}
	in.Job = j.Job
	a := askJobs(ctx, j.replica, jobsQuestion{session, in, room})
	switch {
	case a == nil || len(a.Jobs) == 0 && a.Failed == "":
		text := fmt.Sprintf("%s: the replica of this server that runs job %s does not answer", jobsTool, j.Job)
		return domain.Failure("busy", text, "Call it again a little later."), nil
	case a.Failed != "":
		return domain.ToolResult{}, domain.Errorf(domain.CodeExecutionFailed, "%s: %s", jobsTool, a.Failed)
	}
	result := domain.Answer(a.Text, a.jobsResult)
	result.Refused = a.Refused
	return result, nil
}

// unknown says that there is no such job.
func unknown(ctx context.Context, job string, entries []jobEntry) domain.ToolResult {
	p := call.SessionOf(ctx).Principal
	where := call.StoreOf(ctx).Whereabouts(p.ID, strings.TrimPrefix(job, jobID), runner.DefaultMaxAge)
	return domain.Failure("unknown_job", fmt.Sprintf("%s: no such background job %q; %s", jobsTool, job, cmp.Or(where, "jobs: "+ids(entries))),
		"Give the id of one of the jobs that there are.")
}
