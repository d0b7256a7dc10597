package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A trial is a script and whether the last thing it tries is allowed: it says
// "done" if that worked.
type trial struct {
	name    string
	script  string
	allowed bool
	output  string // that comes before
}

func perl(code string) string { return "perl -e '" + code + "' && echo done" }

// socket opens a socket with perl.
func socket(family, kind, protocol int) string {
	return perl(fmt.Sprintf(`socket(my $s, %d, %d, %d) or die "$!\n"`, family, kind, protocol))
}

// call makes a system call with perl, which wants to be able to change strings.
func call(number int, args ...any) string {
	list, strs := fmt.Sprint(number), ""
	for i, a := range args {
		if s, ok := a.(string); ok {
			strs += fmt.Sprintf("my $s%d = %s; ", i, s)
			a = fmt.Sprintf("$s%d", i)
		}
		list += fmt.Sprintf(", %v", a)
	}
	return perl(strs + `syscall(` + list + `) >= 0 or die "$!\n"`)
}

// refusals are what the system says to what is not allowed.
var refusals = []string{"Permission denied", "Operation not permitted", "Read-only file system", "Function not implemented", "Invalid cross-device link",
	"No such process", "No such file or directory",
	"failed to map segment", // by the dynamic loader, for EPERM
}

func refusedBySystem(output string) bool {
	return slices.ContainsFunc(refusals, func(s string) bool { return strings.Contains(output, s) })
}

// Calls as numbered on x86-64, for perl.
const (
	sysClone, sysPtrace, sysMount, sysSetxattr, sysKeyctl, sysUnshare, sysHandleAt, sysReadv, sysMemfd, sysBpf, sysURing, sysClone3 = 56, 101, 165, 188, 250, 272, 304, 310, 319, 321, 425, 435
)

