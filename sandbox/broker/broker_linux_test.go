package broker_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/broker"
	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/test/fakes/covered"
)

// command is argv[0] of this program when it is the command whose calls a broker makes.
const command = "broker test: command"

func TestMain(m *testing.M) {
	switch {
	case process.IsSupervisor():
		covered.Keep()
		os.Exit(process.Supervise(confine.Confiner()))
	case os.Args[0] == command:
		calls()
		os.Exit(0)
	}
	covered.Start()
	os.Exit(m.Run())
}

// calls makes calls of every kind, and prints what came of each.
func calls() {
	say := func(what string, err error) {
		var errno unix.Errno
		switch {
		case err == nil:
			fmt.Println(what + ": ok")
		case errors.Is(err, unix.EROFS): // where there are mounts
			fmt.Println(what + ": EACCES")
		case errors.As(err, &errno):
			fmt.Println(what + ": " + unix.ErrnoName(errno))
		default:
			fmt.Println(what+":", err)
		}
	}
	opened := func(what, name string, flags int) int {
		fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0o666)
		say(what, err)
		return fd
	}
	write := func(name, text string) error { return os.WriteFile(name, []byte(text), 0o644) }
	const evil, harmless = "[core]\n\tfsmonitor = touch x\n", "[user]\n\tname = a\n"

	// Opening.
	unix.Umask(0o027)
	unix.Close(opened("create", "a", unix.O_WRONLY|unix.O_CREAT))
	info, _ := os.Stat("a")
	fmt.Println("mode", info.Mode())
	unix.Close(opened("exclusive", "a", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL))
	unix.Close(opened("append", "a", unix.O_WRONLY|unix.O_APPEND))
	unix.Close(opened("truncate at open", "a", unix.O_RDWR|unix.O_TRUNC))
	unix.Close(opened("directory", ".", unix.O_WRONLY|unix.O_CREAT))
	unix.Close(opened("missing", "none", unix.O_WRONLY))
	unix.Close(opened("with a slash", "b/", unix.O_WRONLY|unix.O_CREAT))
	unix.Close(opened("outside", "/etc/x", unix.O_WRONLY|unix.O_CREAT))
	unix.Close(opened("null", "/dev/null", unix.O_RDWR))
	unix.Close(opened("terminal", "/dev/tty", unix.O_RDWR))
	say("link", unix.Symlink("a", "l"))
	unix.Close(opened("through a link", "l", unix.O_WRONLY))
	unix.Close(opened("no link", "l", unix.O_WRONLY|unix.O_NOFOLLOW))
	say("circle", unix.Symlink("c", "c"))
	unix.Close(opened("through a circle", "c", unix.O_WRONLY|unix.O_CREAT))
	fd := opened("by descriptor", "a", unix.O_RDONLY)
	unix.Close(opened("again by descriptor", fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR))
	unix.Close(fd)
	unnamed := opened("without a name", ".", unix.O_TMPFILE|unix.O_RDWR)
	say("given a name", unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", unnamed), unix.AT_FDCWD, "named", unix.AT_SYMLINK_FOLLOW))
	unix.Close(unnamed)
	say("truncate", unix.Truncate("a", 5))
	say("truncate what is protected", unix.Truncate("/etc/passwd", 5))
	dir := opened("a directory", ".", unix.O_RDONLY|unix.O_DIRECTORY)
	fd, err := unix.Openat(dir, "at", unix.O_CREAT|unix.O_WRONLY, 0o600)
	say("beside a descriptor", err)
	unix.Close(fd)

	// Names.
	say("mkdir", unix.Mkdir("d", 0o777))
	say("mkdir with a slash", unix.Mkdir("d2/", 0o777))
	say("mkfifo", unix.Mkfifo("p", 0o644))
	say("device", unix.Mknod("dev", unix.S_IFCHR, 0))
	say("hard link", unix.Link("a", "h"))
	say("rename", unix.Rename("h", "h2"))
	say("exchange", unix.Renameat2(unix.AT_FDCWD, "h2", unix.AT_FDCWD, "at", unix.RENAME_EXCHANGE))
	say("no replacing", unix.Renameat2(unix.AT_FDCWD, "h2", unix.AT_FDCWD, "at", unix.RENAME_NOREPLACE))
	say("rename what is missing", unix.Rename("none", "x"))
	say("whiteout", unix.Renameat2(unix.AT_FDCWD, "h2", unix.AT_FDCWD, "x", unix.RENAME_WHITEOUT))

	// Protected names.
	say("protected name", write(".vscode", ""))
	say("protected directory", unix.Mkdir(".vscode", 0o755))
	say("renamed to it", unix.Rename("d", ".vscode"))
	say("link to it", unix.Symlink("d", ".vscode"))
	say("second name", unix.Link("a", ".vscode"))
	say("what comes to be below", errors.Join(unix.Mkdir("conf", 0o755), write("conf/tool", ""), unix.Rename("conf", ".config")))
	say("symlink that leads there", unix.Symlink("conf", ".config"))
	say("protected file", write("own", "x"))
	say("file that the configuration names", write("inc/luded", ""))
	say("moved there", errors.Join(os.MkdirAll("inc2", 0o755), write("inc2/luded", ""), os.RemoveAll("inc"), unix.Rename("inc2", "inc")))
	say("denied by a glob", write("x.key", ""))
	say("in a package", errors.Join(os.MkdirAll("node_modules/x/.vscode", 0o755), write("node_modules/x/.vscode/y", "")))
	say("moved out of it", unix.Rename("node_modules/x", "y"))

	// Repositories.
	say("marks", errors.Join(os.MkdirAll("r/objects/info", 0o755), os.MkdirAll("r/refs", 0o755), os.MkdirAll("r/hooks", 0o755), write("r/HEAD", "ref: refs/heads/x\n")))
	say("its configuration", write("r/config", harmless))
	say("replaced by a harmless one", errors.Join(write("r/config.lock", harmless), unix.Rename("r/config.lock", "r/config")))
	say("replaced by another", errors.Join(write("r/config.lock", evil), unix.Rename("r/config.lock", "r/config")))
	say("hook", write("r/hooks/pre-commit", ""))
	say("sample", write("r/hooks/x.sample", ""))
	say("alternates", write("r/objects/info/alternates", ""))
	say("attributes", errors.Join(os.MkdirAll("r/info", 0o755), write("r/info/attributes", "")))
	say("no repository yet", errors.Join(os.MkdirAll("e/objects", 0o755), write("e/config", evil)))
	say("would be one", unix.Mkdir("e/refs", 0o755))
	say("as .git", unix.Rename("e", ".git"))
	say("directory of hooks", errors.Join(os.MkdirAll("hk", 0o755), write("hk/pre-commit", ""), os.Remove("r/hooks/x.sample"), os.Remove("r/hooks"), unix.Rename("hk", "r/hooks")))
	held, err := os.OpenFile("g-config", os.O_RDWR|os.O_CREATE, 0o644)
	say("held", err)
	say("becomes one", errors.Join(os.MkdirAll("g/objects", 0o755), unix.Rename("g-config", "g/config"), os.MkdirAll("g/refs", 0o755)))
	_, _ = held.WriteString(evil)
	text, _ := os.ReadFile("g/config")
	fmt.Printf("written through what was held: %q\n", text)

	// Waiting.
	var both sync.WaitGroup
	both.Go(func() { unix.Close(opened("writer", "p", unix.O_WRONLY|unix.O_CREAT)) })
	time.Sleep(20 * time.Millisecond)
	unix.Close(opened("meanwhile", "m", unix.O_WRONLY|unix.O_CREAT))
	unix.Close(opened("reader", "p", unix.O_RDONLY|unix.O_CREAT))
	both.Wait()
	unix.Close(opened("nobody reads", "p", unix.O_WRONLY|unix.O_NONBLOCK))

	// Sockets.
	l, err := net.Listen("unix", "s")
	say("listen", err)
	c, err := net.Dial("unix", "s")
	say("connect", err)
	if err == nil {
		c.Close()
	}
	_, err = net.Listen("unix", "s")
	say("listen twice", err)
	l.Close()
	_, err = net.Dial("unix", os.Args[1])
	say("connect to a service", err)
	_, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	say("pair of datagrams", err)
	_, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	say("datagrams", err)
	for _, family := range []int{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET} {
		_, err = unix.Socket(family, unix.SOCK_STREAM, 0)
		say(fmt.Sprint("family ", family), err)
	}
	runtime.KeepAlive(held)
}

