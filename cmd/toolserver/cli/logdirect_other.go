//go:build !linux

package cli

import "os"

// directWriter returns what writes to f without blocking, or nil if that is
// not possible, and what frees it.
func directWriter(f *os.File) (write func(b []byte) (int, error), free func()) {
	if isRegular(f) {
		return f.Write, func() {}
	}
	return nil, func() {}
}
