//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// hung is how long an answer to a ping may take before the server counts as
	// hanging: no figure, since the machine may be busy.
	hung = 5 * time.Second
	// flat is how much the server's memory may grow, in kB.
	flat = 64 << 10
	// many is how many entries a large directory has.
	many = 200_000
)

// A burden is a call that would use up the machine, or the server.
type burden struct {
	name  string
	tool  string
	args  map[string]any
	check func(o outcome) bool // of how it ends
}

func command(text string, seconds int) map[string]any {
	return map[string]any{"command": text, "timeout": seconds}
}

func failsWith(errorType string, parts ...string) func(o outcome) bool {
	return func(o outcome) bool {
		for _, part := range parts {
			if !strings.Contains(o.text, part) {
				return false
			}
		}
		return o.errorType == errorType
	}
}

func works(parts ...string) func(o outcome) bool { return failsWith("", parts...) }

func burdens(t *testing.T, g *ground) []burden {
	probe := built(t, "probe")
	timedOut := failsWith("timed_out", "[timed out after 1s]")
	return []burden{
		{"fork bomb", "bash", command("bomb() { bomb | bomb & }; bomb; wait; sleep 60", 60), failsWith("limit_exceeded", "sandbox.limits.processes", "more than 200")},
		{"processes", "execute_command", command("while :; do sleep 60 & done", 60), failsWith("limit_exceeded", "sandbox.limits.processes")},
		{"threads", "bash", command(probe+" flood threads & for i in 1 2 3 4 5 6 7 8; do perl -e '$p = fork for 1 .. 6; sleep 60' & done; wait", 60), failsWith("limit_exceeded", "sandbox.limits.processes")},
		{"memory", "bash", command(probe+" flood memory", 60), failsWith("limit_exceeded", "sandbox.limits.memory", "256 MiB")},
		{"memory of many", "execute_command", command("for i in 1 2 3 4 5 6 7 8; do perl -e '$x = \"a\" x (48 << 20); sleep 60' & done; wait", 60), failsWith("limit_exceeded", "sandbox.limits.memory")},
		{"memory of a pipe", "bash", command("head -c 1G /dev/zero | tail | wc -c", 60), failsWith("limit_exceeded", "sandbox.limits.memory")},
		{"memory of files", "bash", command("for i in 1 2 3 4 5 6 7 8; do head -c 60M /dev/zero > /dev/shm/$i; done; sleep 60", 60), failsWith("limit_exceeded", "sandbox.limits.memory")},
		{"memory of files without names", "bash", command(probe+" flood files", 60), failsWith("limit_exceeded", "sandbox.limits.memory")},
		{"disk", "bash", command("for i in 1 2 3 4 5 6 7 8 9; do head -c 50M /dev/zero > big$i; done; sleep 60", 60), failsWith("limit_exceeded", "sandbox.limits.disk", "more than 400 MiB")},
		{"disk of files that are removed", "execute_command", command("rm -f big*; while :; do head -c 50M /dev/zero > big; rm big; done", 60), failsWith("limit_exceeded", "sandbox.limits.disk")},
		{"disk of many", "bash", command("for i in 1 2 3 4 5 6 7 8 9; do setsid head -c 50M /dev/zero > big$i & done; wait; sleep 60", 60), failsWith("limit_exceeded", "sandbox.limits.disk")},
		{"disk of files without names", "bash", command("rm -f big*; "+probe+" flood disk", 60), failsWith("limit_exceeded", "sandbox.limits.disk")},
		{"disk that is only allocated", "bash", command("fallocate -l 60M big", 60), failsWith("exit_status", "not supported")},
		{"a large file", "bash", command("head -c 1G /dev/zero > big", 60), func(o outcome) bool { return o.failed && strings.Contains(o.text, "File size limit exceeded") }},
		{"descriptors", "bash", command("perl -e 'for (1 .. 1000) { open(my $f, q(<), q(/dev/null)) or die qq($!\\n); push @f, $f }'", 60), failsWith("exit_status", "Too many open files")},
		{"yes", "bash", command("yes", 1), timedOut},
		{"yes to both", "execute_command", command("yes >&2 & yes", 1), failsWith("timed_out")},
		{"an endless line", "bash", command("yes | tr -d '\\n'", 1), timedOut},
		{"zeros", "bash", command("cat /dev/zero", 1), timedOut},
		{"random", "bash", command("cat /dev/urandom", 1), timedOut},
		{"a pipe nobody writes to", "bash", command("cat fifo", 1), timedOut},
		{"a pipe to read_file", "read_file", map[string]any{"path": "fifo"}, func(o outcome) bool { return o.failed }},
		{"a pipe to grep", "grep", map[string]any{"pattern": "x", "path": "fifo"}, func(o outcome) bool { return o.failed }},
		{"a device to read_file", "read_file", map[string]any{"path": "zeros"}, func(o outcome) bool { return o.failed }},
		{"a large file to read_file", "read_file", map[string]any{"path": "sparse", "offset": 1, "limit": 10}, func(o outcome) bool { return len(o.text) < 100_000 }},
		{"a large file to grep", "grep", map[string]any{"pattern": "needle", "path": "sparse"}, func(o outcome) bool { return len(o.text) < 100_000 }},
		{"a large file in a command", "bash", command("cat sparse", 60), func(o outcome) bool { return len(o.text) < 100_000 }},
		{"many files to list_directory", "list_directory", map[string]any{"path": "crowd"}, func(o outcome) bool { return !o.failed && len(o.text) < 200_000 }},
		{"many files to search_files", "search_files", map[string]any{"pattern": "**/*7*"}, func(o outcome) bool { return !o.failed && len(o.text) < 200_000 }},
		{"many files to grep", "grep", map[string]any{"pattern": "needle", "path": "crowd"}, func(o outcome) bool { return !o.failed }},
		{"many files in a command", "bash", command("ls crowd | wc -l", 60), works(fmt.Sprint(many))},
		{"many lines in a command", "bash", command("ls -l crowd", 60), func(o outcome) bool { return !o.failed && len(o.text) < 100_000 }},
	}
}

