package process

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const groupMethod = MethodJobObject

// groupAttr has the process wait until it is in its job object. The command line
// is that of the arguments when it is empty.
func groupAttr(cmdLine string) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		CmdLine:       cmdLine,
		HideWindow:    true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
}

// A group is a job object that ends its processes with its last handle, which
// only this process has. The first process leads a group of the console, too, whose
// number is nobody else's as long as there is a handle of the process.
type group struct {
	job, leader windows.Handle
	pid         uint32
}

// newGroup puts a suspended process into a job object and lets it run. On error
// the process is killed.
func newGroup(p *os.Process) (g group, err error) {
	defer func() {
		if err != nil {
			g.close()
			_ = p.Kill()
			_, _ = p.Wait()
		}
	}()
	if g.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return g, fmt.Errorf("create a job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err = windows.SetInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return g, fmt.Errorf("set up the job object: %w", err)
	}
	g.pid = uint32(p.Pid)
	if g.leader, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE|windows.PROCESS_SUSPEND_RESUME, false, g.pid); err != nil {
		return g, fmt.Errorf("open the process: %w", err)
	}
	if err = windows.AssignProcessToJobObject(g.job, g.leader); err != nil {
		return g, fmt.Errorf("assign the process to its job object: %w", err)
	}
	if status, _, _ := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess").Call(uintptr(g.leader)); status != 0 {
		return g, fmt.Errorf("resume the process: %w", windows.NTStatus(status))
	}
	return g, nil
}

// signal asks to end, as Ctrl+Break does, with any signal but SIGKILL. That reaches programs
// of the console that this process has, if it has one.
func (g group) signal(sig syscall.Signal) {
	if sig == syscall.SIGKILL {
		_ = windows.TerminateJobObject(g.job, 1)
		return
	}
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, g.pid)
}

func (g group) alive() bool {
	// JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
	var info struct {
		times           [4]int64
		faults          uint32
		total           uint32
		active          uint32
		totalTerminated uint32
	}
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.active > 0
}

func (g group) close() {
	for _, h := range []windows.Handle{g.job, g.leader} {
		if h != 0 {
			windows.CloseHandle(h)
		}
	}
}

func exitStatus(state *os.ProcessState) (code int, signal string, err error) {
	return state.ExitCode(), "", nil
}

func systemShell() string { return filepath.Join(os.Getenv("SYSTEMROOT"), "System32", "cmd.exe") }

// Shell returns the shell that runs the texts of commands.
func Shell() (string, error) { return exec.LookPath(systemShell()) }

// find decides what to start.
func (l *launch) find() (err error) {
	if l.Shell != "" {
		l.path = systemShell() // whatever COMSPEC says, which a caller may set
		l.argv = []string{l.path}
		if l.cmdLine, err = textLine(l.path, l.Shell); err != nil {
			return startError("run", l.Shell, err)
		}
		return nil
	}
	name := cmp.Or(l.Program, l.Argv[0])
	if strings.ContainsAny(name, `/\`) && !filepath.IsAbs(name) {
		name = filepath.Join(l.Dir, name)
	}
	if l.path, err = exec.LookPath(name); err != nil {
		return startError("find the program", l.Argv[0], err)
	}
	l.argv = l.Argv
	if isBatch(l.path) {
		file := l.path
		l.path = systemShell()
		if l.cmdLine, err = batchLine(l.path, file, l.Argv[1:]); err != nil {
			return startError("run", file, err)
		}
	}
	return nil
}
