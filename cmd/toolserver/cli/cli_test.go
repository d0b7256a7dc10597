package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
)

// TestMain lets the test binary be the supervisor of the commands it runs, as
// the product's main does.
func TestMain(m *testing.M) {
	if code, isChild := app.RunChild(); isChild {
		os.Exit(code)
	}
	os.Setenv("XDG_CACHE_HOME", "/dev/null/x") // commands keep nothing in the home directory of who tests
	state, err := os.MkdirTemp("", "state-")   // of the record
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", state)
	code := m.Run()
	os.RemoveAll(state)
	os.Exit(code)
}

// play runs a command line and returns what it prints.
func play(t *testing.T, stdin string, args ...string) (out, stderr string, code int) {
	t.Helper()
	var stdout, errOut bytes.Buffer
	code = Run(t.Context(), args, app.Streams{In: strings.NewReader(stdin), Out: &stdout, Err: &errOut}, app.Program{Version: "test"})
	return stdout.String(), errOut.String(), code
}

// workspace is a fresh working directory with some files.
func workspace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "none"))
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("TOOLSERVER_CONFIG", "")
	for name, text := range map[string]string{
		"hello.txt":   "hello\n",
		"off.yaml":    "tools: {echo: {enabled: false}, bash: {denied_commands: [rm]}}\n",
		"staff.yaml":  "server: {user: ann}\nusers: {ann: {groups: [staff]}}\ntools: {echo: {groups: [Staff]}, bash: {groups: [root]}}\n",
		"result.yaml": "errors: result\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCommandLine(t *testing.T) {
	workspace(t)
	for _, test := range []struct {
		args, stdin string
		out, err    string // parts of what is printed
		code        int
	}{
		{args: "version", out: "toolserver test\n"},
		{args: "call echo --message hi", out: "Echo: hi\n"},
		{args: "call echo", out: "Echo: \n"},
		{args: "utility echo --message=hi", out: "Echo: hi\n"},
		{args: "call echo --message -", stdin: "from stdin", out: "Echo: from stdin\n"},
		{args: "call echo --json --message hi", out: `{"content":[{"type":"text","text":"Echo: hi"}]}`},
		{args: "call echo --help", out: "--message"},
		{args: "call read_file hello.txt", out: "hello\n"},
		{args: "file read-file --path hello.txt", out: "hello\n"},
		{args: "file read_file hello.txt --line_numbers", out: "1\thello"},
		{args: "call write_file new.txt -", stdin: "text", out: "Successfully wrote 4 bytes to new.txt"},
		{args: "call edit_file new.txt [{\"old_text\":\"text\",\"new_text\":\"more\"}]", out: "+more"},
		{args: "call list_directory", out: "hello.txt\t6\n"},
		{args: "call search_files --pattern *.txt", out: `hello.txt`},
		{args: "call grep hell", out: "hello.txt:1:hello"},
		{args: "shell", out: "execute_command"},
		{args: "call execute_command true --env A=b --env C=d", out: `"exit_code":0`},
		{args: "tools", out: "read_large_result"},
		{args: "--config off.yaml tools --all", out: "(disabled in the configuration)"},
		{args: "explain read_file hello.txt", out: "verdict:  allowed"},
		{args: "--config off.yaml explain bash ls", out: "runs:     ls"},
		{args: "config show", out: "max_result_chars: 40000"},
		{args: "config schema", out: "https://json-schema.org/draft/2020-12/schema"},
		{args: "completion bash", out: "complete"},
		{args: "--config staff.yaml call echo", out: "Echo: \n"},

		{args: "call read_file nope.txt", err: "nope.txt", code: 1},
		{args: "call read_file /etc/passwd", err: "outside the allowed paths", code: 1},
		{args: "--config off.yaml explain bash rm", out: "denied: rm", code: 1},
		{args: "explain write_file /etc/passwd x", out: "verdict:  denied", code: 1},
		{args: "call bash false", err: "[exit code 1]", code: 1},

		{args: "nonsense", err: `unknown command "nonsense"`, code: 2},
		{args: "call", out: "Run one tool"},
		{args: "call nope", err: `no tool "nope"`, code: 2},
		{args: "call read_file", err: "read_file: --path is required; usage: toolserver call read_file PATH [flags]", code: 2},
		{args: "call read_file a b", err: `unexpected argument "b"`, code: 2},
		{args: "call read_file a --nope", err: "unknown flag: --nope", code: 2},
		{args: "call read_file a --limit many", err: `read_file: --limit must be an integer, not the string "many"`, code: 2},
		{args: "--config off.yaml call echo", err: "disabled", code: 2},
		{args: "--config staff.yaml call bash ls", err: `no tool "bash"`, code: 2},
		{args: "--config missing.yaml tools", err: "no such file", code: 2},
		{args: "serve --stdio --http :1", err: "cannot be combined", code: 2},
		{args: "serve --http 0.0.0.0:0", err: "neither tokens nor issuers are configured", code: 2},
		{args: "explain echo", out: "only groups and compliance levels restrict this tool"},
		{args: "token new", err: "NAME is required; usage: toolserver token new NAME", code: 2},
		{args: "serve nowhere", err: "does not exist: it starts where", code: 2},
	} {
		t.Run(test.args, func(t *testing.T) {
			out, stderr, code := play(t, test.stdin, strings.Fields(test.args)...)
			if code != test.code || !strings.Contains(out, test.out) || !strings.Contains(stderr, test.err) || test.err == "" && stderr != "" && !strings.HasPrefix(stderr, "#") {
				t.Errorf("code %d, out %q, error %q\nwant code %d, out %q, error %q", code, out, stderr, test.code, test.out, test.err)
			}
		})
	}
}

