package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/osfile"
)

type appendInput struct {
	Path    string `json:"path" min:"1" max:"4096"`
	Content string `json:"content"`
}

func (appendInput) Words() string { return arguments }

// appendResult is the result of append_file.
type appendResult struct {
	Path          string `json:"path"`
	AppendedBytes int    `json:"appended_bytes"`
	SizeBytes     int64  `json:"size_bytes"`
}

func appendFile(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "Append to file", Target: []string{"path"},
		Description: "Append text to an existing file: all of it or, if that fails, nothing. Use write_file to create a file.",
		Output:      schema.OutputOf[appendResult](),
		Ability:     "add to files",
	}, fileTool.append)
}

func (t fileTool) append(ctx context.Context, in appendInput) (domain.ToolResult, error) {
	if len(in.Content) > maxGiven {
		return tooMuchContent(in.Path, len(in.Content)), nil
	}
	info, err := t.writes.Stat(in.Path)
	if err != nil {
		return t.appendFailure(in.Path, err)
	}
	unlock, err := t.writing().lock(ctx, info.Real)
	if err != nil {
		return domain.ToolResult{}, err
	}
	defer unlock()
	if err := t.writes.Append(in.Path, []byte(in.Content)); err != nil {
		return t.appendFailure(in.Path, err)
	}
	result := appendResult{Path: in.Path, AppendedBytes: len(in.Content), SizeBytes: info.Size + int64(len(in.Content))}
	if after, err := t.writes.Stat(in.Path); err == nil {
		result.SizeBytes = after.Size
	}
	return domain.Answer("Successfully appended to "+in.Path, result), nil
}

func (t fileTool) appendFailure(path string, err error) (domain.ToolResult, error) {
	if e, ok := errors.AsType[*osfile.AppendError](err); ok && e.Left != 0 {
		return domain.Failure("io_error", err.Error(), "Read the end of the file before appending again: call "+callOn("read_file", path)+"."), nil
	}
	if !isNotFound(err) {
		return domain.ToolResult{}, err
	}
	hint := fmt.Sprintf("Call write_file(path=%q, content=...) to create it.", path)
	if _, near := t.siblings(path); len(near) > 0 {
		hint += " Files like it: " + strings.Join(near, ", ") + "."
	}
	return domain.Failure("not_found", "Error: file does not exist: "+path+". Use write_file to create it first.", hint), nil
}
