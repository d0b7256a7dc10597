package shell

import (
	"context"
	"fmt"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/domain/schema"
)

type executeInput struct {
	Command    string            `json:"command" min:"1" max:"32768"`
	Timeout    int               `json:"timeout,omitempty" min:"1" max:"86400000"`
	WorkingDir string            `json:"working_dir,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Stdin      *string           `json:"stdin"`
}

func (executeInput) Words() string { return arguments }

// executeResult is the structured result. The last four fields are those of a
// failure, for a command that ran and failed.
type executeResult struct {
	ExitCode   int    `json:"exit_code" doc:"128 plus the number of the signal, if one terminated it."`
	Stdout     string `json:"stdout" doc:"Without its middle if it is long."`
	Stderr     string `json:"stderr"`
	TimedOut   bool   `json:"timed_out"`
	Truncated  bool   `json:"truncated"`
	DurationMS int64  `json:"duration_ms"`
	Sandbox    string `json:"sandbox,omitempty" doc:"What the sandbox refused."`
	Note       string `json:"note,omitempty"`

	IsError   bool   `json:"is_error,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
	Message   string `json:"message,omitempty"`
	Hint      string `json:"next_action_hint,omitempty"`
}

// variable matches the names of variables that shells can use.
var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

func execute(t tool) domain.Tool {
	declared := t.declare("Execute a command", "run commands with their output, errors and exit code kept apart",
		"Run a command line in the shell and return JSON with exit_code, stdout and stderr kept apart. "+t.limits()+
			" Use bash for interleaved output and background jobs.")
	declared.Output = schema.OutputOf[executeResult]()
	return t.describeTimeout(domain.Define(declared, t.execute), t.limit, "")
}

func (t tool) execute(ctx context.Context, in executeInput) (domain.ToolResult, error) {
	for name := range in.Env {
		if !variable().MatchString(name) {
			return domain.ToolResult{}, domain.InvalidArgument(t.name, "env", fmt.Sprintf("has the name %q: use letters, digits and _", name))
		}
	}
	limit, err := t.timeout(in.Timeout, t.limit)
	if err != nil {
		return domain.ToolResult{}, err
	}
	req := t.request(ctx, in.Command, in.WorkingDir, limit.Duration)
	req.Env, req.Run.Split, req.Run.OnOutput = in.Env, true, reporter(ctx)
	if in.Stdin != nil {
		req.Run.Stdin = []byte(*in.Stdin)
	}
	res, err := t.run(ctx, req)
	if err != nil {
		return t.failure(err)
	}
	about, refused := t.aboutSandbox(req, res, res.Stderr)
	mostOut, mostErr := fit(res.Stdout, res.Stderr, max(t.beside(about)-room, t.inline()/2))
	truncated := res.Stdout.Total() > int64(mostOut) || res.Stderr.Total() > int64(mostErr)
	if !truncated {
		defer res.Close()
	}
	who := call.SessionOf(ctx).Principal
	out := executeResult{
		ExitCode: res.Code, Stdout: t.text(who, res.Stdout, mostOut, res.Close), Stderr: t.text(who, res.Stderr, mostErr, res.Close), // both expire together
		TimedOut: res.TimedOut, Truncated: truncated, DurationMS: res.Duration.Milliseconds(),
	}
	out.Sandbox, out.Note = about, leftOver(res)
	errorType, note, hint := t.ending(req, res, limit)
	switch errorType {
	case "":
	case "limit_exceeded":
		out.Message = out.Sandbox
	case "exit_status":
		out.Message = "Command ended with " + note
	default:
		out.Message = "Command " + note
	}
	out.IsError, out.ErrorType, out.Hint = errorType != "", errorType, hint
	result, err := domain.JSON(out)
	if err != nil {
		return domain.ToolResult{}, err
	}
	result.IsError = out.IsError
	return t.withMeta(result, res, truncated, refused), nil
}

// FailureType is the error type for the log of the call.
func (r executeResult) FailureType() string { return r.ErrorType }
