package runner

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// receive reads one frame with the descriptors that came with it.
func receive(fd int) (kind frameKind, payload []byte, files []int, err error) {
	r := &messageReader{fd: fd}
	kind, payload, err = readFrame(r)
	if err != nil {
		for _, f := range r.files {
			unix.Close(f)
		}
		return 0, nil, nil, err
	}
	return kind, payload, r.files, nil
}

// A messageReader reads a stream socket and keeps the descriptors it is sent.
type messageReader struct {
	fd    int
	files []int
}

func (r *messageReader) Read(p []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(3*4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(r.fd, p, oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		}
		if oobn > 0 {
			if err := r.keep(oob[:oobn]); err != nil {
				return n, err
			}
		}
		if n == 0 && len(p) > 0 {
			return 0, io.EOF
		}
		return n, nil
	}
}

func (r *messageReader) keep(oob []byte) error {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return err
		}
		r.files = append(r.files, fds...)
	}
	return nil
}
