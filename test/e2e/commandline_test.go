package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolserver/toolserver/test/fakes/covered"
)

// typist types command lines in a directory of their own.
type typist struct {
	t     *testing.T
	dir   string
	state string
}

func newTypist(t *testing.T) *typist {
	t.Helper()
	y := &typist{t, t.TempDir(), t.TempDir()}
	y.file("f.txt", "hello\n")
	y.file("src/a.go", "TODO\n")
	y.file(".env", "KEY=1\n")
	return y
}

func (y *typist) file(name, text string) {
	y.t.Helper()
	path := filepath.Join(y.dir, name)
	must(y.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(y.t, os.WriteFile(path, []byte(text), 0o644))
}

func (y *typist) command(program string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(y.t.Context(), patience)
	y.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = y.dir
	cmd.Env = append(covered.Env(), "PATH="+filepath.Dir(binary())+":"+os.Getenv("PATH"), "HOME="+y.state, "XDG_STATE_HOME="+y.state, "XDG_CACHE_HOME="+y.state)
	return cmd
}

// typed is what came of a command line.
type typed struct {
	out, err string
	code     int
}

// types runs a command line with a text on standard input.
func (y *typist) types(stdin string, args ...string) (got typed) {
	y.t.Helper()
	cmd := y.command(binary(), args...)
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got.code = exit.ExitCode()
	} else {
		must(y.t, err)
	}
	got.out, got.err = out.String(), stderr.String()
	return got
}

// line is a command line, whose arguments are separated by spaces or, if it has any, by bars, and
// what must come of it: parts of what is printed, or nothing at all.
type line struct {
	args     string
	code     int
	out, err string
}

func (y *typist) holds(lines ...line) {
	y.t.Helper()
	for _, want := range lines {
		args := strings.Fields(want.args)
		if strings.Contains(want.args, "|") {
			args = strings.Split(want.args, "|")
		}
		got := y.types("", args...)
		if got.code != want.code || !strings.Contains(got.out, want.out) || !strings.Contains(got.err, want.err) ||
			want.out == "" && got.out != "" || want.err == "" && got.err != "" {
			y.t.Errorf("%s\n got exit code %d, %q, %q\nwant exit code %d, %q, %q", want.args, got.code, got.out, got.err, want.code, want.out, want.err)
		}
	}
}

// TestFlagsAnywhere gives the flags of the program before and after what they are for.
func TestFlagsAnywhere(t *testing.T) {
	t.Parallel()
	y := newTypist(t)
	y.file("off.yaml", "tools: {echo: {enabled: false}}\n")
	y.file("up.yaml", gateway(entry("u", "", upstreamBinary(t), "--offer", "flags")))
	y.file("broken.yaml", "tools: [\n")
	y.holds(
		line{"call list_directory -C src", 0, "a.go", ""},
		line{"-C src call list_directory", 0, "a.go", ""},
		line{"call -C src list_directory", 0, "a.go", ""},
		line{"file list_directory --dir=src", 0, "a.go", ""},
		line{"call list_directory --details -C src", 0, "a.go", ""},
		line{"call -C src read_file ../f.txt -C .", 0, "hello", ""}, // a further root
		line{"call echo hi --config off.yaml", 2, "", "disabled"},
		line{"call echo hi -coff.yaml", 2, "", "disabled"},
		line{"call echo hi -c nope.yaml", 2, "", "no such file"},
		line{"-c broken.yaml call echo hi --config up.yaml", 0, "Echo: hi", ""},
		line{"explain echo hi -c off.yaml", 1, "verdict:  denied", ""},
		line{"call echo --json hi", 0, `{"content":`, ""},
		line{"--json call echo hi", 0, `{"content":`, ""},
		line{"explain --json bash ls", 0, `"allowed": true`, ""},
		line{"explain bash ls --json", 0, `"allowed": true`, ""},
		line{"check --json -C src", 0, `"findings"`, ""},
		// What is the value of an argument, or behind --, is no flag of the program.
		line{"call echo --message --config", 0, "Echo: --config", ""},
		line{"call echo -- --json", 0, "Echo: --json", ""},
		line{"call echo --message=-C", 0, "Echo: -C", ""},
		line{"call list_directory -recursive", 2, "", "did you mean --recursive?"},
		// A tool's own arguments win after its name.
		line{"-c up.yaml call u__flags --config x --dir y --json z --help h --exit-code e", 0, `{"config":"x","dir":"y","exit_code":"e","help":"h","json":"z"}`, ""},
		line{"u echo --message x -c up.yaml", 2, "", `no tool "u__echo"`},
		line{"-c up.yaml u -h", 0, "usage: toolserver u TOOL", ""},
		line{"u -c up.yaml", 0, "usage: toolserver u TOOL", ""},
		line{"-c up.yaml u flags --config f.txt", 0, `{"config":"f.txt"}`, ""},
		line{"-c up.yaml --json u flags --json z", 0, `{"content":[{"type":"text","text":"{\"json\":\"z\"}"}]`, ""},
		line{"-c up.yaml u flags -h", 0, "--config after flags is an argument of the tool; that of toolserver goes before flags.", ""},
		line{"call echo --help", 0, "-c, --config FILE", ""},
	)
	if help := y.types("", "-c", "up.yaml", "call", "u__flags", "-h").out; strings.Contains(help, "`") || !strings.Contains(help, "A 'value' of its own.") {
		t.Error(help)
	}
}

