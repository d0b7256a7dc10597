package app

import (
	"io"
	"os"
)

// protectStdout redirects what libraries print to standard error. Only what it
// returns still writes to standard output.
func protectStdout(out io.Writer) (io.Writer, error) {
	if out == os.Stdout {
		os.Stdout = os.Stderr
	}
	return out, nil
}
