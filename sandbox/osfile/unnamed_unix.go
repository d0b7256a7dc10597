//go:build unix

package osfile

import "os"

// Unnamed returns a temporary file without a name: it is gone with its descriptor,
// even when the server is killed.
func Unnamed() (*os.File, error) {
	f, err := os.CreateTemp("", "output-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
