package pathguard

import (
	"os"
	"path/filepath"
)

// Dir is an open directory for listing and for walkers. A walker that descends
// from its descriptor without following links (O_NOFOLLOW) and asks Denied for
// each name before it opens or reports it, and Protected before it opens it, stays within the policy: all that
// lies beneath an allowed directory is allowed unless a deny rule governs it.
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
	o, err := g.open("list", path, wantDir)
	if err != nil {
		return nil, err
	}
	s := g.snapshot(false)
	defer s.release()
	d := &Dir{File: o.file, Info: o.info, protection: s.protection}
	base := foldPath(o.info.Real)
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

// Denied reports whether a deny rule or a protected name governs real, an absolute path that was
// reached without following links, and which one. It does not say that the
// path is allowed.
func (g *Guard) Denied(real string) (rule string, denied bool) {
	s := g.snapshot(false)
	defer s.release()
	return s.deniedBy(filepath.Clean(real))
}