func trials(g ground, mounted bool, pid int) []trial {
	list := []trial{
		{"read", "cat file && echo done", true, "content\n"},
		{"read outside", "cat " + g.secret + " && echo done", false, ""},
		{"read through a link", "ln -s " + g.secret + " link; cat link && echo done", false, ""},
		{"hard link", "ln " + g.secret + " hard && echo done", false, ""},
		{"list outside", "for f in " + g.outside + "/*; do echo $f; done; test -e " + g.outside + "/s* && echo done", false, g.outside + "/*\n"},
		{"write", "echo x > new && cat new && echo done", true, "x\n"},
		{"write outside", "{ echo x > " + g.outside + "/new; } && echo done", false, ""},
		{"append outside", "{ echo x >> " + g.secret + "; } && echo done", false, ""},
		{"truncate outside", perl(`truncate("` + g.secret + `", 0) or die "$!\n"`), false, ""},
		{"unlink outside", perl(`unlink("` + g.secret + `") or die "$!\n"`), false, ""},
		{"rename outside", perl(`rename("` + g.secret + `", "here") or die "$!\n"`), false, ""},
		{"rename to outside", perl(`rename("file", "` + g.outside + `/there") or die "$!\n"`), false, ""},
		{"make directory outside", perl(`mkdir("` + g.outside + `/d") or die "$!\n"`), false, ""},
		{"chmod outside", "chmod 600 " + g.secret + " && echo done", false, ""},
		{"chown outside", "chown 1 " + g.secret + " && echo done", false, ""},
		{"touch outside", "touch -d 2001-01-01 " + g.secret + " && echo done", false, ""},
		{"attribute outside", call(sysSetxattr, `"`+g.secret+`"`, `"user.a"`, `"b"`, 1, 0), false, ""},
		{"chmod", "chmod 700 file && echo done", mounted, ""},
		{"touch", "touch -d 2001-01-01 file && echo done", mounted, ""},
		{"metadata by descriptor", perl(`open(my $f, "<", "/etc/passwd") or die "$!\n"; chmod(0644, $f) or die "$!\n"`), false, ""},

		{"run a program in the list", "cat /dev/null && echo done", true, ""},
		{"run another", "id && echo done", false, ""},
		{"run another by its path", "/usr/bin/id && echo done", false, ""},
		{"run another by its loader", loader("/bin/bash") + " /usr/bin/id && echo done", false, ""},
		{"read another", "cat /usr/bin/id >/dev/null && echo done", false, ""},
		{"copy another", "cp /usr/bin/id x && echo done", false, ""},
		{"run a copy", "cp /bin/cat x && chmod 755 x; ./x file && echo done", false, ""},
		{"run through exec of perl", perl(`exec {"/usr/bin/id"} "id" or die "$!\n"`), false, ""},
		{"run from memory", call(sysMemfd, `"x"`, 0), false, ""},
		{"script", "printf '#!/bin/bash\\necho hi' > s; bash s && echo done", true, "hi\n"},

		{"TCP", socket(2, 1, 0), false, ""},
		{"UDP", socket(2, 2, 0), false, ""},
		{"ping", socket(2, 2, 1), false, ""},
		{"raw", socket(2, 3, 1), false, ""},
		{"TCP over IPv6", socket(10, 1, 0), false, ""},
		{"MPTCP", socket(2, 1, 262), false, ""},
		{"netlink", socket(16, 3, 0), false, ""},
		{"packets", socket(17, 3, 0), false, ""},
		{"vsock", socket(40, 1, 0), false, ""},
		{"unix", socket(1, 1, 0), false, ""},
		{"unix datagrams", socket(1, 2, 0), false, ""},
		{"pair", perl(`socketpair(my $a, my $b, 1, 1, 0) or die; syswrite($a, "x"); sysread($b, my $c, 1); $c eq "x" or die "$!\n"`), true, ""},
		{"pair of datagrams", perl(`socketpair(my $a, my $b, 1, 2, 0) or die "$!\n"`), false, ""},
		{"bash's network", "{ echo > /dev/tcp/127.0.0.1/22; } && echo done", false, ""},

		{"signal to outside", fmt.Sprintf("kill -0 %d && echo done", pid), false, ""},
		{"signal inside", "sleep 100 & kill $! && wait $!; echo done", true, ""},
		{"environment of the server", "cat /proc/$PPID/environ >/dev/null && echo done", false, ""},
		{"memory of the server", "cat /proc/$PPID/maps >/dev/null && echo done", false, ""},
		{"own environment", "cat /proc/self/environ >/dev/null && echo done", true, ""},
		{"terminals", "{ : < /dev/pts/ptmx; } && echo done", mounted, ""},
		{"kernel memory", "head -c 1 /proc/kcore && echo done", false, ""},
		{"disk", "mknod d b 254 0 && head -c 1 d && echo done", false, ""},

		{"trace", call(sysPtrace, 16, pid, 0, 0), false, ""},
		{"unshare", call(sysUnshare, 0x10000000), false, ""},
		{"clone a user namespace", call(sysClone, 0x10000000|17, 0, 0, 0, 0), false, ""},
		{"clone3", call(sysClone3, `"\0" x 88`, 88), false, ""},
		{"mount", call(sysMount, `"none"`, `"`+g.work+`"`, `"tmpfs"`, 0, 0), false, ""},
		{"keys", call(sysKeyctl, 0, -3, 0), false, ""},
		{"open by handle", call(sysHandleAt, -100, `"\0" x 16`, 0), false, ""},
		{"memory of others", call(sysReadv, pid, `pack("PQ", my $b = "x" x 8, 8)`, 1, `pack("QQ", 4194304, 8)`, 1, 0), false, ""},
		{"BPF", call(sysBpf, 0, `"\0" x 64`, 64), false, ""},
		{"io_uring", call(sysURing, 1, `"\0" x 120`), false, ""},
		{"x32", call(0x40000000 + 39), false, ""},
	}
	if mounted { // else told by Missing
		list = append(list,
			trial{"run a copy by its loader", "cp /bin/cat x; " + loader("/bin/bash") + " ./x file && echo done", false, ""},
			trial{"shared memory of others", perl(fmt.Sprintf(`shmget(%d, 1, 0) or die "$!\n"`, sharedKey)), false, ""},
			trial{"shared memory", "echo x > /dev/shm/x && cat /dev/shm/x && echo done", true, "x\n"},
			trial{"run from shared memory", "cp /bin/cat /dev/shm/x; " + loader("/bin/bash") + " /dev/shm/x file && echo done", false, ""})
	}
	return list
}

