package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/walk"
)

// placeInput are the arguments of copy_file and move_file.
type placeInput struct {
	Source      string `json:"source" min:"1" max:"4096" also:"from src source_path old_path" doc:"File or directory."`
	Destination string `json:"destination" min:"1" max:"4096" also:"to dest dst target destination_path new_path" doc:"New path, with name."`
	Overwrite   bool   `json:"overwrite" default:"false" doc:"Replace a file at the destination."`
}

// copyResult is the result of copy_file.
type copyResult struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Files       int    `json:"files"`
	Bytes       int64  `json:"bytes"`
	Replaced    bool   `json:"replaced"`
	LeftOut     int    `json:"left_out,omitempty"`
}

func copyFile(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "Copy", Target: []string{"source", "destination"},
		Description: "Copy a file, or a directory with all in it. Creates missing parent directories. " +
			"Replaces a file only with overwrite, a directory never.",
		Annotations: domain.Annotations{Destructive: true, Idempotent: true},
		Output:      schema.OutputOf[copyResult](),
		Ability:     "copy files and directories",
	}, fileTool.copy, need{"source", t.reads.Check, false}, need{"destination", t.writes.CheckName, true})
}

func (t fileTool) copy(ctx context.Context, in placeInput) (domain.ToolResult, error) {
	done, err := t.copyTo(ctx, in, false)
	if err != nil {
		return t.placeFailure(in.Source, in.Destination, err)
	}
	text := fmt.Sprintf("Copied %s to %s (%s)", in.Source, in.Destination, humanSize(done.bytes))
	if done.directory {
		text = fmt.Sprintf("Copied %s to %s (%d %s, %s)", in.Source, in.Destination, done.files, plural("file", done.files), humanSize(done.bytes))
	}
	return domain.Answer(text+done.notes.text(), copyResult{in.Source, in.Destination, done.files, done.bytes, done.replaced, done.left}), nil
}

// maxCopied bounds what is copied at once, in bytes.
const maxCopied = 16 << 30

// copying is one call of copy_file, or of move_file between file systems.
type copying struct {
	fileTool
	ctx   context.Context
	in    placeInput
	keeps bool // the copy gets owner, permissions and time of its source
	track *progress

	directory, replaced bool
	files               int
	bytes               int64 // with holes
	data                int64 // without
	left                int   // entries that were not copied
	examples            []string
	notes               remarks
}

// copyTo copies what in names. What the policy says of the source is a [*failedCall]: only
// writing can be lifted.
func (t fileTool) copyTo(ctx context.Context, in placeInput, keeps bool) (*copying, error) {
	c := &copying{fileTool: t, ctx: ctx, in: in, keeps: keeps, track: newProgress(ctx, "copied")}
	f, err := t.reads.Open(in.Source)
	if err == nil {
		defer f.Close()
		return c, c.file(f)
	}
	if refused, ok := errors.AsType[*pathguard.Error](err); ok && refused.Kind == pathguard.KindNotAFile {
		if dir, failed := openTree(t.reads, in.Source); failed == nil {
			defer dir.Close()
			return c, c.tree(dir)
		}
	}
	res, broken := t.failure(err)
	if broken == nil {
		broken = &failedCall{res}
	}
	return c, broken
}

func (c *copying) file(f *pathguard.File) error {
	c.track.total = f.Info.Size
	lock, free := c.writing().held(c.ctx)
	defer free()
	o := pathguard.ReplaceOptions{CreateDirs: c.createsDirs(), NoReplace: !c.in.Overwrite, Perm: f.Info.Mode.Perm(), Before: lock}
	if c.keeps {
		o.Like = &f.Info.Info
	}
	created, err := c.writes.Fill(c.in.Destination, func(to *os.File) error { return c.content(to, f, c.in.Source) }, o)
	c.files, c.replaced = 1, !created
	return err
}

// content copies what is in a file, a piece at a time because the call may end.
func (c *copying) content(to *os.File, from io.ReadSeeker, path string) error {
	for at := int64(0); ; {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		next, n, err := copyNext(to, from, at, copiedAtOnce)
		c.bytes, c.data, at = c.bytes+next-at, c.data+n, next
		c.track.moved(c.bytes)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return &failedCall{copyFailure(path, c.in.Destination, err)}
		case c.data > maxCopied:
			return failed("too_large", fmt.Sprintf("%s was not copied: it has more than %s", c.in.Source, humanSize(maxCopied)),
				"Copy its parts, or copy it with a command.")
		}
	}
}

const copiedAtOnce = 8 << 20

func copyFailure(source, destination string, err error) domain.ToolResult {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return domain.Failure("io_error", fmt.Sprintf("%s was not copied to %s: %v", source, destination, err), "Try again, or tell the operator.")
}

