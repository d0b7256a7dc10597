package runner

import (
	"bytes"
	"reflect"
	"testing"
)

func FuzzRunOrder(f *testing.F) {
	o := runOrder{path: "/bin/sh", dir: "/", stdin: true, confined: true, confine: []byte("x"), bounds: Bounds{Processes: 300, Memory: 1 << 40}, argv: []string{"sh", ""}, env: []string{"A=\xff"}}
	f.Add(o.encode())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := decodeRunOrder(b)
		if err != nil {
			return
		}
		again, err := decodeRunOrder(o.encode())
		if err != nil || !reflect.DeepEqual(o, again) {
			t.Errorf("%+v became %+v: %v", o, again, err)
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add(appendFrame(nil, frameKill, nil))
	f.Add(appendNumbers(nil, frameExited, 1, 2))
	f.Add([]byte{'R', 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, payload, err := readFrame(bytes.NewReader(b))
		if err == nil && !bytes.HasPrefix(b, appendFrame(nil, kind, payload)) {
			t.Errorf("%q was read as %c %q", b, kind, payload)
		}
	})
}