func TestBadConfig(t *testing.T) {
	dir := workspace(t)
	for _, test := range []struct{ yaml, want string }{
		{"tools:\n  bash:\n    allowed_comands: [ls]\n", `:3:5: unknown key "allowed_comands" in tools.bash; did you mean "allowed_commands"?`},
		{"limits: {timeout: soon}\n", `:1:19: limits.timeout must be a number of seconds or a duration such as 30s, not "soon"`},
		{"server:\n  name: ${NO_SUCH_VARIABLE}\n", `:2:9: server.name: environment variable NO_SUCH_VARIABLE is not set`},
		{"working_directory: /no/such/dir\n", `:1:1: working_directory: stat /no/such/dir: no such file or directory`},
		{"roots: [hello.txt]\n", `:1:9: roots[0]: ` + dir + `/hello.txt is not a directory`},
		{"tools: {raed_file: {}}\n", `:1:9: tools.raed_file: there is no tool "raed_file"; did you mean read_file?`},
		{"tools: {echo: {allowed_paths: [x]}}\n", `:1:16: unknown key "allowed_paths" in tools.echo; known keys: enabled, timeout,`},
		{"errors: rpc\n", `:1:9: errors must be`},
		{"server: {tokens: [{name: a, hash: 123}]}\n", `server.tokens[0].hash`},
		{"server: {tokens: [{name: a, hash: \"123\"}]}\n", `:1:29: server.tokens[0].hash: is not sha256: and 64 hexadecimal digits`},
		{"users: {ann: {compliance_level: secret}}\n", `:1:15: users.ann.compliance_level: there is no compliance level "secret"; known: none`},
		{"tools: {bash: {denied_commands: [\"rm|x\"]}}\n", `:1:34: tools.bash.denied_commands[0]: "rm|x" does not work as an entry: it must be plain words`},
		{"tools: {read_file: {denied_paths: [\"regex:.*\"]}}\n", `:1:36: tools.read_file.denied_paths[0]: "regex:.*" does not work as an entry: write a glob`},
		{"a: [\n", `:2:1: `},
	} {
		file := filepath.Join(dir, "bad.yaml")
		if err := os.WriteFile(file, []byte(test.yaml), 0o644); err != nil {
			t.Fatal(err)
		}
		out, stderr, code := play(t, "", "--config", file, "serve", "--stdio")
		if code == 0 || out != "" || !strings.Contains(stderr, test.want) || strings.Count(strings.TrimSpace(stderr), "\n") > 0 {
			t.Errorf("%q\n got code %d, %q\nwant %q", test.yaml, code, stderr, test.want)
		}
	}
}

