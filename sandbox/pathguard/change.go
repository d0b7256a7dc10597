package pathguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/sandbox/repository"
)

// held is a name in a directory that is open.
type held struct {
	request request
	parent  dir
	real    string      // canonical path
	name    string      // its last name
	info    fs.FileInfo // nil if nothing has the name

	repository *repository.Change // of the name; nil if it does not get anything
}

// hold opens the directory of what q names and has look check what has the name. With
// create that need not exist, and with dirs missing directories above it are created.
func (g *Guard) hold(q request, create, dirs bool, look func(*snapshot, *held) error) (h *held, err error) {
	err = g.retry(q, create, func(s *snapshot, real string) error {
		parent, err := g.openDir(filepath.Dir(real), dirs)
		if create && !dirs && errors.Is(err, fs.ErrNotExist) {
			return q.error(KindNotFound, "cannot be created: its directory does not exist", err)
		}
		if err != nil {
			return err
		}
		h = &held{request: q, parent: parent, real: real, name: filepath.Base(real)}
		if h.info, err = parent.Lstat(h.name); create && errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err == nil {
			err = look(s, h)
		}
		if err == nil && create {
			h.repository = g.change(parent, filepath.Dir(real), h.name, false)
			err = g.refused(h.repository.Refused())
		}
		if err != nil {
			return errors.Join(err, parent.Close())
		}
		return nil
	})
	return h, err
}

// change has act give a name to something, while nobody else changes a repository, and
// undoes that if the name may not have it.
func (q request) change(c *repository.Change, act func() (undo func() error, err error)) error {
	defer q.policy.enter(c)()
	if err := q.policy.refused(c.Refused()); err != nil {
		return q.failure(err)
	}
	undo, err := act()
	if err != nil {
		return err
	}
	if err := q.policy.refused(c.Settled()); err != nil {
		return errors.Join(q.failure(err), undo())
	}
	return nil
}

// MakeDir creates the directory at path and those above it that are missing, with the
// permissions 0777 less the umask, and reports whether it was missing.
func (g *Guard) MakeDir(path string) (created bool, err error) {
	q, err := g.request(path)
	if err != nil {
		return false, err
	}
	err = g.retry(q, true, func(_ *snapshot, real string) error {
		d, err := g.files.openDir(real)
		if created = errors.Is(err, fs.ErrNotExist); created {
			d, err = g.openDir(real, true)
		}
		if errors.Is(err, syscall.ENOTDIR) {
			if info, failed := os.Lstat(real); failed == nil && !info.IsDir() {
				return q.error(KindExists, "is "+kindName(info.Mode())+", not a directory", err)
			}
		}
		if err != nil {
			return err
		}
		return d.Close()
	})
	return created, err
}

// MoveOptions say how [Guard.Move] moves.
type MoveOptions struct {
	Overwrite  bool // a regular file may be replaced
	CreateDirs bool // missing directories above the new path are created
	// Reads is what has to allow reading all that is moved, or nobody could tell what
	// becomes readable under another name.
	Reads *Guard
	// Before is called with the canonical paths before anything changes. An error
	// cancels, and is returned.
	Before func(from, to string) error
	// Step is called for each entry below a directory.
	Step func()
}

