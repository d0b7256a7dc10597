// Package shell provides the tools that run commands: one implementation under
// two names, since callers expect either.
package shell

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/lift"
)

// arguments say what the arguments of tools mean; package structschema reads them.
//
//go:embed arguments.txt
var arguments string

// Options configure the command tools.
type Options struct {
	BashTimeout    time.Duration // the longest a bash command may run; zero means DefaultLimit
	ExecuteTimeout time.Duration // the same of execute_command
	MaxChars       int           // of a result
	NoShell        bool          // nothing on this machine runs a command line, so there are no tools
}

const (
	// DefaultTimeout is how long a command may run if its caller does not say.
	DefaultTimeout = 30 * time.Second
	// DefaultLimit is how much longer a caller may ask for.
	DefaultLimit = 10 * time.Minute
	// overtime is what the executor's clock leaves for terminating a command that
	// timed out, and for reading the last of its output.
	overtime = 5 * time.Second
)

// Family returns the command tools. Their commands read and write what the file tools
// do, and the lists of one hold for the other. Output that is longer than a result is kept in results.
func Family(results *call.ResultStore) declare.Family[Options, Options] {
	owner := func(tool string) sandbox.Owner {
		return sandbox.Owner{Tool: tool, Runs: "bash", Reads: files.ReadFile, Writes: files.WriteFile}
	}
	entry := func(owner sandbox.Owner, make func(Options, sandbox.Capabilities) domain.Tool) declare.Entry[Options] {
		return declare.Entry[Options]{Owner: owner, Make: make, Lacks: func(o Options) string {
			if o.NoShell {
				return "needs a shell, bash or sh, and this machine has none, as in the minimal container image"
			}
			return ""
		}}
	}
	return declare.Family[Options, Options]{
		Name: "shell", Category: declare.Category{Name: "shell", Heading: "Commands"}, ByPolicy: true, Share: declare.Config[Options],
		Tools: []declare.Entry[Options]{
			entry(owner("bash"), func(o Options, c sandbox.Capabilities) domain.Tool {
				return bash(newTool(c, o.BashTimeout, o, results))
			}),
			entry(owner("execute_command"), func(o Options, c sandbox.Capabilities) domain.Tool {
				return execute(newTool(c, o.ExecuteTimeout, o, results))
			}),
			entry(sandbox.Owner{Tool: jobsTool, Watches: true}, func(_ Options, c sandbox.Capabilities) domain.Tool { return newJobs(c) }),
		},
	}
}

// tool is what bash and execute_command have in common.
type tool struct {
	Options
	name     string
	held     sandbox.Capabilities
	commands *sandbox.Commands
	limit    time.Duration
	results  *call.ResultStore // keeps output that is longer than a result
}

func newTool(c sandbox.Capabilities, limit time.Duration, o Options, results *call.ResultStore) tool {
	if o.MaxChars <= 0 {
		o.MaxChars = domain.DefaultMaxResultChars
	}
	if limit <= 0 {
		limit = DefaultLimit
	}
	return tool{o, c.Tool(), c, c.Commands(), limit, results}
}

// declare fills in what both tools have in common.
func (t tool) declare(title, ability, description string) domain.Tool {
	return domain.Tool{
		Name: t.name, Title: title, Description: description, Target: []string{"command", "working_dir"},
		Annotations: domain.Annotations{Destructive: true, OpenWorld: true},
		Timeout:     t.limit + overtime, KeepsTime: true,
		Runs: true, Ability: ability, Explain: t.explain,
	}
}

// limits tells models what a command cannot do, which they would try otherwise.
func (t tool) limits() string {
	return fmt.Sprintf("%s; %g seconds at most; output is cut at %s characters.",
		t.commands.Reach(), t.limit.Seconds(), brief.Thousands(t.MaxChars))
}

// request returns what runs a command.
func (t tool) request(ctx context.Context, command, dir string, timeout time.Duration) sandbox.CommandRequest {
	return sandbox.CommandRequest{Command: command, Dir: dir, Run: runner.Request{
		Owner: call.SessionOf(ctx).Principal.ID, Timeout: timeout, Limits: runner.Limits{Inline: t.inline()},
	}}
}

// run runs a command to its end, with what a person has allowed or allows meanwhile.
func (t *tool) run(ctx context.Context, req sandbox.CommandRequest) (res runner.Result, err error) {
	if t.commands, err = lift.Commands(ctx, t.held, req); err != nil {
		return res, err
	}
	if t.held.Asks("network") && call.CanConsult(ctx) {
		hosts := lift.NewHosts(ctx, t.held)
		defer hosts.End()
		req.Asker = hosts
	}
	return t.commands.Run(ctx, req)
}

