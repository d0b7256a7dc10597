package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// path checks a path that what is about to read, or to write, create or delete.
func (c *checker) path(sh *shell, a arg, what string, write bool) { c.opened(sh, a, what, write, true) }

// opened does so. A path that is only looked at is opened if it is a directory.
func (c *checker) opened(sh *shell, a arg, what string, write, opens bool) {
	permit, denied, verb, hint := c.p.Paths.Read, c.p.Paths.ReadDenied, "reads", ""
	if write {
		permit, denied, verb, hint = c.p.Paths.Write, c.p.Paths.WriteDenied, "writes", "write in an allowed path or in $TMPDIR"
	}
	if !c.step() || a.s == "" || devices().MatchString(a.s) || !write && readingDevices().MatchString(a.s) {
		return
	}
	what += " " + verb
	decides := permit != nil && c.p.listed // otherwise it is the kernel's part
	switch {
	case decides && strings.ContainsAny(a.s, "\x03\x05"):
		c.refuse("path", what+" "+show(a.s)+", which is known only when it runs", "spell the path out")
		return
	case decides && sh.dirs == nil && !strings.HasPrefix(a.s, "/"):
		c.refuse("path", what+" "+show(a.s)+" in a directory that is known only when it runs", "use an absolute path")
	}
	for _, path := range c.places(sh, a.s) {
		real, err := c.resolve(path)
		noted := filepath.Clean(path)
		if decides {
			noted = real
		}
		c.note(noted, write)
		named := markAt(real) < 0
		switch {
		case err == nil && permit != nil && (decides || write && named):
			err = c.permitPath(real, permit, denied)
		case !decides:
			err = nil
		}
		if err != nil && write && named && !c.refused && c.v.UnlistedPath == "" {
			c.v.UnlistedPath = real
		}
		if opens || isDir(path) { // the rule of a protected file says more than the paths do
			c.forbidden(path, write, c.p.listed, what)
			c.forbidden(real, write, c.p.listed, what)
		}
		if err != nil && decides {
			c.refuse("path", what+" "+refusedPath(show(a.s), filepath.Clean(path), real, err), hint)
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
func (c *checker) permitPath(path string, permit func(string) error, denied []string) error {
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
	if c.p.Paths.Globs {
		if err := c.permitThere("/", strings.TrimLeft(path, "/"), permit); err != nil {
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
func (c *checker) permitThere(dir, rest string, permit func(string) error) error {
	pattern, below, more := strings.Cut(rest, "/")
	names, whole := []string{pattern}, true
	if markAt(pattern) >= 0 {
		names, whole = list(dir)
	}
	for _, made := range c.v.Writes {
		if filepath.Dir(made) == dir {
			names = append(names, filepath.Base(made))
		}
	}
	if c.paths -= len(names); c.paths < 0 || !whole {
		return errors.New("its wildcards may stand for too many files to check")
	}
	ask := permit
	if more {
		ask = func(path string) error { return c.permitThere(path, below, permit) }
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

// note adds a path to the verdict.
func (c *checker) note(path string, write bool) {
	list := &c.v.Reads
	if write {
		list = &c.v.Writes
	}
	if len(*list) < maxListed && path != "" {
		*list = append(*list, show(path))
	}
}

// The always open or harmless devices, and those that are so for reading.
var (
	devices        = lazyregexp.New(`^/dev/(?:null|stdout|stderr|tty|full|fd/[0-9]*)$|^/proc/self/fd/[0-9]*$`)
	readingDevices = lazyregexp.New(`^/dev/(?:zero|random|urandom|stdin)$`)
)

// resolve returns the absolute path with links resolved as far as it exists.
func (c *checker) resolve(path string) (string, error) {
	if strings.Contains(path, "/proc") && magicLink().MatchString(path) {
		return filepath.Clean(path), fmt.Errorf("%s stands for what a process has open", show(path))
	}
	if real, ok := c.seen[path]; ok {
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
	real := realPath(fixed, &c.paths)
	if c.paths < 0 {
		return path, fmt.Errorf("the command names too many paths to look up")
	}
	real = filepath.Join(real, pattern)
	c.seen[path] = real
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

// redir checks a redirection against the path policy and notes what standard input becomes.
func (c *checker) redir(sh *shell, r *syntax.Redirect) {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		name := strings.Trim(r.N.Value, "{}")
		c.checkEnvName(name, unknown, "redirection")
		c.place = r
		c.assign(sh, name, number, false)
	}
	stdin, input := unknown, r.N != nil && r.N.Value == "0"
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.WordHdoc, syntax.Hdoc, syntax.DashHdoc:
		input = input || r.N == nil
	}
	switch r.Op {
	case syntax.RdrIn:
		stdin = c.output(c.fed[c.target(sh, r.Word, false)])
	case syntax.RdrInOut, syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		c.target(sh, r.Word, true)
	case syntax.DplIn, syntax.DplOut:
		if lit, ok := r.Word.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "-") && (lit.Value != "-" || len(r.Word.Parts) > 1) {
			c.refuse("ambiguous", "a word is glued to >&-, which bash reads apart", "put a space after >&-")
		} else if !numeric(c.value(sh, r.Word)) {
			c.target(sh, r.Word, true)
		}
		stdin = c.output(c.fed["/dev/fd/"+r.Word.Lit()])
	case syntax.WordHdoc:
		stdin = c.value(sh, r.Word)
	case syntax.Hdoc, syntax.DashHdoc:
		stdin = c.hereDoc(sh, r)
	default:
		c.refuse("ambiguous", "a redirection is not of bash", "")
	}
	if input {
		sh.stdin = stdin
	} else if r.N != nil {
		c.fed["/dev/fd/"+r.N.Value] = printed{argv: []arg{text("cat")}, in: stdin}
	}
}

// hereDoc returns the text of a here-document.
func (c *checker) hereDoc(sh *shell, r *syntax.Redirect) arg {
	if r.Hdoc == nil {
		return text("")
	}
	c.value(sh, r.Word)
	for _, part := range r.Word.Parts {
		if q, ok := part.(*syntax.SglQuoted); ok && q.Dollar && strings.Contains(q.Value, `\`) { // the parser looks for it as it is written
			c.refuse("ambiguous", "the end of a here-document is spelled in escapes, which are read in two ways", "write its letters out")
		}
	}
	quoted := r.Word.Lit() == "" || strings.Contains(r.Word.Lit(), `\`)
	x := expander{c: c, sh: sh}
	for _, part := range r.Hdoc.Parts {
		if lit, ok := part.(*syntax.Lit); ok && quoted {
			x.add(lit.Value)
		} else {
			x.quoted(part)
		}
	}
	s := string(x.cur)
	if r.Op == syntax.DashHdoc {
		s = strings.ReplaceAll(strings.TrimLeft(s, "\t"), "\n\t", "\n")
	}
	return text(s)
}

// target checks the file of a redirection, and returns it.
func (c *checker) target(sh *shell, w *syntax.Word, write bool) (file string) {
	for _, a := range c.word(sh, w) {
		file = a.s
		if strings.HasPrefix(a.s, "/dev/tcp/") || strings.HasPrefix(a.s, "/dev/udp/") {
			c.refuse("network", "the redirection "+show(a.s)+" opens a network connection", "")
			return ""
		}
		c.path(sh, a, "the redirection", write)
	}
	return file
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
