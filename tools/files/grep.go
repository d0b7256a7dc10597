package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/glob"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/walk"
	"github.com/toolserver/toolserver/text/linematch"
)

const (
	maxGrepLine = 500 // bytes of a line that are shown
	// countOn is how long a search that has found enough goes on only to tell
	// how much more there is.
	countOn = time.Second
)

type grepInput struct {
	Pattern       string `json:"pattern" min:"1" max:"4096"`
	Path          string `json:"path" default:"." min:"1" max:"4096"`
	Glob          string `json:"glob,omitempty" max:"4096"`
	IgnoreCase    bool   `json:"ignore_case" default:"false"`
	FixedString   bool   `json:"fixed_string" default:"false"`
	Context       int    `json:"context" default:"0" min:"0" max:"20"`
	Mode          string `json:"mode" default:"content" enum:"content|files|count"`
	MaxResults    int    `json:"max_results" default:"200" min:"1" max:"10000"`
	Gitignore     bool   `json:"gitignore" default:"true"`
	IncludeHidden bool   `json:"include_hidden" default:"false"`
}

func (grepInput) Words() string { return arguments }

// grepMeta is the _meta of a search in files.
type grepMeta struct {
	Matches   int  `json:"matches"`  // matching lines, also those not shown
	Files     int  `json:"files"`    // that have any
	Searched  int  `json:"searched"` // files
	Truncated bool `json:"truncated"`
}

func grep(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "Search in files", Target: []string{"path", "pattern", "glob"},
		Description: "Find lines that match a regular expression, in a file or in all text files of a directory and below it, as path:line:text. " +
			"Skips binary files, hidden ones and those that git ignores.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Ability:     "search the content of files",
	}, fileTool.grep)
}

func (t fileTool) grep(ctx context.Context, in grepInput) (domain.ToolResult, error) {
	g := &grepSearch{fileTool: t, ctx: ctx, in: in}
	var err error
	if g.matcher, err = linematch.Compile(in.Pattern, linematch.Options{FixedString: in.FixedString, IgnoreCase: in.IgnoreCase}); err != nil {
		return domain.Failure("invalid_pattern", err.Error(),
			"Correct the regular expression (RE2 syntax), or call grep with fixed_string: true to search for the pattern as plain text."), nil
	}
	if in.Glob != "" {
		if g.glob, err = glob.Compile(in.Glob); err != nil {
			return invalidGlob(err), nil
		}
	}
	stats, err := g.run()
	outOfTime, err := cutShort(ctx, err)
	if err != nil {
		if _, refused := errors.AsType[*pathguard.Error](err); refused {
			return domain.ToolResult{}, err
		}
		return ioFailure(in.Path, err), nil
	}
	if outOfTime && g.meta.Files == 0 {
		return domain.ToolResult{}, ctx.Err()
	}
	return g.answer(stats, outOfTime), nil
}

// grepSearch is one call of grep. Files are searched by several workers, and
// what they find is added up on one goroutine, in the order of the walk.
type grepSearch struct {
	fileTool
	ctx     context.Context
	in      grepInput
	matcher *linematch.Matcher
	glob    *glob.Glob // nil for every file

	searched   atomic.Int64 // text files
	unreadable atomic.Int64
	linked     atomic.Int64 // those of unreadable that have several names
	binary     atomic.Int64 // files that were left out
	protected  int
	named      bool        // the path is that of a file, which is searched whatever it is
	literally  bool        // it is only asked whether there is anything
	full       atomic.Bool // enough is found: the rest is only counted

	meta    grepMeta
	out     strings.Builder
	shown   int // lines or files
	more    int // lines or files that are not shown
	since   time.Time
	gaveUp  bool // there may be still more
	last    string
	lastRow int
}

// grepFound is what was found in a file.
type grepFound struct {
	path    string
	lines   []linematch.Line
	matches int
	binary  bool
}

// run searches the file or directory at the path.
func (g *grepSearch) run() (walk.Stats, error) {
	t, err := openTree(g.reads, g.in.Path)
	if err == nil {
		defer t.Close()
		return g.tree(t)
	}
	if refusal, ok := errors.AsType[*pathguard.Error](err); ok && refusal.Kind == pathguard.KindNotADirectory {
		err = g.file()
	}
	return walk.Stats{}, err
}

