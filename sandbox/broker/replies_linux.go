package broker

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Replies are what the threads get whose calls a listener has taken.
type replies struct {
	listener int
	waiting  []*waiting
}

type answered struct{}

func (answered) Error() string { return "the answer was sent" }

var errAnswered error = answered{}

type unready struct{}

func (unready) Error() string { return "it would wait" }

// errWaits says that a call is not to be answered yet.
var errWaits error = unready{}

func (p *replies) answer(id uint64, value int, err error) {
	a := answer{id: id, value: int64(value)}
	if err != nil {
		errno, ok := err.(unix.Errno)
		if !ok {
			errno = unix.EACCES
		}
		a.errno = -int32(errno)
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(p.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
}

// give answers with a descriptor of an open file, and closes that first: a file that this
// process has open for writing could not be run, nor have a lease.
func (p *replies) give(id uint64, fd, flags int) error {
	to, err := p.add(id, fd, flags)
	if err != nil {
		return err
	}
	p.answer(id, to, nil)
	return errAnswered
}

// add gives the thread that made a call a descriptor, and closes that here.
func (p *replies) add(id uint64, fd, flags int) (to int, err error) {
	a := addition{id: id, from: uint32(fd), targetFlags: uint32(flags & unix.O_CLOEXEC)}
	added, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(p.listener), unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(&a)))
	unix.Close(fd)
	if errno != 0 {
		return -1, errno
	}
	return int(added), nil
}

// A waiting call is answered later. Nothing here waits for it: it is tried again and again.
type waiting struct {
	id    uint64
	tid   int
	fd    int          // of a connection that is being made; negative if it is something else
	try   func() error // [errWaits] if it is not its time yet
	done  func()
	pause time.Duration
	at    time.Time // of the next try
}

// maxPause is the longest time between two tries.
const maxPause = 16 * time.Millisecond

// await has a call tried until it does not wait any more, or nobody waits for it. Then it
// calls done. It is tried sooner if the descriptor fd, unless negative, can be written to.
func (p *replies) await(r *request, fd int, try func() error, done func()) {
	p.waiting = append(p.waiting, &waiting{r.id, r.tid, fd, try, done, time.Millisecond, time.Now().Add(time.Millisecond)})
}

// tryWaiting tries the calls that it is time for, unless a signal has interrupted their thread. It returns when it is for the next one, in
// milliseconds; -1 if none waits.
func (p *replies) tryWaiting(interrupted func(tid int) bool) (next int) {
	next = -1
	all := p.waiting
	if len(all) == 0 {
		return next
	}
	p.waiting = nil // tries may add others
	for _, w := range all {
		if wait := time.Until(w.at); wait <= 0 {
			_, _, gone := unix.Syscall(unix.SYS_IOCTL, uintptr(p.listener), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&w.id)))
			err := error(errAnswered)
			if gone == 0 {
				if err = w.try(); err == errWaits && interrupted(w.tid) {
					err = unix.Errno(512) // ERESTARTSYS: the kernel decides by what handles the signal
				}
			}
			if err != errWaits {
				if err != errAnswered {
					p.answer(w.id, 0, err)
				}
				w.done()
				continue
			}
			w.pause = min(2*w.pause, maxPause)
			w.at = time.Now().Add(w.pause)
		}
		p.waiting = append(p.waiting, w)
	}
	for _, w := range p.waiting {
		wait := max(1, int(time.Until(w.at)/time.Millisecond))
		if next < 0 || wait < next {
			next = wait
		}
	}
	return next
}
