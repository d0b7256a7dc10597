package command

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// files checks what a request names of the file system.
type files struct {
	*decision
	dir   string            // where the request starts
	looks int               // at the file system for paths, that may still be taken
	seen  map[string]string // resolved paths
	asked map[asked]bool
}

// path checks a path that what is about to read, or to write, create or delete.
func (f *files) path(sh *shell, a arg, what string, write bool) { f.opened(sh, a, what, write, true) }

// opened does so. A path that is only looked at is opened if it is a directory.
func (f *files) opened(sh *shell, a arg, what string, write, opens bool) {
	permit, denied, verb, hint := f.p.Paths.Read, f.p.Paths.ReadDenied, "reads", ""
	if write {
		permit, denied, verb, hint = f.p.Paths.Write, f.p.Paths.WriteDenied, "writes", "write in an allowed path or in $TMPDIR"
	}
	if !f.step() || a.s == "" || devices().MatchString(a.s) || !write && readingDevices().MatchString(a.s) {
		return
	}
	what += " " + verb
	decides := permit != nil && f.p.listed // otherwise it is the kernel's part
	switch {
	case decides && strings.ContainsAny(a.s, "\x03\x05"):
		f.refuse("path", what+" "+show(a.s)+", which is known only when it runs", "spell the path out")
		return
	case decides && sh.dirs == nil && !strings.HasPrefix(a.s, "/"):
		f.refuse("path", what+" "+show(a.s)+" in a directory that is known only when it runs", "use an absolute path")
	}
	for _, path := range f.places(sh, a.s) {
		real, err := f.resolve(path)
		noted := filepath.Clean(path)
		if decides {
			noted = real
		}
		f.note(noted, write)
		named := markAt(real) < 0
		switch {
		case err == nil && permit != nil && (decides || write && named):
			err = f.permitPath(real, permit, denied)
		case !decides:
			err = nil
		}
		if err != nil && write && named && !f.refused && f.v.UnlistedPath == "" {
			f.v.UnlistedPath = real
		}
		if opens || isDir(path) { // the rule of a protected file says more than the paths do
			f.forbidden(path, write, f.p.listed, what)
			f.forbidden(real, write, f.p.listed, what)
		}
		if err != nil && decides {
			f.refuse("path", what+" "+refusedPath(show(a.s), filepath.Clean(path), real, err), hint)
			return
		}
	}
}

// refusedPath says why a path is refused, which leads to real and is shown as it was
// written. Where that is the same it is named once.
func refusedPath(shown, path, real string, err error) string {
	if why, ok := strings.CutPrefix(err.Error(), real+" "); ok && path == real {
		return shown + ", which " + why
	}
	return shown + ": " + err.Error()
}

// permitPath asks the policy about a path, which may be a pattern.
func (f *files) permitPath(path string, permit func(string) error, denied []string) error {
	if markAt(path) < 0 {
		return permit(path)
	}
	if dir, below := strings.CutSuffix(path, "/"+string(rune(anyBelow))); below && markAt(dir) < 0 {
		return permit(dir + "/x")
	}
	may := matching(path)
	for _, d := range denied {
		if may(d) {
			return fmt.Errorf("it may be %s, which is denied", d)
		}
	}
	if f.p.Paths.Globs {
		if err := f.permitThere("/", strings.TrimLeft(path, "/"), permit); err != nil {
			return err
		}
	}
	sample := strings.Map(func(r rune) rune {
		if r < ' ' {
			return 'x'
		}
		return r
	}, path)
	return permit(sample)
}

