package files

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"toolserver/domain"
	"toolserver/sandbox/glob"
	"toolserver/sandbox/walk"
	"toolserver/tools/files/linematch"
)

const (
	maxGrepLine = 500 // bytes of a line that are shown
	// countOn is how long a search that has found enough goes on only to tell
	// how much more there is.
	countOn = time.Second
)

// grepSearch is one call of grep. Files are searched by several workers, and
// what they find is added up on one goroutine, in the order of the walk.
type grepSearch struct {
	ctx     context.Context
	in      grepInput
	matcher *linematch.Matcher
	glob    *glob.Glob // nil for every file

	searched   atomic.Int64 // text files
	unreadable atomic.Int64
	linked     atomic.Int64 // those of unreadable that have several names
	protected  int
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

// grepFound is what a worker found in a file.
type grepFound struct {
	path    string
	lines   []linematch.Line
	matches int
}

// grepWorker searches one file after another.
type grepWorker struct {
	*grepSearch
	searcher *linematch.Searcher
}

func (g *grepSearch) worker() *grepWorker { return &grepWorker{g, g.matcher.Searcher()} }

// search looks into the file that open opens, which it does once more if that
// has more matches than are shown.
func (w *grepWorker) search(path string, open func() (io.ReadCloser, int64, error)) (grepFound, bool) {
	counting := linematch.SearchOptions{CountOnly: true}
	opt := linematch.SearchOptions{
		Before: w.in.Context, After: w.in.Context, MaxMatches: w.in.MaxResults + 1, MaxText: maxGrepLine,
	}
	switch {
	case w.in.Mode == "files":
		opt = linematch.SearchOptions{CountOnly: true, MaxMatches: 1}
	case w.in.Mode == "count" || w.full.Load():
		opt = counting
	}
	r, ok := w.read(open, opt)
	if !ok || r.Binary {
		return grepFound{}, false
	}
	w.searched.Add(1)
	matches := r.Matches
	if r.Stopped && w.in.Mode == "content" {
		if all, ok := w.read(open, counting); ok {
			matches = max(matches, all.Matches)
		}
	}
	return grepFound{path, r.Lines, matches}, matches > 0
}

func (w *grepWorker) read(open func() (io.ReadCloser, int64, error), opt linematch.SearchOptions) (linematch.Result, bool) {
	f, size, err := open()
	if err != nil {
		w.unreadable.Add(1)
		return linematch.Result{}, false
	}
	defer f.Close()
	r, err := w.searcher.Search(ctxReader{w.ctx, f}, size, opt)
	if err != nil && w.ctx.Err() == nil {
		w.unreadable.Add(1)
	}
	return r, err == nil
}

// emit adds what was found in a file to the answer.
func (g *grepSearch) emit(f grepFound) error {
	g.meta.Files++
	g.meta.Matches += f.matches
	switch {
	case g.full.Load():
		if g.more++; g.in.Mode == "content" {
			g.more += f.matches - 1
		}
		if time.Since(g.since) > countOn {
			g.gaveUp = true
			return walk.SkipAll
		}
		return nil
	case g.in.Mode == "content":
		g.write(f)
	case g.in.Mode == "files":
		g.out.WriteString(f.path + "\n")
		g.shown++
	default:
		g.out.WriteString(f.path + ":" + strconv.Itoa(f.matches) + "\n")
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
	var notes remarks
	if g.more > 0 || g.gaveUp {
		notes.add("%s", g.moreText())
	}
	notes.ofWalk(stats, outOfTime)
	linked := g.linked.Load()
	if n := g.unreadable.Load() - linked; n > 0 {
		notes.add("%d files could not be read", n)
	}
	if linked > 0 {
		notes.add("%d files were not searched because they have several names (hard links)", linked)
	}
	if g.protected > 0 {
		notes.add("%d protected files or directories were not searched", g.protected)
	}
	g.meta.Truncated = g.more > 0 || g.gaveUp || stats.Truncated || outOfTime
	text := strings.TrimSuffix(g.out.String(), "\n")
	if g.meta.Matches == 0 {
		text = g.noMatches()
	}
	if len(notes) > 0 {
		text += "\n[" + strings.Join(notes, "; ") + "]"
	}
	res := domain.Text(text)
	res.Meta = g.meta
	return res
}

// moreText says how much is not shown.
func (g *grepSearch) moreText() string {
	what := "matching line"
	if g.in.Mode != "content" {
		what = "file"
	}
	if g.more != 1 {
		what += "s"
	}
	n := strconv.Itoa(g.more)
	if g.gaveUp {
		n = "at least " + n
	}
	return fmt.Sprintf("%s more %s; narrow the pattern, or raise max_results", n, what)
}
