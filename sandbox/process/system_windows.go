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
// only this process has.
type group struct{ job windows.Handle }

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
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE|windows.PROCESS_SUSPEND_RESUME, false, uint32(p.Pid))
	if err != nil {
		return g, fmt.Errorf("open the process: %w", err)
	}
	defer windows.CloseHandle(h)
	if err = windows.AssignProcessToJobObject(g.job, h); err != nil {
		return g, fmt.Errorf("assign the process to its job object: %w", err)
	}
	if status, _, _ := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess").Call(uintptr(h)); status != 0 {
		return g, fmt.Errorf("resume the process: %w", windows.NTStatus(status))
	}
	return g, nil
}

// signal knows SIGKILL only: there is no request to end that all programs know.
func (g group) signal(sig syscall.Signal) {
	if sig == syscall.SIGKILL {
		_ = windows.TerminateJobObject(g.job, 1)
	}
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
	if g.job != 0 {
		windows.CloseHandle(g.job)
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
		if l.path = lookupEnv(l.Env, "COMSPEC"); l.path == "" {
			l.path = systemShell()
		}
		l.argv = []string{l.path}
		// With /S cmd.exe takes off the outer quotes and nothing else.
		l.cmdLine = syscall.EscapeArg(l.path) + ` /D /S /C "` + l.Shell + `"`
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
	return nil
}