// Move renames the file, directory or symlink at from, at once. What is moved must be
// allowed where it was and where it will be, with all that is below it. Nothing is
// replaced but a regular file, and that only with MoveOptions.Overwrite. Between two file
// systems the error is [syscall.EXDEV], and nothing has changed. The error is an [*Error],
// or that of the context or MoveOptions.Before.
func (g *Guard) Move(ctx context.Context, from, to string, o MoveOptions) (replaced bool, err error) {
	source, err := g.holdName(from, o.Reads)
	if err != nil {
		return false, err
	}
	defer source.parent.Close()
	q, err := g.request(to)
	if err != nil {
		return false, err
	}
	q.itself = true
	s := g.snapshot(true)
	place, _, err := s.target(q)
	if err != nil {
		return false, err
	}
	if err := g.fits(q, source, place.path); err != nil {
		return false, err
	}
	if source.info.IsDir() {
		if err := source.checkBelow(ctx, []*snapshot{s, o.Reads.snapshot(true)}, place.path, o.Step); err != nil {
			return false, err
		}
	}
	target := &replacement{options: ReplaceOptions{NoReplace: !o.Overwrite || source.info.IsDir()}}
	if target.held, err = g.hold(q, true, o.CreateDirs, target.inspect); err != nil {
		return false, err
	}
	defer target.parent.Close()
	if o.Before != nil {
		if err := o.Before(source.real, target.real); err != nil {
			return false, err
		}
	}
	replaced = target.info != nil
	switch now, err := source.parent.Lstat(source.name); {
	case target.real != place.path, err == nil && !os.SameFile(now, source.info),
		!g.isAt(source.parent, filepath.Dir(source.real)), !g.isAt(target.parent, filepath.Dir(target.real)):
		return false, source.request.error(KindIO, "was not moved: it or a directory was replaced meanwhile", nil)
	case err != nil:
		return false, source.request.failure(err)
	}
	err = q.change(target.repository, func() (func() error, error) {
		err := source.parent.move(source.name, target.parent, target.name, replaced)
		if errors.Is(err, fs.ErrExist) {
			err = q.failure(fs.ErrExist)
		} else {
			err = source.request.failure(err)
		}
		return func() error { return target.parent.move(target.name, source.parent, source.name, false) }, err
	})
	if err != nil {
		return false, err
	}
	for _, d := range []dir{target.parent, source.parent} {
		if err := osfile.SyncDir(d); err != nil {
			return replaced, q.failure(err)
		}
	}
	return replaced, nil
}

// holdName holds what path names for a change of the name. All of reads, which may be
// nil, have to allow it, too.
func (g *Guard) holdName(path string, reads *Guard) (*held, error) {
	q, err := g.request(path)
	if err != nil {
		return nil, err
	}
	q.itself = true
	return g.hold(q, false, false, func(s *snapshot, h *held) error {
		if h.info.IsDir() && g.rests(h.real) {
			return q.error(KindDenied, "is an allowed directory of the policy, or holds one", nil)
		}
		info := Info{h.real, osfile.Of(h.info)}
		if reads != nil {
			other := q
			other.policy = reads.policy
			at := reads.snapshot(true)
			if _, _, err := at.target(other); err != nil {
				return err
			}
			if err := at.keeps(info); err != nil {
				return other.failure(err)
			}
			if info.Mode.IsRegular() {
				return s.suits(wantAppend, info)
			}
		}
		return s.keeps(info)
	})
}

// keeps returns why a name may not be taken from a file: that is protected.
func (s *snapshot) keeps(info Info) error {
	if rule, protected := s.protected[info.ID]; protected && info.Mode.IsRegular() {
		return &Error{Kind: KindDenied, Rule: rule, Reason: s.policy.Reason(rule)}
	}
	return nil
}

// rests reports whether an allowed directory, or the one where relative paths start, is
// at the canonical path or below it.
func (p *policy) rests(real string) bool {
	return Within(real, p.dir) || slices.ContainsFunc(p.allow, func(r rule) bool { return Within(real, r.real) })
}

// fits checks where source is to go.
func (g *Guard) fits(q request, source *held, to string) error {
	switch {
	case to == source.real:
		return q.error(KindInvalidPath, "is the same as the source", nil)
	case !source.info.IsDir():
		return nil
	case Within(source.real, to):
		return q.error(KindInvalidPath, "lies below the source", nil)
	}
	// What appears below a directory while it is moved is not checked, so it gets no name
	// below which anything is protected.
	if g.protection != nil {
		if below := g.protection.names().Below(to); len(below) > 0 {
			rule := protectedPrefix + filepath.Base(to) + separator + below[0]
			return &Error{Path: q.path, Kind: KindDenied, Rule: rule, Reason: g.Reason(rule), Allowed: g.Allowed()}
		}
	}
	return nil
}

