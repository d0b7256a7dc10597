package files

import (
	"context"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
)

type createInput struct {
	Path string `json:"path" min:"1" max:"4096" also:"directory dir dir_path folder directory_path" doc:"Directory to create."`
}

// createResult is the result of create_directory.
type createResult struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
}

func createDirectory(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "Create directory", Target: []string{"path"},
		Description: "Create a directory and its missing parents. It may exist.",
		Annotations: domain.Annotations{Idempotent: true},
		Output:      schema.OutputOf[createResult](),
		Ability:     "create directories",
	}, fileTool.create)
}

func (t fileTool) create(_ context.Context, in createInput) (domain.ToolResult, error) {
	created, err := t.writes.MakeDir(in.Path)
	if err != nil {
		return domain.ToolResult{}, err
	}
	text := "Created the directory " + in.Path
	if !created {
		text = "The directory " + in.Path + " exists already"
	}
	return domain.Answer(text, createResult{in.Path, created}), nil
}
