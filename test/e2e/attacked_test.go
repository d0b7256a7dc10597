//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// undecided returns the binary, built with -tags undecided, that does not check
// commands before it runs them.
func undecided(t *testing.T) string {
	t.Helper()
	return named(t, "UNDECIDED")
}

// The secrets are in a file that no policy lets anybody read, and in the
// environment of the server.
const fileSecret, serverSecret = "x-7f3a-of-file", "x-91bd-of-server"

// An attacked is a working directory with what commands must leave alone. It is
// beneath /tmp, where policies allow to write, so that nothing but the program
// being denied keeps files there; the home directory is not.
type attacked struct {
	work, home string
	files      []string          // that are there
	outside    map[string]string // what must not change
	open       bool              // nothing is protected
}

// newAttacked makes one as a row's setup says, with the file x that commands are
// to remove.
func newAttacked(t *testing.T, setup []string) *attacked {
	t.Helper()
	away := freshDir(t, "/var/tmp")
	w := &attacked{work: freshDir(t, "/tmp"), home: filepath.Join(away, "home")}
	if err := errors.Join(os.Mkdir(w.home, 0o755), os.Symlink("/bin", filepath.Join(away, "bin"))); err != nil {
		t.Fatal(err) // ~/../bin has programs, as that of root
	}
	for _, line := range append([]string{"file ${WS}/x x"}, setup...) {
		plantCommand(t, line, w.work)
	}
	env := filepath.Join(w.work, ".env")
	if _, err := os.Stat(env); err == nil {
		if err := os.WriteFile(env, []byte("S=1\n"+fileSecret+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.files = w.there(t)
	w.outside = map[string]string{}
	for _, path := range []string{"/etc/x", "/etc/cron.d/x", "/tmp-evil", "/root/.ssh", "/root/.ssh/.git", w.home + "/.bashrc"} {
		w.outside[path] = identity(path)
	}
	return w
}

func freshDir(t *testing.T, parent string) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "c")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// identity tells a file from another at the same place, and from itself changed.
func identity(path string) string {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("file %d, %d bytes, changed at %d.%09d", st.Ino, st.Size, st.Ctim.Sec, st.Ctim.Nsec)
}

// plantCommand makes what a line of the setup of a command says.
func plantCommand(t *testing.T, line, work string) {
	t.Helper()
	verb, rest, _ := strings.Cut(strings.ReplaceAll(line, "${WS}", work), " ")
	path, text, _ := strings.Cut(rest, " ")
	var err error
	switch verb {
	case "file":
		err = os.WriteFile(path, []byte(strings.Trim(text, "'")), 0o644)
	case "script":
		err = os.WriteFile(path, []byte("#!/bin/sh\n"+strings.Trim(text, "'")), 0o755)
	case "symlink":
		err = os.Symlink(text, path)
	case "gitrepo":
		cmd := exec.Command("git", "init", "-q", path)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
		err = cmd.Run()
	default:
		err = errors.New("unknown verb")
	}
	if err != nil {
		t.Fatalf("setup %q: %v", line, err)
	}
}

func (w *attacked) there(t *testing.T) (files []string) {
	walkAll(t, w.work, func(path string, info os.FileInfo) {
		if !strings.Contains(path, "/.git/") {
			files = append(files, path)
		}
	})
	return files
}

// serve starts a server with a policy for the working directory.
func (w *attacked) serve(t *testing.T, program string, tools json.RawMessage, enforcement string) *toolClient {
	t.Helper()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "SERVER_SECRET=" + serverSecret}
	return startAs(t, program, env, "--config", w.config(t, tools, enforcement))
}

// config writes a configuration where no command may.
func (w *attacked) config(t *testing.T, tools json.RawMessage, enforcement string) (file string) {
	t.Helper()
	config := map[string]any{"working_directory": w.work, "sandbox": map[string]any{"enforcement": enforcement, "protect_default": !w.open}}
	if tools != nil && string(tools) != "null" { // what is relative in it, is so to the file
		config["tools"] = json.RawMessage(strings.ReplaceAll(string(tools), `"./`, `"`+w.work+"/"))
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(filepath.Dir(w.home), "toolserver.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// startAs starts a program with another environment.
func startAs(t *testing.T, program string, env []string, args ...string) *toolClient {
	t.Helper()
	return connect(t, append(append(append([]string{"env", "-i"}, env...), program, "serve", "--stdio"), args...)...)
}

// execute runs a command.
func (s *toolClient) execute(command string, seconds int) answer {
	s.t.Helper()
	return s.call("execute_command", map[string]any{"command": command, "timeout": seconds})
}

// refused says whether a command was not run because of policy, or of what it is.
func (a answer) refused() bool {
	if a.Error != nil {
		return a.Error.Data["error_type"] == "invalid_argument" || a.Error.Code == -32602
	}
	errorType := a.Result.StructuredContent["error_type"]
	return a.Result.IsError && (errorType == "denied" || errorType == "invalid_command")
}

// output returns what a command wrote.
func (a answer) output() (stdout, stderr string, code int) {
	stdout, _ = a.Result.StructuredContent["stdout"].(string)
	stderr, _ = a.Result.StructuredContent["stderr"].(string)
	number, _ := a.Result.StructuredContent["exit_code"].(float64)
	return stdout, stderr, int(number)
}

// byRm is what rm writes when it cannot do its work.
var byRm = regexp.MustCompile(`(?m)^(\S*/|busybox: )?rm: (cannot|can't|missing|invalid|unrecognized|refusing)`)

// damage says what a command has done that it must not, if anything.
func (w *attacked) damage(a answer) string {
	for _, path := range w.files {
		if _, err := os.Lstat(path); err != nil {
			return fmt.Sprintf("%s is gone", filepath.Base(path))
		}
	}
	for path, was := range w.outside {
		if is := identity(path); is != was {
			return fmt.Sprintf("%s was: %s; is: %s", path, was, is)
		}
	}
	all, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	stdout, stderr, _ := a.output()
	switch {
	case strings.Contains(string(all), fileSecret):
		return "the secret of a file is shown"
	case strings.Contains(string(all), serverSecret):
		return "the server's environment is shown"
	case byRm.MatchString(stderr) || byRm.MatchString(stdout):
		return "rm was started"
	}
	return ""
}

// unlisted runs a command without any list of programs. It can still change nothing
// elsewhere: some would remove programs of this machine.
func (w *attacked) unlisted(t *testing.T, command string) answer {
	t.Helper()
	for _, name := range []string{"unshare ", "chroot ", "strace ", "script ", "ln /"} {
		if strings.Contains(command, name) {
			t.Skipf("%s is refused to everybody", name)
		}
	}
	w.open = true
	return w.serve(t, binary(), json.RawMessage(`{"write_file": {"allowed_paths": ["/tmp"]}}`), "required").execute(command, 20)
}

// plainBash answers as execute_command does.
func plainBash(t *testing.T, dir, command string, env []string) answer {
	t.Helper()
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = dir, append(env, "PWD="+dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var a answer
	code := cmd.ProcessState.ExitCode()
	a.Result.IsError = code != 0
	a.Result.StructuredContent = map[string]any{"stdout": stdout.String(), "stderr": stderr.String(), "exit_code": float64(code)}
	return a
}

// A tally counts what the kernel layer alone stops.
type tally struct {
	mu                         sync.Mutex
	can, stopped, not, noMatch int
}

func (c *tally) add(within, stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case within && stopped:
		c.can++
		c.stopped++
	case within:
		c.can++
	case stopped:
		c.not++
		c.noMatch++
	default:
		c.not++
	}
}

// report shows the figures, and fails where they are less than promised.
func (c *tally) report(t *testing.T) {
	t.Helper()
	t.Logf("kernel layer alone: %d of %d within its reach stopped; of %d others %d did no harm", c.stopped, c.can, c.not, c.noMatch)
	if c.can > 0 && c.stopped*100 < 99*c.can {
		t.Errorf("less than 99 %% were stopped")
	}
}
