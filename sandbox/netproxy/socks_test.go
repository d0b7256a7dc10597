package netproxy

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"testing"
	"time"
)

// FuzzSOCKS has a client say anything: what it is connected to is what it said, and it
// gets an answer of the protocol or none.
func FuzzSOCKS(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"))
	f.Add([]byte("\x05\x02\x00\x02\x05\x01\x00\x03\x09localhost\x01\xbb"))
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x50"))
	f.Add([]byte("\x05\x01\x02"))
	f.Add([]byte("\x05\x01\x00\x05\x02\x00\x09\x00\x00"))
	f.Fuzz(func(t *testing.T, said []byte) {
		s := &Server{Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil && len(host) > 0 {
				t.Errorf("dials %q: %v", address, err)
			}
			if _, err := strconv.ParseUint(port, 10, 16); port != "" && err != nil {
				t.Errorf("dials %q: %v", address, err)
			}
			return nil, Refusal{Target: address}
		}}
		client, ours := net.Pipe()
		go func() {
			defer ours.Close()
			s.serveSOCKS(t.Context(), ours, bytes.NewReader(said))
		}()
		if err := client.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(client)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case len(answer) == 0, bytes.Equal(answer, []byte{5, 0xff}), bytes.Equal(answer, []byte{5, 0}):
		case len(answer) != 12 || answer[1] != 0 || answer[2] != 5 || answer[3] != 2 && answer[3] != 7 && answer[3] != 8:
			t.Errorf("%q is answered with %q", said, answer)
		}
	})
}
