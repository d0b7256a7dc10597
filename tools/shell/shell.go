// Package shell provides the tools that run commands: one implementation under
// two names, since callers expect either.
package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/sandbox/pathguard"
	"toolserver/sandbox/process"
	"toolserver/sandbox/runner"
	"toolserver/tools/declare"
	"toolserver/tools/files"
)

// Options are what configuration says of the command tools.
type Options struct {
	BashTimeout    time.Duration // the longest a bash command may run; zero means DefaultLimit
	ExecuteTimeout time.Duration // the same of execute_command
	MaxChars       int           // of a result; output beyond it is kept in Results
	Results        *domain.ResultStore
}

const (
	// DefaultTimeout is how long a command may run if its caller does not say.
	DefaultTimeout = 30 * time.Second
	// DefaultLimit is how much longer a caller may ask for.
	DefaultLimit = 10 * time.Minute
	// overtime is what the executor's clock leaves for ending a command whose
	// time is up, and for reading the last of its output.
	overtime = 5 * time.Second
)

const category = "shell"

// all returns the command tools. Their commands read and write what the file tools
// do, and the lists of one hold for the other.
func all() []declare.Entry[Options] {
	owner := func(tool string) sandbox.Owner {
		return sandbox.Owner{Tool: tool, Runs: "bash", Reads: files.ReadFile, Writes: files.WriteFile}
	}
	return []declare.Entry[Options]{
		{Owner: owner("bash"), Make: func(o Options, c sandbox.Capabilities) domain.Tool { return bash(newTool(c, o.BashTimeout, o)) }},
		{Owner: owner("execute_command"), Make: func(o Options, c sandbox.Capabilities) domain.Tool { return execute(newTool(c, o.ExecuteTimeout, o)) }},
	}
}

// Declared returns what the command tools declare.
func Declared() declare.Group {
	return declare.Group{Category: category, Heading: "Commands", Tools: declare.Tools(all())}
}

// Tools returns the command tools, which run what s lets them.
func Tools(s *sandbox.Sandbox, o Options) []domain.Tool { return declare.Make(s, o, all()) }

// tool is what bash and execute_command have in common.
type tool struct {
	name     string
	commands *sandbox.Commands
	limit    time.Duration
	output   outputLimits
}

func newTool(c sandbox.Capabilities, limit time.Duration, o Options) tool {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return tool{c.Tool(), c.Commands(), limit, outputLimits{o.MaxChars, o.Results}}
}

// declare fills in what both tools say of themselves.
func (t tool) declare(title, ability, description string) domain.Tool {
	return domain.Tool{
		Name: t.name, Title: title, Description: description, Category: category,
		Annotations: domain.Annotations{Destructive: true, OpenWorld: true},
		Timeout:     t.limit + overtime, KeepsTime: true,
		Uses: domain.Reads | domain.Writes | domain.Runs, Ability: ability, Explain: t.explain,
	}
}

// timeout returns how long a command may run, and whether that is the tool's
// limit rather than what its caller asked for.
func (t tool) timeout(seconds int) (d time.Duration, limited bool) {
	asked := time.Duration(seconds) * time.Second
	if asked == 0 {
		asked = DefaultTimeout
	}
	return min(asked, t.limit), asked > t.limit
}

// failure says why a command was not run.
func (t tool) failure(err error) (domain.ToolResult, error) {
	if errors.Is(err, process.ErrBusy) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return domain.Failure("busy", t.name+": "+err.Error(), "Run it again later, or stop background jobs that are no longer needed."), nil
	}
	if denied, ok := errors.AsType[*sandbox.DeniedError](err); ok {
		hint := denied.Verdict.Hint
		if hint == "" {
			hint = "Use a command that policy allows, or a file tool."
		}
		return domain.Failure("denied", t.name+": "+err.Error(), hint), nil
	}
	if guard, ok := errors.AsType[*pathguard.Error](err); ok {
		errorType := "denied"
		if guard.Kind != pathguard.KindDenied {
			errorType = string(guard.Kind)
		}
		return domain.Failure(errorType, fmt.Sprintf("%s: %v", t.name, err), "Give a working_dir that exists within the allowed paths, or leave it out."), nil
	}
	if start, ok := errors.AsType[*process.StartError](err); ok {
		if errors.Is(err, process.ErrNoConfinement) {
			return domain.Failure("sandbox_failed", t.name+": "+start.Error(), "Nothing was run. The person who runs the server finds out more with: toolserver check"), nil
		}
		return domain.Failure("not_found", t.name+": "+start.Error(), "Check the name of the program, or whether it is installed."), nil
	}
	if bad, ok := errors.AsType[*process.InvalidSpecError](err); ok {
		return domain.ToolResult{}, domain.Errorf(domain.CodeInvalidParams, "%s: %w", t.name, bad)
	}
	if errors.Is(err, runner.ErrTooManyJobs) {
		return domain.Failure("busy", t.name+": "+err.Error(), "Stop a job, or wait until one has ended."), nil
	}
	return domain.ToolResult{}, err
}

// aboutSandbox says which limit or rule a command ran into, as far as that shows,
// and what is not enforced.
func (t tool) aboutSandbox(res runner.Result, output, dir string) string {
	var parts []string
	if res.Exceeded != "" {
		parts = append(parts, t.commands.Exceeded(res.Exceeded))
	} else if refusal := t.commands.Refusal(output, dir); refusal != "" {
		parts = append(parts, refusal)
	}
	if notice := t.commands.Summary().Notice; notice != "" {
		parts = append(parts, notice)
	}
	return strings.Join(parts, "; ")
}

// commandMeta is what results say to programs.
type commandMeta struct {
	ExitCode   int              `json:"exit_code"`
	DurationMS int64            `json:"duration_ms"`
	Truncated  bool             `json:"truncated,omitempty"`
	Sandbox    *sandbox.Summary `json:"sandbox"`
}

// withMeta adds to a result what is the same for both tools.
func (t tool) withMeta(result domain.ToolResult, res runner.Result) domain.ToolResult {
	truncated := res.Output.Truncated() || res.Stdout.Truncated() || res.Stderr.Truncated()
	result.Meta = commandMeta{res.Code, res.Duration.Milliseconds(), truncated, t.commands.Summary()}
	return result
}

// reporter tells the caller what a command is writing, while it does.
func reporter(ctx context.Context) func(string) {
	if !domain.WantsProgress(ctx) {
		return nil
	}
	written := 0
	return func(text string) {
		written += len(text)
		domain.ReportProgress(ctx, domain.Progress{Done: float64(written), Message: lastLine(text)})
	}
}

// lastLine returns the last line with something on it, as far as it is short.
func lastLine(text string) string {
	text = strings.TrimRight(text, "\r\n\t ")
	text = text[strings.LastIndexByte(text, '\n')+1:]
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200])
	}
	return text
}
