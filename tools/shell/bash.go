package shell

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox/runner"
)

type bashInput struct {
	Command    string `json:"command" max:"32768"`
	Timeout    int    `json:"timeout,omitempty" min:"1" max:"86400000"`
	WorkingDir string `json:"working_dir,omitempty"`
	Background bool   `json:"background" default:"false"`
}

func (bashInput) Words() string { return arguments }

// interpreter says what reads the command lines.
func interpreter() string {
	if runtime.GOOS == "windows" {
		return "cmd.exe (Windows has no bash; one line, commands joined with & or &&)"
	}
	return "bash"
}

func bash(t tool) domain.Tool {
	declared := domain.Define(t.declare("Run a bash command", "run shell commands within the sandbox, also in the background",
		"Run a command line with "+interpreter()+" and return its output, stdout and stderr interleaved, and a nonzero status as [exit code N]. "+
			t.limits()+" Standard input is empty. Processes that outlive the command are terminated, unless it is a background job."),
		func(ctx context.Context, in bashInput) (domain.ToolResult, error) {
			switch {
			case strings.TrimSpace(in.Command) == "":
				return domain.ToolResult{}, domain.InvalidArgument(t.name, "command", "must not be empty")
			case in.Background:
				return t.start(ctx, in)
			}
			return t.bash(ctx, in)
		})
	return t.describeTimeout(declared, max(t.limit, runner.DefaultMaxAge), fmt.Sprintf(
		", at most %g; background: default and at most %g", t.limit.Seconds(), runner.DefaultMaxAge.Seconds()))
}

func (t tool) bash(ctx context.Context, in bashInput) (domain.ToolResult, error) {
	limit, err := t.timeout(in.Timeout, t.limit)
	if err != nil {
		return domain.ToolResult{}, err
	}
	req := t.request(ctx, in.Command, in.WorkingDir, limit.Duration)
	req.Run.OnOutput = reporter(ctx)
	res, err := t.run(ctx, req)
	if err != nil {
		return t.failure(err)
	}
	errorType, note, hint := t.ending(req, res, limit)
	sandboxed, refused := t.aboutSandbox(req, res, res.Output)
	about := []string{sandboxed, leftOver(res), note}
	most := t.beside(about[0])
	text := strings.TrimRight(t.text(call.SessionOf(ctx).Principal, res.Output, most, res.Close), "\n")
	truncated := res.Output.Truncated() || res.Output.Total() > int64(most)
	if !truncated {
		defer res.Close()
	}
	if res.TimedOut {
		about = append(about, hint)
	}
	for _, about := range about {
		if about != "" {
			text = line(text, "["+about+"]")
		}
	}
	if errorType == "" {
		return t.withMeta(domain.Text(text), res, truncated, refused), nil
	}
	return t.withMeta(domain.Failure(errorType, text, hint), res, truncated, refused), nil
}

// line appends a line to text.
func line(text, last string) string {
	if text == "" {
		return last
	}
	return text + "\n" + last
}
