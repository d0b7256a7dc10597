package process

import (
	"bytes"
	"reflect"
	"testing"
)

func FuzzOrder(f *testing.F) {
	o := order{
		Streams: [3]bool{1: true}, Confined: true, Bounds: Bounds{Processes: 300, Memory: 1 << 40},
		path: "/bin/sh", dir: "/", argv: []string{"sh", ""}, env: []string{"A=\xff"}, confine: "x\x00y",
	}
	f.Add(o.encode())
	f.Add((&order{Signal: 9}).encode())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte("\x18\x00\x00\x00{\"Args\":1e9,\"Vars\":-5}\x00/\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := readOrder(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := readOrder(bytes.NewReader(o.encode()))
		if err != nil || !reflect.DeepEqual(o, again) {
			t.Errorf("%+v became %+v: %v", o, again, err)
		}
	})
}
