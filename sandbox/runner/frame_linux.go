package runner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Server and supervisor talk over a stream socket in frames: a kind, the length
// of the payload as four bytes, the payload. Numbers are little-endian.
type frameKind byte

const (
	// From the server.
	frameRun       frameKind = 'R' // runOrder; with it come the descriptors
	frameTerminate frameKind = 'T' // ask all processes to end
	frameKill      frameKind = 'K' // end all processes
	// From the supervisor.
	frameHello    frameKind = 'H' // ready; two bytes: 1 if it is init of a namespace, 1 if it can watch bounds
	frameStarted  frameKind = 'S' // running; its pid, which means something from a subreaper only
	frameFailed   frameKind = 'F' // not started; errno, and what kept it from being confined
	frameExited   frameKind = 'X' // wait status, CPU time in microseconds
	frameExceeded frameKind = 'B' // it is being killed for what it passed, an excess
	frameGone     frameKind = 'G' // no process is left; how many had to be killed
)

const (
	frameHeader = 5
	// maxFrame bounds an order above what execve(2) accepts, whose limit is 6 MiB.
	maxFrame = 16 << 20
)

var errFrame = errors.New("the supervisor's socket carries what is not a message")

func appendFrame(b []byte, kind frameKind, payload []byte) []byte {
	b = append(b, byte(kind))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

func appendNumbers(b []byte, kind frameKind, numbers ...uint64) []byte {
	payload := make([]byte, 0, 32)
	for _, n := range numbers {
		payload = binary.LittleEndian.AppendUint64(payload, n)
	}
	return appendFrame(b, kind, payload)
}

// readFrame reads one frame; a closed socket between frames is io.EOF.
func readFrame(r io.Reader) (frameKind, []byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	size := binary.LittleEndian.Uint32(header[1:])
	if size > maxFrame {
		return 0, nil, errFrame
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, err
	}
	return frameKind(header[0]), payload, nil
}

func numbers(payload []byte, n int) ([]uint64, error) {
	if len(payload) != 8*n {
		return nil, errFrame
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(payload[8*i:])
	}
	return out, nil
}

// A runOrder is the payload of frameRun.
type runOrder struct {
	path, dir string
	stdin     bool // the first descriptor is the standard input
	announce  bool // say when it has started
	confine   []byte
	confined  bool
	bounds    Bounds
	argv, env []string
}

func (o *runOrder) encode() []byte {
	b := appendString(nil, o.path)
	b = appendString(b, o.dir)
	b = append(b, flag(o.stdin), flag(o.announce), flag(o.confined))
	b = appendString(b, string(o.confine))
	b = binary.AppendUvarint(b, uint64(o.bounds.Processes))
	b = binary.AppendUvarint(b, uint64(o.bounds.Memory))
	b = appendStrings(b, o.argv)
	return appendStrings(b, o.env)
}

func decodeRunOrder(b []byte) (*runOrder, error) {
	d := decoder{rest: b}
	o := &runOrder{path: d.string(), dir: d.string(), stdin: d.flag(), announce: d.flag(), confined: d.flag(), confine: []byte(d.string())}
	o.bounds = Bounds{Processes: int(d.number()), Memory: int64(d.number())}
	o.argv, o.env = d.strings(), d.strings()
	if d.bad || len(d.rest) > 0 || len(o.argv) == 0 {
		return nil, fmt.Errorf("order to run a command: %w", errFrame)
	}
	return o, nil
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendStrings(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

// A decoder takes values off the front of rest until one is not there.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) length() int {
	n := d.number()
	if n > uint64(len(d.rest)) { // each item takes a byte at least
		d.bad, d.rest = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) string() string {
	n := d.length()
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) strings() []string {
	list := make([]string, d.length())
	for i := range list {
		list[i] = d.string()
	}
	return list
}

func (d *decoder) flag() bool {
	if len(d.rest) == 0 {
		d.bad = true
		return false
	}
	set := d.rest[0] == 1
	d.rest = d.rest[1:]
	return set
}