// sharedKey is that of a System V shared memory segment of this process.
var sharedKey = 0x746f0000 + os.Getpid()&0xffff

// A command does what its spec says and nothing else, whatever its text is.
func TestTrials(t *testing.T) {
	needs(t, "perl", "id", "mknod")
	segment, err := unix.SysvShmGet(sharedKey, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(segment, unix.IPC_RMID, nil) })
	everywhere(t, func(t *testing.T, w where, mounted bool) {
		for _, tt := range trials(newGround(t), mounted, os.Getpid()) {
			t.Run(tt.name, func(t *testing.T) {
				g := newGround(t)
				// The paths of this ground, and the right of a list that is the same for all.
				for _, tt2 := range trials(g, mounted, os.Getpid()) {
					if tt2.name == tt.name {
						tt = tt2
					}
				}
				spec := mustEncode(t, Spec{Write: []string{g.work}, WithoutMounts: !mounted, Exec: programs("bash", "cat", "cp", "perl", "chmod", "chown", "touch", "ln", "sleep", "head", "mknod")})
				out, status := run(t, bash(g, spec, w, tt.script))
				if allowed := strings.HasSuffix(out, "done\n"); allowed != tt.allowed || tt.allowed && out != tt.output+"done\n" || status >= 200 {
					t.Errorf("%s: got %d %q, want %t", tt.script, status, out, tt.allowed)
				}
				if !tt.allowed && !refusedBySystem(out) && !strings.Contains(tt.name, "list") {
					t.Errorf("%s: failed for another reason: %d %q", tt.script, status, out)
				}
				g.unchanged(t)
			})
		}
	})
}

