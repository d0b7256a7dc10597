package process

import (
	"encoding/binary"
	"os"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

// What a supervisor is sent is an order or an error, and no order changes on the way.
func FuzzOrder(f *testing.F) {
	o := order{
		Announce: true, Confined: true, Bounds: Bounds{Processes: 300, Memory: 1 << 40},
		Path: []byte("/bin/sh"), Dir: []byte("/"), Argv: [][]byte{[]byte("sh"), {}}, Env: [][]byte{[]byte("A=\xff")}, Confine: []byte("x\x00y"),
	}
	f.Add(o.encode())
	f.Add((&order{Signal: 9}).encode())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte("\x12\x00\x00\x00{\"Argv\":[\"\",null]}"))
	f.Add([]byte("\x22\x00\x00\x00{\"Signal\":9,\"Streams\":[true,true]}"))
	send := func(t *testing.T, b []byte) (*order, error) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
		defer theirs.Close()
		go func() {
			defer ours.Close()
			_, _ = ours.Write(b)
		}()
		o, files, err := receive(theirs)
		if len(files) > 0 {
			t.Errorf("descriptors %v came with nothing", files)
		}
		return o, err
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 4 && binary.LittleEndian.Uint32(b) > 1<<20 {
			return // takes long to allocate
		}
		o, err := send(t, b)
		if err != nil {
			return
		}
		again, err := send(t, o.encode())
		if err != nil || !reflect.DeepEqual(o, again) {
			t.Errorf("%+v became %+v: %v", o, again, err)
		}
	})
}
