package process

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Server and supervisor talk over a stream socket. The server sends orders, each
// after its length as four bytes, little-endian; with an order to start something
// come the descriptors of its standard streams. The supervisor sends reports as JSON.

// maxOrder bounds an order above what execve(2) accepts, whose limit is 6 MiB.
const maxOrder = 16 << 20

var errWire = errors.New("the supervisor's socket carries what is not a message")

// An order is to start a process or, with Signal, to signal all of what runs. The
// strings follow the JSON of the rest, separated by NUL, which none but the last, the
// Confine bytes, can hold: JSON would change those that are not UTF-8.
type order struct {
	Signal   int
	Streams  [3]bool // the standard streams that come with it; others are the null device
	Announce bool    // report when it has started
	Confined bool
	Bounds   Bounds
	Args     int // how many strings each list has
	Vars     int

	path, dir string
	argv, env []string
	confine   string
}

func (o *order) encode() []byte {
	o.Args, o.Vars = len(o.argv), len(o.env)
	head, _ := json.Marshal(o) // no value of these types fails
	text := strings.Join(slices.Concat([]string{string(head), o.path, o.dir}, o.argv, o.env, []string{o.confine}), "\x00")
	return append(binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text))), text...)
}

// streams returns how many descriptors come with the order.
func (o *order) streams() (n int) {
	for _, given := range o.Streams {
		if given {
			n++
		}
	}
	return n
}

// decodeOrder decodes an order without its length.
func decodeOrder(b []byte) (*order, error) {
	o := new(order)
	head, rest, _ := strings.Cut(string(b), "\x00")
	if err := json.Unmarshal([]byte(head), o); err != nil {
		return nil, errors.Join(errWire, err)
	}
	if o.Args < 0 || o.Args > len(b) || o.Vars < 0 || o.Vars > len(b) {
		return nil, errWire
	}
	fields := strings.SplitN(rest, "\x00", 3+o.Args+o.Vars)
	if len(fields) != 3+o.Args+o.Vars || o.Args == 0 && o.Signal == 0 {
		return nil, errWire
	}
	o.path, o.dir, fields = fields[0], fields[1], fields[2:]
	o.argv, o.env, o.confine = fields[:o.Args], fields[o.Args:o.Args+o.Vars], fields[o.Args+o.Vars]
	return o, nil
}

// A report is what a supervisor says of itself or its process, one or more things
// at once.
type report struct {
	Ready     bool   `json:",omitempty"` // it is ready for orders; with the next two
	Namespace bool   `json:",omitempty"` // it is init of a PID namespace
	Watches   bool   `json:",omitempty"` // it can watch bounds
	Started   int    `json:",omitempty"` // the PID, which is valid in the server for a subreaper only
	Errno     int    `json:",omitempty"` // the process was not started, and why
	Confining string `json:",omitempty"` // the same if it could not be confined
	Exited    *int   `json:",omitempty"` // wait status of the main process
	Exceeded  string `json:",omitempty"` // the bound for which all is being killed
	Gone      bool   `json:",omitempty"` // no process is left
	Leftovers int    `json:",omitempty"` // how many outlived the main one and were killed
}

// receive reads one order with the descriptors that came with it.
func receive(fd int) (*order, []int, error) {
	r := &messageReader{fd: fd}
	o, err := readOrder(r)
	if err == nil && len(r.files) != o.streams() {
		err = errWire
	}
	if err != nil {
		for _, f := range r.files {
			unix.Close(f)
		}
		return nil, nil, err
	}
	return o, r.files, nil
}

func readOrder(r io.Reader) (*order, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(length[:])
	if size > maxOrder {
		return nil, errWire
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return decodeOrder(b)
}

// A messageReader reads a stream socket and keeps the descriptors it is sent.
type messageReader struct {
	fd    int
	files []int
}

func (r *messageReader) Read(p []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(3*4))
	var n, oobn int
	var err error = unix.EINTR
	for err == unix.EINTR {
		n, oobn, _, _, err = unix.Recvmsg(r.fd, p, oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return 0, err
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	for i := 0; err == nil && i < len(messages); i++ {
		var files []int
		files, err = unix.ParseUnixRights(&messages[i])
		r.files = append(r.files, files...)
	}
	return n, err
}
