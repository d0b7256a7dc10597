// Package programs knows where programs are and what they need: the files and directories that
// the kernel lets commands start under a list of programs, and the tool chains whose settings,
// packages and caches policy does not list. Package command decides on the text of a command.
package programs

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// A Finder collects the files a list of programs comes to.
type Finder struct {
	Path []string // directories that are searched
	Dirs []string // all directories that hold programs
	Work string   // where relative paths start
	Temp string   // what $TMPDIR stands for
	// Cache is what $CACHE stands for: where programs keep what they have built.
	Cache string

	files    []string
	execDirs []string
	built    []builtDir // of execDirs those that commands write
	seen     map[string]bool
	unusable map[string]string // why programs cannot be started, by name or file
}

// Lists are the programs that commands may start, those that they may not, and the directories all
// of whose programs may be started.
type Lists struct {
	Allowed, Denied []command.Rule // without Allowed, any may
	ExecPaths       []string
}

// Any reports whether the lists allow all programs that they do not deny.
func (l Lists) Any() bool { return l.Allowed == nil || names(l.Allowed, "*") }

// add adds a program, named or by its path, with what it needs.
func (f *Finder) add(name string) {
	if f.seen[name] {
		return
	}
	f.seen[name] = true
	files := f.find(name)
	if len(files) == 0 {
		f.noteUnreachable(name)
	}
	for _, file := range files {
		f.addFile(file)
		for _, t := range all() {
			if !t.has(filepath.Base(file)) && !t.has(filepath.Base(filepath.Dir(file))+"/") {
				continue
			}
			for name := range strings.FieldsSeq(t.starts) {
				f.add(name)
			}
			for dir := range strings.FieldsSeq(t.dirs) {
				f.execDirs = append(f.execDirs, f.dir(dir, file))
				if strings.ContainsAny(dir[:1], ".$") {
					f.built = append(f.built, builtDir{f.dir(dir, file), t})
				}
			}
		}
	}
}

// A builtDir is where a tool chain puts programs that it has built, and starts them.
type builtDir struct {
	path string
	Toolchain
}

// drivers are programs that start tool chains, as other files say.
var drivers = strings.Fields("make gmake ninja just task cmake ctest meson tox nox rake bazel git bash sh dash zsh")

// Needed returns of dirs those in which commands that are like this start programs: of what tool chains
// build it takes their programs, or others that start them.
func (f *Finder) Needed(dirs []string, argv [][]string) []string {
	needs := func(d builtDir) bool {
		return slices.ContainsFunc(argv, func(words []string) bool {
			return len(words) > 0 && (d.has(filepath.Base(words[0])) || slices.Contains(drivers, filepath.Base(words[0])))
		})
	}
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		isIt := func(d builtDir) bool { return d.path == dir }
		return slices.ContainsFunc(f.built, isIt) && !slices.ContainsFunc(f.built, func(d builtDir) bool { return isIt(d) && needs(d) })
	})
}

// dir returns a directory as the table writes it: @ is where the program is
// installed, which is the directory above its own, . is the working directory,
// $TMPDIR that of temporary files, and $CACHE that of what is kept of earlier runs.
func (f *Finder) dir(text, file string) string {
	first, rest, _ := strings.Cut(text, "/")
	switch first {
	case "@":
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			real = file
		}
		first = filepath.Dir(filepath.Dir(real))
	case ".":
		first = f.Work
	case "$TMPDIR":
		first = f.Temp
	case "$CACHE":
		first = f.Cache
	default:
		return text
	}
	return filepath.Join(first, rest)
}

// addFile adds a file with the interpreter it names.
func (f *Finder) addFile(file string) {
	if slices.Contains(f.files, file) {
		return
	}
	f.files = append(f.files, file)
	words := confine.Interpreter(file)
	if len(words) == 0 || !filepath.IsAbs(words[0]) {
		return
	}
	if _, err := os.Stat(words[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.unusable[file] = fmt.Sprintf("its interpreter cannot be used: %v", err)
		return
	}
	f.addFile(words[0])
	if filepath.Base(words[0]) != "env" {
		return
	}
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			f.add(word)
			return
		}
	}
}

// noteUnreachable notes a program that is there, as a link to where this user may not go.
func (f *Finder) noteUnreachable(name string) {
	for _, dir := range f.Path {
		file := filepath.Join(dir, name)
		if _, err := os.Readlink(file); err != nil {
			continue
		}
		if _, err := os.Stat(file); errors.Is(err, fs.ErrPermission) {
			f.unusable[name] = err.Error()
		}
	}
}

