package broker

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/glob"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// A Broker makes calls for commands under the same rules.
type Broker struct {
	Rules
	names           *pathguard.Names
	denied, allowed []*glob.Glob
	below           []string // the plain beginnings of what is allowed
}

// New returns a Broker for rules.
func New(r Rules) (b *Broker, err error) {
	b = &Broker{Rules: r, names: pathguard.NewNames(r.Names, r.Workspaces)}
	if b.denied, err = compile(r.DeniedGlobs); err != nil {
		return nil, err
	}
	if b.allowed, err = compile(r.AllowedGlobs); err != nil {
		return nil, err
	}
	for _, text := range r.AllowedGlobs {
		e, err := pathguard.ParseEntry(text)
		if err != nil {
			return nil, err
		}
		b.below = append(b.below, e.Path)
	}
	return b, nil
}

func compile(texts []string) (globs []*glob.Glob, err error) {
	for _, text := range texts {
		g, err := glob.Compile(strings.TrimPrefix(text, "/") + "{,/**}")
		if err != nil {
			return nil, err
		}
		globs = append(globs, g)
	}
	return globs, nil
}

// listed returns the rule of the lists of globs that refuses a path.
func (b *Broker) listed(path string) (rule string, refused bool) {
	rel := strings.TrimPrefix(path, "/")
	for i, g := range b.denied {
		if g.Match(rel) {
			return b.DeniedGlobs[i], true
		}
	}
	within := func(dir string) bool { return pathguard.Within(dir, path) }
	if !slices.ContainsFunc(b.below, within) || slices.ContainsFunc(b.Allowed, within) || b.private(path) {
		return "", false
	}
	return "allowed: " + strings.Join(b.AllowedGlobs, ", "), !slices.ContainsFunc(b.allowed, func(g *glob.Glob) bool { return g.Match(rel) })
}

// private reports whether nothing but commands makes files at path.
func (r *Broker) private(path string) bool {
	return slices.ContainsFunc(r.Exempt, func(dir string) bool { return pathguard.Within(dir, path) })
}

// exempt reports whether names are not protected at path.
func (r *Broker) exempt(path string) bool {
	if r.private(path) {
		return true
	}
	for _, w := range r.Workspaces {
		if rest, inside := strings.CutPrefix(path, strings.TrimSuffix(w, "/")+"/"); inside {
			for name := range strings.SplitSeq(rest, "/") {
				if slices.Contains(r.Packages, name) {
					return true
				}
			}
		}
	}
	return false
}

// permit reports whether a name may come to be, be changed or be given away.
func (b *session) permit(o op, p *place, directory bool) error {
	rule, refused := b.names.Match(p.path, directory)
	if refused = refused && !b.exempt(p.path); !refused {
		if i := slices.IndexFunc(b.Files, func(f string) bool { return pathguard.Within(f, p.path) }); i >= 0 {
			rule, refused = b.Files[i], true
		}
	}
	if !refused {
		rule, refused = b.listed(p.path)
	}
	// A symlink makes what is elsewhere appear under names that are protected here.
	if !refused && o == opSymlink && !b.exempt(p.path) {
		if rest := b.names.Below(p.path); len(rest) > 0 {
			rule, refused = "protected: "+p.name+"/"+rest[0], true
		}
	}
	if !refused {
		p.change = b.change(o, p)
		rule, refused = p.change.Refused()
		if strings.HasPrefix(p.name, replacement) {
			rule, refused = "protected: "+replacement, true
		}
	}
	if refused {
		b.record(o, p.path, rule, nil)
		return unix.EACCES
	}
	return nil
}

// permitTree reports whether a directory with what is in it may have the name of to, and
// returns a function that reports whether it still may, once it has.
func (b *session) permitTree(from, to *place) (again func() error, err error) {
	below := func(at *place) error {
		inside := b.names.Below(to.path)
		for _, f := range b.Files {
			if rest, within := strings.CutPrefix(f, to.path+"/"); within {
				inside = append(inside, rest)
			}
		}
		for _, rest := range inside {
			var st unix.Stat_t
			if !b.exempt(to.path) && (strings.ContainsAny(rest, "*?[") || unix.Fstatat(at.dir, path.Join(at.name, rest), &st, unix.AT_SYMLINK_NOFOLLOW) == nil) {
				b.record(opRename, path.Join(to.path, rest), "protected: "+path.Base(to.path)+"/"+rest, nil)
				return unix.EACCES
			}
		}
		return nil
	}
	if err := below(from); err != nil {
		return nil, err
	}
	repository, err := b.permitRepository(from, to)
	return func() error { return cmp.Or(repository(), below(to)) }, err
}

// settled reports, after a call, whether a name may be where it is by now: other commands,
// servers and users work at the same time. Made says that the name is new.
func (b *session) settled(p *place, made bool) error {
	if rule, refused := p.change.Settled(); refused {
		b.record(opRename, p.path, rule, nil)
		return unix.EACCES
	}
	if !made && !b.names.Ends(p.name) || p.name == "." {
		return nil
	}
	dir, err := b.descriptorPath(p.dir)
	if err != nil || dir == path.Dir(p.path) {
		return err
	}
	now := *p
	now.path = path.Join(dir, p.name)
	return b.permit(opRename, &now, false)
}