// TestSeedConfig holds the configuration of the origin documents to work as it
// stands, with paths relative to the file.
func TestSeedConfig(t *testing.T) {
	dir := workspace(t)
	if err := os.WriteFile("toolserver.yaml", []byte(`
tools:
  execute_command:
    allowed_commands: [ls, cat, grep, find]
    denied_commands: [rm, sudo, chmod]
    timeout: 30
  write_file:
    allowed_paths: [`+dir+`/tmp, ./output]
    denied_paths: [/etc, /usr]
`), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, code := range map[string]int{
		"call execute_command|ls hello.txt": 0, "call bash|cat hello.txt": 0, "call bash|rm hello.txt": 1, "call execute_command|cd . && echo x": 0, "call execute_command|/bin/echo x": 1,
		"call write_file|output/a/b|x": 0, "call write_file|x|x": 1, "call append_file|hello.txt|x": 1, "call write_file|/etc/x|x": 1,
	} {
		command, rest, _ := strings.Cut(args, "|")
		line := append([]string{"--config", "toolserver.yaml"}, strings.Fields(command)...)
		if _, stderr, got := play(t, "", append(line, strings.Split(rest, "|")...)...); got != code {
			t.Errorf("%s: code %d, %s", args, got, stderr)
		}
	}
}

func TestModelForms(t *testing.T) {
	workspace(t)
	for _, form := range []string{"--json", "--openai", "--anthropic", "--gemini"} {
		out, stderr, code := play(t, "", "tools", form)
		if code != 0 || !json.Valid([]byte(out)) {
			t.Errorf("%s: code %d, %s%.100s", form, code, stderr, out)
		}
	}
}

// TestCheck fails for nothing except what the machine cannot enforce.
func TestCheck(t *testing.T) {
	workspace(t)
	out, stderr, code := play(t, "", "check")
	failed := strings.Contains(out, "\nfail ")
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "fail ") && !strings.HasPrefix(line, "fail not enforced") && !strings.HasPrefix(line, "fail side effect") && !strings.HasPrefix(line, "fail process tree") {
			t.Error(line)
		}
	}
	if failed != (code == 1) || stderr != "" || !strings.Contains(out, "ok   directory") || !strings.Contains(out, "ok   enforcement    best_effort") || !strings.Contains(out, "\noff  tool           unavailable: web_search") {
		t.Errorf("code %d, %s%s", code, out, stderr)
	}
}

func TestConfigInit(t *testing.T) {
	workspace(t)
	if out, stderr, code := play(t, "", "config", "init", "new.yaml"); code != 0 {
		t.Fatal(out, stderr)
	}
	if _, stderr, code := play(t, "", "--config", "new.yaml", "tools"); code != 0 {
		t.Error("the template is refused:", stderr)
	}
	if _, stderr, code := play(t, "", "config", "init", "new.yaml"); code == 0 || !strings.Contains(stderr, "already exists") {
		t.Error("the template overwrites:", stderr)
	}
}

func TestNoDirectory(t *testing.T) {
	workspace(t)
	t.Chdir("/")
	if _, stderr, code := play(t, "", "serve", "--stdio"); code == 0 || !strings.Contains(stderr, "give a directory as an argument") {
		t.Errorf("code %d, %s", code, stderr)
	}
	dir := t.TempDir()
	if _, stderr, code := play(t, "", "serve", "--stdio", dir); code != 0 {
		t.Errorf("with a directory: code %d, %s", code, stderr)
	}
}

// TestMemoryLimitFollows holds more than the limit: the collector gets room for half as much again.
func TestMemoryLimitFollows(t *testing.T) {
	limitMemory(0)
	held := make([]byte, 2*memoryLimit) // never written to, so that the system gives no memory for it
	for deadline := time.Now().Add(time.Minute); debug.SetMemoryLimit(-1) < 3*memoryLimit; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal(debug.SetMemoryLimit(-1))
		}
	}
	runtime.KeepAlive(held)
	for deadline := time.Now().Add(time.Minute); debug.SetMemoryLimit(-1) != memoryLimit; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("what was let go still counts: ", debug.SetMemoryLimit(-1))
		}
	}
}