// TestPositional gives arguments without flags.
func TestPositional(t *testing.T) {
	t.Parallel()
	y := newTypist(t)
	y.holds(
		line{"call echo hi", 0, "Echo: hi\n", ""},
		line{"call echo", 0, "Echo: \n", ""},
		line{"call list_directory src", 0, "a.go", ""},
		line{"call search_files *.go", 0, `["src/a.go"]`, ""},
		line{"call grep TODO src", 0, "src/a.go:1:TODO", ""},
		line{"call grep src --pattern TODO", 0, "src/a.go:1:TODO", ""},
		line{"file read-file f.txt", 0, "hello\n", ""},
		line{"call read-file f.txt --offset -1 --line-numbers=false", 0, "hello\n", ""},
		line{"call list_directory --recursive=false", 0, "src/", ""},
		line{"call echo hi there", 2, "", `unexpected argument "there"; put quotes around an argument with spaces; usage: toolserver call echo [MESSAGE] [flags]`},
		line{"call read_file f.txt 10", 2, "", "usage: toolserver call read_file PATH [flags]"},
		line{"file read_file", 2, "", "read_file: --path is required; usage: toolserver file read_file PATH [flags]"},
		line{"call grep x --mode filse", 2, "", "--mode must be one of content, files, count, not the string \"filse\"; did you mean files?"},
	)
	if got := y.types("f.txt\n", "call", "read_file", "-"); got.code != 1 || !strings.Contains(got.err, "note: --path, read from standard input, ends with a newline") {
		t.Errorf("%+v", got)
	}
	if got := y.types("f.txt", "call", "read_file", "-"); got.out != "hello\n" {
		t.Errorf("%+v", got)
	}
	if got := y.types("one\n", "call", "write_file", "new.txt", "-"); got.code != 0 || got.err != "" || read(t, filepath.Join(y.dir, "new.txt")) != "one\n" {
		t.Errorf("%+v", got)
	}
}

