package shell

import (
	"context"
	"fmt"
	"strings"
	"time"

	"toolserver/domain"
	"toolserver/sandbox/netproxy"
	"toolserver/sandbox/runner"
	"toolserver/tools/lift"
)

// start starts a background job. It may run for as long as jobs may, unless the
// caller says less.
func (t tool) start(ctx context.Context, in bashInput) (domain.ToolResult, error) {
	req := t.request(ctx, in.Command, in.WorkingDir, time.Duration(in.Timeout)*time.Second, 1)
	commands, err := lift.Commands(ctx, t.held, req)
	if err != nil {
		return t.failure(err)
	}
	job, err := commands.Start(ctx, domain.SessionOf(ctx).Key(), req)
	if err != nil {
		return t.failure(err)
	}
	return domain.Text(fmt.Sprintf("[job %s started; read its output with %s(command=\"\", job_action=\"read\", job=%q), end it with job_action=\"stop\"]", job.ID, t.name, job.ID)), nil
}

// jobs lists, reads or stops background jobs.
func (t tool) jobs(ctx context.Context, in bashInput) (domain.ToolResult, error) {
	if in.JobAction == "list" {
		return domain.Text(t.list(ctx)), nil
	}
	job, err := t.commands.Job(domain.SessionOf(ctx).Key(), in.Job)
	if err != nil {
		return domain.Failure("unknown_job", t.name+": "+err.Error()+"; jobs: "+t.list(ctx), "Use job_action=\"list\" for the jobs there are."), nil
	}
	if in.JobAction == "stop" {
		job.Stop()
	}
	page, err := job.Output().Page(in.Offset, t.inline())
	if err != nil {
		return domain.ToolResult{}, err
	}
	note := fmt.Sprintf("[job %s %s; next offset %d]", job.ID, state(job), page.Next)
	if page.Start > in.Offset {
		note = fmt.Sprintf("[%d bytes before offset %d are gone]\n", page.Start-in.Offset, page.Start) + note
	}
	if refused := netproxy.Describe(job.Refused()); refused != "" {
		note = "[" + refused + "]\n" + note
	}
	return domain.Text(line(strings.TrimSuffix(page.Text, "\n"), note)), nil
}

func (t tool) list(ctx context.Context) string {
	jobs := t.commands.Jobs(domain.SessionOf(ctx).Key())
	if len(jobs) == 0 {
		return "none"
	}
	var b strings.Builder
	for _, job := range jobs {
		fmt.Fprintf(&b, "%s: %s: %s\n", job.ID, state(job), lastLine(job.Command))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func state(job *runner.Job) string {
	res, ended, err := job.Result()
	switch {
	case !ended:
		return fmt.Sprintf("running for %ds", int(time.Since(job.Started).Seconds()))
	case err != nil:
		return "broke: " + err.Error()
	case res.TimedOut:
		return "timed out"
	case res.Canceled:
		return "stopped"
	}
	return fmt.Sprintf("ended with exit code %d", res.Code)
}