const limitsConfig = `
logging: {level: error}
tools: {read_file: {denied_paths: [` + "%s" + `]}}
sandbox: {limits: {processes: 200, memory: 256MiB, open_files: 200, file_size: 64MiB, disk: 400MiB}}
`

// TestSandboxLimits keeps the server busy with what would use up the machine, and
// asks it for a sign of life all the while.
func TestSandboxLimits(t *testing.T) {
	crowded := filepath.Join(t.TempDir(), "crowd")
	must(t, os.Mkdir(crowded, 0o755))
	must(t, os.Chmod(filepath.Dir(crowded), 0o755))
	must(t, os.Chmod(filepath.Dir(filepath.Dir(crowded)), 0o755))
	for i := range many {
		f, err := os.Create(filepath.Join(crowded, fmt.Sprintf("file%06d", i)))
		must(t, err)
		f.Close()
	}
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		must(t, os.Rename(crowded, filepath.Join(g.work, "crowd"))) // and to the next
		defer func() { must(t, os.Rename(filepath.Join(g.work, "crowd"), crowded)) }()
		must(t, os.Truncate(g.file("sparse", "needle\n", 0o644), 1<<30))
		must(t, os.Symlink("/dev/zero", filepath.Join(g.work, "zeros")))
		g.fifo("fifo")
		b := g.open(setup{config: fmt.Sprintf(limitsConfig, filepath.Join(g.out, "none"))})
		b.bash("true")
		for _, burden := range burdens(t, g) {
			before := b.memory()
			o, pings, worst := b.pinged(burden)
			grown := b.memory() - before
			t.Logf("%s: the slowest of %d pings took %v; memory grew by %d kB", burden.name, pings, worst.Round(time.Millisecond/10), grown)
			if worst > hung {
				t.Errorf("%s: a ping took %v", burden.name, worst)
			}
			if grown > flat {
				t.Errorf("%s: memory grew by %d kB", burden.name, grown)
			}
			if !burden.check(o) {
				t.Errorf("%s: ends with %v", burden.name, o)
			}
		}
		b.stop()
		ended(t, g.exe)
	})
}

