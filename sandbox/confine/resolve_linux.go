package confine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// Encode resolves the spec against the file system as it is now and returns
// what a request carries. That takes some milliseconds with an Exec list, so keep
// the result as long as the policy is the same. A path that does not exist is
// kept: it may come to exist.
func (s Spec) Encode() ([]byte, error) {
	p, err := s.resolve()
	if err != nil {
		return nil, fmt.Errorf("confine commands: %w", err)
	}
	return p.encode()
}

func (s Spec) resolve() (*plan, error) {
	if s.Network > All {
		return nil, fmt.Errorf("%v is not known", s.Network)
	}
	if err := s.resolveLists(); err != nil {
		return nil, err
	}
	p := &plan{Spec: s, ExecList: s.Exec != nil, byPath: map[string]rights{}}
	if p.ExecList {
		p.programs = slices.Clone(s.ProgramDirs)
		if s.ProgramDirs == nil {
			p.programs = ProgramDirs()
		}
		p.programs = slices.DeleteFunc(p.programs, func(dir string) bool { return inAny(dir, s.ExecDirs) })
	}
	for kind, give := range system {
		for _, path := range ofSystem(kind) {
			if path, err := filepath.EvalSymlinks(path); err == nil {
				p.grant(give, path)
			}
		}
	}
	if p.List {
		p.add(canList, "/")
	}
	for _, path := range p.Read {
		p.grant(canLook|canExec, path)
	}
	for _, path := range p.ExecDirs {
		p.add(canLook|canExec, path)
	}
	for _, path := range p.Write {
		p.add(p.withoutListed(canLook|canWrite|canExec), path)
	}
	if err := p.grantPrograms(s.Exec); err != nil {
		return nil, err
	}
	p.ownTemp()
	p.listGrants()
	p.layMounts()
	return p, nil
}

// withoutListed leaves out what only listed programs get, if there is a list.
func (p *plan) withoutListed(give rights) rights {
	if p.ExecList {
		give &^= canExec
	}
	return give
}

// grant gives rights on all below path but what programs are in, and what is not
// for commands at all. Landlock cannot subtract: around such a thing, what there
// is now is granted entry by entry, and of the directory the names.
func (p *plan) grant(give rights, path string) {
	give = p.withoutListed(give)
	holds := func(dir string) bool { return dir != path && pathguard.Within(path, dir) }
	switch {
	case inAny(path, p.programs):
		give &= canList
	case slices.ContainsFunc(kernelDirs, holds), slices.ContainsFunc(p.programs, holds), p.WithoutMounts && slices.ContainsFunc(p.Deny, holds):
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			entry := filepath.Join(path, e.Name())
			if e.Type()&fs.ModeSymlink == 0 && len(p.byPath) <= maxPaths && !slices.Contains(kernelDirs, entry) {
				p.grant(give, entry)
			}
		}
		give &= canList
	}
	p.add(give, path)
}

func (p *plan) add(give rights, path string) {
	if give != 0 && !inAny(path, p.Deny) {
		p.byPath[path] |= give
	}
}

// grantPrograms gives the right to start each program and what loads it. Only
// regular files: a directory, or a link to one, would be all that is in it.
func (p *plan) grantPrograms(programs []string) error {
	loaders := map[string]bool{}
	for _, program := range programs {
		if err := checkPath(program); err != nil {
			return err
		}
		path, err := filepath.EvalSymlinks(program)
		if err != nil {
			continue // it cannot be started then
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return errors.Join(fmt.Errorf("%s is not a program, but was to be one that may be started", program), err)
		}
		p.add(canRead|canExec, path)
		loaders[loader(path)] = true
	}
	for _, dir := range p.ExecDirs {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries[:min(len(entries), 64)] {
			if e.Type().IsRegular() {
				loaders[loader(filepath.Join(dir, e.Name()))] = true
			}
		}
	}
	for name := range loaders {
		if path, err := filepath.EvalSymlinks(name); err == nil && p.ExecList && filepath.IsAbs(path) {
			p.add(canRead|canExec, path)
		}
	}
	return nil
}

// ProgramDirs returns the directories that hold programs: those of the system and
// those in the server's PATH. To look for them takes some milliseconds.
func ProgramDirs() (dirs []string) {
	add := func(dir string) {
		if path, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(dirs, path) {
			dirs = append(dirs, path)
		}
	}
	for _, dir := range slices.Concat(ofSystem("programs"), filepath.SplitList(os.Getenv("PATH"))) {
		if filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			add(dir)
		}
	}
	names, modules := ofSystem("names"), ofSystem("modules")
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case !e.IsDir() || slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(e.Name(), m) }):
			case slices.Contains(names, e.Name()):
				add(path)
			case depth > 1:
				walk(path, depth-1)
			}
		}
	}
	for _, tree := range ofSystem("tree") {
		walk(tree, programDepth)
	}
	return dirs
}

