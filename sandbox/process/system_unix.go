//go:build unix

package process

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const groupMethod = MethodGroup

// A group is the process group of a command, which leads it.
type group struct{ pgid int }

func groupAttr(string) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func newGroup(p *os.Process) (group, error) { return group{p.Pid}, nil }

func (g group) signal(sig syscall.Signal) { _ = syscall.Kill(-g.pgid, sig) }
func (g group) close()                    {}

// alive also looks for a live process where kill(2) finds dead ones too: in a
// container whose init does not reap, for ever.
func (g group) alive() bool {
	if syscall.Kill(-g.pgid, 0) != nil || runtime.GOOS != "linux" {
		return syscall.Kill(-g.pgid, 0) == nil
	}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	return slices.ContainsFunc(files, func(file string) bool {
		stat, _ := os.ReadFile(file) // proc_pid_stat(5)
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		return len(fields) > 2 && fields[0] != "Z" && fields[2] == strconv.Itoa(g.pgid)
	})
}

func exitStatus(state *os.ProcessState) (code int, signal string, err error) {
	return exitOf(state.Sys().(syscall.WaitStatus))
}

// exitOf gives a process that a signal ended the status a shell gives it.
func exitOf(status syscall.WaitStatus) (code int, signal string, err error) {
	if status.Signaled() {
		return 128 + int(status.Signal()), unix.SignalName(status.Signal()), nil
	}
	return status.ExitStatus(), "", nil
}

// shellPath is the shell of [Spec.Shell], looked up once, so that a reload changes
// nothing, and not in the PATH of a spec, which may be anything.
var shellPath = sync.OnceValues(func() (string, error) {
	for _, name := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "bash", "sh"} {
		if path, err := lookPath(name, "/", os.Getenv("PATH")); err == nil {
			return path, nil
		}
	}
	return "/bin/sh", executable("/bin/sh")
})

// Shell returns the shell that runs the texts of commands.
func Shell() (string, error) { return shellPath() }

// find decides what to start.
func (l *launch) find() (err error) {
	if l.Shell != "" {
		if l.path, err = shellPath(); err != nil {
			return startError("find the shell", l.path, err)
		}
		// "--": a text that begins with a dash is no option.
		l.argv = []string{filepath.Base(l.path), "-c", "--", l.Shell}
		return nil
	}
	if l.path, err = lookPath(cmp.Or(l.Program, l.Argv[0]), l.Dir, LookupEnv(l.Env, "PATH")); err != nil {
		return startError("find the program", l.Argv[0], err)
	}
	l.argv = l.Argv
	return nil
}

// lookPath finds a program as execvp(3) does, seen from dir.
func lookPath(name, dir, path string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	if path == "" {
		path = defaultPath
	}
	var found error = syscall.ENOENT
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		file := filepath.Join(d, name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			found = err
		}
	}
	return "", found
}

func executable(path string) error {
	var info syscall.Stat_t // os.Stat allocates, for each directory of the PATH
	if err := syscall.Stat(path, &info); err != nil {
		return err
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFREG || info.Mode&0o111 == 0 {
		return errors.New("not an executable file")
	}
	return nil
}