// What needs no rule to be broken gives what bash gives without confinement.
func TestOrdinaryWork(t *testing.T) {
	scripts := []struct{ name, script, needs string }{
		{"pipe", "printf 'b\\na\\n' | sort | awk '{print NR, $0}' | sed s/a/c/", "awk"},
		{"here-document", "cat <<X; cat <<< here\n$((1+2))\nX\n", ""},
		{"subshell", "(cd /; pwd; exit 3); echo $?; x=$(echo a; echo b); echo \"$x\"", ""},
		{"process substitution", "diff <(echo a) <(echo b); echo $?", "diff"},
		{"descriptors", "exec 3>f; echo x >&3; exec 3>&-; cat f; echo err >/dev/stderr; echo out >/dev/stdout", ""},
		{"coproc", "coproc cat; echo hi >&${COPROC[1]}; read -r l <&${COPROC[0]}; echo $l", ""},
		{"background", "sleep 0.01 & wait $!; echo $?; jobs; trap 'echo bye' EXIT; kill -TERM $$", ""},
		{"files", "mkdir -p a/b; echo x > a/b/c; mv a/b/c a/d; cp -r a e; ln -s d e/l; cat e/l; ls e; rm -r a; ls; find . -name d", ""},
		{"fifo", "mkfifo p; echo x > p & cat p; wait", ""},
		{"temporary", "f=$(mktemp); echo x > $f; cat $f; rm $f", ""},
		{"own program", "printf '#!/bin/sh\\necho mine\\n' > s; bash s; cp /bin/echo e; ./e copied", ""},
		{"grep", "grep -c root /etc/passwd; head -c 0 /dev/urandom; wc -c < /dev/null; date -d @0 -u", ""},
		{"who", "id -un; whoami; nproc >/dev/null && uname -s", ""},
		{"python", "python3 -c 'import json, subprocess, socket, threading; a, b = socket.socketpair(); print(json.dumps(subprocess.check_output([\"echo\", \"x\"]).decode()))'", "python3"},
		{"perl", "perl -MPOSIX -e 'print floor(2.5), `echo x`'", "perl"},
		{"go", "mkdir -p .config/go/telemetry; echo off > .config/go/telemetry/mode; go version", "go"},
		{"node", "node -e 'console.log(require(\"child_process\").execSync(\"echo x\").toString())'", "node"},
		{"limits", "ulimit -c 0; ulimit -c; umask 022; umask", ""},
	}
	metadata := []struct{ name, script, needs string }{
		{"modes", "echo x > a; chmod 640 a; stat -c %a a; touch -d 2001-02-03 a; cp -p a b; stat -c '%a %y' b; touch b; install -m 700 a c; stat -c %a c", ""},
		{"tar", "mkdir d; echo x > d/a; chmod 751 d/a; touch -d 2001-02-03 d/a d; tar cf t.tar d; rm -r d; tar xpf t.tar; stat -c '%a %y' d d/a", "tar"},
		{"program", "printf '#!/bin/sh\\necho mine\\n' > s; chmod +x s; ./s", ""},
		{"find", "touch 1 2; find . -type f -exec echo {} \\; | sort; ls | xargs -n1 echo", ""},
		{"zip", "echo x > a; gzip a; gunzip -c a.gz", "gzip"},
		{"parallel python", "python3 -c 'from multiprocessing import Pool; print(Pool(2).map(abs, [-1, -2]))'", "python3"},
		{"git", "git init -q . && git add file && git commit -qm one && git log --format=%s && git checkout -qb x && echo y >> file && git diff --stat && git commit -qam two && git status --short && git log --oneline | wc -l", "git"},
	}
	everywhere(t, func(t *testing.T, w where, mounted bool) {
		list := scripts
		if mounted {
			list = append(list[:len(list):len(list)], metadata...)
		}
		for _, tt := range list {
			t.Run(tt.name, func(t *testing.T) {
				if tt.needs != "" {
					needs(t, tt.needs)
				}
				free, g := newGround(t), newGround(t)
				want, code := run(t, bash(free, nil, noNamespace, tt.script))
				spec := Spec{Read: readable(tt.needs), Write: []string{g.work}, Limits: Limits{OpenFiles: 512, FileSize: 1 << 30}}
				out, status := run(t, bash(g, mustEncode(t, spec), w, tt.script))
				if out != want || status != code {
					t.Errorf("got %d %q, want %d %q", status, out, code, want)
				}
			})
		}
	})
}

// readable is where a program is that is not among those of the system.
func readable(program string) []string {
	var dirs []string
	for _, path := range programs(program) {
		if !strings.HasPrefix(path, "/usr/") && !strings.HasPrefix(path, "/bin/") {
			dirs = append(dirs, filepath.Dir(filepath.Dir(path)))
		}
	}
	return dirs
}

// The calls that change metadata are refused where nothing else protects the
// files outside, unless the spec allows them, and Missing or SideEffects says so.
func TestMetadataWithoutMounts(t *testing.T) {
	g := newGround(t)
	for _, allow := range []bool{false, true} {
		spec := Spec{Write: []string{g.work}, AllowMetadata: allow}
		for _, w := range []where{refusing, noNamespace} {
			spec.WithoutMounts = w == noNamespace || allow
			if err := os.Chmod(filepath.Join(g.work, "file"), 0o644); err != nil {
				t.Fatal(err)
			}
			out, status := run(t, bash(g, mustEncode(t, spec), w, "chmod 600 file && stat -c %a file"))
			if allowed := status == 0 && out == "600\n"; allowed != allow {
				t.Errorf("allow %t: got %d %q", allow, status, out)
			}
		}
		have := Support{LandlockABI: 7, Seccomp: true, StopAtStart: true}
		if missing, effects := spec.Missing(have), spec.SideEffects(have); len(missing) != 1 == allow || len(effects) != 1 != allow {
			t.Errorf("allow %t: got %q and %q", allow, missing, effects)
		}
	}
}

