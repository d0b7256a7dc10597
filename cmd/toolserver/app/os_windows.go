package app

import (
	"context"
	"io"
	"os"
	"time"
)

// protectStdout redirects what libraries print to standard error. Only what it
// returns still writes to standard output.
func protectStdout(out io.Writer) (io.Writer, error) {
	if out == os.Stdout {
		os.Stdout = os.Stderr
	}
	return out, nil
}

// parentGone is never closed: on Windows the end of the input shows that the parent has ended.
func parentGone(context.Context) <-chan struct{} { return nil }

// changedAt returns when a file was last changed.
func changedAt(info os.FileInfo) time.Time { return info.ModTime() }