// TestWrongUse names what was probably meant, on standard error, and exits with 2.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	y := newTypist(t)
	y.file("up.yaml", gateway(entry("files", "", upstreamBinary(t))))
	y.holds(
		line{"serv", 2, "", "did you mean toolserver serve?"},
		line{"grep TODO", 2, "", "did you mean toolserver call grep?"},
		line{"-c up.yaml filse echo", 2, "", "did you mean toolserver file?"},
		line{"-c up.yaml upstream tools fiels", 2, "", `there is no server "fiels"`},
		line{"config shwo", 2, "", `unknown command "shwo" of toolserver config; did you mean toolserver config show?`},
		line{"upstream lst", 2, "", "did you mean toolserver upstream list?"},
		line{"auth gogle", 2, "", "did you mean toolserver auth google?"},
		line{"token nwe x", 2, "", "did you mean toolserver token new?"},
		line{"token new", 2, "", "NAME is required; usage: toolserver token new NAME"},
		line{"--stdio", 2, "", "unknown flag: --stdio; did you mean toolserver serve --stdio?"},
		line{"serve --stido", 2, "", "did you mean --stdio?"},
		line{"serve --json", 2, "", "prints nothing that --json applies to"},
		line{"call raed_file x", 2, "", "did you mean toolserver call read_file?"},
		line{"file greb x", 2, "", "did you mean toolserver file grep?"},
		line{"call read_file f.txt --ofset 2", 2, "", "unknown flag: --ofset; did you mean --offset?"},
		line{"call read_file f.txt --offset", 2, "", "flag needs an argument: --offset"},
		line{"call read_file f.txt --zzz", 2, "", "toolserver call read_file --help lists the flags"},
		line{"call echo hi --exit-code", 2, "", "unknown flag: --exit-code"},
		line{"tools nope", 2, "", `unexpected argument "nope"`},
		line{"tools --json --openai", 2, "", "--json and --openai cannot be combined"},
		line{"tools --openai --anthropic", 2, "", "cannot be combined"},
		line{"approve --once --no aaaaaaaaaa", 2, "", "cannot be combined"},
		line{"approve --never", 2, "", "ID is required"},
		line{"help nope", 2, "", `unknown command "nope"`},
		line{"help serv", 2, "", "did you mean toolserver serve?"},
		line{"help config shwo", 2, "", "did you mean toolserver config show?"},
		line{"help version x", 2, "", `unexpected argument "x"`},
		line{"version x", 2, "", `unexpected argument "x"`},
		line{"completion tcsh", 2, "", `unknown shell "tcsh"`},
		line{"-c nope.yaml tools", 2, "", "no such file"},
		line{"config show -c nope.yaml", 2, "", "no such file"},
		line{"help echo", 0, "toolserver call echo [MESSAGE] [flags]", ""},
		line{"help call bash", 0, "--exit-code", ""},
		line{"help file grep", 0, "toolserver file grep PATTERN [PATH] [flags]", ""},
		line{"help explain bash", 0, "toolserver explain bash COMMAND [flags]", ""},
		line{"help config show", 0, "toolserver config show", ""},
		line{"help", 0, "Exit codes:", ""},
		line{"-h", 0, "Exit codes:", ""},
		line{"file -h", 0, "grep", ""},
		line{"tools", 0, "Find lines that match a regular expression", ""},
	)
}

