// Package walktest builds directory trees for tests and benchmarks of walking
// and searching.
package walktest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Build writes a tree of n text files of about 700 bytes below dir, always the
// same for the same n: directories of some 80 files up to six deep, one file in
// six named *.go, words of source code as text, and now and then the needles
// that benchmarks look for ("needleLiteral", "fooXYZbar", "2024-07").
func Build(dir string, n int) error {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	dirs := []string{dir}
	for i := range n {
		if i%80 == 79 {
			parent := dirs[r.IntN(len(dirs))]
			if len(parent)-len(dir) > 40 {
				parent = dir
			}
			d := filepath.Join(parent, fmt.Sprintf("dir%04d", len(dirs)))
			if err := os.Mkdir(d, 0o755); err != nil {
				return err
			}
			dirs = append(dirs, d)
		}
		ext := [...]string{"go", "js", "txt", "md", "py", "json"}[r.IntN(6)]
		name := filepath.Join(dirs[len(dirs)-1], fmt.Sprintf("%s_%05d.%s", words[r.IntN(len(words))], i, ext))
		if err := os.WriteFile(name, text(r), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var words = [...]string{
	"func", "return", "error", "context", "string", "value", "request", "response", "handler", "package",
	"import", "struct", "interface", "config", "server", "client", "buffer", "index", "length", "result",
	"(err)", "{", "}", ":=", "nil", "if", "for", "range", "the", "of", "and", "to", "is", "x-y", "100", "2024",
}

func text(r *rand.Rand) []byte {
	var b bytes.Buffer
	for size := 200 + r.IntN(1000); b.Len() < size; {
		b.WriteByte('\t')
		for range 3 + r.IntN(9) {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteByte(' ')
		}
		switch r.IntN(2000) {
		case 0:
			b.WriteString("needleLiteral")
		case 1:
			b.WriteString("fooXYZbar")
		case 2:
			b.WriteString("2024-07")
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
