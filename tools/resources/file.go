package resources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/osfile/filewatch"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

const maxFile = 10 << 20 // bytes of a file that is read

// fileReader is the resource of all files.
type fileReader struct {
	read *sandbox.Reader // of read_file, which alone opens files here
	list *sandbox.Reader // of list_directory, which says what may be listed
	work string
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

// openEither opens what the path of a file URI stands for. By RFC 8089 that is
// an absolute path. People, and models above all, also write file:///README.md
// for the README.md in front of them, so what is not there, or not allowed, is
// looked for beneath the working directory. The guard checks both.
func openEither[T any](path string, open func(path string) (T, error)) (found T, spelled string, err error) {
	absolute, relative := spellings(path)
	if absolute == "" {
		found, err = open(relative)
		return found, relative, err
	}
	found, err = open(absolute)
	if relative == "" || !isKind(err, pathguard.KindDenied) && !isMissing(err) {
		return found, absolute, err
	}
	other, otherErr := open(relative)
	switch {
	case otherErr == nil || !isMissing(otherErr):
		return other, relative, otherErr
	case isMissing(err):
		return found, absolute, err
	}
	return found, absolute, fmt.Errorf("%v, and %w", otherErr, err)
}

// spellings returns the paths that the path of a file URI may mean; one of them
// may be empty. The slashes it begins with are part of the URI, and some clients
// write one more.
func spellings(path string) (absolute, relative string) {
	path = strings.TrimLeft(path, "/")
	switch {
	case filepath.IsAbs(path):
		return path, "" // it begins with a drive
	case filepath.IsAbs("/" + path):
		return "/" + path, path
	}
	return "", path
}

// isMissing reports whether there is nothing at a path.
func isMissing(err error) bool {
	return isKind(err, pathguard.KindNotFound, pathguard.KindNotADirectory)
}

func isKind(err error, kinds ...pathguard.Kind) bool {
	e, ok := errors.AsType[*pathguard.Error](err)
	return ok && slices.Contains(kinds, e.Kind)
}

// pollInterval is between two looks at a file that is watched.
const pollInterval = 2 * time.Second

// watch looks at a file from time to time, opening it again: notifications of the
// system would bypass the guard. A file that cannot be read to begin with is an
// error; that it can no longer be read is a change like any other.
func (r *fileReader) watch(ctx context.Context, at domain.Location, changed func()) error {
	f, path, err := r.open(at)
	if err != nil {
		return err
	}
	seen, err := f.Stat()
	f.Close()
	if err != nil {
		return unreadable(at.URI, path, err)
	}
	go filewatch.Poll(ctx, pollInterval, seen, func() fs.FileInfo { return r.look(path) }, filewatch.Same, changed)
	return nil
}

// look returns what is known of the file at path, or nil if it cannot be read.
// Only an open file tells which one it is.
func (r *fileReader) look(path string) fs.FileInfo {
	f, err := r.read.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	return info
}