// ownTemp decides whether the command has a /tmp of its own.
func (p *plan) ownTemp() {
	says := func(path string) bool { return pathguard.Within(path, temporary) || path == temporary }
	if p.Temp == "" || p.WithoutMounts || slices.ContainsFunc(slices.Concat(p.Write, p.Deny, p.ReadOnly), says) {
		p.Temp = ""
		return
	}
	p.add(p.withoutListed(canLook|canWrite|canExec), temporary)
}

// listGrants lists the grants but those that directories above give already.
func (p *plan) listGrants() {
	for path, give := range p.byPath {
		given := rights(0)
		for dir := path; dir != "/"; {
			dir = filepath.Dir(dir)
			given |= p.byPath[dir]
		}
		if give&^given != 0 {
			p.grants = append(p.grants, grant{give, path})
		}
	}
	slices.SortFunc(p.grants, func(a, b grant) int { return strings.Compare(a.path, b.path) })
}

// layMounts says what a mount namespace looks like: parents first, because what
// is mounted on a directory covers what was mounted below it.
func (p *plan) layMounts() {
	kinds := map[string]mountKind{}
	for _, path := range p.Write {
		if inAny(path, p.Deny) || inAny(path, p.ReadOnly) {
			continue
		}
		inOther := slices.ContainsFunc(p.Write, func(dir string) bool { return dir != path && pathguard.Within(dir, path) && !inAny(dir, p.Deny) })
		switch {
		case path == "/":
			p.WritableRoot = true
		case inOther:
		case p.ExecList && !inAny(path, p.ExecDirs):
			kinds[path] = mountData
		default:
			kinds[path] = mountWrite
		}
	}
	for _, path := range p.ExecDirs {
		if p.ExecList && kinds[path] == 0 && inAny(path, p.Write) && !inAny(path, p.Deny) && !inAny(path, p.ReadOnly) {
			kinds[path] = mountExec
			p.pin(kinds, path)
		}
	}
	for _, path := range p.ReadOnly {
		if inAny(path, p.Write) && !inAny(path, p.Deny) {
			kinds[path] = mountReadOnly
			p.pin(kinds, path)
		}
	}
	for _, path := range p.Deny {
		info, err := os.Stat(path)
		listed := p.List && !p.WithoutMounts && err == nil && info.IsDir()
		if listed || slices.ContainsFunc(p.grants, func(g grant) bool { return g.rights&^canList != 0 && pathguard.Within(g.path, path) }) {
			kinds[path] = mountHidden
			p.pin(kinds, path)
		}
	}
	if p.Temp != "" {
		p.layBelow(kinds, temporary)
	}
	for _, path := range p.Apart {
		p.layBelow(kinds, path)
		kinds[path] = mountApart
	}
	for path, kind := range kinds {
		p.mounts = append(p.mounts, mount{kind, path})
	}
	slices.SortFunc(p.mounts, func(a, b mount) int {
		return cmp.Or(cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")), strings.Compare(a.path, b.path))
	})
}

// layBelow keeps what the lists name below a directory that is another one for the command, such as the /tmp of the system, where it is,
// and has commands not move it.
func (p *plan) layBelow(kinds map[string]mountKind, top string) {
	for _, path := range slices.Concat(p.Read, p.Write, p.Exec, p.ExecDirs, p.Keep) {
		if !strings.HasPrefix(path, top+"/") || kinds[path] == 0 && inAny(path, p.Write) {
			continue
		}
		if kinds[path] == 0 || kinds[path] == mountPin && !inAny(path, p.Write) {
			kinds[path] = mountRead
		}
		for dir := filepath.Dir(path); dir != top; dir = filepath.Dir(dir) {
			if kinds[dir] == 0 {
				kinds[dir] = mountPin
			}
		}
	}
}

// pin makes mount points of the directories between a path and the write path it
// is in, because a mount point cannot be renamed: otherwise the mount on the
// path would move away with its parent, and a new parent could be made.
func (p *plan) pin(kinds map[string]mountKind, path string) {
	for dir := filepath.Dir(path); dir != "/" && inAny(dir, p.Write); dir = filepath.Dir(dir) {
		if kinds[dir] == 0 {
			kinds[dir] = mountPin
		}
	}
}
