// Package files provides the tools of the category file: they read, write,
// edit, list and search files.
//
// A tool reaches files only through what the sandbox hands it (see
// [sandbox.Reader] and [sandbox.Writer]), and directory trees only by walking down
// from a directory that was opened so. Paths in results are spelled so that the caller
// can pass them to the next call: as the caller spelled them, or joined to the
// directory that was asked about.
package files

import (
	"context"
	_ "embed"
	"sync"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/tools/files/content"
	"github.com/toolserver/toolserver/tools/lift"
)

// arguments say what the arguments of tools mean; package structschema reads them.
//
//go:embed arguments.txt
var arguments string

// Options are what configuration says of the file tools.
type Options struct {
	// MaxChars is how long an answer of read_file and edit_file may be, so that
	// the executor need not cut it; 0 is [domain.DefaultMaxResultChars].
	// Windows of files are measured in bytes of UTF-8, which are no fewer.
	MaxChars    int
	NoTransfers bool // the server does not send files by address
}

// The heads of the families of file tools.
const (
	ReadFile  = "read_file"
	WriteFile = "write_file"
	// bash is the tool that runs the commands that failures suggest.
	bash = "bash"
	// ListDirectory is the tool that says which names may be shown.
	ListDirectory = "list_directory"
)

// Family returns the tools of the category file.
func Family() declare.Family[Options, *toolset] {
	entry := func(tool, reads, writes string, settings any, define func(fileTool) domain.Tool) declare.Entry[*toolset] {
		return declare.Entry[*toolset]{
			Owner: sandbox.Owner{Tool: tool, Reads: reads, Writes: writes}, Settings: settings,
			Make: func(s *toolset, c sandbox.Capabilities) domain.Tool {
				return define(fileTool{s, c.Tool(), c, c.Reader(), c.Writer()})
			},
		}
	}
	byAddress := func(e declare.Entry[*toolset]) declare.Entry[*toolset] {
		e.Lacks = func(s *toolset) string {
			if s.options.NoTransfers {
				return "needs a server over HTTP, with server.public_url, or protocol.experimental for clients that send files by address"
			}
			return ""
		}
		return e
	}
	filtering := func(e declare.Entry[*toolset], programs ...string) declare.Entry[*toolset] {
		e.Owner.Filters = programs
		return e
	}
	return declare.Family[Options, *toolset]{
		Name: "files", Category: declare.Category{Name: "file", Heading: "Files"}, ByPolicy: true, Share: newToolset,
		Tools: []declare.Entry[*toolset]{
			filtering(entry(ReadFile, ReadFile, "", ReadSettings{}, readFile), content.Programs()...),
			entry(WriteFile, "", WriteFile, WriteSettings{}, writeFile),
			entry("append_file", "", WriteFile, nil, appendFile),
			entry("edit_file", ReadFile, WriteFile, nil, editFile),
			entry(ListDirectory, ReadFile, "", nil, listDirectory),
			entry("search_files", ReadFile, "", nil, searchFiles),
			entry("grep", ReadFile, "", nil, grep),
			entry("move_file", ReadFile, WriteFile, nil, moveFile),
			entry("copy_file", ReadFile, WriteFile, nil, copyFile),
			entry("create_directory", "", WriteFile, nil, createDirectory),
			entry("delete_file", "", WriteFile, nil, deleteFile),
			byAddress(entry("upload_file", "", WriteFile, nil, uploadFile)),
			byAddress(entry("download_file", ReadFile, "", nil, downloadFile)),
		},
	}
}

// Bounds of what is written at once, in bytes.
const (
	maxContent = 64 << 20 // by an edit, as a whole
	// maxGiven is of what comes as an argument. Even if each byte of it is escaped
	// as \u0000, a message of the default server.max_message has room for it.
	maxGiven = 10 << 20
)

// minChars is the least MaxChars that leaves room for a line and a marker.
const minChars = 1000

// toolset is what the file tools share.
type toolset struct {
	options  Options
	settings declare.Settings  // of single tools
	work     string            // where relative paths start
	listed   *sandbox.Reader   // which names failures may show: those of list_directory
	shell    *sandbox.Commands // that failures may suggest: those of bash
	writing  func() *pathLocks // by real path
}

func newToolset(from declare.From[Options]) (*toolset, error) {
	s, o := from.Sandbox, from.Config
	if o.MaxChars <= 0 {
		o.MaxChars = domain.DefaultMaxResultChars
	}
	o.MaxChars = max(o.MaxChars, minChars)
	return &toolset{
		options: o, settings: from.Settings, work: s.WorkingDirectory(),
		listed: s.For(ListDirectory).Reader(), shell: s.For(bash).Commands(), writing: sync.OnceValue(newPathLocks),
	}, nil
}

// fileTool is one of the tools, with the files that it may read and write.
type fileTool struct {
	*toolset
	name   string
	held   sandbox.Capabilities
	reads  *sandbox.Reader
	writes *sandbox.Writer
}

// A need is what a tool needs of the policy: that it allows the path in an argument.
type need struct {
	argument string
	check    func(path string) (pathguard.Decision, error)
	write    bool
}

// define completes the declaration of t. It is explained by how the policy decides on
// what it needs, which is its argument path unless needs say more, and what the policy
// refuses is a tool execution error: one that a person may lift, if it is about writing.
func define[In any](t fileTool, d domain.Tool, run func(fileTool, context.Context, In) (domain.ToolResult, error), needs ...need) domain.Tool {
	writes := !d.Annotations.ReadOnly
	switch {
	case needs != nil:
	case writes:
		needs = []need{{"path", t.writes.Check, true}}
	default:
		needs = []need{{"path", t.reads.Check, false}}
	}
	d.Name = t.name
	d.Explain = func(_ context.Context, args domain.Arguments) (e domain.Explanation, err error) {
		for _, n := range needs {
			path, _ := args[n.argument].(string) // a schema's default where it may be left out
			decision, err := n.check(path)
			if err != nil {
				return domain.Explanation{}, err
			}
			if !decision.Allowed && n.write {
				decision.Reason += lift.FileHint(t.held, t.writes, path)
			}
			if e = (domain.Explanation{Allowed: decision.Allowed, Rule: decision.Rule, Reason: decision.Reason, Path: decision.Resolved}); !e.Allowed {
				break
			}
		}
		return e, nil
	}
	return domain.Define(d, func(ctx context.Context, in In) (domain.ToolResult, error) {
		t := t
		if writes {
			t.reads, t.writes = lift.Files(ctx, t.reads, t.writes)
		}
		res, err := run(t, ctx, in)
		if err == nil {
			return res, nil
		}
		res, broken := t.failure(err)
		if broken != nil || !writes {
			return res, broken
		}
		return lift.Result(res, lift.Refused(t.held, t.writes, err))
	})
}