// want is what comes of the calls, line by line.
const want = `create: ok
mode -rw-r-----
exclusive: EEXIST
append: ok
truncate at open: ok
directory: EISDIR
missing: ENOENT
with a slash: EISDIR
outside: EACCES
null: ok
terminal: ENXIO
link: ok
through a link: ok
no link: ELOOP
circle: ok
through a circle: ELOOP
by descriptor: ok
again by descriptor: ok
without a name: ok
given a name: ok
truncate: ok
truncate what is protected: EACCES
a directory: ok
beside a descriptor: ok
mkdir: ok
mkdir with a slash: ok
mkfifo: ok
device: EACCES
hard link: ok
rename: ok
exchange: ok
no replacing: EEXIST
rename what is missing: ENOENT
whiteout: EINVAL
protected name: EACCES
protected directory: EACCES
renamed to it: EACCES
link to it: EACCES
second name: EACCES
what comes to be below: EACCES
symlink that leads there: EACCES
protected file: EACCES
file that the configuration names: EACCES
moved there: EACCES
denied by a glob: EACCES
in a package: ok
moved out of it: EXDEV
marks: ok
its configuration: EACCES
replaced by a harmless one: ok
replaced by another: EACCES
hook: EACCES
sample: ok
alternates: EACCES
attributes: EACCES
no repository yet: ok
would be one: EACCES
as .git: EACCES
directory of hooks: EACCES
held: ok
becomes one: ok
written through what was held: ""
meanwhile: ok
writer: ok
reader: ok
nobody reads: ENXIO
listen: ok
connect: ok
listen twice: EADDRINUSE
connect to a service: EACCES
pair of datagrams: ok
datagrams: EACCES
family 2: EACCES
family 10: EACCES
family 16: EACCES
family 17: EACCES
`

