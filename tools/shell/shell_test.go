package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
	"github.com/toolserver/toolserver/test/fakes/covered"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/shell"
)

// TestMain lets the test binary supervise the commands it runs.
func TestMain(m *testing.M) {
	if process.IsSupervisor() {
		covered.Keep()
		os.Exit(process.Supervise(confine.Confiner()))
	}
	os.Setenv("XDG_CACHE_HOME", "/dev/null/x") // commands keep nothing in the home directory of who tests
	covered.Start()
	os.Exit(m.Run())
}

type fixture struct {
	dir                 string
	results             *call.ResultStore
	bash, execute, jobs domain.Tool
	notice              string // what each result says that this machine cannot enforce
}

// exact skips a test of whole answers where these name what is not enforced; that
// they do is tested end to end.
func (f fixture) exact(t *testing.T) {
	t.Helper()
	if f.notice != "" {
		t.Skip(f.notice)
	}
}

func newFixture(t *testing.T, lists map[string]sandbox.ToolPolicy, o shell.Options) fixture {
	t.Helper()
	return newFixtureOn(t, runner.Options{}, lists, o)
}

// newFixtureOn is newFixture with a runner of other settings.
func newFixtureOn(t *testing.T, settings runner.Options, lists map[string]sandbox.ToolPolicy, o shell.Options) fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	launcher := process.NewLauncher(process.Options{Supervisor: self})
	t.Cleanup(launcher.Close)
	run := runner.New(launcher, settings)
	t.Cleanup(run.Close)
	policy := sandbox.Policy{Owners: declare.Owners(shell.Family(nil).Declared()), WorkingDirectory: dir, Tools: lists}
	kernel := sandbox.NewKernel(run)
	t.Cleanup(func() { kernel.Close() })
	box, err := sandbox.New(policy, kernel)
	if err != nil {
		t.Fatal(err)
	}
	results := call.NewResultStore(domain.PageBytes(o.MaxChars))
	t.Cleanup(results.Close)
	tools := tooltest.Tools(t, shell.Family(results), declare.From[shell.Options]{Sandbox: box, Config: o})
	return fixture{dir, results, tools[0], tools[1], tools[2], box.Layers().Notice}
}

