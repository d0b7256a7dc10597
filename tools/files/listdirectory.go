package files

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"time"

	"toolserver/domain"
	"toolserver/sandbox/walk"
)

type listInput struct {
	Path          string `json:"path" default:"." min:"1" max:"4096" doc:"Directory to list; a relative path starts at the working directory."`
	Recursive     bool   `json:"recursive" default:"false" doc:"Include subdirectories."`
	MaxEntries    int    `json:"max_entries" default:"1000" min:"1" max:"10000" doc:"Maximum number of entries to return."`
	IncludeHidden bool   `json:"include_hidden" default:"true" doc:"Include names that start with a dot."`
}

// listResult is the result of list_directory.
type listResult struct {
	Path      string      `json:"path" doc:"The directory, as the caller gave it."`
	Entries   []listEntry `json:"entries" doc:"What is in it, sorted by path."`
	Count     int         `json:"count" doc:"How many entries there are here."`
	Truncated bool        `json:"truncated" doc:"Whether the directory has more."`
}

type listEntry struct {
	Name     string `json:"name" doc:"Name without directories."`
	Path     string `json:"path" doc:"Path to use in other calls."`
	Type     string `json:"type" enum:"file|directory|symlink|fifo|socket|device" doc:"What it is; a symbolic link is not followed."`
	Size     int64  `json:"size" doc:"Size of a file in bytes; 0 for what is none."`
	Modified string `json:"modified" doc:"When it was last changed, in RFC 3339 and UTC."`
	Target   string `json:"target,omitempty" doc:"Where a symbolic link points, as written in it."`
}

func listDirectory(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "List directory",
		Description: "List the names in a directory with type, size and time of change, sorted by path. " +
			"Symbolic links are shown with their target and not followed. Use search_files to find files by name.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Output:      domain.OutputOf[listResult](),
		Uses:        domain.Reads,
		Ability:     "list directories",
	}, fileTool.list)
}

func (t fileTool) list(ctx context.Context, in listInput) (domain.ToolResult, error) {
	entries, truncated, notes, err := collect(ctx, t.reads, query[listEntry]{
		path: in.Path, hidden: in.IncludeHidden, flat: !in.Recursive, pick: (*tree).describe,
		most: in.MaxEntries, more: "the first %d entries; there are more: raise max_entries, or list a subdirectory",
	})
	if err != nil {
		return domain.ToolResult{}, err
	}
	// The walk compares directories as if their names ended in a slash.
	slices.SortFunc(entries, func(a, b listEntry) int { return cmp.Compare(a.Path, b.Path) })
	return listing(listResult{in.Path, entries, len(entries), truncated}, entries, notes)
}

// describe returns the entry for the list; it is not ok if the file is gone meanwhile.
func (t *tree) describe(e *walk.Entry) (entry listEntry, ok bool) {
	info, err := e.Info()
	if err != nil {
		return listEntry{}, false
	}
	entry = listEntry{
		Name: display(e.Name()), Path: t.rel(e), Type: typeName(info.Mode),
		Modified: info.ModTime.UTC().Format(time.RFC3339),
	}
	switch entry.Type {
	case "file":
		entry.Size = info.Size
	case "symlink":
		if target, err := e.Readlink(); err == nil {
			entry.Target = display(target)
		}
	}
	return entry, true
}

func typeName(mode fs.FileMode) string {
	switch mode.Type() {
	case 0:
		return "file"
	case fs.ModeDir:
		return "directory"
	case fs.ModeSymlink:
		return "symlink"
	case fs.ModeNamedPipe:
		return "fifo"
	case fs.ModeSocket:
		return "socket"
	}
	return "device"
}
