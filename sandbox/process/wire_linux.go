package process

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Server and supervisor talk JSON over a stream socket. The server sends orders, each
// after its length as four bytes, little-endian; with an order to start something
// come the descriptors of its standard streams. The supervisor sends reports, and at
// most one descriptor for each process, with a newline.

// maxOrder bounds an order above what execve(2) accepts, whose limit is 6 MiB.
const maxOrder = 16 << 20

// maxStreams is how many descriptors come with an order.
const maxStreams = 3

var errWire = errors.New("the supervisor's socket carries what is not a message")

// An order is to start a process or, with Signal, to signal all of what runs. Its
// strings are bytes, because JSON would change those that are not UTF-8.
type order struct {
	Signal    int              `json:",omitempty"`
	Streams   [maxStreams]bool // the standard streams that come with it; others are the null device
	Announce  bool             // report when it has started
	Bounds    Bounds
	User      int `json:",omitempty"`
	Path, Dir []byte
	Argv      [][]byte
	Env       [][]byte
	Confined  bool
	Confine   []byte
}

func (o *order) encode() []byte {
	text, _ := json.Marshal(o) // no value of these types fails
	return append(binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text))), text...)
}

// convert converts a list of strings to one of bytes, or back.
func convert[To, From string | []byte](list []From) []To {
	converted := make([]To, len(list))
	for i, s := range list {
		converted[i] = To(s)
	}
	return converted
}

// A report is what a supervisor says of itself or its process, one or more things
// at once.
type report struct {
	Ready     bool      `json:",omitempty"` // it is ready for orders
	Namespace bool      `json:",omitempty"` // with Ready: it is init of a PID namespace
	Watches   bool      `json:",omitempty"` // with Ready: it can watch bounds
	OwnProc   bool      `json:",omitempty"` // with Ready: /proc has processes by the numbers that it knows them by
	Started   int       `json:",omitempty"` // the PID, which is valid in the server for a subreaper only
	Errno     int       `json:",omitempty"` // the process was not started, and why
	Confining string    `json:",omitempty"` // the same if it could not be confined
	Exited    *int      `json:",omitempty"` // wait status of the main process
	Exceeded  string    `json:",omitempty"` // the bound for which all is being killed
	Gone      bool      `json:",omitempty"` // no process is left
	Ends      bool      `json:",omitempty"` // with Gone: the supervisor ends, too
	Refused   []Refusal `json:",omitempty"` // with Gone: see [Exit.Refused]
	LeftOver  int       `json:",omitempty"` // with Gone: see [Exit.LeftOver]
}

// receive reads one order with the descriptors that came with it, which come with its
// first byte.
func receive(socket *os.File) (o *order, files []int, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	length, oob := make([]byte, 4), make([]byte, unix.CmsgSpace(maxStreams*4))
	n, oobn, err := 0, 0, error(unix.EINTR)
	for err == unix.EINTR {
		n, oobn, _, _, err = unix.Recvmsg(int(socket.Fd()), length, oob, unix.MSG_CMSG_CLOEXEC|unix.MSG_WAITALL)
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	for i := 0; err == nil && i < len(messages); i++ {
		files, err = unix.ParseUnixRights(&messages[i])
	}
	size := binary.LittleEndian.Uint32(length)
	if err != nil || n < len(length) || size > maxOrder {
		return nil, files, errWire
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(socket, text); err != nil {
		return nil, files, err
	}
	o = new(order)
	if err := json.Unmarshal(text, o); err != nil {
		return nil, files, errors.Join(errWire, err)
	}
	given := 0
	for _, stream := range o.Streams {
		if stream {
			given++
		}
	}
	if given != len(files) || len(o.Argv) == 0 && o.Signal == 0 {
		return nil, files, errWire
	}
	return o, files, nil
}

func closeAll(files []int) {
	for _, fd := range files {
		unix.Close(fd)
	}
}
