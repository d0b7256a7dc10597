package confine

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

func TestPlanRoundTrip(t *testing.T) {
	p := &plan{Spec: Spec{Network: Loopback, UnixSockets: true, Limits: Limits{OpenFiles: 1, FileSize: 1 << 40}}, ExecList: true,
		grants: []grant{{canLook, "/"}, {canExec, "/a b\xff"}}, mounts: []mount{{mountHidden, "/x"}}}
	b, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodePlan(b)
	if err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("got %+v %v", back, err)
	}
	for n := range b {
		if _, err := decodePlan(b[:n]); err == nil {
			t.Errorf("%d of %d bytes are understood", n, len(b))
		}
	}
	if _, err := decodePlan(append(b, 0)); err == nil {
		t.Error("a byte too many is understood")
	}
}

func FuzzDecode(f *testing.F) {
	b, err := Spec{Write: []string{"/tmp"}, Exec: []string{"/bin/sh"}}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePlan(b)
		if err != nil {
			return
		}
		for _, g := range p.grants {
			if err := checkPath(g.path); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestEncodeRefuses(t *testing.T) {
	for _, s := range []Spec{
		{Read: []string{"relative"}}, {Write: []string{"/a/../b"}}, {Deny: []string{""}}, {Read: []string{"/a\x00b"}},
		{Exec: []string{"/usr"}}, {Exec: []string{"sh"}}, {Network: 9}, {Read: []string{"/" + strings.Repeat("a/", 4000) + "b"}},
	} {
		if _, err := s.Encode(); err == nil {
			t.Errorf("%+.80v is encoded", s)
		}
	}
}

// With a list of programs no grant reaches another program of the system, also
// if all may be read.
func TestProgramsAreLeftOut(t *testing.T) {
	own := t.TempDir()
	write(t, filepath.Join(own, "program"), "")
	t.Setenv("PATH", own+":/usr/bin")
	for _, read := range [][]string{nil, {"/"}, {"/usr"}, {"/usr/bin"}} {
		p, err := Spec{Read: read, Exec: []string{"/bin/sh"}}.resolve()
		if err != nil {
			t.Fatal(err)
		}
		var started []string
		for _, g := range p.grants {
			if g.rights&canExec != 0 {
				started = append(started, g.path)
			}
			if g.rights&canRead != 0 && g.rights&canExec == 0 && (pathguard.Within(g.path, "/usr/bin/env") || pathguard.Within(g.path, filepath.Join(own, "program")) || pathguard.Within("/usr/bin", g.path)) {
				t.Errorf("read %q: %s is granted", read, g.path)
			}
		}
		if len(started) == 0 || len(started) > 2 {
			t.Errorf("read %q: started can be %q", read, started)
		}
	}
}

func TestRealPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "dir", "dangling": "none/x", "absolute": dir + "/none", "loop": "loop", "there": "back/x", "back": "there/y"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "dir", "file"), "")
	for path, want := range map[string]string{
		"link/file": "dir/file", "link/new": "dir/new", "dangling": "none/x", "dangling/y": "none/x/y", "absolute/a/b": "none/a/b", "a/b/c": "a/b/c", "loop": "loop", "link/../loop/x": "loop/x",
		"there": "there", "back/z": "back/z", "dir/file/x": "dir/file/x",
	} {
		if got, err := realPath(filepath.Join(dir, path)); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s: got %s %v", path, got, err)
		}
	}
}

// Without openat2(2) paths are opened as with it.
func TestOpenSteps(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a", "file"), "")
	if err := errors.Join(os.Symlink("a", filepath.Join(dir, "link")), os.Symlink("file", filepath.Join(dir, "a", "link"))); err != nil {
		t.Fatal(err)
	}
	for path, opens := range map[string]bool{
		"/": true, dir: true, dir + "/a": true, dir + "/a/file": true,
		dir + "/link": false, dir + "/link/file": false, dir + "/a/link": false, dir + "/none": false, dir + "/a/file/x": false, "/proc/self": false, "/proc/thread-self/root": false,
	} {
		fd, err := openSteps(path)
		if (err == nil) != opens {
			t.Errorf("%s: %v", path, err)
			continue
		}
		other, err := openPath(path)
		if (err == nil) != opens {
			t.Errorf("%s: openat2 %v", path, err)
		}
		var one, two unix.Stat_t
		if opens && (unix.Fstat(fd, &one) != nil || unix.Fstat(other, &two) != nil || one.Ino != two.Ino) {
			t.Errorf("%s: other files", path)
		}
		if opens {
			unix.Close(fd)
			unix.Close(other)
		}
	}
}

func TestMountsAreOrdered(t *testing.T) {
	p, err := Spec{Write: []string{"/w", "/w/sub", "/x"}, Deny: []string{"/w/a/b/c", "/elsewhere", "/x/y"}, ReadOnly: []string{"/w/a", "/x"}}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	want := []mount{{mountWrite, "/w"}, {mountReadOnly, "/x"}, {mountReadOnly, "/w/a"}, {mountHidden, "/x/y"}, {mountPin, "/w/a/b"}, {mountHidden, "/w/a/b/c"}}
	if !slices.Equal(p.mounts, want) {
		t.Errorf("got %+v", p.mounts)
	}
}

