package resources

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/sandbox/pathguard"
)

const (
	maxFile      = 10 << 20 // bytes of a file that is read
	pollInterval = 2 * time.Second
)

// fileReader is the resource of all files.
type fileReader struct {
	read     *sandbox.Reader // of read_file, which alone opens files here
	list     *sandbox.Reader // of list_directory, which says what may be listed
	work     string
	interval time.Duration
}

func newFileReader(d Deps) *fileReader {
	return &fileReader{
		read: d.Files, list: d.Listed,
		work: d.WorkingDirectory, interval: cmp.Or(d.PollInterval, pollInterval),
	}
}

func (r *fileReader) resource() domain.Resource {
	return domain.Resource{
		Template: "file:///{path}", Name: FileName, Title: "File",
		Description: "A file that read_file may read. The path is absolute, or else relative to the working directory: " +
			"file:///README.md is the README.md there.",
		Audience: domain.Audience{Tool: "read_file"},
		Read:     r.contents, Watch: r.watch, Complete: r.complete,
	}
}

// contents reads the file a URI stands for.
func (r *fileReader) contents(ctx context.Context, at domain.Location) ([]domain.Content, error) {
	f, path, err := r.open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var raw bytes.Buffer
	raw.Grow(int(f.Info.Size) + bytes.MinRead) // the size is bounded, and MinRead tells the end without growing again
	if _, err := raw.ReadFrom(io.LimitReader(f, maxFile+1)); err != nil {
		return nil, unreadable(at.URI, path, err)
	}
	if raw.Len() > maxFile { // it has grown meanwhile, or has no size until it is read
		return nil, tooLarge(at.URI, path, int64(raw.Len()))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return []domain.Content{contentOf(at.URI, path, raw.Bytes())}, nil
}

// open opens the file a URI stands for, and tells its path as the guard was
// given it. An error is an [*domain.Error].
func (r *fileReader) open(at domain.Location) (*pathguard.File, string, error) {
	f, path, err := openEither(at.Vars["path"], r.read.Open)
	if err != nil {
		return nil, path, refusal(at.URI, err)
	}
	if f.Info.Size > maxFile {
		defer f.Close()
		return nil, path, tooLarge(at.URI, path, f.Info.Size)
	}
	return f, path, nil
}

// refusal is the error of a file the guard does not open.
func refusal(uri string, err error) error {
	refused, ok := errors.AsType[*pathguard.Error](err)
	if !ok {
		return err
	}
	e := domain.ResourceNotFound(uri, err.Error())
	e.Err = err
	e.Hint = "Complete the path of file:///{path}, or call list_directory, for the files there are."
	if refused.Kind == pathguard.KindDenied {
		e.Data["error_type"] = "denied"
		e.Hint = "Choose a file that the policy allows."
	}
	return e
}

// tooLarge is the error of a file that there is, but not as a resource.
func tooLarge(uri, path string, size int64) *domain.Error {
	call := fmt.Sprintf("read_file(path=%q, offset=1)", path)
	return &domain.Error{
		Code:    domain.CodeInvalidParams,
		Message: fmt.Sprintf("%s has %d bytes, and at most %d are read as a resource; call %s to read it in parts", path, size, maxFile, call),
		Hint:    "Call " + call + ".",
		Data:    map[string]any{"uri": uri, "error_type": "too_large"},
	}
}

// unreadable is the error of a file that was opened and cannot be read.
func unreadable(uri, path string, err error) *domain.Error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err // the path is that of the disk, and the message has the caller's
	}
	return &domain.Error{
		Code:    domain.CodeExecutionFailed,
		Message: path + " cannot be read: " + err.Error(),
		Hint:    "Try again, or tell the operator.",
		Data:    map[string]any{"uri": uri, "error_type": "io_error"}, Err: err,
	}
}
