package broker

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A status is what decides how the kernel makes a file for a thread.
type status struct {
	umask    int
	uid, gid int // of the file system
}

// statusOf reads it from /proc.
func statusOf(tid int) (s status, err error) {
	s = status{umask: 0o022, uid: os.Geteuid(), gid: os.Getegid()}
	err = eachField(tid, func(name string, values []string) (err error) {
		switch {
		case name == "Umask":
			var mask int64
			mask, err = strconv.ParseInt(values[0], 8, 32)
			s.umask = int(mask)
		case name == "Uid" && len(values) == 4:
			s.uid, err = strconv.Atoi(values[3])
		case name == "Gid" && len(values) == 4:
			s.gid, err = strconv.Atoi(values[3])
		}
		return err
	})
	return s, err
}

// interrupted reports whether a signal waits for a thread.
func interrupted(tid int) bool {
	var pending, not uint64
	_ = eachField(tid, func(name string, values []string) error {
		bits, _ := strconv.ParseUint(values[0], 16, 64)
		switch name {
		case "SigPnd", "ShdPnd":
			pending |= bits
		case "SigBlk", "SigIgn":
			not |= bits
		}
		return nil
	})
	return pending&^not != 0
}

// eachField calls f with each line of a thread's status that has a value.
func eachField(tid int, f func(name string, values []string) error) error {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return unix.ESRCH
	}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		if values := strings.Fields(rest); len(values) > 0 {
			if err := f(name, values); err != nil {
				return err
			}
		}
	}
	return nil
}

// become makes the calling thread create files as the thread of a status does, and the
// whole process if they share the umask.
func (s *status) become() { s.umask = s.take(s.umask, s.uid, s.gid) }

// restore undoes become.
func (s *status) restore() { s.take(s.umask, os.Geteuid(), os.Getegid()) }

// take gives the thread an umask, and IDs if those of the status are not its own. The last
// call undoes that a change of IDs can open a process to others (fs.suid_dumpable).
func (s *status) take(umask, uid, gid int) (old int) {
	if s.uid != os.Geteuid() || s.gid != os.Getegid() {
		_, _, _ = unix.RawSyscall(unix.SYS_SETFSGID, uintptr(gid), 0, 0)
		_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, uintptr(uid), 0, 0)
		_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0)
	}
	return unix.Umask(umask)
}