// room is what an answer needs besides output: status lines and markers.
const room = 800

// inline is how many bytes of output an answer holds.
func (t tool) inline() int { return max(t.MaxChars-room, t.MaxChars/2) }

// beside is how many bytes of output an answer holds with a note of the sandbox, of which
// room has the first few.
func (t tool) beside(note string) int {
	return min(t.inline(), max(t.MaxChars-room/2-len(note), t.MaxChars/2))
}

// text returns a stream as the caller gets it: whole, or at most so many bytes of its
// beginning and end with a marker between and, at the end, the call that reads all of it.
// The whole goes to the store, which closes it with release.
func (t tool) text(p domain.Principal, out *runner.Output, most int, release func() error) string {
	head, cut, tail := out.Parts(most)
	if cut.Bytes == 0 {
		return head
	}
	kept := t.results.KeepFile(p, stored{out, release}, out.Size())
	what := "all of it"
	if out.Size() < out.Total() {
		what = fmt.Sprintf("the first %d of %d bytes", out.Size(), out.Total())
	}
	return fmt.Sprintf("%s\n[... %d bytes, %d lines left out ...]\n%s\n[Output truncated; to read %s, in %d pages: %s]",
		strings.TrimSuffix(head, "\n"), cut.Bytes, cut.Lines, strings.TrimSuffix(tail, "\n"), what, kept.Pages, kept.Call(1))
}

// fit returns how many bytes of two streams fit an answer of JSON, which has room for
// them together: what one does not need the other may have.
func fit(a, b *runner.Output, room int) (mostA, mostB int) {
	for most := room; ; most = most * 9 / 10 {
		mostA = max(most/2, most-int(min(b.Total(), int64(most/2))))
		mostB = max(most/2, most-int(min(a.Total(), int64(most/2))))
		headA, _, tailA := a.Parts(mostA)
		headB, _, tailB := b.Parts(mostB)
		quoted, err := json.Marshal([]string{headA, tailA, headB, tailB})
		if err != nil || len(quoted) <= room || most < 2 {
			return mostA, mostB
		}
	}
}

// stored is output in the store.
type stored struct {
	*runner.Output
	release func() error
}

// Close frees the file the output is in.
func (s stored) Close() error { return s.release() }

// failure returns the outcome of a command that was not run.
func (t tool) failure(err error) (domain.ToolResult, error) {
	failure := func(errorType, hint string) (domain.ToolResult, error) {
		return domain.Failure(errorType, t.name+": "+err.Error(), hint), nil
	}
	_, notStarted := errors.AsType[*process.StartError](err)
	denied, isDenied := errors.AsType[*sandbox.DeniedError](err)
	refusal, isRefused := errors.AsType[*pathguard.Error](err)
	invalid, isInvalid := errors.AsType[*process.InvalidSpecError](err)
	switch {
	case errors.Is(err, process.ErrBusy) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		return failure("busy", "Run it again later, or stop background jobs that are no longer needed.")
	case errors.Is(err, runner.ErrTooManyJobs):
		return failure("busy", "Stop a job, or wait until one has ended.")
	case isDenied && denied.Verdict.Rule == "syntax":
		return failure("invalid_command", "Check the quoting.")
	case isDenied:
		result, _ := failure("denied", deniedHint(denied.Verdict))
		return lift.Result(result, err)
	case isRefused:
		return failure(string(refusal.Kind), "Give a working_dir that exists within the allowed paths, or leave it out.")
	case notStarted && errors.Is(err, process.ErrNoConfinement):
		return failure("sandbox_failed", "Nothing was run. The person who runs the server finds out more with: toolserver check")
	case notStarted:
		return failure("not_found", "Check the name of the program, or whether it is installed.")
	case isInvalid:
		return domain.ToolResult{}, domain.Errorf(domain.CodeInvalidParams, "%s: %w", t.name, invalid)
	}
	return domain.ToolResult{}, err
}

// deniedHint says what to do instead of what policy denies. The message has the lists.
func deniedHint(v command.Verdict) string {
	switch {
	case strings.HasPrefix(v.Rule, "protected: "):
		return "Work without this file; only the operator can allow it."
	case v.Rule == "path":
		return cmp.Or(v.Hint, "use an allowed path, or $TMPDIR")
	case v.Rule == "not-allowed" || strings.HasPrefix(v.Rule, "denied: "):
		return "Use a command that is allowed, or ask the operator to allow this one."
	}
	return cmp.Or(v.Hint, "Use a command that policy allows, or a file tool.")
}