func (g *grepSearch) file() (refused error) {
	g.named = true
	found, ok := g.search(g.matcher.Searcher(), func() (io.ReadCloser, int64, error) {
		f, err := g.reads.Open(g.in.Path)
		if refused = err; err != nil {
			return nil, 0, err
		}
		return f, f.Info.Size, nil
	})
	if ok {
		found.path = display(g.in.Path)
		_ = g.emit(found) // the only file
	}
	return cmp.Or(refused, g.ctx.Err())
}

func (g *grepSearch) tree(t *tree) (walk.Stats, error) {
	opt := t.options(g.in.IncludeHidden || namesHidden(g.in.Glob), g.in.Gitignore)
	track := newProgress(g.ctx, lookedAt)
	pick := func(e *walk.Entry) (bool, error) {
		track.step()
		if _, protected := t.Protected(e); protected {
			g.protected++
			return false, walk.SkipDir
		}
		return e.IsRegular() && (g.glob == nil || g.glob.MatchEntry(e.Name(), e.Rel)), nil
	}
	newWorker := func() func(*walk.Entry) (grepFound, bool) {
		searcher := g.matcher.Searcher()
		return func(e *walk.Entry) (grepFound, bool) {
			found, ok := g.search(searcher, func() (io.ReadCloser, int64, error) {
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

// search looks into the file that open opens, which it does once more if that
// has more matches than are shown.
func (g *grepSearch) search(s *linematch.Searcher, open func() (io.ReadCloser, int64, error)) (grepFound, bool) {
	counting := linematch.SearchOptions{CountOnly: true}
	opt := linematch.SearchOptions{
		Before: g.in.Context, After: g.in.Context, MaxMatches: g.in.MaxResults + 1, MaxText: maxGrepLine,
	}
	switch {
	case g.in.Mode == "files":
		opt = linematch.SearchOptions{CountOnly: true, MaxMatches: 1}
	case g.in.Mode == "count" || g.full.Load():
		opt = counting
	}
	opt.Binary, counting.Binary = g.named, g.named
	r, ok := g.read(s, open, opt)
	if r.Binary && !g.named {
		g.binary.Add(1)
	}
	if !ok || r.Binary && !g.named {
		return grepFound{}, false
	}
	g.searched.Add(1)
	matches := r.Matches
	if r.Stopped && g.in.Mode == "content" {
		if all, ok := g.read(s, open, counting); ok {
			matches = max(matches, all.Matches)
		}
	}
	return grepFound{lines: r.Lines, matches: matches, binary: r.Binary}, matches > 0
}

func (g *grepSearch) read(s *linematch.Searcher, open func() (io.ReadCloser, int64, error), opt linematch.SearchOptions) (linematch.Result, bool) {
	f, size, err := open()
	if err != nil {
		g.unreadable.Add(1)
		return linematch.Result{}, false
	}
	defer f.Close()
	r, err := s.Search(ctxReader{g.ctx, f}, size, opt)
	if err != nil && g.ctx.Err() == nil {
		g.unreadable.Add(1)
	}
	return r, err == nil
}

// ctxReader is a file whose reading ends with the context of the call.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// emit adds what was found in a file to the answer.
func (g *grepSearch) emit(f grepFound) error {
	g.meta.Files++
	g.meta.Matches += f.matches
	switch {
	case g.literally:
		return walk.SkipAll
	case g.full.Load():
		if g.more++; g.in.Mode == "content" {
			g.more += f.matches - 1
		}
		if time.Since(g.since) > countOn {
			g.gaveUp = true
			return walk.SkipAll
		}
		return nil
	case g.in.Mode == "content" && f.binary:
		fmt.Fprintf(&g.out, "%s: binary file matches\n", f.path)
	case g.in.Mode == "content":
		g.write(f)
	case g.in.Mode == "files":
		fmt.Fprintln(&g.out, f.path)
		g.shown++
	default:
		fmt.Fprintf(&g.out, "%s:%d\n", f.path, f.matches)
		g.shown++
	}
	if g.shown >= g.in.MaxResults {
		g.full.Store(true)
		g.since = time.Now()
	}
	return nil
}

// write adds the lines of a file, as many matches as are still wanted.
func (g *grepSearch) write(f grepFound) {
	matches, lastMatch := 0, 0
	for _, line := range f.lines {
		if g.shown == g.in.MaxResults && (line.Match || line.Number > lastMatch+g.in.Context) {
			break // what is before the next match belongs to that
		}
		if g.in.Context > 0 && g.out.Len() > 0 && (g.last != f.path || line.Number != g.lastRow+1) {
			g.out.WriteString("--\n")
		}
		g.last, g.lastRow = f.path, line.Number
		sep := '-'
		if line.Match {
			sep = ':'
			g.shown++
			matches++
			lastMatch = line.Number
		}
		fmt.Fprintf(&g.out, "%s%c%d%c%s", f.path, sep, line.Number, sep, strings.ToValidUTF8(line.Text, "\uFFFD"))
		if line.Cut {
			g.out.WriteString(" [line cut]")
		}
		g.out.WriteByte('\n')
	}
	g.more += f.matches - matches
}

func (g *grepSearch) answer(stats walk.Stats, outOfTime bool) domain.ToolResult {
	g.meta.Searched = int(g.searched.Load())
	g.meta.Truncated = g.more > 0 || g.gaveUp || stats.Truncated || outOfTime
	var notes remarks
	if g.more > 0 || g.gaveUp {
		least, what := "", "file"
		if g.gaveUp {
			least = "at least "
		}
		if g.in.Mode == "content" {
			what = "matching line"
		}
		notes.add("%s%d more %s; narrow the pattern, or raise max_results", least, g.more, plural(what, g.more))
	}
	notes.ofWalk(stats, outOfTime)
	linked := g.linked.Load()
	if n := g.unreadable.Load() - linked; n > 0 {
		notes.add("%d files could not be read", n)
	}
	if n := int(g.binary.Load()); n > 0 && g.meta.Matches == 0 {
		notes.add("%d binary %s not searched", n, plural("file", n))
	}
	if linked > 0 {
		notes.add("%d files were not searched because they have several names (hard links)", linked)
	}
	if g.protected > 0 {
		notes.add("%d protected files or directories were not searched", g.protected)
	}
	text := strings.TrimSuffix(g.out.String(), "\n")
	if g.meta.Matches == 0 {
		text = fmt.Sprintf("No matches found for %q in %s (searched %d %s).", g.in.Pattern, g.in.Path, g.meta.Searched,
			plural("file", g.meta.Searched)) + g.instead(outOfTime)
	}
	res := domain.Text(text + notes.text())
	res.Meta = g.meta
	return res
}

// instead says what a pattern that matches nothing was perhaps meant as.
func (g *grepSearch) instead(outOfTime bool) string {
	if g.in.FixedString || outOfTime || g.ctx.Err() != nil {
		return ""
	}
	again := &grepSearch{fileTool: g.fileTool, ctx: g.ctx, in: g.in, glob: g.glob, literally: true}
	again.in.Mode = "files"
	var err error
	again.matcher, err = linematch.Compile(g.in.Pattern, linematch.Options{FixedString: true, IgnoreCase: g.in.IgnoreCase})
	if err == nil && regexp.QuoteMeta(g.in.Pattern) != g.in.Pattern {
		_, _ = again.run() // what could not be read was told
	}
	if again.meta.Files > 0 {
		return " The text is there literally: call grep again with fixed_string: true."
	}
	if strings.Contains(g.in.Pattern, `\|`) || strings.Contains(g.in.Pattern, `\(`) && strings.Contains(g.in.Pattern, `\)`) {
		return ` In RE2 alternatives are a|b and groups (a), without backslashes.`
	}
	return ""
}

func plural(what string, n int) string {
	if n == 1 {
		return what
	}
	if stem, y := strings.CutSuffix(what, "y"); y {
		return stem + "ies"
	}
	return what + "s"
}