func (c *copying) tree(from *tree) error {
	c.directory = true
	if to, err := c.writes.CheckName(c.in.Destination); err == nil && pathguard.Within(from.Info.Real, to.Resolved) {
		return failed("invalid_path", fmt.Sprintf("%s cannot be copied to %s, which is the same or lies below it", c.in.Source, c.in.Destination),
			"Choose another destination.")
	}
	made, err := c.writes.NewTree(c.in.Destination, c.createsDirs())
	if err != nil {
		return err
	}
	defer made.Close()
	opt := from.options(true, false)
	opt.Skip = func(e *walk.Entry) bool {
		rule, skip := from.Denied(filepath.FromSlash(e.Rel()), e.IsDir())
		if !skip {
			rule, skip = from.Protected(e)
		}
		if skip {
			c.leave(e.Rel(), rule)
		}
		return skip
	}
	stats, err := walk.Walk(c.ctx, from.File, from.Info.Real, opt, func(e *walk.Entry) error {
		c.track.step()
		return c.entry(made, e)
	})
	switch {
	case err != nil && c.ctx.Err() != nil:
		return c.ctx.Err()
	case err != nil:
		return err
	case stats.Truncated:
		return failed("too_large", fmt.Sprintf("%s was not copied: it has more than %s entries below it", c.in.Source, brief.Thousands(maxVisited)),
			"Copy its parts, or copy it with a command.")
	}
	c.left += stats.Unreadable
	if c.keeps && c.left > 0 {
		return nil // it is not moved
	}
	if c.left > 0 {
		c.notes.add("%d %s not copied: %s", c.left, plural("entry", c.left), strings.Join(c.examples, ", "))
	}
	lock, free := c.writing().held(c.ctx)
	defer free()
	return made.Commit(from.Info.Mode, lock)
}

// leave notes an entry that is not copied, and the rule by which, which is empty for what is outside the allowed paths.
func (c *copying) leave(rel, rule string) {
	if c.left++; len(c.examples) < maxSuggestion {
		c.examples = append(c.examples, fmt.Sprintf("%s (%s)", brief.OneLine(display(under(c.in.Source, rel))),
			brief.OneLine(cmp.Or(rule, "outside the allowed paths"))))
	}
}

// entry copies an entry of a directory. What may not be written there is left out.
func (c *copying) entry(to *pathguard.Tree, e *walk.Entry) error {
	rel := filepath.FromSlash(e.Rel())
	info, err := e.Info()
	if err != nil {
		return &failedCall{copyFailure(c.in.Source, c.in.Destination, err)}
	}
	switch {
	case e.IsDir():
		err = to.MakeDir(rel, info.Mode)
	case e.IsSymlink():
		var target string
		if target, err = e.Readlink(); err == nil {
			err = to.Symlink(target, rel)
		}
	case e.IsRegular():
		err = c.below(to, rel, e, info)
	default:
		c.leave(e.Rel(), "not a regular file")
		return nil
	}
	refused, ok := errors.AsType[*pathguard.Error](err)
	if errors.Is(err, walk.ErrHardlinks) {
		refused, ok = &pathguard.Error{Kind: pathguard.KindDenied, Rule: "hard links"}, true
	}
	if ok && refused.Kind == pathguard.KindDenied {
		c.leave(e.Rel(), refused.Rule)
		if e.IsDir() {
			return walk.SkipDir
		}
		return nil
	}
	return err
}

func (c *copying) below(to *pathguard.Tree, rel string, e *walk.Entry, info osfile.Info) error {
	f, err := e.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	var like *osfile.Info
	if c.keeps {
		like = &info
	}
	err = to.Fill(rel, info.Mode, like, func(to *os.File) error { return c.content(to, f, c.in.Source) })
	if err == nil {
		c.files++
	}
	return err
}

// copyNext copies the data that comes next in a file from an offset on, at most so many bytes, and returns where it
// stopped. Holes stay holes where the platform tells them. At the end the error is io.EOF.
func copyNext(to *os.File, from io.ReadSeeker, at, most int64) (next, copied int64, err error) {
	start, end := extent(from, at)
	if start > at {
		if err := to.Truncate(start); err != nil { // makes it longer
			return at, 0, err
		}
	}
	if start == end {
		return start, 0, io.EOF
	}
	for _, f := range []io.Seeker{to, from} {
		if _, err := f.Seek(start, io.SeekStart); err != nil {
			return at, 0, err
		}
	}
	copied, err = io.CopyN(to, from, min(most, end-start))
	return start + copied, copied, err
}

// extent returns where the next data of a file begins and ends. Where there is none, both are the end of the file; where
// the platform does not tell, all that follows is data.
func extent(f io.Seeker, at int64) (start, end int64) {
	data, hole := 3, 4 // SEEK_DATA, SEEK_HOLE
	if runtime.GOOS == "darwin" {
		data, hole = hole, data
	}
	start, err := f.Seek(at, data)
	if errors.Is(err, syscall.ENXIO) {
		if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 { // files without a size may have content
			return max(at, size), max(at, size)
		}
	}
	if err == nil {
		end, err = f.Seek(start, hole)
	}
	if err != nil {
		return at, math.MaxInt64
	}
	return start, end
}
