package pathguard

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/osfile"
)

// Protection governs names wherever they are, and single files, whatever else
// allows them.
type Protection struct {
	Names []Name
	Files []ProtectedFile
	// Named returns further files, as of now; nil if there are none.
	Named func() []ProtectedFile
	// Workspaces are absolute directories that were chosen to work in. Their
	// own path says nothing about what is in them: below a workspace only the
	// names that follow are checked, elsewhere those of the whole path.
	Workspaces []string
	// Repositories protects in every repository of git, whatever its name is, what Names
	// protect in one that is called .git.
	Repositories bool
	// Lock is a file, made with its directory where it is missing, whose lock all hold who
	// change repositories; empty for none.
	Lock string
	// Hint says how to allow what the rule with this text protects.
	Hint func(rule string) string
}

// ProtectedFile protects a file under every name it has: through symbolic
// links, and as far as the platform tells files apart, through hard links and
// mounts.
type ProtectedFile struct {
	Path string // absolute
	Rule string // what refusals call it
}

// protectedPrefix begins the rule of a refusal because of a Protection, so that
// it differs from a denied path.
const protectedPrefix = "protected: "

// protection is a Protection made ready.
type protection struct {
	names func() *Names
	files func() []rule
	named func() []rule
	hint  func(string) string

	repositories bool
	lock         string
}

// newProtection returns nil if nothing is protected.
func newProtection(from Protection) (*protection, error) {
	if len(from.Names) == 0 && len(from.Files) == 0 {
		return nil, nil
	}
	files, err := protectedRules(from.Files)
	if err != nil {
		return nil, err
	}
	var workspaces, spellings []string
	for _, path := range from.Workspaces {
		r, err := newRule("workspace", path)
		if err != nil {
			return nil, err
		}
		workspaces = append(workspaces, r.real)
		spellings = append(spellings, r.text, r.real)
	}
	// To look for the links takes longer than all else, and a server that is
	// just started may have something better to do.
	p := &protection{hint: from.Hint, repositories: from.Repositories, lock: from.Lock}
	p.named = func() []rule {
		if from.Named == nil {
			return nil
		}
		rules, _ := protectedRules(from.Named())
		return rules
	}
	p.names = sync.OnceValue(func() *Names { return NewNames(from.Names, spellings) })
	p.files = sync.OnceValue(func() []rule {
		for _, w := range workspaces {
			files = append(files, linked(w, from.Names)...)
		}
		return files
	})
	return p, nil
}

func protectedRules(files []ProtectedFile) (rules []rule, err error) {
	for _, f := range files {
		r, err := newRule("protected file", f.Path)
		if err != nil {
			return rules, err
		}
		r.name = protectedPrefix + f.Rule
		rules = append(rules, r)
	}
	return rules, nil
}

// linked returns what is protected outside its name: where the names in a
// workspace are symbolic links, as those of configuration kept in a repository
// often are.
func linked(workspace string, names []Name) (found []rule) {
	for _, n := range names {
		if strings.Contains(n.Pattern, "*") {
			continue
		}
		rel := filepath.FromSlash(n.Pattern)
		r := rule{text: filepath.Join(workspace, rel), real: resolveFrom(workspace, rel).path, name: protectedPrefix + n.Pattern}
		if r.real != r.text && !Within(r.real, workspace) {
			found = append(found, r)
		}
	}
	return found
}

// governs returns the rule that protects the clean absolute path, if there is one.
// With wildcard it may have [wildcards], of which those for names that are as ordinary
// as id_rsa do not count.
func (p *protection) governs(path string, wildcard bool) (rule string, protected bool) {
	if p == nil {
		return "", false
	}
	return p.names().matched(p.names().inWorkspace(path), wildcard, false)
}

// inWorkspace returns the folded path, of one in a workspace what follows that.
func (n *Names) inWorkspace(path string) string {
	path = foldPath(path)
	start := 0
	for _, w := range n.workspaces {
		if Within(w, path) {
			start = max(start, len(w))
		}
	}
	return path[start:]
}

// Match returns the rule that protects what is at the clean absolute path, which is a
// directory or not.
func (n *Names) Match(path string, directory bool) (rule string, protected bool) {
	return n.matched(n.inWorkspace(path), false, directory)
}

// Below returns what follows path in names that begin with it: .config/git begins with
// .config, so that git is below that. It may have wildcards.
func (n *Names) Below(path string) (rest []string) {
	var leads []lead
	for name := range strings.SplitSeq(n.inWorkspace(path), separator) {
		if name != "" {
			leads, _ = n.step(leads, foldName(name), false)
		}
	}
	for _, l := range leads {
		rest = append(rest, strings.Join(l.rest, separator))
	}
	return rest
}

// Refused returns the rule that denies or protects what is at path, if there is one;
// see [Guard.Denied] and [Guard.Protected]. Of wildcards only what they match counts,
// unless the name at their place is spelt out.
func (p *policy) Refused(path string) (rule string, refused bool) {
	s := p.snapshot(false)
	path = filepath.Clean(path)
	if !strings.ContainsAny(path, wildcards) {
		return s.refusedAt(path, "")
	}
	dir, name := filepath.Split(path)
	if name = strings.TrimLeft(name, "…"); !strings.ContainsAny(name, wildcards) && name != "" {
		if rule, refused = s.deniedBy(filepath.Join(dir, name)); refused {
			return rule, true
		}
	}
	for _, found := range s.expanded(path) {
		if rule, refused = s.refusedAt(found, ""); refused {
			return rule, true
		}
	}
	return "", false
}

// Protected reports whether a protected name or file is at path, which is
// absolute and need not exist, or may be: in it, * and ? stand for text in a
// name, and … for any text, of which nothing is known. The answer is about the
// moment of the call.
func (p *policy) Protected(path string) (rule string, protected bool) {
	if p.protection == nil {
		return "", false
	}
	s := p.snapshot(true)
	path = filepath.Clean(path)
	if strings.ContainsAny(path, wildcards) {
		if rule, protected = p.protection.governs(path, true); protected {
			return rule, true
		}
		for _, found := range s.expanded(path) {
			if rule, protected = s.refusedAt(found, protectedPrefix); protected {
				return rule, true
			}
		}
	}
	return s.refusedAt(path, protectedPrefix)
}

// refusedAt reports what denies or protects the clean path, or the file it leads to, if
// that has a rule with the prefix.
func (s *snapshot) refusedAt(path, prefix string) (rule string, refused bool) {
	for _, at := range [2]string{path, resolve(path).path} {
		if rule, refused = s.deniedBy(at); refused && strings.HasPrefix(rule, prefix) {
			return rule, true
		}
	}
	if info, err := os.Stat(path); err == nil {
		rule, refused = s.protected[osfile.Of(info).ID]
		return rule, refused
	}
	return "", false
}

// Protected reports whether an entry at or below the directory is protected, and
// which rule does so. A walker calls it for every entry that it comes to, and
// does not enter what is protected.
func (d *Dir) Protected(e interface {
	Name() string
	Rel() string
}) (rule string, protected bool) {
	if d.protection == nil || !d.protection.names().Ends(e.Name()) {
		return "", false
	}
	return d.protection.governs(filepath.Join(d.Info.Real, filepath.FromSlash(e.Rel())), false)
}