func TestBash(t *testing.T) {
	f := newFixture(t, nil, shell.Options{BashTimeout: 2 * time.Second})
	f.exact(t)
	if err := os.Mkdir(filepath.Join(f.dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	tooltest.Run(t, f.bash, []tooltest.Case{
		{Name: "output", Args: `{"command":"echo out; echo err >&2; echo end"}`, Exact: "out\nerr\nend"},
		{Name: "plain", Args: `{"command":"true"}`, Check: func(t *testing.T, r domain.ToolResult) {
			if tooltest.Text(r) != "" {
				t.Errorf("got %q", tooltest.Text(r))
			}
		}},
		{Name: "exit code", Args: `{"command":"echo x; exit 3"}`, Exact: "x\n[exit code 3]", ErrorType: "exit_status"},
		{Name: "signal", Args: `{"command":"kill -TERM $$"}`, Exact: "[exit code 143]", ErrorType: "exit_status"},
		{Name: "its own timeout", Args: `{"command":"echo x; sleep 20","timeout":1}`, ErrorType: "timed_out",
			Exact: "x\n[timed out after 1s]\n[The timeout of the call ended it: give a timeout of up to 2 seconds, or run it with bash and background: true.]"},
		{Name: "the operator's limit", Args: `{"command":"echo half; sleep 20"}`, ErrorType: "timed_out",
			Exact: "half\n[timed out after 2s]\n[The operator's limit (tools.bash.timeout) ended it: run it with bash and background: true, or ask the operator to raise the limit.]"},
		{Name: "above the limit", Args: `{"command":"echo half; sleep 20","timeout":7}`, ErrorType: "timed_out",
			Wants: []string{"[timed out after 2s]", "tools.bash.timeout) ended it, not the 7 seconds of the call: "}},
		{Name: "above the limit, in time", Args: `{"command":"echo x","timeout":7}`, Exact: "x"},
		{Name: "milliseconds", Args: `{"command":"true","timeout":1000}`, Code: domain.CodeInvalidParams,
			Want: "bash: timeout is in seconds and at most 2 (tools.bash.timeout), so 1000 is too long; if that was in milliseconds, give 1"},
		{Name: "long milliseconds", Args: `{"command":"true","timeout":86400000}`, Code: domain.CodeInvalidParams, Want: "if that was in milliseconds, give 2"},
		{Name: "left over", Args: `{"command":"sleep 100 & sleep 100 & echo started"}`,
			Exact: "started\n[2 processes that the command left running were terminated; to keep them, run it with bash and background: true]"},
		{Name: "one left over", Args: `{"command":"sleep 100 & exit 3"}`, ErrorType: "exit_status",
			Exact: "[1 process that the command left running was terminated; to keep it, run it with bash and background: true]\n[exit code 3]"},
		{Name: "nothing left over", Args: `{"command":"sleep 0.05 & (true &) ; echo end"}`, Exact: "end"},
		{Name: "stdin is empty", Args: `{"command":"cat; echo done"}`, Exact: "done"},
		{Name: "directory", Args: `{"command":"basename $PWD","working_dir":"sub"}`, Exact: "sub"},
		{Name: "no directory", Args: `{"command":"true","working_dir":"nope"}`, Want: "nope", ErrorType: "not_found"},
		{Name: "foreign directory", Args: `{"command":"true","working_dir":"/etc"}`, Want: "outside the allowed paths", ErrorType: "denied"},
		{Name: "no program", Args: `{"command":"no-such-program-x"}`, Wants: []string{"not found", "[exit code 127]"}, ErrorType: "exit_status"},
		{Name: "empty", Args: `{"command":" "}`, Want: "bash: command must not be empty", Code: domain.CodeInvalidParams},
		{Name: "missing", Args: `{}`, Want: "command is required", Code: domain.CodeInvalidParams},
	})
}

func TestExecute(t *testing.T) {
	f := newFixture(t, nil, shell.Options{})
	f.exact(t)
	tooltest.Run(t, f.execute, []tooltest.Case{
		{Name: "apart", Args: `{"command":"echo out; echo err >&2"}`, Want: `{"exit_code":0,"stdout":"out\n","stderr":"err\n","timed_out":false,"truncated":false,"duration_ms":`},
		{Name: "exit code", Args: `{"command":"exit 3"}`, Want: `"exit_code":3`, ErrorType: "exit_status"},
		{Name: "timeout", Args: `{"command":"sleep 20","timeout":1}`, Wants: []string{`"timed_out":true`, "Command timed out after 1s", "give a timeout of up to 600 seconds"}, ErrorType: "timed_out"},
		{Name: "milliseconds", Args: `{"command":"true","timeout":30000}`, Code: domain.CodeInvalidParams, Want: "in seconds and at most 600 (tools.execute_command.timeout), so 30000 is too long; if that was in milliseconds, give 30"},
		{Name: "left over", Args: `{"command":"sleep 100 &"}`, Want: `"note":"1 process that the command left running was terminated; `},
		{Name: "stdin", Args: `{"command":"cat","stdin":"given"}`, Want: `"stdout":"given"`},
		{Name: "environment", Args: `{"command":"echo $A $HOME_IS_NOT_SET","env":{"A":"b c"}}`, Want: `"stdout":"b c\n"`},
		{Name: "bad variable", Args: `{"command":"true","env":{"":"x"}}`, Want: "env", Code: domain.CodeInvalidParams},
		{Name: "empty", Args: `{"command":""}`, Want: "command must not be empty", Code: domain.CodeInvalidParams},
	})
}

func TestPolicy(t *testing.T) {
	f := newFixture(t, map[string]sandbox.ToolPolicy{
		"execute_command": {AllowedCommands: command.Rules("ls", "cat", "echo"), DeniedCommands: command.Rules("rm")},
		"bash":            {DeniedCommands: command.Rules("cat")},
	}, shell.Options{})
	for _, tool := range []domain.Tool{f.bash, f.execute} {
		tooltest.Run(t, tool, []tooltest.Case{
			{Name: "allowed", Args: `{"command":"echo hi | ls"}`},
			{Name: "not bash", Args: `{"command":"if ["}`, Want: "the command is not valid bash", ErrorType: "invalid_command"},
			{Name: "denied", Args: `{"command":"rm x"}`, Wants: []string{"denied by policy", "rule: denied: rm", "allowed commands: ls, cat, echo"}, ErrorType: "denied"},
			{Name: "not listed", Args: `{"command":"echo x; date"}`, Wants: []string{"date", "allowed commands"}, ErrorType: "denied"},
			{Name: "denied to the twin", Args: `{"command":"cat x"}`, Want: "denied: cat", ErrorType: "denied"},
			{Name: "hidden", Args: `{"command":"sh -c 'rm x'"}`, ErrorType: "denied"},
			{Name: "computed", Args: `{"command":"X=rm; $X y"}`, ErrorType: "denied"},
			{Name: "writes elsewhere", Args: `{"command":"echo x > /var/tmp/toolserver-must-not-be"}`, Want: "/var/tmp/toolserver-must-not-be", ErrorType: "denied"},
		})
	}
}

// TestLongOutput pages through what did not fit.
func TestLongOutput(t *testing.T) {
	f := newFixture(t, nil, shell.Options{MaxChars: 4000})
	res := tooltest.Call(t, f.bash, `{"command":"seq 1 20000"}`)
	text := tooltest.Text(res)
	_, after, _ := strings.Cut(text, `read_large_result(id="`)
	id, _, _ := strings.Cut(after, `"`)
	if len(text) > 4000 || !strings.HasPrefix(text, "1\n2\n") || !strings.Contains(text, "\n20000\n[Output truncated; to read all of it, in ") {
		t.Fatalf("%d bytes: %s", len(text), text)
	}
	var all strings.Builder
	for page, pages := 1, 1; page <= pages; page++ {
		part, n, err := f.results.Page(domain.Principal{}, id, page)
		if err != nil {
			t.Fatal(err)
		}
		pages = n
		all.WriteString(part)
	}
	if got := strings.Count(all.String(), "\n"); got != 20000 || !strings.HasSuffix(all.String(), "20000\n") {
		t.Errorf("%d lines", got)
	}
}

// TestJobs starts a command that goes on, reads it, waits for it, and stops it.
func TestJobs(t *testing.T) {
	f := newFixture(t, nil, shell.Options{MaxChars: 4000})
	exec := tooltest.Executor(t, f.bash, f.jobs)
	try := func(session domain.Session, tool, args string) (domain.ToolResult, error) {
		t.Helper()
		return exec.Call(t.Context(), call.ExecuteToolCommand{Session: session, Tool: tool, Arguments: json.RawMessage(args)})
	}
	call := func(session, tool, args string) domain.ToolResult {
		t.Helper()
		res, err := try(domain.Session{ID: session}, tool, args)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	start := func(command string) (id string) {
		t.Helper()
		started := tooltest.Text(call("a", "bash", fmt.Sprintf(`{"command":%q,"background":true}`, command)))
		_, rest, _ := strings.Cut(started, `bash_jobs(action="read", job="`)
		id, _, _ = strings.Cut(rest, `"`)
		if !strings.HasPrefix(started, "[job "+id+" started") {
			t.Fatalf("started %q", started)
		}
		return id
	}
	if got := tooltest.Text(call("a", "bash_jobs", `{}`)); got != "none" {
		t.Errorf("no jobs: %q", got)
	}
	id := start("echo first; sleep 100")
	list := call("a", "bash_jobs", `{}`)
	tooltest.Verify(t, f.jobs, list)
	if got := tooltest.Text(list); !strings.HasPrefix(got, id+": running for ") || !strings.HasSuffix(got, "s: echo first; sleep 100") {
		t.Fatalf("list %q", got)
	}
	if got := tooltest.Text(call("b", "bash_jobs", `{"action":"list"}`)); got != "none" {
		t.Errorf("another session sees %q", got)
	}
	if got := call("b", "bash_jobs", fmt.Sprintf(`{"action":"stop","job":%q}`, id)); got.ErrorType() != "unknown_job" {
		t.Errorf("another session stops it: %q", tooltest.Text(got))
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		got := call("a", "bash_jobs", fmt.Sprintf(`{"action":"read","job":%q}`, id))
		tooltest.Verify(t, f.jobs, got)
		if text := tooltest.Text(got); strings.HasPrefix(text, "first\n") && strings.Contains(text, "next offset 6]") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("read %q", tooltest.Text(got))
		}
	}
	if got := tooltest.Text(call("a", "bash_jobs", `{"action":"stop","offset":6}`)); !strings.Contains(got, "[job "+id+" stopped; next offset 6]") {
		t.Errorf("the only job, stopped: %q", got)
	}

	long := start(`head -c 30000 /dev/zero | tr '\0' '"'; exit 4`)
	var all string
	for offset := int64(0); ; {
		got := call("a", "bash_jobs", fmt.Sprintf(`{"action":"read","job":%q,"offset":%d,"wait":50}`, long, offset))
		tooltest.Verify(t, f.jobs, got)
		b, err := json.Marshal(got.Structured())
		var page struct {
			Jobs []struct {
				State    string `json:"state"`
				ExitCode int    `json:"exit_code"`
			} `json:"jobs"`
			Output     string `json:"output"`
			NextOffset int64  `json:"next_offset"`
		}
		if err = errors.Join(err, json.Unmarshal(b, &page)); err != nil || len(b) > 40_000 || len(page.Jobs) != 1 || page.Jobs[0].State != "ended" || page.Jobs[0].ExitCode != 4 {
			t.Fatalf("page at %d: %d bytes, %v: %.300s", offset, len(b), err, b)
		}
		if !strings.HasPrefix(tooltest.Text(got), page.Output) {
			t.Errorf("text and structured content differ at %d", offset)
		}
		if all += page.Output; page.Output == "" {
			break
		}
		offset = page.NextOffset
	}
	if all != strings.Repeat(`"`, 30_000) {
		t.Errorf("%d bytes of output", len(all))
	}
	if got := tooltest.Text(call("a", "bash_jobs", `{"offset":1}`)); !strings.HasPrefix(got, long+": ") || strings.Contains(got, id) {
		t.Errorf("list from the second job on: %q", got)
	}
	if got := call("a", "bash_jobs", `{"offset":9}`).Told()[0].Text; got != "[no jobs at offset 9: there are 2]" {
		t.Errorf("list from beyond the end: %q", got)
	}
	for args, want := range map[string]string{
		`{"action":"read"}`:             "bash_jobs: job is required to read; jobs: " + id + ", " + long,
		`{"action":"read","job":"x"}`:   `bash_jobs: no such background job "x"; jobs: ` + id + ", " + long,
		`{"action":"remove"}`:           "must be one of list, read, stop",
		`{"action":"list","wait":3000}`: "wait must be at most 50",
	} {
		res, err := try(domain.Session{ID: "a"}, "bash_jobs", args)
		if got := tooltest.Text(res); !strings.Contains(got+fmt.Sprint(err), want) {
			t.Errorf("%s: %q, %v; want %q", args, got, err, want)
		}
	}
	if _, err := try(domain.Session{ID: "cli", Once: true}, "bash", `{"command":"true","background":true}`); domain.CodeOf(err) != domain.CodeInvalidParams || !strings.Contains(err.Error(), "ends with the call") {
		t.Errorf("where the server ends with the call: %v", err)
	}
}

// TestPrincipals has one principal take all the places it can get, from many
// sessions, and another run a command meanwhile.
func TestPrincipals(t *testing.T) {
	f := newFixtureOn(t, runner.Options{MaxConcurrent: 8, Timeout: 10 * time.Millisecond}, nil, shell.Options{})
	exec := tooltest.Executor(t, f.bash, f.execute)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	call := func(who, session, tool, args string) (domain.ToolResult, error) {
		return exec.Call(ctx, call.ExecuteToolCommand{
			Session: domain.Session{ID: session, Principal: domain.Principal{ID: who, Name: who}}, Tool: tool, Arguments: json.RawMessage(args),
		})
	}
	for i := range 7 {
		res, err := call("bob", strconv.Itoa(i), "bash", `{"command":"sleep 1000","background":true}`)
		if err != nil || res.IsError != (i == 6) {
			t.Fatalf("job %d: %s %v", i, tooltest.Text(res), err)
		}
		if res.IsError && !strings.Contains(tooltest.Text(res), "all places for commands are taken by other commands") {
			t.Errorf("got %q", tooltest.Text(res))
		}
	}
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			_, _ = call("bob", strconv.Itoa(100+i), "execute_command", `{"command":"sleep 1000","timeout":600}`)
		})
	}
	for _, tool := range []string{"bash", "execute_command"} {
		if res, err := call("alice", "", tool, `{"command":"echo hi"}`); err != nil || res.IsError || !strings.Contains(tooltest.Text(res), "hi") {
			t.Errorf("%s: %s %v", tool, tooltest.Text(res), err)
		}
	}
	cancel()
	calls.Wait()
}
