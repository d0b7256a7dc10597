package files

import (
	"context"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox/walk"
)

type listInput struct {
	Path          string `json:"path" default:"." min:"1" max:"4096"`
	Recursive     bool   `json:"recursive" default:"false"`
	Details       bool   `json:"details" default:"false"`
	Offset        int    `json:"offset" default:"0" min:"0" max:"200000"`
	MaxEntries    int    `json:"max_entries" default:"1000" min:"1" max:"10000"`
	IncludeHidden bool   `json:"include_hidden" default:"true"`
}

func (listInput) Words() string { return arguments }

// listResult is the result of list_directory.
type listResult struct {
	Path       string      `json:"path"`
	Entries    []listEntry `json:"entries"`
	NextOffset int         `json:"next_offset,omitempty" doc:"Absent at the end."`
	Truncated  bool        `json:"truncated"`
}

type listEntry struct {
	Name     string `json:"name" doc:"Or path below the directory."`
	Type     string `json:"type" enum:"file|directory|symlink|fifo|socket|device"`
	Size     *int64 `json:"size,omitempty"`
	Modified string `json:"modified,omitempty"`
	Mode     string `json:"mode,omitempty"`
	Target   string `json:"target,omitempty"`
}

func listDirectory(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "List directory", Target: []string{"path"},
		Description: "List a directory, a line per entry: directories end in /, files have their size in bytes after a tab, others their type. " +
			"Use search_files to find files by name.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Output:      schema.OutputOf[listResult](),
		Ability:     "list directories",
	}, fileTool.list)
}

func (t fileTool) list(ctx context.Context, in listInput) (domain.ToolResult, error) {
	found, err := collect(ctx, t.reads, query[listEntry]{
		path: in.Path, hidden: in.IncludeHidden, flat: !in.Recursive, skip: in.Offset, most: min(in.MaxEntries, call.ListRoom(ctx)/len("n\t1\n")),
		pick: func(_ *tree, e *walk.Entry) (listEntry, bool) { return describe(e, in.Details) },
	})
	if err != nil {
		return domain.ToolResult{}, err
	}
	found.None = "no entries"
	found.Text = func(entries []listEntry) string {
		var b strings.Builder
		for i, e := range entries {
			if i > 0 {
				b.WriteByte('\n')
			}
			e.appendLine(&b)
		}
		return b.String()
	}
	found.Results = func(entries []listEntry, next int) any {
		return listResult{in.Path, entries, next, next > 0 || found.incomplete}
	}
	return found.Result(ctx)
}

// describe returns the entry for the list; it is not ok if the file is gone meanwhile.
func describe(e *walk.Entry, details bool) (entry listEntry, ok bool) {
	entry = listEntry{Name: display(e.Rel()), Type: "directory"}
	if e.IsDir() && !details {
		return entry, true
	}
	info, err := e.Info()
	if err != nil {
		return listEntry{}, false
	}
	if entry.Type = typeName(info.Mode); entry.Type == "file" {
		size := info.Size // alone, as a list keeps it
		entry.Size = &size
	}
	if !details {
		return entry, true
	}
	entry.Modified, entry.Mode = info.ModTime.UTC().Format(time.RFC3339), info.Mode.String()
	if entry.Type == "symlink" {
		if target, err := e.Readlink(); err == nil {
			entry.Target = display(target)
		}
	}
	return entry, true
}

// appendLine appends the entry as a line of text.
func (e *listEntry) appendLine(b *strings.Builder) {
	b.WriteString(brief.OneLine(e.Name))
	switch {
	case e.Type == "directory":
		b.WriteByte('/')
	case e.Size != nil:
		b.WriteByte('\t')
		b.WriteString(strconv.FormatInt(*e.Size, 10))
	default:
		b.WriteByte('\t')
		b.WriteString(e.Type)
	}
	for _, detail := range [...]string{e.Modified, e.Mode} {
		if detail != "" {
			b.WriteByte('\t')
			b.WriteString(detail)
		}
	}
	if e.Target != "" {
		b.WriteString("\t-> ")
		b.WriteString(brief.OneLine(e.Target))
	}
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
