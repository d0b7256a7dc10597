package confine

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
)

const headSize = 4096 // of a program: more than a #! line may have

// loader returns the dynamic loader an ELF program names, or "".
func loader(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	const classAt, class64, dataAt, littleEndian = 4, 2, 5, 1
	if n < 64 || !bytes.HasPrefix(head, []byte("\x7fELF")) || head[classAt] != class64 || head[dataAt] != littleEndian {
		return ""
	}
	le := binary.LittleEndian
	at, size, count := le.Uint64(head[32:]), uint64(le.Uint16(head[54:])), uint64(le.Uint16(head[56:]))
	if size < 56 || count > 1024 || at > 1<<30 {
		return ""
	}
	headers := make([]byte, size*count)
	if _, err := f.ReadAt(headers, int64(at)); err != nil {
		return ""
	}
	for ; len(headers) > 0; headers = headers[size:] {
		const interpreter = 3 // PT_INTERP, elf(5)
		offset, length := le.Uint64(headers[8:]), le.Uint64(headers[32:])
		if le.Uint32(headers) != interpreter || length > maxPath || offset > 1<<40 {
			continue
		}
		name := make([]byte, length)
		if _, err := f.ReadAt(name, int64(offset)); err != nil {
			return ""
		}
		return string(bytes.TrimRight(name, "\x00"))
	}
	return ""
}
