package shell

import (
	"context"
	"fmt"
	"strings"
	"time"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/sandbox/runner"
)

type bashInput struct {
	Command    string `json:"command" max:"32768" doc:"Bash command line; empty with job_action."`
	Timeout    int    `json:"timeout,omitempty" min:"1" max:"86400" doc:"Timeout in seconds; default 30."`
	WorkingDir string `json:"working_dir,omitempty" doc:"Directory to run in; default: the working directory."`
	Background bool   `json:"background" default:"false" doc:"Start the command as a background job and return its id at once."`
	JobAction  string `json:"job_action,omitempty" enum:"list|read|stop" doc:"Action on background jobs, instead of running a command."`
	Job        string `json:"job,omitempty" doc:"ID of the job to read or stop."`
	Offset     int64  `json:"offset,omitempty" min:"0" max:"9007199254740991" doc:"Byte offset in the job's output to read from, as returned by the previous read."`
}

func bash(t tool) domain.Tool {
	return domain.Define(t.declare("Run a bash command", "run shell commands within the sandbox, also in the background",
		"Run a command line with bash and return its output, stdout and stderr interleaved. "+
			"A nonzero exit status is shown as [exit code N]. Standard input is empty. "+
			"When the command ends, all processes that it started are terminated; "+
			"use background for those that must keep running."),
		func(ctx context.Context, in bashInput) (domain.ToolResult, error) {
			switch {
			case in.JobAction != "":
				return t.jobs(ctx, in)
			case strings.TrimSpace(in.Command) == "":
				return domain.ToolResult{}, domain.InvalidArgument(t.name, "command", "must not be empty")
			case in.Background:
				return t.start(ctx, in)
			}
			return t.bash(ctx, in)
		})
}

func (t tool) bash(ctx context.Context, in bashInput) (domain.ToolResult, error) {
	timeout, limited := t.timeout(in.Timeout)
	res, err := t.commands.Run(ctx, sandbox.CommandRequest{
		Command: in.Command, Dir: in.WorkingDir,
		Run: runner.Request{
			Owner: domain.SessionOf(ctx).Principal.ID, Timeout: timeout,
			Limits: runner.Limits{Inline: t.output.inline(1)}, OnOutput: reporter(ctx),
		},
	})
	if err != nil {
		return t.failure(err)
	}
	text := strings.TrimRight(t.output.text(domain.SessionOf(ctx).Principal, res.Output, res.Close), "\n")
	if !res.Output.Truncated() {
		defer res.Close()
	}
	if about := t.aboutSandbox(res, text, in.WorkingDir); about != "" {
		text = line(text, "["+about+"]")
	}
	result, err := t.outcome(res, text, timeout, limited)
	return t.withMeta(result, res), err
}

// outcome returns how a command ended.
func (t tool) outcome(res runner.Result, text string, timeout time.Duration, limited bool) (domain.ToolResult, error) {
	switch {
	case res.TimedOut:
		text = line(text, "[timed out after "+spent(res, timeout)+"]")
		if limited {
			return domain.ToolResult{}, domain.OutOfTime(t.name, timeout, domain.Text(text))
		}
		return domain.Failure("timed_out", text, "Give a longer timeout, or run it in the background."), nil
	case res.Canceled:
		return domain.Failure("canceled", line(text, "[canceled]"), "Run it again if its result is still wanted."), nil
	case res.Exceeded != "":
		return domain.Failure("limit_exceeded", text, "Use less at a time."), nil
	case res.Code != 0:
		return domain.Failure("exit_status", line(text, fmt.Sprintf("[exit code %d]", res.Code)), "Read the output for the reason, then change the command."), nil
	}
	return domain.Text(text), nil
}

// spent describes the time of a command that timed out.
func spent(res runner.Result, timeout time.Duration) string {
	text := fmt.Sprintf("%gs", timeout.Seconds())
	if waited := res.Waited.Round(time.Second); waited > 0 {
		text += fmt.Sprintf(", of which %gs waiting until other commands had ended", waited.Seconds())
	}
	return text
}

// line appends a line to text.
func line(text, last string) string {
	if text == "" {
		return last
	}
	return text + "\n" + last
}
