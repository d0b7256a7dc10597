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

// A resolver turns a spec into a plan.
type resolver struct {
	plan
	read, write, deny, readOnly, execDirs []string
	programs                              []string // directories whose files are not to be read
}

func (s Spec) resolve() (*plan, error) {
	if s.Network > All {
		return nil, fmt.Errorf("%v is not known", s.Network)
	}
	r := resolver{plan: plan{settings: settings{
		Network: s.Network, UnixSockets: s.UnixSockets, AllowMetadata: s.AllowMetadata,
		BestEffort: s.BestEffort, WithoutMounts: s.WithoutMounts, ExecList: s.Exec != nil, Limits: s.Limits,
	}}}
	var errs [5]error
	r.read, errs[0] = realPaths(s.Read)
	r.write, errs[1] = realPaths(s.Write)
	r.deny, errs[2] = realPaths(s.Deny)
	r.readOnly, errs[3] = realPaths(s.ReadOnly)
	r.execDirs, errs[4] = realPaths(s.ExecDirs)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	if r.ExecList {
		r.programs = s.ProgramDirs
		if r.programs == nil {
			r.programs = ProgramDirs()
		}
		r.programs = slices.DeleteFunc(slices.Clone(r.programs), func(dir string) bool { return inAny(dir, r.execDirs) })
	}
	for _, g := range system {
		for path := range strings.FieldsSeq(g.paths) {
			if path, err := filepath.EvalSymlinks(path); err == nil {
				r.grant(g.rights, path)
			}
		}
	}
	for _, path := range r.read {
		r.grant(canLook|canExec, path)
	}
	for _, path := range r.execDirs {
		r.add(canLook|canExec, path)
	}
	for _, path := range r.write {
		r.add(canLook|canWrite|r.execUnlessListed(), path)
	}
	if err := r.grantPrograms(s.Exec); err != nil {
		return nil, err
	}
	r.merge()
	r.layMounts()
	return &r.plan, nil
}

func (r *resolver) execUnlessListed() rights {
	if r.ExecList {
		return 0
	}
	return canExec
}

// grant gives rights on all below path but what programs are in, and what is not
// for commands at all. Landlock cannot subtract: around such a thing, what there
// is now is granted entry by entry, and of the directory the names.
func (r *resolver) grant(give rights, path string) {
	if r.ExecList {
		give &^= canExec
	}
	holds := func(dir string) bool { return dir != path && beneath(dir, path) }
	switch {
	case inAny(path, r.programs):
		give &= canList
	case slices.ContainsFunc(kernelDirs, holds), slices.ContainsFunc(r.programs, holds), r.WithoutMounts && slices.ContainsFunc(r.deny, holds):
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			entry := filepath.Join(path, e.Name())
			if e.Type()&fs.ModeSymlink == 0 && len(r.grants) <= maxPaths && !slices.Contains(kernelDirs, entry) {
				r.grant(give, entry)
			}
		}
		give &= canList
	}
	r.add(give, path)
}

func (r *resolver) add(give rights, path string) {
	if give != 0 && !inAny(path, r.deny) {
		r.grants = append(r.grants, grant{give, path})
	}
}

// grantPrograms gives the right to start each program and what loads it. Only
// regular files: a directory, or a link to one, would be all that is in it.
func (r *resolver) grantPrograms(programs []string) error {
	loaders := map[string]bool{}
	for _, program := range programs {
		if err := checkPath(program); err != nil {
			return err
		}
		path, err := filepath.EvalSymlinks(program)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return errors.Join(fmt.Errorf("%s is not a program, but was to be one that may be started", program), err)
		}
		r.add(canRead|canExec, path)
		loaders[loader(path)] = true
	}
	for _, dir := range r.execDirs {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries[:min(len(entries), 64)] {
			if e.Type().IsRegular() {
				loaders[loader(filepath.Join(dir, e.Name()))] = true
			}
		}
	}
	for name := range loaders {
		if path, err := filepath.EvalSymlinks(name); err == nil && r.ExecList && filepath.IsAbs(path) {
			r.add(canRead|canExec, path)
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
	for _, dir := range slices.Concat(programDirs, filepath.SplitList(os.Getenv("PATH"))) {
		if filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			add(dir)
		}
	}
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case !e.IsDir() || slices.ContainsFunc(moduleNames, func(m string) bool { return strings.HasPrefix(e.Name(), m) }):
			case slices.Contains(programNames, e.Name()):
				add(path)
			case depth > 1:
				walk(path, depth-1)
			}
		}
	}
	for _, tree := range programTrees {
		walk(tree, programDepth)
	}
	return dirs
}

// merge makes one grant of those on the same path, and leaves out what a grant on
// a directory above gives already.
func (r *resolver) merge() {
	slices.SortStableFunc(r.grants, func(a, b grant) int { return strings.Compare(a.path, b.path) })
	merged := r.grants[:0]
	for _, g := range r.grants {
		if n := len(merged); n > 0 && merged[n-1].path == g.path {
			merged[n-1].rights |= g.rights
		} else {
			merged = append(merged, g)
		}
	}
	byPath := make(map[string]rights, len(merged))
	for _, g := range merged {
		byPath[g.path] = g.rights
	}
	r.grants = slices.DeleteFunc(merged, func(g grant) bool {
		given := rights(0)
		for dir := g.path; dir != "/"; {
			dir = filepath.Dir(dir)
			given |= byPath[dir]
		}
		return g.rights&^given == 0
	})
}

// layMounts says what a mount namespace looks like: parents first, because what
// is mounted on a directory covers what was mounted below it.
func (r *resolver) layMounts() {
	kinds := map[string]mountKind{}
	for _, path := range r.write {
		if inAny(path, r.deny) || inAny(path, r.readOnly) {
			continue
		}
		inOther := slices.ContainsFunc(r.write, func(dir string) bool { return dir != path && beneath(path, dir) && !inAny(dir, r.deny) })
		switch {
		case path == "/":
			r.WritableRoot = true
		case inOther:
		case r.ExecList && !inAny(path, r.execDirs):
			kinds[path] = mountData
		default:
			kinds[path] = mountWrite
		}
	}
	for _, path := range r.execDirs {
		if r.ExecList && kinds[path] == 0 && inAny(path, r.write) && !inAny(path, r.deny) && !inAny(path, r.readOnly) {
			kinds[path] = mountExec
			r.pin(kinds, path)
		}
	}
	for _, path := range r.readOnly {
		if inAny(path, r.write) && !inAny(path, r.deny) {
			kinds[path] = mountReadOnly
			r.pin(kinds, path)
		}
	}
	for _, path := range r.deny {
		if slices.ContainsFunc(r.grants, func(g grant) bool { return g.rights&^canList != 0 && beneath(path, g.path) }) {
			kinds[path] = mountHidden
			r.pin(kinds, path)
		}
	}
	for path, kind := range kinds {
		r.mounts = append(r.mounts, mount{kind, path})
	}
	slices.SortFunc(r.mounts, func(a, b mount) int {
		return cmp.Or(cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")), strings.Compare(a.path, b.path))
	})
}

// pin makes mount points of the directories between a path and the write path it
// is in, because a mount point cannot be renamed: otherwise the mount on the
// path would move away with its parent, and a new parent could be made.
func (r *resolver) pin(kinds map[string]mountKind, path string) {
	for dir := filepath.Dir(path); dir != "/" && inAny(dir, r.write); dir = filepath.Dir(dir) {
		if kinds[dir] == 0 {
			kinds[dir] = mountPin
		}
	}
}