// What is denied or protected inside a write path is, also if its parent is
// renamed.
func TestNested(t *testing.T) {
	tests := []trial{
		{"read denied", "cat .env && echo done", false, ""},
		{"write denied", "{ echo x > .env; } && echo done", false, ""},
		{"remove denied", "rm -f .env && echo done", false, ""},
		{"replace denied", "echo x > y; mv y .env && echo done", false, ""},
		{"read below denied", "cat private/key && echo done", false, ""},
		{"list denied", "ls private/key && echo done", false, ""},
		{"link to denied", "ln .env other && echo done", false, ""},
		{"rename denied", "mv private elsewhere && echo done", false, ""},
		{"write into denied", "{ echo x > private/new; } && echo done", false, ""},
		{"read protected", "cat .git/hooks/hook && echo done", true, "hook\n"},
		{"write protected", "{ echo x > .git/hooks/hook; } && echo done", false, ""},
		{"add to protected", "{ echo x > .git/hooks/new; } && echo done", false, ""},
		{"chmod protected", "chmod 777 .git/hooks/hook && echo done", false, ""},
		{"rename protected", "mv .git/hooks .git/old && echo done", false, ""},
		{"rename its parent", "mv .git old && echo done", false, ""},
		{"rename its grandparent", "mv sub old && echo done", false, ""},
		{"write deep", "{ echo x > sub/dir/protected; } && echo done", false, ""},
		{"remove all", "rm -rf .git sub 2>/dev/null; cat .git/hooks/hook sub/dir/protected && echo done", true, "hook\nprotected\n"},
		{"write beside", "echo x > .git/config && echo x > sub/dir/other && cat .git/config && echo done", true, "x\n"},
	}
	everywhere(t, func(t *testing.T, w where, mounted bool) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				g := newGround(t)
				for _, path := range []string{".env", "private/key", ".git/hooks/hook", "sub/dir/protected"} {
					write(t, filepath.Join(g.work, path), filepath.Base(path)+"\n")
				}
				in := func(names ...string) (paths []string) {
					for _, name := range names {
						paths = append(paths, filepath.Join(g.work, name))
					}
					return paths
				}
				spec := Spec{Write: []string{g.work}, Deny: in(".env", "private", "missing"), ReadOnly: in(".git/hooks", "sub/dir/protected", "none/there")}
				if missing := spec.Missing(Support{LandlockABI: 7, Seccomp: true, StopAtStart: true}); len(missing) != 6 {
					t.Errorf("missing without mounts: %q", missing)
				}
				out, status := run(t, bash(g, mustEncode(t, spec), w, tt.script))
				if !mounted {
					if status != 200 || !strings.Contains(out, ErrUnsupported.Error()) {
						t.Errorf("got %d %q, want a refusal", status, out)
					}
					return
				}
				if allowed := strings.HasSuffix(out, "done\n"); allowed != tt.allowed || tt.allowed && out != tt.output+"done\n" || status >= 200 {
					t.Errorf("got %d %q", status, out)
				}
				if !tt.allowed && !refusedBySystem(out) && !strings.Contains(out, "Device or resource busy") {
					t.Errorf("failed for another reason: %d %q", status, out)
				}
				for _, path := range []string{".env", "private/key", ".git/hooks/hook", "sub/dir/protected"} {
					if b, err := os.ReadFile(filepath.Join(g.work, path)); err != nil || string(b) != filepath.Base(path)+"\n" {
						t.Errorf("%s: %q %v", path, b, err)
					}
				}
			})
		}
	})
}

