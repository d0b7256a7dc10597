package pathguard

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const separator = string(os.PathSeparator)

// rule is one entry of the policy.
type rule struct {
	text string // as configured, cleaned
	name string // what refusals call it; text if empty
	real string // text with its links resolved when the Guard was made
}

// newRules makes rules of paths, which what names in errors.
func newRules(what string, paths []string) ([]rule, error) {
	rules := make([]rule, len(paths))
	for i, path := range paths {
		if err := validRule(what, path); err != nil {
			return nil, err
		}
		text := filepath.Clean(path)
		rules[i] = rule{text: text, real: resolve(text).path}
	}
	return rules, nil
}

// denial is a deny rule, or a protected file, with every path it governs at the time of a snapshot.
type denial struct {
	text  string   // what refusals call the rule
	forms []string // spelling, place at start, place now; folded, each once
}

// denial resolves the rule. Rules tend to share directories, which are resolved
// once for all of them.
func (r rule) denial(parents map[string]resolved) denial {
	d := denial{text: cmp.Or(r.name, r.text)}
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

// relative returns path as seen from dir, which holds it: "" for dir itself.
func relative(dir, path string) string {
	return strings.TrimLeft(path[len(dir):], separator)
}

// deniedBy returns the deny rule or protection that governs the clean path.
func (s *snapshot) deniedBy(path string) (rule string, denied bool) {
	if len(s.deny) > 0 {
		path := foldPath(path)
		for _, d := range s.deny {
			for _, form := range d.forms {
				if Within(form, path) {
					return d.text, true
				}
			}
		}
	}
	return s.protection.governs(path, false)
}

// deniedText checks a path by its spelling alone. It catches a denied name
// that is itself a link. With ".." the spelling says nothing of where it is:
// that depends on the links before it, and the descriptor decides. Only the
// names behind it are there for certain.
func (s *snapshot) deniedText(abs string) (rule string, denied bool) {
	switch {
	case len(s.deny) == 0 && s.protection == nil:
		return "", false
	case !hasDotDot(abs):
		return s.deniedBy(filepath.Clean(abs))
	case s.protection == nil:
		return "", false
	}
	return s.protection.govern(foldPath(afterParents(abs)), false)
}

func hasDotDot(path string) bool {
	return strings.Contains(path, "..") && slices.Contains(splitPath(path), "..")
}

// allowedBy returns the allowed root that holds the canonical path real.
func (s *snapshot) allowedBy(real string) *root {
	for i := range s.roots {
		if Within(s.roots[i].real, real) {
			return &s.roots[i]
		}
	}
	return nil
}

// permits is the verdict on the real path of an open descriptor. The kernel
// marks the path of a removed file with " (deleted)"; the name that the file
// had is checked as well.
func (s *snapshot) permits(real string) bool {
	if s.allowedBy(real) == nil {
		return false
	}
	if _, denied := s.deniedBy(real); denied {
		return false
	}
	if old, marked := strings.CutSuffix(real, deletedMark); marked {
		return s.permits(old)
	}
	return true
}

// deletedMark is what /proc/self/fd appends to the path of a removed file; see
// proc_pid_fd(5). A file may also really be called so.
const deletedMark = " (deleted)"

// DeniedPaths returns the configured deny entries and the protected files.
// Protected names have no paths.
func (g *Guard) DeniedPaths() []string {
	var paths []string
	for _, r := range g.deny {
		paths = append(paths, r.text)
	}
	if g.protection != nil {
		for _, r := range g.protection.files() {
			paths = append(paths, r.text)
			if r.real != r.text {
				paths = append(paths, r.real)
			}
		}
	}
	return paths
}