// ending says how a command that was run failed; the error type is empty if it succeeded.
func (t tool) ending(req sandbox.CommandRequest, res runner.Result, limit timeLimit) (errorType, note, hint string) {
	switch {
	case res.TimedOut && t.waiting(req) != "":
		return call.TimedOut, timedOut(res, limit), "More time does not help: " + t.waiting(req)
	case res.TimedOut && disconnected(res):
		return call.TimedOut, timedOut(res, limit), "More time does not help a command that waits for connections that are refused. " + limit.ended()
	case res.TimedOut:
		return call.TimedOut, timedOut(res, limit), limit.ended()
	case res.Canceled:
		return "canceled", "canceled", "Run it again if its result is still wanted."
	case res.Exceeded != "":
		return "limit_exceeded", "", "Use less at once."
	case res.Code != 0:
		return "exit_status", fmt.Sprintf("exit code %d", res.Code), "Read the output for the reason, then change the command."
	}
	return "", "", ""
}

// leftOver says that processes were terminated which a command had left running.
func leftOver(res runner.Result) string {
	if res.LeftOver == 0 || res.TimedOut || res.Canceled || res.Exceeded != "" {
		return ""
	}
	if res.LeftOver == 1 {
		return "1 process that the command left running was terminated; to keep it, " + inBackground
	}
	return fmt.Sprintf("%d processes that the command left running were terminated; to keep them, %s", res.LeftOver, inBackground)
}

// aboutSandbox names the limit or rules that a command ran into, and what is not enforced.
func (t tool) aboutSandbox(req sandbox.CommandRequest, res runner.Result, output *runner.Output) (text string, refused []domain.Refusal) {
	var parts []string
	told, refused := t.refusals(req, res, output)
	if res.Exceeded != "" {
		told = t.commands.Refusals().Exceeded(res.Exceeded)
		refused = append(refused, domain.Refusal{Reason: told})
	}
	if told != "" {
		parts = append(parts, told)
	}
	if missing := t.commands.Summary(); missing != nil {
		parts = append(parts, missing.Missing)
	}
	if res.Notice != "" {
		parts = append(parts, res.Notice)
	}
	if res.Unkillable {
		parts = append(parts, "a process of the command did not end within seconds of being killed, and may still be running")
	}
	return strings.Join(parts, "; "), refused
}

// commandMeta is the _meta of results, for programs.
type commandMeta struct {
	ExitCode   int              `json:"exit_code"`
	DurationMS int64            `json:"duration_ms"`
	Truncated  bool             `json:"truncated,omitempty"`
	Sandbox    *sandbox.Summary `json:"sandbox,omitempty"`
}

// withMeta adds to a result what is the same for both tools.
func (t tool) withMeta(result domain.ToolResult, res runner.Result, truncated bool, refused []domain.Refusal) domain.ToolResult {
	result.Refused = refused
	result.Meta = commandMeta{res.Code, res.Duration.Milliseconds(), truncated, t.commands.Summary()}
	return result
}

// reporter reports the output of a command as progress, if the caller wants it.
func reporter(ctx context.Context) func(string) {
	if !call.WantsProgress(ctx) {
		return nil
	}
	written := 0
	return func(text string) {
		written += len(text)
		call.ReportProgress(ctx, call.Progress{Done: float64(written), Message: lastLine(text)})
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

// explain returns the decision of the policy on a command, without running it.
func (t tool) explain(ctx context.Context, args domain.Arguments) (domain.Explanation, error) {
	text := func(name string) string { s, _ := args[name].(string); return s }
	req := sandbox.CommandRequest{Command: text("command"), Dir: text("working_dir")}
	v, _, err := t.commands.Decide(req)
	if err != nil {
		return domain.Explanation{}, err
	}
	listed, err := t.commands.Listed()
	if err != nil {
		return domain.Explanation{}, err
	}
	layers := t.commands.Layers()
	e := domain.Explanation{Layers: &layers, Allowed: v.Allowed, Rule: v.Rule, Reason: v.Reason, Reads: v.Reads, Writes: v.Writes}
	e.Stopped = t.commands.Refusals().Foreseen(v)
	for _, argv := range v.Argv {
		e.Argv = append(e.Argv, strings.Join(argv, " "))
	}
	switch {
	case v.Allowed && e.Reason == "" && !listed:
		e.Reason = "there is no list of commands, so only the files that the command spells out are checked beforehand"
		if t.commands.Confined() {
			e.Reason += "; the kernel holds it to what may be read, written and reached while it runs"
		}
	case v.Allowed && e.Reason == "":
		e.Reason = "nothing in the command is refused by a rule"
	case v.Hint != "":
		e.Reason += "; " + v.Hint
	}
	e.Reason += lift.Hint(ctx, t.held, req)
	return e, nil
}
