package files

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// moveResult is the result of move_file.
type moveResult struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Replaced    bool   `json:"replaced"`
}

func moveFile(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "Move or rename", Target: []string{"source", "destination"},
		Description: "Move or rename a file, directory or symlink. Creates missing parent directories. " +
			"Replaces a file only with overwrite, a directory never.",
		Annotations: domain.Annotations{Destructive: true},
		Output:      schema.OutputOf[moveResult](),
		Ability:     "move and rename files and directories",
	}, fileTool.move, need{"source", t.reads.Check, false}, need{"source", t.writes.CheckName, true}, need{"destination", t.writes.CheckName, true})
}

func (t fileTool) move(ctx context.Context, in placeInput) (domain.ToolResult, error) {
	unlock := func() {}
	defer func() { unlock() }()
	replaced, err := t.writes.Move(ctx, t.reads, in.Source, in.Destination, pathguard.MoveOptions{
		Overwrite: in.Overwrite, CreateDirs: t.createsDirs(),
		Before: func(from, to string) error {
			free, err := t.writing().lock(ctx, from, to)
			if err == nil {
				unlock = free
			}
			return err
		},
		Step: newProgress(ctx, lookedAt).step,
	})
	if errors.Is(err, syscall.EXDEV) {
		unlock()
		unlock = func() {}
		replaced, err = t.moveAcross(ctx, in)
	}
	if err != nil {
		return t.placeFailure(in.Source, in.Destination, err)
	}
	return domain.Answer(fmt.Sprintf("Moved %s to %s", in.Source, in.Destination), moveResult{in.Source, in.Destination, replaced}), nil
}

// moveAcross moves between file systems: it copies, and deletes the source when the copy
// is on the disk under its name.
func (t fileTool) moveAcross(ctx context.Context, in placeInput) (replaced bool, err error) {
	done, err := t.copyTo(ctx, in, true)
	if err != nil {
		return false, err
	}
	if done.left > 0 {
		return false, failed("io_error", fmt.Sprintf("%s is on another file system than %s, and has %d entries that cannot be copied there", in.Source,
			in.Destination, done.left),
			"Move its parts.")
	}
	none := func(string) error { return nil }
	if err := t.writes.Remove(ctx, in.Source, true, none, newProgress(ctx, "deleted").step); err != nil {
		return false, failed("io_error", fmt.Sprintf("%s was copied to %s, and %v", in.Source, in.Destination, err), "Delete the source, or the copy.")
	}
	return done.replaced, nil
}

// placeFailure says what the caller can change about a destination that was refused.
func (t fileTool) placeFailure(source, destination string, err error) (domain.ToolResult, error) {
	e, _ := errors.AsType[*pathguard.Error](err)
	if e == nil || e.Path != destination || e.Path == source {
		return domain.ToolResult{}, err
	}
	info, failed := t.writes.Stat(destination)
	switch {
	case e.Kind == pathguard.KindNotFound && t.lacksParent(destination):
		return domain.Failure("not_found", fmt.Sprintf("%s cannot be created: its parent directory does not exist", destination),
			"Call "+callOn("create_directory", parent(destination))+" first."), nil
	case failed != nil:
	case info.Mode.IsDir() && (e.Kind == pathguard.KindExists || e.Kind == pathguard.KindNotAFile):
		inside := under(destination, path.Base(strings.TrimRight(source, "/")))
		return domain.Failure("already_exists", fmt.Sprintf("%s is a directory, which is not replaced; to put %s into it, give destination=%q", destination, source,
			inside),
			fmt.Sprintf("Give destination=%q.", inside)), nil
	case e.Kind == pathguard.KindExists:
		return domain.Failure("already_exists", destination+" already exists and was left as it is",
			"Choose another destination, or replace a file with overwrite=true."), nil
	}
	return domain.ToolResult{}, err
}
