//go:build !unix

package sandbox

import (
	"errors"
	"os"
)

// lockScratch fails: where commands are not confined they have no such directory.
func lockScratch(string) (*os.File, error) { return nil, errors.ErrUnsupported }
