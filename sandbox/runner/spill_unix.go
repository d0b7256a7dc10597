//go:build unix

package runner

import (
	"fmt"
	"os"
)

func newUnlinkedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "output-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("unlink the temporary output file: %w", err)
	}
	return f, nil
}
