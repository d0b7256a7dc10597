package pathguard

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/toolserver/toolserver/osfile"
)

// maxTries bounds how often a call looks again because files moved meanwhile.
const maxTries = 32

// Open opens the regular file at path for reading. A relative path starts at
// the directory given to [New], and "~/" is the home directory. A directory, FIFO, socket
// or device is refused and never waited for. The error is an [*Error].
func (g *Guard) Open(path string) (*File, error) {
	f, err := g.open(path, wantFile)
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// Stat describes the file of any kind at path, following links as [Guard.Open]
// does. The error is an [*Error].
func (g *Guard) Stat(path string) (Info, error) {
	f, err := g.open(path, wantInfo)
	return f.Info, err
}

// request checks the form of path and makes it absolute. It stays as it was
// spelled otherwise, because what ".." means depends on links.
func (g *Guard) request(path string) (request, error) {
	q := request{path: path, abs: g.expanded(path), guard: g, policy: g.policy}
	switch {
	case path == "":
		return q, q.error(KindInvalidPath, "is empty: give the path of a file", nil)
	case strings.IndexByte(path, 0) >= 0:
		return q, q.error(KindInvalidPath, "contains a NUL byte", nil)
	}
	if !filepath.IsAbs(q.abs) {
		q.abs = strings.TrimSuffix(g.dir, separator) + separator + path
	}
	if len(q.abs) > maxPath {
		return q, q.error(KindInvalidPath, fmt.Sprintf("is longer than %d bytes", maxPath), nil)
	}
	if reason := foreignName(q.abs); reason != "" {
		return q, cmp.Or(q.odd(filepath.ToSlash(path), nil), q.error(KindInvalidPath, reason, nil))
	}
	return q, nil
}

func (g *Guard) open(path string, w want) (f File, err error) {
	q, err := g.request(path)
	if err != nil {
		return File{}, err
	}
	// A path that is spelled as it is in the file system is opened at once. Whatever
	// is not a success is left to the long way, which knows why.
	s := g.snapshot(false)
	_, allowed := g.allowedBy(q.abs)
	if _, denied := s.deniedBy(q.abs); allowed && !denied && filepath.Clean(q.abs) == q.abs {
		if f, err = g.files.open(q.abs, w, s); err == nil {
			return f, nil
		}
	}
	q.dir = w == wantDir
	err = g.retry(q, false, func(s *snapshot, real string) error {
		f, err = g.files.open(real, w, s)
		return err
	})
	if err != nil {
		return File{}, err
	}
	return f, nil
}

// retry runs step with the canonical path of a permitted request, again if it failed
// only because files moved meanwhile. The path exists, or with create all that is
// missing of it are plain names. The error is an [*Error].
func (g *Guard) retry(q request, create bool, step func(s *snapshot, real string) error) error {
	for range maxTries {
		s := g.snapshot(true)
		t, _, err := s.target(q)
		if err == nil && errors.Is(t.err, fs.ErrNotExist) {
			if odd := q.odd(t.missing, t.err); odd != nil {
				return odd
			}
		}
		switch {
		case err != nil:
			return err
		case t.err != nil && !(create && t.creatable):
			return q.failure(t.err)
		}
		if err = step(s, t.path); err == nil {
			return nil
		}
		if !moved(err) {
			return q.failure(err)
		}
	}
	return q.failure(osfile.ErrMoved)
}

// resolve returns the canonical path of a request.
func (q request) resolve() resolved {
	dir, name := filepath.Split(strings.TrimRightFunc(q.abs, func(r rune) bool { return r < utf8.RuneSelf && os.IsPathSeparator(uint8(r)) }))
	if !q.itself || name == "" || name == "." || name == ".." {
		return resolve(q.abs)
	}
	t := resolve(dir)
	t.path, t.missing = filepath.Join(t.path, name), t.missing+name
	if t.err == nil {
		_, t.err = os.Lstat(t.path)
		t.creatable = errors.Is(t.err, fs.ErrNotExist)
	}
	return t
}

// target checks a request and returns its canonical path and the rule that allows it.
// It fails with an *Error of KindDenied, the same whether the path exists or not.
func (s *snapshot) target(q request) (resolved, *rule, error) {
	if name, denied := s.deniedText(q.abs); denied {
		return resolved{}, nil, q.denied(name)
	}
	t := q.resolve()
	allowed, ok := s.policy.allowedBy(t.path)
	if !ok && !(q.dir && s.policy.leads(t.path)) {
		return t, allowed, q.outside()
	}
	if name, denied := s.deniedBy(t.path); denied {
		return t, allowed, q.denied(name)
	}
	return t, allowed, nil
}

// moved reports an error that a change of the tree during the call explains,
// when a moment ago the path existed and was free of links.
func moved(err error) bool {
	if _, done := errors.AsType[*Error](err); done {
		return false
	}
	return errors.Is(err, osfile.ErrMoved) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EAGAIN)
}

// Dir is an open directory for listing and for walkers. A walker that descends
// from its descriptor without following links (O_NOFOLLOW) and asks Denied for
// each name before it opens or reports it, and Protected before it opens it, stays
// within the policy: all that lies beneath an allowed directory is allowed unless a
// deny rule governs it. Where a glob allows files, the directories on the way to them
// can be opened, too, and Denied is true of what else is in them.
type Dir struct {
	*os.File
	// Info describes the directory as it was when it was opened.
	Info Info

	denied     []denial // each with the forms that count
	allowed    *policy  // nil if all is allowed beneath
	protection *protection
}

// OpenDir opens the directory at path for listing. The error is an [*Error].
func (g *Guard) OpenDir(path string) (*Dir, error) {
	f, err := g.open(path, wantDir)
	if err != nil {
		return nil, err
	}
	d := &Dir{File: f.File, Info: f.Info, protection: g.protection}
	if _, whole := g.allowedBy(d.Info.Real); !whole {
		d.allowed = g.policy
	}
	base := foldPath(f.Info.Real)
	for _, deny := range g.snapshot(false).deny {
		deny.forms = slices.DeleteFunc(slices.Clone(deny.forms), func(form string) bool {
			return !Within(base, form) && (deny.glob == nil || !Within(form, base))
		})
		if len(deny.forms) > 0 {
			d.denied = append(d.denied, deny)
		}
	}
	return d, nil
}

// Denied reports whether rel, a clean path relative to the directory that was reached
// without following links, is denied or not allowed, and by which rule. Where the
// rules lead was determined when the directory was opened. It costs nothing if
// no rule lies beneath the directory.
func (d *Dir) Denied(rel string, isDir bool) (rule string, denied bool) {
	if !d.Restricted() {
		return "", false
	}
	path := filepath.Join(d.Info.Real, rel)
	if d.allowed != nil && !(isDir && d.allowed.leads(path)) {
		if _, allowed := d.allowed.allowedBy(path); !allowed {
			return "", true
		}
	}
	return governing(d.denied, path)
}

// Restricted reports whether any rule lies beneath the directory. If not, a walker
// need not ask Denied at all.
func (d *Dir) Restricted() bool { return len(d.denied) > 0 || d.allowed != nil }

// DeniesHardlinks reports whether files that have several names are refused,
// which a walker has to see to itself.
func (p *policy) DeniesHardlinks() bool { return p.denyHardlinks }

// Denied reports whether a deny rule or a protected name governs real, an absolute
// path that was reached without following symlinks, and which one. It does not say
// that the path is allowed.
func (p *policy) Denied(real string) (rule string, denied bool) {
	return p.snapshot(false).deniedBy(filepath.Clean(real))
}