// TestShown looks at a hidden file that keeps its looks, and opens it in every way.
func TestShown(t *testing.T) {
	everywhere(t, func(t *testing.T, w where, mounted bool) {
		if !mounted {
			t.Skip("there are no mounts")
		}
		g := newGround(t)
		secret := filepath.Join(g.work, ".env")
		write(t, filepath.Join(g.work, ".git/index"), "DIRC\x00.env\x00")
		write(t, secret, "S=1\n")
		when := time.Unix(1234567890, 5)
		if err := errors.Join(os.Chtimes(secret, when, when), os.Chmod(secret, 0o644)); err != nil {
			t.Fatal(err)
		}
		spec := mustEncode(t, Spec{Write: []string{g.work}, Deny: []string{secret}})
		out, status := run(t, bash(g, spec, w, `stat -c '%s %Y %F' .env; test -f .env && test ! -r .env && echo file
			exec 2>&1
			for how in 'cat .env' 'echo x >>.env' ': >.env' 'exec 5<>.env' 'chmod 777 .env' 'chown $UID .env' 'touch .env' 'truncate -s 0 .env' 'ln .env other' 'mv .env other' 'rm .env' 'cp .env other' './.env' '. ./.env' \
				'setpriv --clear-groups --reuid 1 cat .env' 'ls -l /proc/self/fd/5 5<.env' 'dd if=.env' 'tar cf - .env >tar'; do
				(eval "$how") >got || { echo refused; continue; }
				echo "$how: $(cat got)"
			done; grep -rc S .
			perl -e 'my $name = ".env"; my $fd = syscall(2, $name, 010000000); open(F, "/proc/self/fd/$fd") and die; print $fd > 2 ? "refused\n" : "no descriptor"'`))
		lines := strings.Split(out, "\n")
		if len(lines) < 2 || lines[0] != "4 1234567890 regular file" || lines[1] != "file" || strings.Count(out, "refused\n") != 19 || strings.Contains(out, "S=1") || strings.Contains(out, ".env:1") {
			t.Errorf("got %d %s", status, out)
		}
		if b, err := os.ReadFile(secret); err != nil || string(b) != "S=1\n" {
			t.Errorf("%q %v", b, err)
		}
	})
}

// What a command puts in the place of a path of the spec gives it no rights.
func TestPathsAreNotFollowedLater(t *testing.T) {
	everywhere(t, func(t *testing.T, w where, mounted bool) {
		g := newGround(t)
		spec := mustEncode(t, Spec{Write: []string{g.work, filepath.Join(g.work, "out")}})
		if err := os.Symlink(g.outside, filepath.Join(g.work, "out")); err != nil {
			t.Fatal(err)
		}
		out, status := run(t, bash(g, spec, w, "cat out/secret; echo x > out/new"))
		if status == 0 || strings.Contains(out, "secret\n") && !strings.Contains(out, "denied") {
			t.Errorf("got %d %q", status, out)
		}
		g.unchanged(t)
	})
}

