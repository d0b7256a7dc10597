package pathguard

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/sandbox/glob"
)

const separator = string(os.PathSeparator)

// rule is one entry of the policy.
type rule struct {
	text  string     // the path, clean
	name  string     // what refusals call it; text if empty
	real  string     // text with its links resolved when the Guard was made
	glob  *glob.Glob // what it is about below the path; nil for all of it
	below string     // the glob's text
}

// newRule makes a rule of a path, which what names in errors.
func newRule(what, path string) (rule, error) {
	text := filepath.Clean(path)
	return rule{text: text, real: resolve(text).path}, validRule(what, path)
}

// maxAge is how long calls share a snapshot. Tool calls are further apart than
// this, so each resolves the rules anew; only a burst of opens shares the work.
const maxAge = 10 * time.Millisecond

// snapshot says where the deny rules and protected files of a Guard are at one moment.
type snapshot struct {
	policy    *policy
	made      time.Time
	deny      []denial             // also of protected files
	protected map[osfile.ID]string // the rules of protected files that exist
}

// denial is a deny rule, or a protected file, with every path it leads to.
type denial struct {
	*rule
	forms []string // spelling, place at start, place now; folded, each once
}

// snapshot returns the shared snapshot, or a new one if it is too old or fresh is set.
func (p *policy) snapshot(fresh bool) *snapshot {
	if s := p.current.Load(); !fresh && s != nil && time.Since(s.made) < maxAge {
		return s
	}
	s := &snapshot{policy: p, made: time.Now()}
	parents := make(map[string]resolved)
	for i := range p.deny {
		s.deny = append(s.deny, p.deny[i].denial(parents))
	}
	if p.protection != nil {
		s.protected = make(map[osfile.ID]string)
		files := slices.Concat(p.protection.files(), p.protection.named())
		for i := range files {
			r := &files[i]
			s.deny = append(s.deny, r.denial(parents))
			if info, err := os.Stat(r.text); err == nil && info.Mode().IsRegular() {
				s.protected[osfile.Of(info).ID] = r.name
			}
		}
		delete(s.protected, osfile.ID{}) // of platforms that have none
	}
	p.current.Store(s)
	return s
}

// denial resolves the rule. Rules tend to share directories, which are resolved
// once for all of them.
func (r *rule) denial(parents map[string]resolved) denial {
	d := denial{rule: r}
	dir, name := filepath.Split(r.text)
	parent, known := parents[dir]
	if !known {
		parent = resolve(dir)
		parents[dir] = parent
	}
	now := filepath.Join(parent.path, name)
	if parent.err == nil {
		now = resolveFrom(parent.path, name).path
	}
	for _, form := range []string{r.text, r.real, now} {
		if form = foldPath(form); !slices.Contains(d.forms, form) {
			d.forms = append(d.forms, form)
		}
	}
	return d
}

// shown returns what refusals call the rule.
func (r *rule) shown() string { return cmp.Or(r.name, r.text) }

// Within reports whether path is dir or lies beneath it. Both are clean.
func Within(dir, path string) bool {
	switch n := len(dir); {
	case n == 0:
		return true // relative: beneath the directory itself
	case len(path) < n:
		return false
	case len(path) > n && path[n] != os.PathSeparator && dir[n-1] != os.PathSeparator:
		return false // the end of a name is cheaper to compare than all before it
	default:
		return path[:n] == dir
	}
}

// Real returns where path leads, and path itself if that is not known.
func Real(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Absolute returns path, which starts at dir if it is relative.
func Absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// deniedBy returns the deny rule or protection that governs the clean path.
func (s *snapshot) deniedBy(path string) (rule string, denied bool) { return s.deniedAt(path, false) }

// deniedAt is deniedBy of what is a directory or not.
func (s *snapshot) deniedAt(path string, directory bool) (rule string, denied bool) {
	if rule, denied = governing(s.deny, path); denied || s.policy.protection == nil {
		return rule, denied
	}
	if rule, denied = s.policy.protection.names().Match(path, directory); denied {
		return rule, true
	}
	return s.policy.protection.repository(path, directory)
}

// governing returns the first of the rules that governs the clean path.
func governing(rules []denial, path string) (rule string, denied bool) {
	if len(rules) > 0 {
		path = foldPath(path)
	}
	for _, d := range rules {
		for _, form := range d.forms {
			if d.governs(form, path) {
				return d.shown(), true
			}
		}
	}
	return "", false
}

// deniedText checks a path by its spelling alone. It catches a denied name
// that is itself a link. With ".." the spelling says nothing of where it is:
// that depends on the links before it, and the descriptor decides. Only the
// names behind it are there for certain.
func (s *snapshot) deniedText(abs string) (rule string, denied bool) {
	if strings.Contains(abs, "..") {
		names := splitPath(abs)
		for i := len(names) - 1; i >= 0; i-- {
			if names[i] == ".." {
				return s.policy.protection.governs(filepath.Join(names[i+1:]...), false)
			}
		}
	}
	return s.deniedBy(filepath.Clean(abs))
}

// allowedBy returns the allow rule that holds for the canonical path real.
func (p *policy) allowedBy(real string) (r *rule, allowed bool) {
	for i := range p.allow {
		if r := &p.allow[i]; r.governs(r.real, real) {
			return r, true
		}
	}
	return nil, false
}

// leads reports whether what is allowed may lie below the canonical directory real.
func (p *policy) leads(real string) bool {
	return slices.ContainsFunc(p.allow, func(r rule) bool { return r.glob != nil && Within(r.real, real) })
}

// DeniedPaths returns the denied paths and the protected files. Globs and protected
// names have no paths; see [Guard.Patterns].
func (p *policy) DeniedPaths() []string {
	var paths []string
	for _, r := range p.deny {
		if r.glob == nil {
			paths = append(paths, r.text)
		}
	}
	if p.protection != nil {
		for _, r := range p.protection.files() {
			paths = append(paths, r.text)
			if r.real != r.text {
				paths = append(paths, r.real)
			}
		}
	}
	return paths
}