// eval runs a filter as the kernel does.
func (f *filter) eval(number, audit uint32, args ...uint32) uint32 {
	data := make([]byte, 64)
	binary.LittleEndian.PutUint32(data[dataNumber:], number)
	binary.LittleEndian.PutUint32(data[dataArch:], audit)
	for i, a := range args {
		binary.LittleEndian.PutUint32(data[dataArgs+8*i:], a)
	}
	var a uint32
	for at := 0; ; at++ {
		c := f.code[at]
		jump := func(yes bool) {
			if yes {
				at += int(c.Jt)
			} else {
				at += int(c.Jf)
			}
		}
		switch c.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = binary.LittleEndian.Uint32(data[c.K:])
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= c.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == c.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= c.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(a&c.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return c.K
		default:
			panic(c)
		}
	}
}

func TestFilter(t *testing.T) {
	if arch.audit == 0 {
		t.Skip("no filters for this processor")
	}
	errno := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	const allow, kill = unix.SECCOMP_RET_ALLOW, uint32(unix.SECCOMP_RET_KILL_PROCESS)
	const i386, other = 0x40000003, 0xc00000f3
	none := (&plan{}).filter(false, 0)
	all := (&plan{Spec: Spec{Network: All, Limits: Limits{OpenFiles: 1}}, ExecList: true}).filter(true, 9)
	for _, tt := range []struct {
		name string
		got  uint32
		want uint32
	}{
		{"read", none.eval(unix.SYS_READ, arch.audit), allow},
		{"the numbers of i386", none.eval(unix.SYS_READ, i386), kill},
		{"those of another processor", none.eval(unix.SYS_READ, other), kill},
		{"chmod without mounts", none.eval(unix.SYS_FCHMODAT, arch.audit), errno(unix.EPERM)},
		{"chmod with mounts", all.eval(unix.SYS_FCHMODAT, arch.audit), allow},
		{"fork", none.eval(unix.SYS_CLONE, arch.audit, 17), allow},
		{"namespace", none.eval(unix.SYS_CLONE, arch.audit, unix.CLONE_NEWUSER), errno(unix.EPERM)},
		{"clone3", none.eval(unix.SYS_CLONE3, arch.audit), errno(unix.ENOSYS)},
		{"socket", none.eval(unix.SYS_SOCKET, arch.audit, unix.AF_UNIX, unix.SOCK_STREAM), errno(unix.EACCES)},
		{"unix socket with Landlock 9", all.eval(unix.SYS_SOCKET, arch.audit, unix.AF_UNIX, unix.SOCK_STREAM), allow},
		{"MPTCP", all.eval(unix.SYS_SOCKET, arch.audit, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 262), allow},
		{"packet type", all.eval(unix.SYS_SOCKET, arch.audit, unix.AF_INET, unix.SOCK_PACKET), errno(unix.EACCES)},
		{"typing", none.eval(unix.SYS_IOCTL, arch.audit, 0, unix.TIOCSTI), errno(unix.EPERM)},
		{"ioctl", none.eval(unix.SYS_IOCTL, arch.audit, 0, unix.TCGETS), allow},
		{"memory file", all.eval(unix.SYS_MEMFD_CREATE, arch.audit, 0, 0), errno(unix.EACCES)},
		{"memory file that cannot run", all.eval(unix.SYS_MEMFD_CREATE, arch.audit, 0, unix.MFD_NOEXEC_SEAL), allow},
		{"traceme without limits and Landlock", none.eval(unix.SYS_PTRACE, arch.audit, unix.PTRACE_TRACEME), errno(unix.EPERM)},
		{"traceme", all.eval(unix.SYS_PTRACE, arch.audit, unix.PTRACE_TRACEME), allow},
		{"attach without Landlock", none.eval(unix.SYS_PTRACE, arch.audit, unix.PTRACE_ATTACH), errno(unix.EPERM)},
		{"attach", all.eval(unix.SYS_PTRACE, arch.audit, unix.PTRACE_ATTACH), allow},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, tt.got, tt.want)
		}
	}
	for _, call := range []uint32{0x40000000 + unix.SYS_READ, youngest + 1, 1000} {
		if got := none.eval(call, arch.audit); got != errno(unix.ENOSYS) {
			t.Errorf("call %d: got %#x", call, got)
		}
	}
	// Names, snapshots and flags of directories, keys of file systems, devices.
	for _, request := range []uint32{0x5000940e, 0x50009401, 0x50009417, 0x50009418, 0x5000940f, 0x40086602, 0x401c5820, 0x800c6613, 0xc0506617,
		0x4020bc10, 0xc038586b, 0x4c00, 0xe501, 0xc018937e, 0x1234} {
		if got := none.eval(unix.SYS_IOCTL, arch.audit, 3, request); got != errno(unix.ENOTTY) {
			t.Errorf("ioctl %#x: got %#x", request, got)
		}
	}
	for _, request := range []uint32{0x5401, 0x541b, 0x5421, 0x80045430, 0x8912, 2, 0x40049409, 0xc020660b, 0x80086601} {
		if got := none.eval(unix.SYS_IOCTL, arch.audit, 3, request); got != allow {
			t.Errorf("ioctl %#x: got %#x", request, got)
		}
	}
}

func TestInterpreter(t *testing.T) {
	script := filepath.Join(t.TempDir(), "s")
	write(t, script, "#!/usr/bin/env -S python3\nprint()\n")
	if got := Interpreter(script); !slices.Equal(got, []string{"/usr/bin/env", "-S", "python3"}) {
		t.Errorf("got %q", got)
	}
	if got := Interpreter("/bin/sh"); got != nil {
		t.Errorf("got %q", got)
	}
}