// ExecDirs opens a directory that can be written to what is run from it.
func TestExecDirs(t *testing.T) {
	everywhere(t, func(t *testing.T, w where, mounted bool) {
		g := newGround(t)
		if err := os.Mkdir(filepath.Join(g.work, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		spec := mustEncode(t, Spec{Write: []string{g.work}, WithoutMounts: !mounted, Exec: programs("bash", "cp"), ExecDirs: []string{filepath.Join(g.work, "bin")}})
		out, status := run(t, bash(g, spec, w, "cp /bin/cp bin/x && bin/x file copy && echo yes; cp /bin/cp x; ./x file copy2 && echo no"))
		if status == 0 || !strings.HasPrefix(out, "yes\n") || strings.Contains(out, "no\n") {
			t.Errorf("got %d %q", status, out)
		}
	})
}

// TestAstray puts links where a command may have put them, in the place of directories
// whose programs may start.
func TestAstray(t *testing.T) {
	g := newGround(t)
	dir := filepath.Dir(g.work)
	for link, to := range map[string]string{"out": dir, "in": filepath.Join(g.work, "bin"), "gone": "/nonexistent/x"} {
		if err := os.Symlink(to, filepath.Join(g.work, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(g.work, filepath.Join(dir, "way")); err != nil {
		t.Fatal(err)
	}
	way := filepath.Join(dir, "way")
	s := Spec{Write: []string{way}, Exec: programs("bash"), ExecDirs: []string{way + "/out", way + "/out/x", way + "/in", way + "/gone", way + "/bin", "/usr/bin"}}
	if got, want := s.Astray(), []string{way + "/out", way + "/out/x", way + "/gone"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	p, err := s.resolve()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{g.work + "/bin", "/usr/bin"}; !slices.Equal(p.ExecDirs, want) {
		t.Errorf("granted are %q", p.ExecDirs)
	}
}

func TestNetwork(t *testing.T) {
	needs(t, "perl")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	service, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	connect := func(to string) string {
		return perl(`use Socket; socket(my $s, 2, 1, 0) or die "$!\n"; connect($s, ` + to + `) or die "$!\n"`)
	}
	server := connect(fmt.Sprintf(`pack_sockaddr_in(%d, inet_aton("127.0.0.1"))`, listener.Addr().(*net.TCPAddr).Port))
	own := perl(`use Socket; socket(my $l, 2, 1, 0) or die; bind($l, pack_sockaddr_in(0, inet_aton("127.0.0.1"))) or die "$!\n"; listen($l, 1); ` +
		`socket(my $s, 2, 1, 0) or die; connect($s, getsockname($l)) or die "$!\n"`)
	local := perl(`use Socket; socket(my $s, 1, 1, 0) or die; connect($s, pack_sockaddr_un("` + service.Addr().String() + `")) or die "$!\n"`)
	everywhere(t, func(t *testing.T, w where, mounted bool) {
		g := newGround(t)
		for _, tt := range []struct {
			name    string
			spec    Spec
			script  string
			allowed bool
		}{
			{"all reaches the machine", Spec{Network: All}, server, true},
			{"all reaches itself", Spec{Network: All}, own, true},
			{"all has names", Spec{Network: All}, perl(`gethostbyname("localhost") or die "$!\n"`), true},
			{"all has routes", Spec{Network: All}, socket(16, 3, 0), true},
			{"all has no audit", Spec{Network: All}, socket(16, 3, 9), false},
			{"all has no packets", Spec{Network: All}, socket(17, 3, 0), false},
			{"all has no raw sockets", Spec{Network: All}, socket(2, 3, 1), false},
			{"all has no services", Spec{Network: All}, local, false},
			{"services", Spec{Network: All, UnixSockets: true}, local, true},
			{"services without network", Spec{UnixSockets: true}, local, false},
			{"loopback is not the machine's", Spec{Network: Loopback}, server, false},
			{"loopback reaches itself", Spec{Network: Loopback}, own, true},
			{"loopback has no services", Spec{Network: Loopback}, local, false},
			{"none", Spec{}, own, false},
		} {
			t.Run(tt.name, func(t *testing.T) {
				out, status := run(t, bash(g, mustEncode(t, tt.spec), w, tt.script))
				if tt.spec.Network == Loopback && !mounted {
					if status != 200 {
						t.Errorf("got %d %q, want a refusal", status, out)
					}
					return
				}
				if allowed := out == "done\n"; allowed != tt.allowed || status >= 200 {
					t.Errorf("got %d %q", status, out)
				}
			})
		}
	})
}

func TestLimits(t *testing.T) {
	everywhere(t, func(t *testing.T, w where, mounted bool) {
		g := newGround(t)
		limits := Limits{OpenFiles: 77, FileSize: 1 << 20}
		for _, tt := range []struct {
			name, script, out string
		}{
			{"shown", "ulimit -n; ulimit -Hn; ulimit -f; ulimit -c; ulimit -Hc", "77\n77\n1024\n0\n0\n"},
			{"cannot be raised", "ulimit -n 78 2>/dev/null || echo no", "no\n"},
			{"file size", "trap '' XFSZ; head -c 3000000 /dev/zero > big 2>/dev/null; stat -c %s big", "1048576\n"},
			{"inherited", "bash -c 'ulimit -n' | cat", "77\n"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				out, status := run(t, bash(g, mustEncode(t, Spec{Write: []string{g.work}, Limits: limits}), w, tt.script))
				if out != tt.out || status != 0 {
					t.Errorf("got %d %q", status, out)
				}
			})
		}
	})
}

// Where namespaces are refused Probe finds out, and best effort goes on without.
func TestRefused(t *testing.T) {
	out, _ := run(t, testOrder{Where: refusing, Probe: true})
	var have Support
	if err := json.Unmarshal([]byte(out), &have); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	if have.UserNamespace || have.MountNamespace || have.NetNamespace || !have.Seccomp || !have.StopAtStart || have.LandlockABI != landlockABI() {
		t.Errorf("got %+v", have)
	}
	g := newGround(t)
	write(t, filepath.Join(g.work, ".env"), "value\n")
	spec := Spec{Write: []string{g.work}, Deny: []string{filepath.Join(g.work, ".env")}, Network: Loopback, Exec: programs("bash", "cat"), BestEffort: true}
	if missing := spec.Missing(have); len(missing) != 3 {
		t.Errorf("got %q", missing)
	}
	out, status := run(t, bash(g, mustEncode(t, spec), refusing, "cat .env; cat "+g.secret+"; echo > /dev/tcp/127.0.0.1/1"))
	if status == 0 || !strings.HasPrefix(out, "value\n") || !strings.Contains(out, "socket: Permission denied") || !strings.Contains(out, "secret: Permission denied") {
		t.Errorf("got %d %q", status, out)
	}
}

// Where less would be enforced than Missing tells, nothing starts.
func TestNoSilentDowngrade(t *testing.T) {
	g := newGround(t)
	for _, tt := range []struct {
		spec    Spec
		starts  bool
		missing int // with mounts
	}{
		{Spec{}, true, 0}, // metadata is refused instead
		{Spec{AllowMetadata: true}, false, 0},
		{Spec{AllowMetadata: true, WithoutMounts: true}, true, 1},
		{Spec{Exec: programs("bash")}, false, 0},
		{Spec{Exec: programs("bash"), BestEffort: true}, true, 0},
		{Spec{Exec: programs("bash"), WithoutMounts: true}, true, 1},
		{Spec{Exec: programs("bash"), Write: []string{"/usr/bin"}, WithoutMounts: true}, true, 2},
		{Spec{Write: []string{g.work}, ReadOnly: []string{g.work + "/file"}, WithoutMounts: true}, false, 1},
		{Spec{Network: Loopback}, false, 0},
		{Spec{Network: Proxied}, false, 0},
	} {
		have := Support{LandlockABI: 7, Seccomp: true, MountNamespace: true, NetNamespace: true, StopAtStart: true}
		if missing := tt.spec.Missing(have); len(missing) != tt.missing {
			t.Errorf("%+v: missing %q", tt.spec, missing)
		}
		order := bash(g, mustEncode(t, tt.spec), refusing, "echo started")
		order.Dir = "/"
		if out, status := run(t, order); (out == "started\n") != tt.starts || !tt.starts && status != 200 {
			t.Errorf("%+v: got %d %q", tt.spec, status, out)
		}
	}
}
