package pathguard

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"toolserver/sandbox/osfile"
)

// maxAge is how long calls share a snapshot. Tool calls are further apart than
// this, so each resolves the rules anew; only a burst of opens shares the work.
const maxAge = 10 * time.Millisecond

// protectedID is a protected file that exists.
type protectedID struct {
	id   osfile.ID
	rule string
}

// protectedFile returns the rule that protects a file, whatever name it was
// found under.
func (s *snapshot) protectedFile(info osfile.Info) (rule string, protected bool) {
	for _, p := range s.protected {
		if p.id == info.ID {
			return p.rule, true
		}
	}
	return "", false
}

// snapshot is the policy as it stands in the file system at one moment: open
// allowed directories and the current places of the denied paths.
type snapshot struct {
	made          time.Time
	roots         []root
	deny          []denial // also of protected files
	protection    *protection
	protected     []protectedID
	denyHardlinks bool
	refs          atomic.Int32
}

// root is an allowed path with the directory through which it is reached.
type root struct {
	rule string // as configured
	text string // the same, or "" if it no longer leads to real
	real string
	// anchor is real itself if that is a directory, else the nearest
	// existing directory above it (for a file or a path not yet created). It
	// is nil if real cannot be reached, for the reason err, which includes that
	// a link has taken the place of one of its directories.
	anchor     dir
	anchorPath string
	below      string // real as seen from anchorPath
	err        error
}

// snapshot returns the shared snapshot, or a new one if it is too old or fresh
// is set. The caller releases it.
func (g *Guard) snapshot(fresh bool) *snapshot {
	if !fresh {
		g.mu.Lock()
		if s := g.current; s != nil && time.Since(s.made) < maxAge {
			s.refs.Add(1)
			g.mu.Unlock()
			return s
		}
		g.mu.Unlock()
	}
	s := g.observe()
	s.refs.Store(1)
	g.mu.Lock()
	old := g.current
	if !g.closed {
		s.refs.Add(1)
		g.current = s
	}
	g.mu.Unlock()
	if old != nil {
		old.release()
	}
	return s
}

func (s *snapshot) release() {
	if s.refs.Add(-1) > 0 {
		return
	}
	for _, r := range s.roots {
		if r.anchor != nil {
			_ = r.anchor.Close() // nothing was written through it
		}
	}
}

func (g *Guard) observe() *snapshot {
	s := &snapshot{made: time.Now(), denyHardlinks: g.denyHardlinks, protection: g.protection}
	for _, r := range g.allow {
		s.roots = append(s.roots, g.observeRoot(r))
	}
	parents := make(map[string]resolved)
	for _, r := range g.deny {
		s.deny = append(s.deny, r.denial(parents))
	}
	if g.protection == nil {
		return s
	}
	for _, r := range g.protection.files() {
		s.deny = append(s.deny, r.denial(parents))
		if info, err := os.Stat(r.text); err == nil && info.Mode().IsRegular() {
			if id := osfile.Of(info).ID; id != (osfile.ID{}) {
				s.protected = append(s.protected, protectedID{id, r.name})
			}
		}
	}
	return s
}

func (g *Guard) observeRoot(r rule) root {
	found := root{rule: r.text, text: r.text, real: r.real}
	if r.text != r.real && resolve(r.text).path != r.real {
		found.text = ""
	}
	path := r.real
	for {
		d, err := g.openAnchor(path)
		if err == nil {
			found.anchor, found.anchorPath = d, path
			found.below = relative(path, r.real)
			return found
		}
		parent := filepath.Dir(path)
		if !isMissing(err) || parent == path {
			found.err = err
			return found
		}
		path = parent
	}
}

// shortcut finds the root that abs is spelled beneath, and the rest of it. It
// only saves time: the descriptor that is then opened is checked as always.
func (s *snapshot) shortcut(abs string) (r *root, rel string) {
	for i := range s.roots {
		r := &s.roots[i]
		if r.anchor == nil {
			continue
		}
		for _, base := range [2]string{r.text, r.real} {
			if base == "" || !Within(base, abs) {
				continue
			}
			return r, r.join(relative(base, abs), strings.HasSuffix(abs, separator))
		}
	}
	return nil, ""
}

// join returns rel, which starts at the root, as seen from the anchor. If the
// request ends in a separator, so does the result: only a directory will do.
func (r *root) join(rel string, slash bool) string {
	switch {
	case r.below == "":
		return cmp.Or(rel, ".")
	case rel != "" || slash:
		return r.below + separator + rel
	}
	return r.below
}

// rel returns the canonical path real as seen from the anchor.
func (r *root) rel(real string) string { return cmp.Or(relative(r.anchorPath, real), ".") }
