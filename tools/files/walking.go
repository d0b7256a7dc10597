package files

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/walk"
)

// maxVisited bounds the directory entries that a call looks at.
const maxVisited = 200_000

// tree is a directory to walk, as a guard has opened it.
type tree struct {
	*pathguard.Dir
	files *sandbox.Reader
	path  string         // as the caller gave it
	above *pathguard.Dir // has gitignore files that apply here; nil if not asked for
}

func openTree(files *sandbox.Reader, path string) (*tree, error) {
	d, err := files.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return &tree{Dir: d, files: files, path: path}, nil
}

// Close closes what the tree has opened.
func (t *tree) Close() {
	t.Dir.Close()
	if t.above != nil {
		t.above.Close()
	}
}

// options returns the options of a sorted walk that leaves out what the policy denies
// and, with gitignore, what gitignore files say, also those above the tree as far as the
// policy allows reading there.
func (t *tree) options(hidden, gitignore bool) walk.Options {
	opt := walk.Options{MaxEntries: maxVisited, DenyHardlinks: t.files.DeniesHardlinks(), Hidden: hidden, Gitignore: gitignore}
	if t.Restricted() {
		opt.Skip = func(e *walk.Entry) bool {
			_, denied := t.Denied(filepath.FromSlash(e.Rel()), e.IsDir())
			return denied
		}
	}
	if !gitignore {
		return opt
	}
	for _, allowed := range t.files.AllowedBelow() {
		top, err := t.files.OpenDir(allowed)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(top.Info.Real, t.Info.Real); err == nil && filepath.IsLocal(rel) {
			t.above, opt.Above = top, walk.Above{Dir: top.File, Path: top.Info.Real}
			break
		}
		top.Close()
	}
	return opt
}

// closed reports whether an entry is a directory of which no more than the name
// is shown.
func (t *tree) closed(e *walk.Entry) bool {
	if !e.IsDir() {
		return false
	}
	_, protected := t.Protected(e)
	return protected
}

// query says which entries of a tree are collected.
type query[T any] struct {
	path                    string
	hidden, gitignore, flat bool // flat: not those of subdirectories
	pick                    func(*tree, *walk.Entry) (item T, ok bool)
	skip, most              int // items
}

// found is what a walk has collected.
type found[T any] struct {
	call.List[T]
	incomplete bool // the walk has stopped before its end
}

// collect walks over a tree and returns what q picks. If the call times out, what was
// found until then is the result.
func collect[T any](ctx context.Context, files *sandbox.Reader, q query[T]) (f found[T], err error) {
	t, err := openTree(files, q.path)
	if err != nil {
		return f, err
	}
	defer t.Close()
	f.Entries, f.Offset = []T{}, q.skip
	skipped := 0
	track := newProgress(ctx, lookedAt)
	stats, err := walk.Walk(ctx, t.File, t.Info.Real, t.options(q.hidden, q.gitignore), func(e *walk.Entry) error {
		track.step()
		if item, ok := q.pick(t, e); ok {
			switch {
			case skipped < q.skip:
				skipped++
			case len(f.Entries) == q.most:
				f.More = true
				return walk.SkipAll
			default:
				f.Entries = append(f.Entries, item)
			}
		}
		if e.IsDir() && q.flat || t.closed(e) {
			return walk.SkipDir
		}
		return nil
	})
	outOfTime, err := cutShort(ctx, err)
	if err != nil {
		return f, &failedCall{ioFailure(q.path, err)}
	}
	if outOfTime && len(f.Entries) == 0 {
		return f, ctx.Err()
	}
	var notes remarks
	notes.ofWalk(stats, outOfTime)
	f.Notes, f.incomplete = notes, stats.Truncated || outOfTime
	return f, nil
}

// rel returns the path of an entry as the caller can pass it on.
func (t *tree) rel(e *walk.Entry) string { return display(under(t.path, e.Rel())) }

// display makes text of a path, whose bytes may be anything.
func display(path string) string { return strings.ToValidUTF8(path, "\uFFFD") }

// namesHidden reports whether a glob asks for names that start with a dot, which
// are looked at then.
func namesHidden(glob string) bool {
	for segment := range strings.SplitSeq(path.Clean(glob), "/") {
		if strings.HasPrefix(strings.TrimLeft(segment, "{["), ".") && strings.Trim(segment, ".") != "" {
			return true
		}
	}
	return false
}

// cutShort reports whether a walk ended because the call's time did, in which
// case what has been found so far is the answer; any other error is returned.
func cutShort(ctx context.Context, err error) (bool, error) {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return true, nil
	}
	return false, err
}

// remarks collects why a result is not complete, for the text of the result.
type remarks []string

func (r *remarks) add(format string, args ...any) { *r = append(*r, fmt.Sprintf(format, args...)) }

// ofWalk adds what the walk itself left out.
func (r *remarks) ofWalk(stats walk.Stats, outOfTime bool) {
	if outOfTime {
		r.add("stopped after %d entries because the call timed out; choose a deeper path", stats.Entries)
	}
	if stats.Truncated {
		r.add("stopped after looking at %d entries; choose a deeper path", stats.Entries)
	}
	if stats.Unreadable > 0 {
		r.add("%d directories or ignore files could not be read", stats.Unreadable)
	}
}

// text returns the remarks as the last line of a result.
func (r remarks) text() string {
	if len(r) == 0 {
		return ""
	}
	return "\n[" + strings.Join(r, "; ") + "]"
}

// progressInterval is how often a walk reports its progress at most.
const progressInterval = 250 * time.Millisecond

// lookedAt is what a walk does with an entry.
const lookedAt = "looked at"

// progress tells the caller how many entries a walk has come past.
type progress struct {
	ctx    context.Context
	did    string // with each entry
	wanted bool
	last   time.Time
	count  int
	total  int64 // bytes of what is moved, 0 if that is not known
}

func newProgress(ctx context.Context, did string) *progress {
	return &progress{ctx: ctx, did: did, wanted: call.WantsProgress(ctx)}
}

// step counts an entry.
func (p *progress) step() {
	if p.count++; p.count%64 == 0 {
		p.report(call.Progress{Done: float64(p.count), Message: fmt.Sprintf("%s %d entries", p.did, p.count)})
	}
}

// moved says how many bytes have been copied.
func (p *progress) moved(bytes int64) {
	if bytes > copiedAtOnce && p.count == 0 {
		p.report(call.Progress{Done: float64(bytes), Total: float64(p.total), Bytes: true, Message: p.did + " " + humanSize(bytes)})
	}
}

func (p *progress) report(now call.Progress) {
	if p.wanted && time.Since(p.last) >= progressInterval {
		p.last = time.Now()
		call.ReportProgress(p.ctx, now)
	}
}
