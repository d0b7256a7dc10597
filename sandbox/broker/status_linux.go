package broker

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/osfile"
)

// A status is what decides how the kernel makes a file for a thread.
type status struct {
	umask    int
	uid, gid int     // of the file system
	own      *status // of this thread
}

// become makes this thread create files as another does, and the whole process if they share
// the umask, until restore.
func (b *session) become(tid int) (s status, err error) {
	s = b.usual
	err = b.eachField(tid, func(name string, value []byte) {
		switch name {
		case "Umask":
			mask, _ := strconv.ParseInt(string(value), 8, 32)
			s.umask = int(mask)
		case "Uid":
			s.uid = lastNumber(value)
		case "Gid":
			s.gid = lastNumber(value)
		}
	})
	if err != nil {
		return s, err
	}
	if s.umask != b.usual.umask { // and stays so, for the next file
		unix.Umask(s.umask)
		b.usual.umask = s.umask
	}
	s.take(s.uid, s.gid)
	return s, nil
}

// restore undoes become, but for the umask.
func (s *status) restore() { s.take(s.own.uid, s.own.gid) }

// take gives the thread IDs if those of the status are not its own.
func (s *status) take(uid, gid int) {
	if s.uid != s.own.uid || s.gid != s.own.gid {
		osfile.ActAs(uid, gid)
	}
}

func lastNumber(value []byte) int {
	n, _ := strconv.Atoi(string(value[bytes.LastIndexByte(value, '\t')+1:]))
	return n
}
