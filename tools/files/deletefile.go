package files

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

type deleteInput struct {
	Path      string `json:"path" min:"1" max:"4096"`
	Recursive bool   `json:"recursive" default:"false"`
}

func (deleteInput) Words() string { return arguments }

// deleteResult is the result of delete_file.
type deleteResult struct {
	Path    string `json:"path"`
	Deleted int    `json:"deleted"`
}

func deleteFile(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "Delete", Target: []string{"path", "recursive"},
		Description: "Delete a file, a symlink itself, or a directory: an empty one, or with recursive all that is in it. It cannot be undone.",
		Annotations: domain.Annotations{Destructive: true}, Final: true,
		Output:   schema.OutputOf[deleteResult](),
		Ability:  "delete files and directories",
		Disabled: true, // what is deleted is lost: an operator has to enable it
	}, fileTool.delete, need{"path", t.writes.CheckName, true})
}

func (t fileTool) delete(ctx context.Context, in deleteInput) (domain.ToolResult, error) {
	lock, free := t.writing().held(ctx)
	defer free()
	track := newProgress(ctx, "deleted")
	err := t.writes.Remove(ctx, in.Path, in.Recursive, lock, track.step)
	if err != nil {
		return t.deleteFailure(in, track.count, err)
	}
	text := "Deleted " + in.Path
	if track.count > 1 {
		text = fmt.Sprintf("Deleted %s and %s %s below it", in.Path, brief.Thousands(track.count-1), plural("entry", track.count-1))
	}
	return domain.Answer(text, deleteResult{in.Path, track.count}), nil
}

// deleteFailure says how far a deletion has come that could not be completed.
func (t fileTool) deleteFailure(in deleteInput, deleted int, err error) (domain.ToolResult, error) {
	e, _ := errors.AsType[*pathguard.Error](err)
	switch {
	case e != nil && e.Kind == pathguard.KindNotEmpty && !in.Recursive:
		return domain.Failure("not_empty", in.Path+" is a directory that is not empty, and recursive is false",
			fmt.Sprintf("Call delete_file(path=%q, recursive=true) to delete all that is in it.", in.Path)), nil
	case deleted > 0 && in.Recursive:
		return domain.Failure("incomplete", fmt.Sprintf("%s was deleted in part, %d %s of it: %v", in.Path, deleted, plural("entry", deleted), err),
			"Call delete_file again to delete the rest."), nil
	}
	return domain.ToolResult{}, err
}
