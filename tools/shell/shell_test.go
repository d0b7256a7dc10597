package shell_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/sandbox/command"
	"toolserver/sandbox/confine"
	"toolserver/sandbox/process"
	"toolserver/sandbox/runner"
	"toolserver/tools/declare"
	"toolserver/tools/shell"
	"toolserver/tools/tooltest"
)

// TestMain lets the test binary supervise the commands it runs.
func TestMain(m *testing.M) {
	if process.IsSupervisor() {
		os.Exit(process.Supervise(confine.Confiner()))
	}
	os.Setenv("XDG_CACHE_HOME", "/dev/null/x") // commands keep nothing in the home directory of who tests
	os.Exit(m.Run())
}

type fixture struct {
	dir           string
	results       *domain.ResultStore
	bash, execute domain.Tool
	notice        string // what each result says that this machine cannot enforce
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
	policy := sandbox.Policy{Owners: declare.Owners(shell.Declared()), WorkingDirectory: dir, Tools: lists}
	kernel := sandbox.NewKernel(run)
	t.Cleanup(func() { kernel.Close() })
	box, err := sandbox.New(policy, kernel)
	if err != nil {
		t.Fatal(err)
	}
	o.Results = domain.NewResultStore(domain.PageBytes(o.MaxChars))
	t.Cleanup(o.Results.Close)
	tools := shell.Tools(box, o)
	return fixture{dir, o.Results, tools[0], tools[1], box.Layers().Notice}
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
		{Name: "timeout asked for", Args: `{"command":"echo x; sleep 20","timeout":1}`, Exact: "x\n[timed out after 1s]", ErrorType: "timed_out"},
		{Name: "limit", Args: `{"command":"echo half; sleep 20"}`, Wants: []string{"bash timed out after 2s", "half"}, Code: domain.CodeTimeout},
		{Name: "stdin is empty", Args: `{"command":"cat; echo done"}`, Exact: "done"},
		{Name: "directory", Args: `{"command":"basename $PWD","working_dir":"sub"}`, Exact: "sub"},
		{Name: "no directory", Args: `{"command":"true","working_dir":"nope"}`, Want: "nope", ErrorType: "not_found"},
		{Name: "foreign directory", Args: `{"command":"true","working_dir":"/etc"}`, Want: "outside the allowed paths", ErrorType: "denied"},
		{Name: "no program", Args: `{"command":"no-such-program-x"}`, Wants: []string{"not found", "[exit code 127]"}, ErrorType: "exit_status"},
		{Name: "empty", Args: `{"command":" "}`, Want: "bash: command must not be empty", Code: domain.CodeInvalidParams},
		{Name: "missing", Args: `{}`, Want: "command is required", Code: domain.CodeInvalidParams},
		{Name: "no jobs", Args: `{"command":"","job_action":"list"}`, Exact: "none"},
		{Name: "unknown job", Args: `{"command":"","job_action":"read","job":"x"}`, Want: "jobs: none", ErrorType: "unknown_job"},
	})
}

func TestExecute(t *testing.T) {
	f := newFixture(t, nil, shell.Options{})
	f.exact(t)
	tooltest.Run(t, f.execute, []tooltest.Case{
		{Name: "apart", Args: `{"command":"echo out; echo err >&2"}`, Want: `{"exit_code":0,"stdout":"out\n","stderr":"err\n","timed_out":false,"truncated":false,"duration_ms":`},
		{Name: "exit code", Args: `{"command":"exit 3"}`, Want: `"exit_code":3`, ErrorType: "exit_status"},
		{Name: "timeout", Args: `{"command":"sleep 20","timeout":1}`, Wants: []string{`"timed_out":true`, "Command timed out after 1s"}, ErrorType: "timed_out"},
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

// TestJobs starts a command that goes on, reads it, and stops it.
func TestJobs(t *testing.T) {
	f := newFixture(t, nil, shell.Options{})
	exec := tooltest.Executor(t, f.bash)
	call := func(session string, args map[string]any) string {
		t.Helper()
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		res, err := exec.Call(t.Context(), domain.ExecuteToolCommand{Session: domain.Session{ID: session}, Tool: "bash", Arguments: raw})
		if err != nil {
			t.Fatal(err)
		}
		return tooltest.Text(res)
	}
	started := call("a", map[string]any{"command": "echo first; sleep 100", "background": true})
	_, rest, _ := strings.Cut(started, "[job ")
	id, _, _ := strings.Cut(rest, " ")
	if id == "" || !strings.Contains(call("a", map[string]any{"command": "", "job_action": "list"}), id+": running for ") {
		t.Fatalf("started %q", started)
	}
	if got := call("b", map[string]any{"command": "", "job_action": "list"}); got != "none" {
		t.Errorf("another session sees %q", got)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		got := call("a", map[string]any{"command": "", "job_action": "read", "job": id})
		if strings.HasPrefix(got, "first\n") && strings.Contains(got, "next offset 6]") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("read %q", got)
		}
	}
	if got := call("a", map[string]any{"command": "", "job_action": "stop", "job": id, "offset": 6}); !strings.Contains(got, "[job "+id+" stopped; next offset 6]") {
		t.Errorf("stopped: %q", got)
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
		return exec.Call(ctx, domain.ExecuteToolCommand{
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
