//go:build unix && !linux

package runner

import "os"

func newSpillFile() (*os.File, error) { return newUnlinkedFile() }