// permitThere asks the policy about what there is of a path with wildcards, rest of it
// below dir, and what the command makes of it.
func (f *files) permitThere(dir, rest string, permit func(string) error) error {
	pattern, below, more := strings.Cut(rest, "/")
	names, whole := []string{pattern}, true
	if markAt(pattern) >= 0 {
		names, whole = list(dir)
	}
	for _, made := range f.v.Writes {
		if filepath.Dir(made) == dir {
			names = append(names, filepath.Base(made))
		}
	}
	if f.looks -= len(names); f.looks < 0 || !whole {
		return errors.New("its wildcards may stand for too many files to check")
	}
	ask := permit
	if more {
		ask = func(path string) error { return f.permitThere(path, below, permit) }
	}
	may := matching("/" + pattern)
	for _, name := range names {
		if !may("/" + name) {
			continue
		}
		if err := ask(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// The always open or harmless devices, and those that are so for reading.
var (
	devices        = lazyregexp.New(`^/dev/(?:null|stdout|stderr|tty|full|fd/[0-9]*)$|^/proc/self/fd/[0-9]*$`)
	readingDevices = lazyregexp.New(`^/dev/(?:zero|random|urandom|stdin)$`)
)

// resolve returns the absolute path with links resolved as far as it exists.
func (f *files) resolve(path string) (string, error) {
	if strings.Contains(path, "/proc") && magicLink().MatchString(path) {
		return filepath.Clean(path), fmt.Errorf("%s stands for what a process has open", show(path))
	}
	if real, ok := f.seen[path]; ok {
		return real, nil
	}
	fixed, pattern := path, ""
	if i := markAt(path); i >= 0 {
		i = strings.LastIndexByte(path[:i], '/')
		fixed, pattern = path[:i+1], path[i:]
		if strings.Contains(pattern+"/", "/../") || strings.Contains(pattern, "/.\x01/") || strings.Contains(pattern, "/.\x02/") {
			return path, fmt.Errorf("its pattern goes on with a parent directory")
		}
	}
	real := realPath(fixed, &f.looks)
	if f.looks < 0 {
		return path, fmt.Errorf("the command names too many paths to look up")
	}
	real = filepath.Join(real, pattern)
	f.seen[path] = real
	return real, nil
}

// magicLink matches a path through a link of /proc that means another thing for each process. Such a
// path is not cleaned first, because what follows a link starts where that leads.
var magicLink = lazyregexp.New(`(?s)(?:^|/\.\.)(?:/+\.)*/+proc/(?:.*/)?(?:root|cwd|exe|fd|map_files|environ|mem)(?:/|$)`)

// realPath is [RealPath] within a budget of looks at the file system; below zero the result is not to be trusted.
func realPath(path string, budget *int) string {
	return RealPath(path, func(string) bool {
		*budget--
		return *budget >= 0
	})
}

// RealPath returns path, which is absolute, with symbolic links resolved, dangling ones too. What does not exist is
// cleaned as text. Before each look at the file system, goOn decides whether that happens.
func RealPath(path string, goOn func(at string) bool) string {
	volume := filepath.VolumeName(path)
	real, rest := volume+"/", filepath.ToSlash(path[len(volume):])
	for links := 0; rest != ""; {
		var name string
		if name, rest, _ = strings.Cut(rest, "/"); name == "" || name == "." {
			continue
		}
		next := filepath.Join(real, name)
		if !goOn(next) {
			break
		}
		to, err := os.Readlink(next)
		if err != nil {
			real = next
			continue
		}
		if links++; links > 40 { // as many as Linux follows
			return filepath.Clean(path)
		}
		if filepath.IsAbs(to) {
			volume = filepath.VolumeName(to)
			real, to = volume+"/", to[len(volume):]
		}
		rest = filepath.ToSlash(to) + "/" + rest
	}
	return real
}

// program is what a command name stands for.
type program struct {
	name    string // as written
	base    string // last element of the name
	real    string // path with links resolved, if it was found
	file    os.FileInfo
	builtin bool
	path    bool // the name is a path
	trusted bool // the file is in a directory that is searched for programs
}

// found returns the program that a bare name runs where there are no builtins.
func (p *Policy) found(name string) program {
	prog := program{name: name, base: name, trusted: true}
	prog.real, prog.file = p.LookPath(name)
	return prog
}

// identify finds out what name stands for.
func (f *files) identify(sh *shell, name string, from origin) program {
	if strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e }) && !f.p.names(name) {
		f.refuse("unknown-name", "the program name "+quote(name)+" has characters outside ASCII", "")
	}
	switch {
	case strings.Contains(name, "/"):
	case from != byExec && f.p.builtin(name):
		return program{name: name, base: name, trusted: true, builtin: true}
	default:
		return f.p.found(name)
	}
	p, full := program{name: name, base: filepath.Base(name), path: true}, name
	if !filepath.IsAbs(name) {
		if len(sh.dirs) != 1 {
			f.refuse("computed", "the program "+name+" is in a directory that is known only when the command runs", "use an absolute path")
			return p
		}
		full = sh.dirs[0] + "/" + name
	}
	if magicLink().MatchString(full) {
		f.refuse("computed", "the program path "+name+" stands for what a process has open", "use the program's name")
		return p
	}
	p.real = realPath(full, &f.looks)
	if f.looks < 0 {
		f.refuse("too-complex", "the command names too many paths to look up", "split it into several commands")
	}
	p.file, _ = os.Stat(p.real)
	_, bare := f.p.LookPath(p.base)
	p.trusted = p.file != nil && bare != nil && os.SameFile(bare, p.file)
	return p
}

// copied refuses copying a denied program, which would run under another name.
func (f *files) copied(sh *shell, files []arg) {
	for _, a := range files {
		if !a.exact() || a.s == "" || strings.HasPrefix(a.s, "-") {
			continue
		}
		for _, path := range joined(sh.dirs, a.s) {
			info, _ := os.Stat(path)
			if i := slices.IndexFunc(f.p.denied, func(r *rule) bool { return r.isFile(info) }); i >= 0 {
				r := f.p.denied[i]
				f.refuse("denied: "+r.text, "copying or linking "+a.s+" would give "+r.words[0]+" another name", "")
			}
		}
	}
}

// joined returns dir as seen from each of dirs.
func joined(dirs []string, dir string) []string {
	if strings.HasPrefix(dir, "/") {
		return []string{dir}
	}
	var out []string
	for _, d := range dirs {
		if len(d)+len(dir) > maxPath {
			return nil // too long to be worth following
		}
		out = append(out, strings.TrimSuffix(d, "/")+"/"+dir)
	}
	return out
}

// mayStartWithDash reports whether a word that starts unknown may be an
// option. A glob is looked up in the directory.
func (f *files) mayStartWithDash(sh *shell, a arg) bool {
	if a.s[0] != anyName && a.s[0] != anyByte || sh.dirs == nil {
		return true
	}
	dashed := func(path string) bool { return strings.HasPrefix(filepath.Base(path), "-") }
	return slices.ContainsFunc(f.v.Writes, dashed) || // a file of such a name is being made
		slices.ContainsFunc(sh.dirs, func(dir string) bool {
			names, whole := list(dir)
			return !whole || slices.ContainsFunc(names, dashed)
		})
}

// list returns the names in a directory, and whether these are all.
func list(dir string) (names []string, whole bool) {
	if !isDir(dir) {
		return nil, true
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, false
	}
	defer d.Close()
	names, err = d.Readdirnames(10_000)
	return names, (err == nil || err == io.EOF) && len(names) < 10_000
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// A program that is not known may open whatever its words name, so that a word which is, as a path,
// protected or denied is refused wherever it stands. What is left out are the places where words are text
// for certain: those of [spec]'s t and l, patterns, messages, and what a program is told to leave alone.

// named checks the words of a program that s describes, which is nil for one that is not known. Those
// that belong to another program are left to that.
func (f *files) named(sh *shell, s *spec, in *invocation, args []arg) {
	if s.is("t", "l", "@test", "@find", "+") && !in.gives("n") || s != nil && (in.gives("t") || s.quiet && in.quiet()) {
		return
	}
	write := !s.is(".", "r", "y", "sed", "N") || in.gives("I")
	data, code := in.told(s)
	for i, a := range args {
		option, value, _ := strings.Cut(a.s, "=")
		before := ""
		switch {
		case !strings.HasPrefix(option, "-"):
			if option = ""; i > 0 && strings.HasPrefix(args[i-1].s, "-") {
				before = strings.TrimLeft(args[i-1].s, "-")
			}
		case strings.HasPrefix(option, "--"):
			option = option[2:]
		case len(a.s) > 2:
			option, value = option[1:], a.s[2:]
		}
		switch {
		case slices.Contains(data, a.s), option != "" && slices.Contains(data, value), s == nil && (textOption(before) || textOption(option)):
		case s.has("!"), s.has("@make") && value != "", slices.Contains(code, a.s), option != "" && slices.Contains(code, value),
			s == nil && (isListed("code options", before, a) || value != "" && isListed("code options", option, a)):
			f.spelled(sh, a.s, "the code given to a program")
			if option != "" {
				f.name(sh, a.s, write, "a word of the command")
			}
		default:
			f.name(sh, a.s, write, "a word of the command")
		}
	}
}

// textOption is about an option of a program that is not known.
func textOption(name string) bool {
	return (len(name) > 1 || name == "m") && isListed("text options", name, unknown)
}

// name checks what a word may stand for as a path: the word, what follows an option of one letter, and
// the parts between = : @ and the like. Text with spaces in it counts only if there is such a file.
func (f *files) name(sh *shell, word string, write bool, what string) {
	if _, path, ok := strings.Cut(word, "file://"); ok {
		word = path
		if plain, err := url.PathUnescape(path); err == nil {
			word = plain
		}
	} else if elsewhere().MatchString(word) {
		return
	}
	f.candidate(sh, word, write, what)
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(`=:@,;<>()|'"`, r) }) {
		if f.candidate(sh, part, write, what); len(part) > 2 && part[0] == '-' {
			f.candidate(sh, part[2:], write, what)
			f.candidate(sh, strings.TrimLeft(part, "-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), write, what)
		}
	}
}

// spelled checks every name in text that is code.
func (f *files) spelled(sh *shell, code, what string) {
	apart := func(r rune) bool {
		inName := r > 0x7f || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || strings.ContainsRune("._/~+%-", r)
		return !inName && !strings.ContainsRune(")]}", r)
	}
	for name := range strings.FieldsFuncSeq(code, apart) {
		if i := strings.IndexAny(name, ")]}"); i >= 0 {
			name = name[:i] // what follows is a member of something
		}
		f.candidate(sh, name, true, what)
	}
	if decoded := codeEscapes().ReplaceAllStringFunc(code, unescape); decoded != code {
		f.spelled(sh, decoded, what)
	}
}

var (
	// elsewhere matches addresses of the web, and what a pattern excludes.
	elsewhere = lazyregexp.New(`://|^:?!|^:\^|^:\(exclude`)
	// codeEscapes matches characters in strings of most languages.
	codeEscapes = lazyregexp.New(`\\(?:x[0-7][0-9a-fA-F]|x\{[0-7][0-9a-fA-F]\}|u00[0-7][0-9a-fA-F]|[01][0-7][0-7])`)
)

func (f *files) candidate(sh *shell, path string, write bool, what string) {
	if strings.HasPrefix(path, "~/") {
		path = f.p.Home + path[1:]
	}
	if len(path) < 2 || path[0] == '-' || f.refused || f.p.Paths.Forbidden == nil {
		return
	}
	for _, full := range f.places(sh, path) {
		if markAt(path) < 0 && strings.ContainsAny(path, " \t\n") {
			if _, err := os.Lstat(full); err != nil {
				continue
			}
		}
		f.forbidden(full, false, false, what+" names")
		if write {
			f.forbidden(full, true, false, what+" names")
		}
	}
}

// places returns the absolute paths that path may be, which are several where its lines are known one by one. In a
// directory that is not known it is taken to be the one of the request.
func (f *files) places(sh *shell, path string) (all []string) {
	dirs := sh.dirs
	if dirs == nil {
		dirs = []string{f.dir}
	}
	if markAt(path) < 0 {
		return joined(dirs, path)
	}
	for line := range strings.SplitSeq(path, "\n") {
		all = append(all, joined(dirs, line)...)
	}
	return all
}

// forbidden refuses a path that no command may name. Strict is about all that its wildcards can mean.
func (f *files) forbidden(path string, write, strict bool, what string) {
	if f.p.Paths.Forbidden == nil || f.refused {
		return
	}
	question := asked{show(path), write, strict}
	if f.asked[question] {
		return
	}
	f.asked[question] = true
	if rule, reason := f.p.Paths.Forbidden(filepath.Clean(question.path), write, strict); rule != "" {
		f.deny(rule, what+" "+question.path+", which "+reason, "")
	}
}

// asked is a question that was put to [Paths.Forbidden].
type asked struct {
	path          string
	write, strict bool
}
