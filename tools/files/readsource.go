package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"toolserver/domain"
	"toolserver/sandbox/pathguard"
	"toolserver/tools/files/document"
	"toolserver/tools/files/textfile"
)

// open opens the file to read and tells its path, which is the caller's unless
// it was found above the working directory.
func (r *fileReader) open(path string) (*pathguard.File, string, error) {
	f, err := r.files.Open(path)
	if err == nil || !r.settings.SearchParents || !isNotFound(err) || !filepath.IsLocal(path) {
		return f, path, err
	}
	for dir := r.work; ; {
		if _, repository := r.files.Stat(filepath.Join(dir, ".git")); repository == nil {
			return nil, path, err
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil, path, err
		}
		dir = up
		found := filepath.Join(dir, path)
		if f, err := r.files.Open(found); err == nil {
			return f, found, nil
		}
	}
}

func isNotFound(err error) bool {
	e, ok := errors.AsType[*pathguard.Error](err)
	return ok && e.Kind == pathguard.KindNotFound
}

// ctxReaderAt is a file whose reading ends with the context of the call.
type ctxReaderAt struct {
	ctx context.Context
	r   io.ReaderAt
}

func (c ctxReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.ReadAt(p, off)
}

// ctxReader is the same for a file that is read from its start.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// countLines returns how many lines text has; the last one may lack its end.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte{'\n'})
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// unreadable answers for a file that cannot be read as text in the encoding asked for.
func (c *reading) unreadable(ctx context.Context, err error) (domain.ToolResult, error) {
	if binary, ok := errors.AsType[*textfile.BinaryError](err); ok {
		if binary.Likely == "" {
			return c.refuse(document.Type{}), nil
		}
		return domain.Failure("is_binary", c.path+" is "+err.Error(), "Call "+c.callWith(binary.Likely)+"."), nil
	}
	if decode, ok := errors.AsType[*textfile.DecodeError](err); ok {
		hint := "Call read_file with the encoding the file is in."
		if decode.Likely != "" {
			hint = "Call " + c.callWith(decode.Likely) + "."
		}
		return domain.Failure("decode_error", c.path+" is "+err.Error(), hint), nil
	}
	if past, ok := errors.AsType[*textfile.PastEndError](err); ok {
		return domain.Failure("out_of_range", c.path+": "+err.Error(),
			fmt.Sprintf("Choose an offset of at most %d, or a negative one to count from the end.", max(past.Total, 1))), nil
	}
	if ctx.Err() != nil {
		return domain.ToolResult{}, err
	}
	return ioFailure(c.path, err), nil
}

func (c *reading) callWith(encoding string) string {
	return fmt.Sprintf("read_file(path=%q, encoding=%q)", c.path, encoding)
}

// refuse answers for a file that is not shown as text.
func (c *reading) refuse(t document.Type) domain.ToolResult {
	message := document.Refusal(c.path, max(c.file.Info.Size, int64(len(c.head))), t)
	return domain.Failure("is_binary", message, "Do what the message says, or read another file.")
}

// ioFailure answers for a file that was opened and cannot be read to its end.
func ioFailure(path string, err error) domain.ToolResult {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err // the path is that of the disk, and the message has the caller's
	}
	return domain.Failure("io_error", path+" cannot be read: "+err.Error(), "Try again, or tell the operator.")
}