// TestSandboxDiskNames bounds how many files and names a command makes, empty or removed
// again, by the limit of disk.
func TestSandboxDiskNames(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		b := g.open(setup{config: "sandbox: {limits: {disk: 8MiB}}\n"})
		for _, make := range []string{
			"open(F, q(>), $_)", "open(F, q(>), q(f)) && unlink(q(f))", "symlink(q(n), $_)", "mkdir($_ . q(d))", "link(q(n), q(m)) && unlink(q(m))", "syscall(133, my $p = q(fifo) . $_, 010600, 0) == 0", // mknod
		} {
			if strings.HasPrefix(make, "syscall") && runtime.GOARCH != "amd64" {
				continue
			}
			text := "rm -rf [0-9]* fifo*; : > n; perl -e 'for (1 .. COUNT) { " + make + " or die $! }; print q(fine)'"
			if o := b.bash(strings.Replace(text, "COUNT", "500", 1)); !strings.Contains(o.text, "fine") || o.failed {
				t.Errorf("%s: few end with %v", make, o)
			}
			if o := b.bash(strings.Replace(text, "COUNT", "3000", 1) + "; sleep 60"); !strings.Contains(o.text, "4 KiB for each file or name that it made (rule: sandbox.limits.disk)") || o.errorType != "limit_exceeded" {
				t.Errorf("%s: many end with %v", make, o)
			}
		}
		b.stop()
	})
}

// TestSandboxDiskKept counts what commands leave in their temporary directory towards
// the limit of the next, which may still remove it.
func TestSandboxDiskKept(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		b := g.open(setup{config: "sandbox: {limits: {disk: 200MiB}}\n"})
		const write = "head -c 100M /dev/zero > file; rm file; echo fine"
		// How much is left is not measured before each command.
		until := func(exceeded bool) outcome {
			for deadline := time.Now().Add(time.Minute); ; {
				o := b.bash(write)
				if (o.errorType == "limit_exceeded") == exceeded {
					return o
				}
				if time.Now().After(deadline) {
					t.Fatalf("goes on with %v", o)
				}
			}
		}
		// A page that changes after it was written back counts again, so there is room to spare.
		for _, name := range []string{"1", "2", "3"} {
			if o := b.bash("head -c 40M /dev/zero > $TMPDIR/" + name); o.failed {
				t.Fatalf("got %v", o)
			}
		}
		contain(t, "the refusal", until(true).text, "sandbox.limits.disk", "200 MiB", "less 120 MiB", "may remove")
		if o := b.bash("rm $TMPDIR/? && echo removed"); o.failed {
			t.Fatalf("got %v", o)
		}
		until(false)
		b.stop()
	})
}

// memory is the most that the server has used so far, in kB.
func (b *box) memory() int {
	return b.status("VmHWM")
}

// pinged makes a call, and pings until it ends.
func (b *box) pinged(c burden) (o outcome, pings int, worst time.Duration) {
	b.t.Helper()
	p := b.begin(c.tool, c.args)
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for {
		worst, pings = max(worst, b.ping()), pings+1
		select {
		case <-p.over:
			return b.finish(p), pings, worst
		case <-pause.C:
		}
	}
}

// fifo makes a pipe with a name.
func (g *ground) fifo(name string) {
	g.t.Helper()
	path := filepath.Join(g.work, name)
	must(g.t, mkfifo(path))
	must(g.t, os.Chown(path, g.who.id, g.who.id))
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }
