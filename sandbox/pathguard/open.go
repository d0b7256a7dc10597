package pathguard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxTries bounds how often a call looks again because files moved meanwhile.
const maxTries = 32

// Open opens the regular file at path for reading. A relative path starts at
// the directory given to [New]; "~" is not expanded. A directory, FIFO, socket
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
	q := request{path: path, abs: path, guard: g}
	switch {
	case path == "":
		return q, q.error(KindInvalidPath, "is empty: give the path of a file", nil)
	case strings.IndexByte(path, 0) >= 0:
		return q, q.error(KindInvalidPath, "contains a NUL byte", nil)
	}
	if !filepath.IsAbs(path) {
		q.abs = strings.TrimSuffix(g.dir, separator) + separator + path
	}
	if len(q.abs) > maxPath {
		return q, q.error(KindInvalidPath, fmt.Sprintf("is longer than %d bytes", maxPath), nil)
	}
	if reason := foreignName(path); reason != "" {
		return q, q.error(KindInvalidPath, reason, nil)
	}
	return q, nil
}

func (g *Guard) open(path string, w want) (f File, err error) {
	q, err := g.request(path)
	if err != nil {
		return File{}, err
	}
	if f, ok := g.openDirectly(q, w); ok {
		return f, nil
	}
	// The long way finds the canonical path, checks it, and opens it without
	// following symlinks.
	err = g.retry(q, false, func(s *snapshot, t target) error {
		f, err = t.root.anchor.open(t.root.rel(t.path), w, false, s)
		return err
	})
	if err != nil {
		return File{}, err
	}
	return f, nil
}

// retry runs step with the target of a permitted request, again if it failed only
// because files moved meanwhile. The target exists, or with create all that is
// missing of it are plain names. The error is an [*Error].
func (g *Guard) retry(q request, create bool, step func(*snapshot, target) error) (err error) {
	attempt := func() error {
		s := g.snapshot(true)
		defer s.release()
		t, err := s.target(q)
		if err == nil && t.err != nil && !(create && t.creatable) {
			err = q.failure(t.err)
		}
		if err != nil {
			return err
		}
		return step(s, t)
	}
	for range maxTries {
		if err = attempt(); err == nil {
			return nil
		}
		if !moved(err) {
			break
		}
	}
	return q.failure(err)
}

// openDirectly is the short way for a path that is spelled beneath an allowed
// one: one lookup in the kernel. Whatever is not a success is left to
// the long way, which knows why.
func (g *Guard) openDirectly(q request, w want) (File, bool) {
	s := g.snapshot(false)
	defer s.release()
	r, rel := s.shortcut(q.abs)
	if r == nil {
		return File{}, false
	}
	f, err := r.anchor.open(rel, w, true, s)
	if err != nil {
		return File{}, false
	}
	if f.Info.Real != q.abs { // else its spelling has been checked just now
		if _, denied := s.deniedText(q.abs); denied {
			f.File.Close() // or nil, with wantInfo
			return File{}, false
		}
	}
	return f, true
}

// target is the canonical path of a permitted request and the root it lies in.
type target struct {
	resolved
	root *root
}

// target checks a request. It fails with an *Error of KindDenied, the same
// whether the path exists or not, or because the root cannot be reached.
func (s *snapshot) target(q request) (target, error) {
	if rule, denied := s.deniedText(q.abs); denied {
		return target{}, q.denied(rule)
	}
	t := target{resolved: resolve(q.abs)}
	t.root = s.allowedBy(t.path)
	if t.root == nil {
		return t, q.outside()
	}
	if rule, denied := s.deniedBy(t.path); denied {
		return t, q.denied(rule)
	}
	if errors.Is(t.root.err, syscall.EMFILE) || errors.Is(t.root.err, syscall.ENFILE) {
		return t, q.failure(t.root.err)
	}
	if t.root.anchor == nil {
		return t, q.error(KindIO, "cannot be reached: the allowed path "+t.root.real+
			" has become a symbolic link or may not be entered", nil)
	}
	return t, nil
}

// moved reports an error that a change of the tree during the call explains,
// when a moment ago the path existed and was free of links.
func moved(err error) bool {
	var done *Error
	if errors.As(err, &done) {
		return false
	}
	return errors.Is(err, errElsewhere) || isMissing(err) || errors.Is(err, syscall.ELOOP) ||
		errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EAGAIN)
}

// Dir is an open directory for listing and for walkers. A walker that descends
// from its descriptor without following links (O_NOFOLLOW) and asks Denied for
// each name before it opens or reports it, and Protected before it opens it, stays
// within the policy: all that lies beneath an allowed directory is allowed unless a
// deny rule governs it.
type Dir struct {
	*os.File
	// Info describes the directory as it was when it was opened.
	Info Info

	denied     []below
	protection *protection
}

// below is a denied path beneath a directory, relative to it.
type below struct{ rel, rule string }

// OpenDir opens the directory at path for listing. The error is an [*Error].
func (g *Guard) OpenDir(path string) (*Dir, error) {
	f, err := g.open(path, wantDir)
	if err != nil {
		return nil, err
	}
	s := g.snapshot(false)
	defer s.release()
	d := &Dir{File: f.File, Info: f.Info, protection: s.protection}
	base := foldPath(f.Info.Real)
	for _, deny := range s.deny {
		for _, form := range deny.forms {
			if Within(base, form) {
				d.denied = append(d.denied, below{relative(base, form), deny.text})
			}
		}
	}
	return d, nil
}

// Denied reports whether a deny rule governs rel, a clean path relative to the
// directory that was reached without following links, and which one. Where the
// rules lead was determined when the directory was opened. It costs nothing if
// no deny rule lies beneath the directory.
func (d *Dir) Denied(rel string) (rule string, denied bool) {
	if len(d.denied) == 0 {
		return "", false
	}
	rel = foldPath(rel)
	for _, b := range d.denied {
		if Within(b.rel, rel) {
			return b.rule, true
		}
	}
	return "", false
}

// Restricted reports whether any deny rule lies beneath the directory. If not,
// a walker need not ask Denied at all.
func (d *Dir) Restricted() bool { return len(d.denied) > 0 }

// DeniesHardlinks reports whether files that have several names are refused,
// which a walker has to see to itself.
func (g *Guard) DeniesHardlinks() bool { return g.denyHardlinks }

// Denied reports whether a deny rule or a protected name governs real, an absolute
// path that was reached without following symlinks, and which one. It does not say
// that the path is allowed.
func (g *Guard) Denied(real string) (rule string, denied bool) {
	s := g.snapshot(false)
	defer s.release()
	return s.deniedBy(filepath.Clean(real))
}
