//go:build !linux

package pathguard

import (
	"os"
	"time"
)

// platform returns how files are opened.
func platform(int) fileSystem { return portable{} }

// copyAttributes does nothing: which attributes belong to the user is known on Linux.
func copyAttributes(_, _ *os.File) {}

// setTime does nothing, either: of an open file it is set on Linux.
func setTime(*os.File, time.Time) {}

// StampOf tells nothing here.
func StampOf(string) (s Stamp, ok bool) { return s, false }
