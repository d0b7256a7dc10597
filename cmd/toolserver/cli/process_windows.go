package cli

import (
	"context"
	"io"
	"os"
)

// protectStdout leads what libraries print to standard error. What is returned
// is the only way left to standard output.
func protectStdout(out io.Writer) (io.Writer, error) {
	if out == os.Stdout {
		os.Stdout = os.Stderr
	}
	return out, nil
}

// parentGone is never closed: here the end of the input tells of the parent's.
func parentGone(context.Context) <-chan struct{} { return nil }
