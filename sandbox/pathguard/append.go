package pathguard

import (
	"fmt"
	"io"
)

// Append adds data to the end of the regular file at path, which must exist,
// in one write with O_APPEND, so that appends of several processes do not mix.
// It returns the real path. The error is an [*Error].
func (g *Guard) Append(path string, data []byte) (real string, err error) {
	o, err := g.open("append", path, wantAppend)
	if err != nil {
		return "", err
	}
	n, err := o.file.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if closing := o.file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		q := request{op: "append", path: path, guard: g}
		reason := fmt.Sprintf("got %d of %d bytes appended: %s", n, len(data), cause(err))
		return "", q.error(KindIO, reason, err)
	}
	return o.info.Real, nil
}
