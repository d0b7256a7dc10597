package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/sandbox/glob"
	"toolserver/sandbox/pathguard"
	"toolserver/sandbox/walk"
	"toolserver/tools/files/linematch"
)

type grepInput struct {
	Pattern       string `json:"pattern" min:"1" max:"4096" doc:"Regular expression in RE2 syntax, matched line by line."`
	Path          string `json:"path" default:"." min:"1" max:"4096" doc:"File or directory to search; a relative path starts at the working directory."`
	Glob          string `json:"glob,omitempty" max:"4096" doc:"Search only files whose name matches this glob or, if the glob contains a slash, whose path below the directory matches, such as *.go or src/**/*.{ts,tsx}."`
	IgnoreCase    bool   `json:"ignore_case" default:"false" doc:"Ignore case."`
	FixedString   bool   `json:"fixed_string" default:"false" doc:"Treat the pattern as plain text."`
	Context       int    `json:"context" default:"0" min:"0" max:"20" doc:"Lines to show before and after each match."`
	Mode          string `json:"mode" default:"content" enum:"content|files|count" doc:"What to return: matching lines, the paths of files with matches, or the number of matching lines per file."`
	MaxResults    int    `json:"max_results" default:"200" min:"1" max:"10000" doc:"Maximum number of lines to return, or of files in the other modes."`
	Gitignore     bool   `json:"gitignore" default:"true" doc:"Skip what .gitignore files exclude."`
	IncludeHidden bool   `json:"include_hidden" default:"false" doc:"Include files and directories whose names start with a dot."`
}

// grepMeta is the _meta of a search in files.
type grepMeta struct {
	Matches   int  `json:"matches"`  // matching lines, also those not shown
	Files     int  `json:"files"`    // that have any
	Searched  int  `json:"searched"` // files
	Truncated bool `json:"truncated"`
}

func (s *toolset) grep(c sandbox.Capabilities) domain.Tool {
	g := grepper{s, c.Reader()}
	return domain.Define(domain.Tool{
		Name:  "grep",
		Title: "Search in files",
		Description: "Find the lines that match a regular expression, in a file or in all text files of a directory and " +
			"below it. Returns path:line:text for each. Leaves out binary files, hidden ones and those that git ignores.",
		Category:    category,
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Uses:        domain.Reads,
		Ability:     "search the content of files",
		Explain:     explainPath(g.files.Check),
	}, g.grepFiles)
}

// grepper is the tool grep.
type grepper struct {
	*toolset
	files *sandbox.Reader
}

func (s grepper) grepFiles(ctx context.Context, in grepInput) (domain.ToolResult, error) {
	matcher, err := linematch.Compile(in.Pattern, linematch.Options{FixedString: in.FixedString, IgnoreCase: in.IgnoreCase})
	if err != nil {
		return domain.Failure("invalid_pattern", err.Error(),
			"Correct the regular expression (RE2 syntax), or call grep with fixed_string=true to search for the pattern as plain text."), nil
	}
	var files *glob.Glob
	if in.Glob != "" {
		if files, err = glob.Compile(in.Glob); err != nil {
			return invalidGlob(err), nil
		}
	}
	g := &grepSearch{ctx: ctx, in: in, matcher: matcher, glob: files}
	stats, err := s.grepPath(g)
	outOfTime, err := cutShort(ctx, err)
	if err != nil {
		if _, refused := errors.AsType[*pathguard.Error](err); refused {
			return s.failure("grep", in.Path, err)
		}
		return ioFailure(in.Path, err), nil
	}
	if outOfTime && g.meta.Files == 0 {
		return domain.ToolResult{}, ctx.Err()
	}
	return g.answer(stats, outOfTime), nil
}

// grepPath searches the file or directory at the path.
func (s grepper) grepPath(g *grepSearch) (walk.Stats, error) {
	t, err := openTree(s.files, g.in.Path)
	if err == nil {
		defer t.Close()
		return s.grepTree(g, t)
	}
	if refusal, ok := errors.AsType[*pathguard.Error](err); !ok || refusal.Kind != pathguard.KindNotADirectory {
		return walk.Stats{}, err
	}
	return walk.Stats{}, s.grepFile(g)
}

func (s grepper) grepFile(g *grepSearch) error {
	if g.glob != nil && !g.glob.Match(filepath.Base(g.in.Path)) {
		return nil
	}
	open := func() (io.ReadCloser, int64, error) {
		f, err := s.files.Open(g.in.Path)
		if err != nil {
			return nil, 0, err
		}
		return f, f.Info.Size, nil
	}
	f, _, err := open()
	if err != nil {
		return err // once for its kind, which a search of many files only counts
	}
	f.Close()
	if found, ok := g.worker().search(display(g.in.Path), open); ok {
		if err := g.emit(found); err != walk.SkipAll {
			return err
		}
	}
	return g.ctx.Err()
}

func (s grepper) grepTree(g *grepSearch, t *tree) (walk.Stats, error) {
	opt := t.options(g.in.IncludeHidden || namesHidden(g.in.Glob), g.in.Gitignore)
	track := newProgress(g.ctx)
	pick := func(e *walk.Entry) (bool, error) {
		track.step()
		if _, protected := t.Protected(e); protected {
			g.protected++
			return false, walk.SkipDir
		}
		return e.IsRegular() && (g.glob == nil || g.glob.MatchEntry(e.Name(), e.Rel)), nil
	}
	newWorker := func() func(*walk.Entry) (grepFound, bool) {
		w := g.worker()
		return func(e *walk.Entry) (grepFound, bool) {
			found, ok := w.search("", func() (io.ReadCloser, int64, error) {
				f, err := e.Open()
				if errors.Is(err, walk.ErrHardlinks) {
					g.linked.Add(1)
				}
				return f, f.Info().Size, err
			})
			if ok {
				found.path = t.rel(e)
			}
			return found, ok
		}
	}
	return walk.Map(g.ctx, t.File, t.Info.Real, opt, pick, newWorker, g.emit)
}

// noMatches is the text of a search that found nothing.
func (g *grepSearch) noMatches() string {
	files := "files"
	if g.searched.Load() == 1 {
		files = "file"
	}
	return fmt.Sprintf("No matches found for %q in %s (searched %d %s).", g.in.Pattern, g.in.Path, g.searched.Load(), files)
}