// checkBelow checks whether all that is below a directory may get and lose its name.
// With to it is about moving it there.
func (h *held) checkBelow(ctx context.Context, rules []*snapshot, to string, step func()) error {
	return h.below(ctx, func(_ dir, rel string, info fs.FileInfo) error {
		if step != nil {
			step()
		}
		q := h.request
		q.path = filepath.Join(q.path, rel)
		at := Info{filepath.Join(h.real, rel), osfile.Of(info)}
		for _, s := range rules {
			q.policy = s.policy
			if name, denied := s.deniedAt(at.Real, at.Mode.IsDir()); denied {
				return q.denied(name)
			}
			if err := s.keeps(at); err != nil {
				return q.failure(err)
			}
		}
		if to == "" {
			return nil
		}
		q.policy = h.request.policy
		if at.Mode.IsRegular() {
			if err := rules[0].suits(wantAppend, at); err != nil {
				return q.failure(err)
			}
		}
		if name, denied := rules[0].deniedAt(filepath.Join(to, rel), at.Mode.IsDir()); denied {
			return q.denied(name)
		}
		return nil
	})
}

// Bounds of what is below a directory that is moved, copied or deleted.
const (
	maxBelow = 200_000
	maxDepth = 256
)

// below calls visit for each entry below a directory, those of a directory before itself.
func (h *held) below(ctx context.Context, visit func(parent dir, rel string, info fs.FileInfo) error) error {
	left := maxBelow
	var enter func(parent dir, name, rel string, depth int) error
	enter = func(parent dir, name, rel string, depth int) error {
		d, err := parent.child(name)
		if err != nil {
			return err
		}
		defer d.Close()
		list, err := d.OpenFile(".", os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		names, err := list.Readdirnames(left + 1)
		list.Close()
		if err == io.EOF {
			err = nil
		}
		if left -= len(names); left < 0 || depth > maxDepth {
			return h.request.error(KindIO, fmt.Sprintf("has more than %d entries or %d levels of directories below it", maxBelow, maxDepth), nil)
		}
		for _, name := range names {
			rel := filepath.Join(rel, name)
			info, err := d.Lstat(name)
			if err == nil && info.IsDir() {
				err = enter(d, name, rel, depth+1)
			}
			if err == nil {
				err = visit(d, rel, info)
			}
			if err = errors.Join(ctx.Err(), err); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return err
	}
	err := enter(h.parent, h.name, "", 0)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Path != "" {
		return e // about an entry
	}
	return h.request.failure(err)
}

// Remove deletes the file, empty directory or symlink at path. With recursive it deletes
// all that is below a directory, if all of that may be deleted; what an error leaves is
// whole. Before is called with the canonical path, and step for each entry that is
// deleted. The error is an [*Error], or that of the context or of before.
func (g *Guard) Remove(ctx context.Context, path string, recursive bool, before func(real string) error, step func()) error {
	h, err := g.holdName(path, nil)
	if err != nil {
		return err
	}
	defer h.parent.Close()
	rules := []*snapshot{g.snapshot(true)}
	if h.info.IsDir() && recursive {
		if err := h.checkBelow(ctx, rules, "", nil); err != nil {
			return err
		}
	}
	if err := before(h.real); err != nil {
		return err
	}
	if !g.isAt(h.parent, filepath.Dir(h.real)) {
		return h.request.error(KindIO, "was not deleted: its directory was replaced meanwhile", nil)
	}
	if h.info.IsDir() && recursive {
		err := h.below(ctx, func(parent dir, rel string, info fs.FileInfo) error {
			if rule, denied := rules[0].deniedAt(filepath.Join(h.real, rel), info.IsDir()); denied { // made meanwhile
				return h.request.denied(rule)
			}
			step()
			return parent.Remove(filepath.Base(rel))
		})
		if err != nil {
			return err
		}
	}
	step()
	if err := h.parent.Remove(h.name); err != nil {
		return h.request.failure(err)
	}
	return h.request.failure(osfile.SyncDir(h.parent))
}