// find returns the files that a name may run: a shell runs the first on the path, but
// programs may look elsewhere.
func (f *Finder) find(name string) (files []string) {
	for file := range Files(name, f.Work, slices.Concat(f.Path, f.Dirs)) {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// Of returns the files that may be started under lists, and
// the directories all of whose files may be; nil if that is any.
func (f *Finder) Of(lists Lists) (files, dirs []string) {
	if lists.Any() {
		return nil, nil
	}
	f.seen, f.unusable = map[string]bool{}, map[string]string{}
	f.add("bash")
	f.add("sh")
	for _, rule := range lists.Allowed {
		if words := command.Words(rule.Name); len(words) > 0 {
			f.add(words[0])
		}
	}
	for _, dir := range lists.ExecPaths {
		dir = filepath.Clean(pathguard.Absolute(dir, f.Work))
		f.execDirs = append(f.execDirs, dir)
		f.built = slices.DeleteFunc(f.built, func(b builtDir) bool { return b.path == dir }) // any program may start there
	}
	denied := f.Denied(lists)
	files = slices.DeleteFunc(f.files, func(file string) bool {
		real, err := filepath.EvalSymlinks(file)
		return err == nil && slices.Contains(denied, real)
	})
	return slices.Clip(files), f.execDirs
}

// applets are programs that are many others. One that is not listed by its own name
// is denied with any program, unless it is the shell too.
var applets = []string{"busybox", "busybox.static", "toybox"}

// Denied returns the files of programs that are denied altogether, without
// links and also under other names in the directories that hold programs. A file
// that is many programs is not denied for one of them.
func (f *Finder) Denied(lists Lists) (denied []string) {
	var infos []os.FileInfo
	for _, rule := range lists.Denied {
		words := command.Words(rule.Name)
		if len(words) != 1 || len(rule.ArgsDeny) > 0 {
			continue // denied with some arguments only
		}
		for _, file := range f.find(words[0]) {
			base := filepath.Base(pathguard.Real(file))
			if info, err := os.Stat(file); err == nil && (base == filepath.Base(file) || !command.MultiCall(base)) {
				infos = append(infos, info)
				denied = append(denied, pathguard.Real(file))
			}
		}
	}
	if len(infos) == 0 {
		return nil
	}
	shells := []string{}
	for _, file := range slices.Concat(f.find("bash"), f.find("sh")) {
		shells = append(shells, pathguard.Real(file))
	}
	for _, dir := range f.Dirs {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			another := slices.ContainsFunc(infos, func(other os.FileInfo) bool { return os.SameFile(info, other) })
			if another || slices.Contains(applets, e.Name()) && !names(lists.Allowed, e.Name()) {
				denied = append(denied, pathguard.Real(filepath.Join(dir, e.Name())))
			}
		}
	}
	return slices.DeleteFunc(denied, func(file string) bool { return slices.Contains(shells, file) })
}

func names(rules []command.Rule, name string) bool {
	return slices.ContainsFunc(rules, func(r command.Rule) bool { return strings.Join(command.Words(r.Name), " ") == name })
}

// Files returns the executable files that a name, in which * stands for any text, means: itself if it is a
// path, which starts at dir, else those in the directories of path, in their order.
func Files(name, dir string, path []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if strings.Contains(name, "/") {
			path = []string{filepath.Dir(pathguard.Absolute(name, dir))}
		}
		for _, file := range command.Files(filepath.Base(name), path) {
			info, err := os.Stat(file)
			if err == nil && filepath.IsAbs(file) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !yield(file) {
				return
			}
		}
	}
}

// Unusable says why a program that is listed cannot be started although commands may. It is looked for from dir.
func (f *Finder) Unusable(name, dir string) string {
	if len(f.unusable) == 0 {
		return ""
	}
	for path := range Files(name, dir, f.Path) {
		name = path
		break
	}
	if why := f.unusable[name]; why != "" {
		return fmt.Sprintf("%s cannot be started: %s", name, why)
	}
	return ""
}

// Unusables is Unusable for all that are listed.
func (f *Finder) Unusables() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(f.unusable)) {
		list = append(list, f.Unusable(name, "")+"; make it readable for the user of the server, or leave the program out of allowed_commands")
	}
	return list
}