// A command gets from its broker what the kernel would answer, except for what is protected,
// and what was refused by a rule is on record.
func TestCalls(t *testing.T) {
	if have := confine.Probe(); have.LandlockABI < 6 || !have.Broker {
		t.Skip("calls cannot be brokered here")
	}
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []process.Method{process.MethodNamespace, process.MethodSubreaper} {
		t.Run(strings.ReplaceAll(string(method), " ", "-"), func(t *testing.T) {
			work, err := os.MkdirTemp("/var/tmp", "broker-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(work) })
			if err := os.Mkdir(filepath.Join(work, "inc"), 0o755); err != nil {
				t.Fatal(err)
			}
			service, err := net.Listen("unix", filepath.Join(t.TempDir(), "service"))
			if err != nil {
				t.Fatal(err)
			}
			defer service.Close()
			lock := filepath.Join(t.TempDir(), "lock")
			if err := os.WriteFile(lock, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			spec := confine.Spec{
				Read: []string{"/"}, Write: []string{work}, AllowMetadata: true, WithoutMounts: method == process.MethodSubreaper, Lock: lock, BestEffort: true,
				Limits: confine.Limits{OpenFiles: 200, Processes: 100},
				Protect: broker.Rules{
					Names: []pathguard.Name{{Pattern: ".vscode"}, {Pattern: ".config/tool"}}, Files: []string{filepath.Join(work, "own"), filepath.Join(work, "inc/luded")},
					Packages: []string{"node_modules"}, Workspaces: []string{work}, DeniedGlobs: []string{work + "/*.key"},
				},
			}
			plan, err := spec.Encode()
			if err != nil {
				t.Fatal(err)
			}
			l := process.NewLauncher(process.Options{Supervisor: self, Method: method})
			defer l.Close()
			if got, err := l.Method(); got != method {
				t.Skip(err)
			}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			p, err := l.Start(t.Context(), process.Spec{Argv: []string{command, service.Addr().String()}, Program: program, Dir: work, Env: process.MinimalEnv(nil), Stdout: w, Confine: plan})
			w.Close()
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var text strings.Builder
			_ = r.SetReadDeadline(time.Now().Add(30 * time.Second))
			for buf := make([]byte, 4096); err == nil; {
				var n int
				n, err = r.Read(buf)
				text.Write(buf[:n])
			}
			p.Close()
			exit, err := p.Exit()
			if got, wanted := strings.Split(text.String(), "\n"), strings.Split(want, "\n"); err != nil || exit.Code != 0 || text.String() != want {
				for i := range max(len(got), len(wanted)) {
					if i >= len(got) || i >= len(wanted) || got[i] != wanted[i] {
						t.Errorf("line %d: got %q, want %q", i, append(got, "")[min(i, len(got))], append(wanted, "")[min(i, len(wanted))])
					}
				}
				t.Fatalf("%+v %v", exit, err)
			}
			rules := map[string]bool{}
			for _, r := range exit.Refused {
				rules[r.Rule] = true
			}
			for _, rule := range []string{"protected: .vscode", "protected: .git/config"} {
				if !rules[rule] && len(exit.Refused) < 16 {
					t.Errorf("%s is not on record: %+v", rule, exit.Refused)
				}
			}
		})
	}
}
