//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// events reads a stream of events, each of which is a message.
type events struct{ in *bufio.Reader }

func newEvents(r io.Reader) *events { return &events{bufio.NewReader(r)} }

// next returns the next message, or io.EOF if the stream has ended between two.
func (e *events) next() (*message, error) {
	var data []byte
	for {
		line, err := e.in.ReadBytes('\n')
		if err != nil {
			if err == io.EOF && (len(line) > 0 || data != nil) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0 && data != nil:
			return parse(data)
		case len(line) == 0, line[0] == ':', string(line) == "event: message":
		case bytes.HasPrefix(line, []byte("data: ")) && data == nil:
			data = bytes.Clone(line[len("data: "):])
		default:
			return nil, fmt.Errorf("%.100q is no line of an event", line)
		}
	}
}
