package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// A Reader is the part of the file system that its owner may read. It has no way to
// change anything. The methods are those of [pathguard.Guard].
type Reader struct{ reads }

type reads interface {
	Open(path string) (*pathguard.File, error)
	OpenDir(path string) (*pathguard.Dir, error)
	Stat(path string) (pathguard.Info, error)
	Check(path string) (pathguard.Decision, error)
	Allowed() []string
	AllowedBelow() []string
	DeniesHardlinks() bool
	With(paths ...string) *pathguard.Guard
}

// A temporaryReader is a Guard that reads the temporary files of commands, too, by the
// paths at which those find them.
type temporaryReader struct {
	*pathguard.Guard
	commands *commandFiles
	files    func() *pathguard.Guard // allows only where they are, which is called when there are any
}

// orTemporary asks about a path and, if no rule governs that, about the temporary file of
// commands. A link of a command leads to nothing else.
func orTemporary[T any](r *temporaryReader, path string, ask func(g *pathguard.Guard, path string) (T, error)) (T, error) {
	got, err := ask(r.Guard, path)
	outside := func(err error) bool {
		e, ok := errors.AsType[*pathguard.Error](err)
		return ok && e.Kind == pathguard.KindDenied && e.Rule == ""
	}
	if !outside(err) {
		return got, err
	}
	if place := r.commands.temporaryPlace(path); place != "" {
		if found, failure := ask(r.files(), place); !outside(failure) {
			if e, ok := errors.AsType[*pathguard.Error](failure); ok {
				e.Path = path
			}
			return found, failure
		}
	}
	return got, err
}

func (r *temporaryReader) Open(path string) (*pathguard.File, error) {
	return orTemporary(r, path, (*pathguard.Guard).Open)
}

func (r *temporaryReader) OpenDir(path string) (*pathguard.Dir, error) {
	return orTemporary(r, path, (*pathguard.Guard).OpenDir)
}

func (r *temporaryReader) Stat(path string) (pathguard.Info, error) {
	return orTemporary(r, path, (*pathguard.Guard).Stat)
}

// A Writer is the part of the file system that its owner may write. What may be
// written may be read through it as well.
type Writer struct{ *pathguard.Guard }

// With returns a Reader that may read in directories, too; see [pathguard.Guard.With].
func (r *Reader) With(dirs ...string) *Reader { return &Reader{r.reads.With(dirs...)} }

// With returns a Writer that may write in directories, too.
func (w *Writer) With(dirs ...string) *Writer { return &Writer{w.Guard.With(dirs...)} }

// Move is [pathguard.Guard.Move] of what from may read, too.
func (w *Writer) Move(ctx context.Context, from *Reader, source, destination string, o pathguard.MoveOptions) (replaced bool, err error) {
	o.Reads = from.reads.With()
	return w.Guard.Move(ctx, source, destination, o)
}

// A guardKey is what a path guard is for.
type guardKey struct {
	use  use
	tool string
}

// newGuards makes a guard for each owner and use that is declared. Owners with the
// same rules share one, and with it what it keeps open. left is that of [pathguard.Rules].
func newGuards(p Policy, left func(path string, err error)) (map[guardKey]*pathguard.Guard, error) {
	guards, byRules := map[guardKey]*pathguard.Guard{}, map[string]*pathguard.Guard{}
	protected := map[use]pathguard.Protection{reading: p.protected(reading), writing: p.protected(writing)}
	for _, o := range p.Owners {
		for _, u := range []use{reading, writing} {
			head := o.head(u)
			if head == "" {
				continue
			}
			allow, deny := p.pathLists(u, o)
			rules := pathguard.Rules{Allow: allow, Deny: deny, Roots: p.Roots, DenyHardlinks: p.denyHardlinks(u, head), Protect: protected[u], Left: left, Owner: p.User}
			key := fmt.Sprint(u, rules.DenyHardlinks, "\x00", strings.Join(allow, "\x00"), "\x00\x00", strings.Join(deny, "\x00"))
			if byRules[key] == nil {
				made, err := pathguard.New(p.WorkingDirectory, rules)
				if err != nil {
					return nil, fmt.Errorf("tools.%s: %w", o.Tool, err)
				}
				byRules[key] = made
			}
			guards[guardKey{u, o.Tool}] = byRules[key]
		}
	}
	return guards, nil
}
