package pathguard

import "toolserver/sandbox/appender"

// AppendOptions say how [Guard.Append] writes.
type AppendOptions struct {
	// Program is a program whose main calls [appender.RunChild] when
	// [appender.IsChild], so that an append is whole even if this process is
	// killed. Without it only an append that fails is taken back.
	Program string
}

// Append adds data to the end of the regular file at path, which must exist,
// in one write with O_APPEND, so that appends of several processes do not mix.
// If not all can be appended, nothing is (see package appender for what that
// excludes). It returns the real path. The error is an [*Error].
func (g *Guard) Append(path string, data []byte, options AppendOptions) (real string, err error) {
	o, err := g.open("append", path, wantAppend)
	if err != nil {
		return "", err
	}
	q := request{op: "append", path: path, guard: g}
	err = appender.Append(o.file, data, options.Program)
	closing := o.file.Close()
	if err != nil {
		return "", q.error(KindIO, err.Error(), err)
	}
	if closing != nil {
		return "", q.error(KindIO, "was appended to, but the file system may have lost it again: "+cause(closing), closing)
	}
	return o.info.Real, nil
}
