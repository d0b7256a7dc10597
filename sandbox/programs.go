package sandbox

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
)

// This file says which programs the kernel lets commands start, and where they are.
// Package command decides on the text of a command.

// A programFinder collects the files a list of programs comes to.
type programFinder struct {
	path []string // directories that are searched
	dirs []string // all directories that hold programs
	work string   // where relative paths start
	temp string   // what $TMPDIR stands for
	// cache is what $CACHE stands for: where programs keep what they have built.
	cache string

	files    []string
	execDirs []string
	built    []builtDir // of execDirs those that commands write
	seen     map[string]bool
	unusable map[string]string // why programs cannot be started, by name or file
}

// add adds a program, named or by its path, with what it needs.
func (f *programFinder) add(name string) {
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
		for _, t := range toolchains() {
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
	toolchain
}

// drivers are programs that start tool chains, as other files say.
var drivers = strings.Fields("make gmake ninja just task cmake ctest meson tox nox rake bazel git bash sh dash zsh")

// unneeded returns the directories in which programs are not to be started by commands that
// are like this: they start no tool chain, and nothing else that does.
func unneeded(dirs []builtDir, argv [][]string) (paths []string) {
	var kept []string
	for _, d := range dirs {
		needs := func(words []string) bool {
			return len(words) > 0 && (d.has(filepath.Base(words[0])) || slices.Contains(drivers, filepath.Base(words[0])))
		}
		if slices.ContainsFunc(argv, needs) {
			kept = append(kept, d.path)
		} else {
			paths = append(paths, d.path)
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { return slices.Contains(kept, path) })
}

// dir returns a directory as the table writes it: @ is where the program is
// installed, which is the directory above its own, . is the working directory,
// $TMPDIR that of temporary files, and $CACHE that of what is kept of earlier runs.
func (f *programFinder) dir(text, file string) string {
	first, rest, _ := strings.Cut(text, "/")
	switch first {
	case "@":
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			real = file
		}
		first = filepath.Dir(filepath.Dir(real))
	case ".":
		first = f.work
	case "$TMPDIR":
		first = f.temp
	case "$CACHE":
		first = f.cache
	default:
		return text
	}
	return filepath.Join(first, rest)
}

// addFile adds a file with the interpreter it names.
func (f *programFinder) addFile(file string) {
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
func (f *programFinder) noteUnreachable(name string) {
	for _, dir := range f.path {
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
func (f *programFinder) find(name string) []string {
	return union(nil, slices.Collect(programFiles(name, f.work, slices.Concat(f.path, f.dirs))))
}

// programsOf returns the files that may be started under lists of commands, and
// the directories all of whose files may be; nil if that is any.
func (f *programFinder) programsOf(lists ToolPolicy) (files, dirs []string) {
	if lists.AllowedCommands == nil || names(lists.AllowedCommands, "*") {
		return nil, nil
	}
	f.seen, f.unusable = map[string]bool{}, map[string]string{}
	f.add("bash")
	f.add("sh")
	for _, rule := range lists.AllowedCommands {
		if words := command.Words(rule.Name); len(words) > 0 {
			f.add(words[0])
		}
	}
	for _, dir := range lists.ExecPaths {
		dir = filepath.Clean(absolute(dir, f.work))
		f.execDirs = append(f.execDirs, dir)
		f.built = slices.DeleteFunc(f.built, func(b builtDir) bool { return b.path == dir }) // any program may start there
	}
	denied := f.deniedPrograms(lists)
	files = slices.DeleteFunc(f.files, func(file string) bool {
		real, err := filepath.EvalSymlinks(file)
		return err == nil && slices.Contains(denied, real)
	})
	return slices.Clip(files), f.execDirs
}

// applets are programs that are many others. One that is not listed by its own name
// is denied with any program, unless it is the shell too.
var applets = []string{"busybox", "busybox.static", "toybox"}

// deniedPrograms returns the files of programs that are denied altogether, without
// links and also under other names in the directories that hold programs. A file
// that is many programs is not denied for one of them.
func (f *programFinder) deniedPrograms(lists ToolPolicy) (denied []string) {
	var infos []os.FileInfo
	for _, rule := range lists.DeniedCommands {
		words := command.Words(rule.Name)
		if len(words) != 1 || len(rule.ArgsDeny) > 0 {
			continue // denied with some arguments only
		}
		for _, file := range f.find(words[0]) {
			base := filepath.Base(realOr(file))
			if info, err := os.Stat(file); err == nil && (base == filepath.Base(file) || !command.MultiCall(base)) {
				infos = append(infos, info)
				denied = append(denied, realOr(file))
			}
		}
	}
	if len(infos) == 0 {
		return nil
	}
	shells := []string{}
	for _, file := range slices.Concat(f.find("bash"), f.find("sh")) {
		shells = append(shells, realOr(file))
	}
	for _, dir := range f.dirs {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			another := slices.ContainsFunc(infos, func(other os.FileInfo) bool { return os.SameFile(info, other) })
			if another || slices.Contains(applets, e.Name()) && !names(lists.AllowedCommands, e.Name()) {
				denied = append(denied, realOr(filepath.Join(dir, e.Name())))
			}
		}
	}
	return slices.DeleteFunc(denied, func(file string) bool { return slices.Contains(shells, file) })
}

func names(rules []command.Rule, name string) bool {
	return slices.ContainsFunc(rules, func(r command.Rule) bool { return strings.Join(command.Words(r.Name), " ") == name })
}

func realOr(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// realDirs returns the directories of a search path, without links.
func realDirs(path []string) (dirs []string) {
	for _, dir := range path {
		if dir = realOr(dir); filepath.IsAbs(dir) && dir != "/" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// programFiles returns the executable files that a name, in which * stands for any text, means: itself if it is a
// path, which starts at dir, else those in the directories of path, in their order.
func programFiles(name, dir string, path []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if strings.Contains(name, "/") {
			path = []string{filepath.Dir(absolute(name, dir))}
		}
		for _, file := range command.Files(filepath.Base(name), path) {
			info, err := os.Stat(file)
			if err == nil && filepath.IsAbs(file) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !yield(file) {
				return
			}
		}
	}
}

// unusable says why a listed program cannot be started although commands may.
func (c *confinement) unusable(name, dir string) string {
	if c == nil || c.spec().Exec == nil || len(c.listed.unusable) == 0 {
		return ""
	}
	for path := range programFiles(name, dir, c.path()) {
		name = path
		break
	}
	if why := c.listed.unusable[name]; why != "" {
		return fmt.Sprintf("%s cannot be started: %s", name, why)
	}
	return ""
}

// unusables is unusable for all that are listed.
func (c *confinement) unusables() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(c.listed.unusable)) {
		list = append(list, c.unusable(name, "")+"; make it readable for the user of the server, or leave the program out of allowed_commands")
	}
	return list
}

// refusesProgram says why the kernel does not start the program with a name, and returns its path, which is [ThePath] there.
func (c *confinement) refusesProgram(name, dir string) (text, path string) {
	for path := range programFiles(name, dir, c.path()) {
		switch spec := c.spec(); {
		case spec.Exec != nil && !c.starts(path):
			return "the sandbox starts only the programs that are listed, and lets no other be read; " + ThePath + " is not listed (rule: allowed_commands, exec_paths)", path
		case slices.Contains(c.denied(), realOr(path)):
			return "the sandbox does not start " + ThePath + ", which is denied (rule: denied_commands)", path
		}
		break
	}
	return "", ""
}

// starts reports whether the confinement lets the program at path start.
func (c *confinement) starts(path string) bool {
	spec, real := c.spec(), realOr(path)
	return slices.ContainsFunc(spec.Exec, func(file string) bool { return realOr(file) == real }) ||
		slices.ContainsFunc(spec.ExecDirs, func(dir string) bool { return strings.HasPrefix(real, realOr(dir)+string(filepath.Separator)) })
}

// absolute returns path, which starts at dir if it is relative.
func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