// TestUnconfigured starts the program without arguments as a client does that was not given any, and
// as a person does.
func TestUnconfigured(t *testing.T) {
	t.Parallel()
	y := newTypist(t)
	if got := y.types(`{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n"); got.code != 2 || got.out != "" || !strings.Contains(got.err, "toolserver serve --stdio DIRECTORY") {
		t.Errorf("%+v", got)
	}
	cmd := y.command(binary())
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "Usage:") { // of the null device
		t.Errorf("%v %s", err, out)
	}
}

// TestOutputStreams separates what a tool returns from what is said about it.
func TestOutputStreams(t *testing.T) {
	t.Parallel()
	y := newTypist(t)
	y.holds(
		line{"call|bash|echo out; exit 3", 1, "out\n", "[exit code 3]\n"},
		line{"call|bash|exit 3", 1, "", "[exit code 3]\n"},
		line{"call|bash|echo out; sleep 60|--timeout|1", 1, "out\n", "[timed out after 1s]\n"},
		line{"call|execute_command|echo hi; exit 7", 1, `"exit_code":7,"stdout":"hi\n"`, "toolserver: execute_command: "},
		line{"call|read_file|nope", 1, "", "nope does not exist"},
		line{"call|bash|cat .env", 1, "", "denied"},
		line{"call|bash|echo out; exit 3|--json", 1, `"isError":true`, ""},
		line{"call|read_file|nope|--json", 1, `"error_type":"not_found"`, ""},
		line{"call|read_file|--json", 2, `"error_type":"invalid_arguments"`, ""},
	)
	if got := y.types("", "call", "bash", "echo out; exit 3", "--json"); !json.Valid([]byte(got.out)) {
		t.Error(got.out)
	}
	// A reader that has enough ends the program without a word.
	cmd := y.command("bash", "-c", "set -o pipefail; toolserver tools --json | head -1; echo ${PIPESTATUS[0]}")
	if out, err := cmd.CombinedOutput(); err != nil && strings.Contains(string(out), "toolserver:") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestExitCodes exits as a command did, if it is asked to, and after signals as programs do.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	y := newTypist(t)
	for _, test := range []struct {
		args string
		code int
	}{
		{"bash|exit 7", 1}, {"bash|exit 7|--exit-code", 7}, {"bash|true|--exit-code", 0}, {"execute_command|exit 9|--exit-code", 9},
		{"bash|kill -9 $$|--exit-code", 137}, {"bash|sleep 60|--timeout|1|--exit-code", 124}, {"execute_command|sleep 60|--timeout|1|--exit-code", 124},
		{"bash|cat .env|--exit-code", 1}, {"bash|exit 7|--exit-code|--json", 7}, {"bash|--exit-code", 2},
	} {
		if got := y.types("", append([]string{"call"}, strings.Split(test.args, "|")...)...); got.code != test.code {
			t.Errorf("%s: %+v; want %d", test.args, got, test.code)
		}
	}
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		began := filepath.Join(y.dir, "began")
		_ = os.Remove(began)
		cmd := y.command(binary(), "call", "bash", "touch began; sleep 600")
		must(t, cmd.Start())
		eventually(t, "the command runs", func() bool {
			_, err := os.Stat(began)
			return err == nil
		})
		must(t, cmd.Process.Signal(signal))
		if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); !ok || exit.ExitCode() != code {
			t.Errorf("after %v: %v; want %d", signal, exit, code)
		}
		// One that reads standard input is not held up by it.
		cmd = y.command(binary(), "call", "read_file", "-")
		in, err := cmd.StdinPipe()
		must(t, err)
		must(t, cmd.Start())
		must(t, cmd.Process.Signal(signal)) // before or while it reads
		if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); !ok || exit.ExitCode() != code && exit.Sys().(syscall.WaitStatus).Signal() != signal {
			t.Errorf("after %v: %v; want %d", signal, exit, code)
		}
		in.Close()
	}
}

// TestVersion says what the build is.
func TestVersion(t *testing.T) {
	t.Parallel()
	y := newTypist(t)
	var v struct{ Version, Commit, Date, Go, Platform string }
	if err := json.Unmarshal([]byte(y.types("", "version", "--json").out), &v); err != nil || v.Version == "" || !strings.HasPrefix(v.Go, "go1.") || strings.Count(v.Platform, "/") != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	recorded, err := exec.Command("go", "version", "-m", binary()).Output()
	must(t, err)
	for key, value := range map[string]string{"vcs.revision=": v.Commit, "vcs.time=": v.Date} {
		if _, after, ok := strings.Cut(string(recorded), key); ok && !strings.HasPrefix(after, value+"\n") {
			t.Errorf("%s is not %q", key, value)
		}
	}
	text := y.types("", "version").out
	for _, want := range []string{"toolserver " + v.Version + "\n", v.Go, v.Platform, v.Commit, v.Date} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if got := y.types("", "--version"); got.code != 0 || !strings.Contains(got.out, v.Version) {
		t.Errorf("%+v", got)
	}
	// As a release is built.
	program := filepath.Join(t.TempDir(), "toolserver")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-X main.version=v1.2.3 -X main.commit=abc -X main.date=2026-01-02T03:04:05Z", "-o", program, "../../cmd/toolserver")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(program, "version").Output()
	must(t, err)
	if !strings.HasPrefix(string(out), "toolserver v1.2.3\ncommit    abc") || !strings.Contains(string(out), "date      2026-01-02T03:04:05Z\n") {
		t.Error(string(out))
	}
}

// TestServeExits starts servers that end on a signal or at the end of their input, and some that cannot start.
func TestServeExits(t *testing.T) {
	t.Parallel()
	y := newTypist(t)
	y.file("broken.yaml", "tools: [\n")
	y.holds(
		line{"serve --stdio .", 0, "", "enforcement"},
		line{"serve --stdio nowhere", 2, "", "does not exist"},
		line{"serve -c broken.yaml", 2, "", "broken.yaml:2:1"},
		line{"serve --http 0.0.0.0:0", 2, "", "neither tokens nor issuers are configured"},
	)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := spawn(t, nil, nil, binary(), "serve", "--stdio", y.dir)
		eventually(t, "the server serves", func() bool { return strings.Contains(p.log(), "enforcement") })
		must(t, p.cmd.Process.Signal(signal))
		p.succeeded()
	}
}
