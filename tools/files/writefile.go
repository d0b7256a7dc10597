package files

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"slices"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// writeInput are the arguments of write_file where directories are created by
// default.
type writeInput struct {
	Path          string  `json:"path" min:"1" max:"4096"`
	Content       string  `json:"content"`
	CreateDirs    bool    `json:"create_dirs" default:"true"`
	OnConflict    string  `json:"on_conflict" default:"overwrite" enum:"overwrite|error"`
	ContentBase64 *string `json:"content_base64"`
}

func (writeInput) Words() string { return arguments }

// writeInputNoDirs are the same where they are not.
type writeInputNoDirs struct {
	Path          string  `json:"path" min:"1" max:"4096"`
	Content       string  `json:"content"`
	CreateDirs    bool    `json:"create_dirs" default:"false"`
	OnConflict    string  `json:"on_conflict" default:"overwrite" enum:"overwrite|error"`
	ContentBase64 *string `json:"content_base64"`
}

func (writeInputNoDirs) Words() string { return arguments }

// writeResult is the result of write_file.
type writeResult struct {
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	Created bool   `json:"created"`
}

// WriteSettings are the settings of write_file.
type WriteSettings struct {
	CreateDirs *bool `yaml:"create_dirs"`
}

func writeFile(t fileTool) domain.Tool {
	declared := domain.Tool{
		Title: "Write file", Target: []string{"path"},
		Description: "Write a whole file atomically, at most 10 MiB. Keeps the permissions of a file that it replaces. " +
			"Use edit_file to change a part of a file.",
		Annotations: domain.Annotations{Destructive: true, Idempotent: true},
		Output:      schema.OutputOf[writeResult](),
		Ability:     "write files",
	}
	if t.createsDirs() {
		return define(t, declared, fileTool.write)
	}
	return define(t, declared, func(t fileTool, ctx context.Context, in writeInputNoDirs) (domain.ToolResult, error) {
		return t.write(ctx, writeInput(in))
	})
}

// createsDirs reports whether missing parent directories are created unless the caller
// says otherwise.
func (s *toolset) createsDirs() bool {
	create := declare.Of[WriteSettings](s.settings, WriteFile).CreateDirs
	return create == nil || *create
}

func (t fileTool) write(ctx context.Context, in writeInput) (domain.ToolResult, error) {
	content, err := in.bytes()
	if err != nil {
		return domain.ToolResult{}, err
	}
	if len(content) > maxGiven {
		return tooMuchContent(in.Path, len(content)), nil
	}
	if os.IsPathSeparator(in.Path[len(in.Path)-1]) {
		return domain.Failure("invalid_path", in.Path+" ends in a separator, so it names a directory and no file",
			"Add the name of the file; missing directories are created with create_dirs=true."), nil
	}
	lock, free := t.writing().held(ctx)
	defer free()
	created, err := t.writes.Replace(in.Path, content, pathguard.ReplaceOptions{CreateDirs: in.CreateDirs, NoReplace: in.OnConflict == "error", Before: lock})
	if err != nil {
		return t.writeFailure(in, err)
	}
	text := fmt.Sprintf("Successfully wrote %d bytes to %s", len(content), in.Path)
	return domain.Answer(text, writeResult{Path: in.Path, Bytes: int64(len(content)), Created: created}), nil
}

// bytes returns what is to be written.
func (in *writeInput) bytes() ([]byte, error) {
	if in.ContentBase64 == nil {
		return []byte(in.Content), nil
	}
	if in.Content != "" {
		return nil, domain.InvalidArgument("write_file", "content_base64", "is given, and so is content: leave one of them empty")
	}
	b, err := base64.StdEncoding.DecodeString(*in.ContentBase64)
	if err != nil {
		b, err = base64.RawStdEncoding.DecodeString(*in.ContentBase64)
	}
	if err != nil {
		return nil, domain.InvalidArgument("write_file", "content_base64", "is not base64 (RFC 4648, with the characters + and /): "+err.Error())
	}
	return b, nil
}

func tooMuchContent(path string, n int) domain.ToolResult {
	return domain.Failure("too_large", fmt.Sprintf("%s was not written: the content has %d bytes, and at most %d are written at once", path, n, maxGiven),
		"Write the beginning with write_file and the rest with append_file.")
}

// lacksParent reports whether the directory that is to hold path is missing.
func (t fileTool) lacksParent(path string) bool {
	_, err := t.writes.Stat(parent(path))
	return isNotFound(err)
}

// writeFailure says what the caller can change about a write that was refused.
func (t fileTool) writeFailure(in writeInput, err error) (domain.ToolResult, error) {
	e, _ := errors.AsType[*pathguard.Error](err)
	switch {
	case e == nil:
	case e.Kind == pathguard.KindNotFound && !in.CreateDirs && t.lacksParent(in.Path):
		return domain.Failure("not_found",
			fmt.Sprintf("%s was not written: its parent directory does not exist, and create_dirs is false", in.Path),
			fmt.Sprintf("Call %s(path=%q, ..., create_dirs=true) to create it.", t.name, in.Path)), nil
	case e.Kind == pathguard.KindExists && in.OnConflict == "error":
		return domain.Failure("already_exists",
			fmt.Sprintf("%s already exists and was left as it is, because on_conflict is error", in.Path),
			"Choose another path, or call "+t.name+" with on_conflict=\"overwrite\" to replace it."), nil
	}
	return domain.ToolResult{}, err
}

// pathLocks keeps the calls that write one file apart, so that an edit cannot put back
// what another call has just replaced. Paths share a fixed number of locks; processes
// other than this one are not held up.
type pathLocks struct {
	seed  maphash.Seed
	locks [64]chan struct{} // each holds one token while it is locked
}

func newPathLocks() *pathLocks {
	l := &pathLocks{seed: maphash.MakeSeed()}
	for i := range l.locks {
		l.locks[i] = make(chan struct{}, 1)
	}
	return l
}

// held returns what locks the path that is about to change, once, until free or the end of
// ctx.
func (l *pathLocks) held(ctx context.Context) (lock func(real string) error, free func()) {
	unlock := func() {}
	return func(real string) error {
		u, err := l.lock(ctx, real)
		if err == nil {
			unlock = u
		}
		return cmp.Or(err, ctx.Err())
	}, func() { unlock() }
}

// lock waits until nobody else has locked one of the paths or ctx ends. They are locked in one order, whatever their own is. The
// caller calls unlock once, unless there is an error.
func (l *pathLocks) lock(ctx context.Context, paths ...string) (unlock func(), err error) {
	var places []int
	for _, path := range paths {
		places = append(places, int(maphash.String(l.seed, path)%uint64(len(l.locks))))
	}
	slices.Sort(places)
	places, locked := slices.Compact(places), 0
	unlock = func() {
		for _, i := range places[:locked] {
			<-l.locks[i]
		}
	}
	for _, i := range places {
		select {
		case l.locks[i] <- struct{}{}:
			locked++
		case <-ctx.Done():
			unlock()
			return nil, ctx.Err()
		}
	}
	return unlock, nil
}
