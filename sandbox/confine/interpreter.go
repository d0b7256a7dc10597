package confine

import (
	"bytes"
	"io"
	"os"
	"strings"
)

// Interpreter returns the words of the #! line of a script, or nil if the file
// is none. To start the script takes the program that is the first of them, and
// if that is env(1) the one it looks for.
func Interpreter(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	line, ok := bytes.CutPrefix(head[:n], []byte("#!"))
	if !ok {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return strings.Fields(string(line))
}
