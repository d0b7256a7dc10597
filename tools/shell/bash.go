package shell

import (
	"context"
	"strings"

	"toolserver/domain"
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
	req := t.request(ctx, in.Command, in.WorkingDir, timeout, 1)
	req.Run.OnOutput = reporter(ctx)
	res, err := t.run(ctx, req)
	if err != nil {
		return t.failure(err)
	}
	text := strings.TrimRight(t.text(domain.SessionOf(ctx).Principal, res.Output, res.Close), "\n")
	if !res.Output.Truncated() {
		defer res.Close()
	}
	if about := t.aboutSandbox(res, text, in.WorkingDir); about != "" {
		text = line(text, "["+about+"]")
	}
	errorType, note, hint := ending(res, timeout)
	if note != "" {
		text = line(text, "["+note+"]")
	}
	switch {
	case errorType == "":
		return t.withMeta(domain.Text(text), res), nil
	case res.TimedOut && limited:
		return domain.ToolResult{}, domain.OutOfTime(t.name, timeout, domain.Text(text))
	}
	return t.withMeta(domain.Failure(errorType, text, hint), res), nil
}

// line appends a line to text.
func line(text, last string) string {
	if text == "" {
		return last
	}
	return text + "\n" + last
}
