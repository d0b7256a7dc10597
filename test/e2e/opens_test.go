//go:build linux

package e2e

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// compiled returns the path of a C program of testdata, which anybody may run
// and which needs no libraries.
func compiled(t *testing.T, name string) string {
	t.Helper()
	if missing("gcc") {
		t.Skip("gcc is not installed")
	}
	return made(t, name, func(path string) *exec.Cmd {
		return exec.Command("gcc", "-O1", "-w", "-static", "-pthread", "-o", path, filepath.Join("testdata", name+".c"))
	})
}

// plain runs a command as the ground's user without any server: bash with the
// same environment and directory, and no terminal. A command, or what it leaves in
// the background, that still holds its output after five minutes fails the test.
func (g *ground) plain(dir, command string, env ...string) (stdout, stderr string, code int) {
	g.t.Helper()
	argv := []string{built(g.t, "launcher")}
	if g.who.id != os.Geteuid() {
		argv = append(argv, "-user", strconv.Itoa(g.who.id))
	}
	for _, v := range append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "TMPDIR=" + g.temp, "TERM=dumb"}, env...) {
		argv = append(argv, "-env", v)
	}
	cmd := exec.Command("setsid", append(append([]string{"-w"}, argv...), "/usr/bin/env", "bash", "-c", command)...)
	cmd.Dir = dir
	var texts [2]bytes.Buffer
	var reading sync.WaitGroup
	deadline := time.Now().Add(5 * time.Minute)
	for i, stream := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		r, w, err := os.Pipe()
		must(g.t, err)
		must(g.t, r.SetReadDeadline(deadline))
		must(g.t, w.Chown(g.who.id, g.who.id)) // or /dev/stdout could not be opened
		*stream = w
		reading.Go(func() { _, _ = texts[i].ReadFrom(r); r.Close() })
	}
	must(g.t, cmd.Start())
	cmd.Stdout.(*os.File).Close()
	cmd.Stderr.(*os.File).Close()
	reading.Wait() // also for what the command leaves in the background
	if time.Now().After(deadline) {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		g.t.Errorf("without the sandbox, this does not end: %s\n%s%s", command, &texts[0], &texts[1])
	}
	_ = cmd.Wait() // the code tells
	return texts[0].String(), texts[1].String(), cmd.ProcessState.ExitCode()
}

// eachMachine runs a test on the machine as it is, and as one that denies namespaces.
func eachMachine(t *testing.T, f func(t *testing.T, without string)) {
	for _, without := range []string{"", "namespaces"} {
		name := "all layers"
		if without != "" {
			name = "without " + without
		}
		t.Run(name, func(t *testing.T) { f(t, without) })
	}
}

// kernelLines are what a command prints in the order of its lines; each must be as
// without the sandbox.
var kernelLines = []struct{ name, command string }{
	{"opens", "$OPENS table </dev/null 2>&1; cat table"},
	{"calls", "$CALLS </dev/null 2>&1"},
	{"process substitution", `cat <(echo one) <(echo two); echo three > >(cat); wait; tee >(wc -c) </dev/null; wait $!; diff <(echo a) <(echo b) | tail -1`},
	{"descriptors by path", `exec 5<<<five; cat /dev/fd/5; exec 6>six; echo x >/dev/fd/6; echo y >>/proc/self/fd/6; cat six; echo in | cat /dev/stdin; echo out >/dev/stdout; echo err 2>&1 >/dev/stderr`},
	{"here documents", "cat <<E\n$((1+1))\nE\ncat <<<word; read -r l < <(echo line); echo $l; wc -c <<<\"$(head -c 200000 /dev/zero | tr '\\0' x)\""},
	{"coprocess", `coproc cat; echo through >&"${COPROC[1]}"; read -r l <&"${COPROC[0]}"; echo $l; exec {COPROC[1]}>&-; wait`},
	{"noclobber", `echo 1 >n; set -C; echo 2 >n; echo 3 >|n; cat n; exec 7<>both; echo rw >&7; cat both; : >n 2>/dev/null || echo kept`},
	{"fifo", `mkfifo q; cat q & echo through >q; wait; timeout 0.2 cat q; echo $?; (timeout 0.2 sh -c 'echo x >q'); echo $?`},
	{"terminal", `: </dev/tty; echo $?; tty; test -t 0; echo $?`},
	{"missing", `cat missing; cat missing/x; : >missing/x; cd missing; cat .; echo x >.; ./missing; cat a.txt/x; rmdir .; rm missing; mv missing x; ls missing`},
}

// TestOpensAsKernel opens, makes and names files in every way, and gets what the
// kernel answers without the sandbox.
func TestOpensAsKernel(t *testing.T) {
	t.Parallel()
	opens, calls := compiled(t, "opens"), compiled(t, "calls")
	eachAccount(t, func(t *testing.T, who account) {
		eachMachine(t, func(t *testing.T, without string) {
			for _, row := range kernelLines {
				if without != "" && row.name != "opens" {
					continue // the broker is the same
				}
				t.Run(row.name, func(t *testing.T) {
					g := newGround(t, who)
					command := strings.NewReplacer("$OPENS", opens, "$CALLS", calls).Replace(row.command)
					want, complaints, _ := g.plain(g.work, command)
					want += complaints
					must(t, exec.Command("find", g.work, "-mindepth", "1", "-delete").Run())
					b := g.open(setup{config: "logging: {level: error}\nlimits: {max_result_chars: 10000000}\n", without: without})
					o := b.call("execute_command", map[string]any{"command": command, "timeout": 600})
					got, _ := o.structure["stdout"].(string)
					complained, _ := o.structure["stderr"].(string)
					compareLines(t, got+complained, want)
					b.stop()
				})
			}
		})
	})
}

// compareLines tells which lines differ.
func compareLines(t *testing.T, got, want string) {
	t.Helper()
	got, want = alike(got), alike(want)
	if got == want {
		return
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "without"), []byte(want), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "got"), []byte(got), 0o600))
	cmd := exec.Command("diff", "-a", "-U0", "without", "got")
	cmd.Dir = dir
	differences, _ := cmd.Output() // it exits with 1
	t.Errorf("%.6000s", differences)
}

// otherwise are the beginnings of lines about what differs on purpose: openat2(2) is not
// there, signals whose handlers do not ask for a restart may interrupt a call, a name is
// no longer than PATH_MAX from the root, and to open a terminal does not make it the
// controlling one, which programs ask for by TIOCSCTTY.
var otherwise = []string{"at2(", `unlink("n2")`, "interrupted", "fifo, ", "deeper than", "not dumpable", "terminal", "bind(", `open("sock"`, `linkat(AT_FDCWD, "dangling"`}

// alike returns the lines that are as without the sandbox.
func alike(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(otherwise, func(start string) bool { return strings.HasPrefix(line, start) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}
