package command

import (
	"path/filepath"
	"strings"
	"sync"
)

// A spec says what a program does with its arguments, as far as that starts
// programs, runs code or names files. It is written as one line,
//
//	names | operands | options
//
// where names are separated by commas, and a sub-command is written after its program ("git clone").
//
// Operands, in order of appearance:
//
//	.  data       r  file read        w  file written
//	l  a name that is looked at and not opened (ls)
//	.* r* w* l*   all that follow; of .* nothing is known
//	a*            files read, and @FILE for a file of options
//	y*            files that are read, or something else (revisions of git)
//	t*            text that names no file which is opened
//	r*w           all are read but the last, which is written (cp)
//	X             the same, where options before it are not known
//	x             a program and its arguments: the rest of the line
//	c  c*         shell text: one operand; all that follow, joined by spaces
//	i             inline code in another language
//	s             file of code (opaque); the rest belongs to that code
//	f             the same, but fine where the interpreter itself is listed
//	=             NAME=VALUE assignments for what follows
//	!             no operand may be here; in the first place: nothing may run
//	              but what an option with effect q asks for
//	sub           a sub-command with a line of its own; sub! refuses others
//	<             with no operand before it, code comes from standard input
//	quiet         where all options have a line here and neither an effect nor
//	              a y, the operands name nothing that is opened (git log)
//	-             options have one dash and may be long (go, find)
//	old           a first word without dash is a cluster of options (tar)
//	n  n*  u*     the name of a variable that is assigned; that is unset
//	N*            NAME or NAME=VALUE of a declaration
//	+*            text that begins with a plus (date)
//	M*  A*  o*    arithmetic; NAME=TEXT of an alias; an option of shopt
//	U  U*         the address of a repository of git
//	sed  awk      a script of these, unless an option gives one
//	@NAME         operands with a syntax of their own: see effects
//
// Options are names separated by slashes (one letter: short), then:
//
//	(nothing)     a flag        :E  a flag with an effect
//	=E            an argument   ?E  an optional argument, glued or after =
//	>E            an argument, after which nothing is an option
//
// with one of these effects:
//
//	.  none       r  w  as above      W  the directory all operands go to
//	p  replaces the first operand (grep -e)    P  the same, from a file
//	x  c  a command line, shell text           i  s  as above
//	C  the first operand is shell text         d  changes directory first
//	e  NAME=VALUE for what follows             k  key=value of git's configuration
//	D  the same, for tools that run what they find there: within the
//	   directory of the request only       f  a file of code, as above
//	m  a module of an interpreter          sed  awk  a script of these, as above
//	q  nothing runs (--version)                !  refused
//	G  the same, and the value is read (git --git-dir)
//	y  none but that quiet is not
//	~NAME  as if program NAME ran              S  a list of arguments (env -S)
//	t  the operands name nothing to be opened
//	n  the name of a variable that is assigned
//	R  the operands are files that are read    I  they are written, too
//	g  flags for the tools of go
type spec struct {
	operands []operand
	options  []option
	// risky: an argument taken for an option could start something.
	risky bool
	// ordered: no option follows an operand.
	ordered bool
	oneDash bool
	old     bool
	sub     bool
	quiet   bool
	strict  bool // unknown sub-commands are refused
}

type operand struct {
	kind string
	do   effect
}

type option struct {
	names []string
	takes byte // 0, '=', '?' or '>'
	kind  string
	do    effect
}

// programs returns the table of all programs, parsed at first use; builtins have "builtin " before their names.
var programs = sync.OnceValue(func() map[string]*spec {
	table := make(map[string]*spec, 700)
	effects := effects()
	add := func(prefix, lines string) {
		for line := range strings.Lines(lines) {
			names, rest, _ := strings.Cut(strings.TrimSpace(line), "|")
			if names == "" {
				continue
			}
			s := parseSpec(rest, effects)
			s.ordered = prefix != ""
			for name := range strings.SplitSeq(names, ",") {
				table[prefix+strings.TrimSpace(name)] = s
			}
		}
	}
	add("builtin ", builtins)
	for _, lines := range []string{groups, wrappers, interpreters, fileTools, devTools, gitTools, otherTools} {
		add("", lines)
	}
	return table
})

func parseSpec(line string, effects map[string]effect) *spec {
	operands, options, _ := strings.Cut(line, "|")
	s := &spec{}
	for _, op := range strings.Fields(operands) {
		switch op {
		case "-":
			s.oneDash = true
		case "old":
			s.old = true
		case "quiet":
			s.quiet = true
		case "sub", "sub!":
			s.sub, s.strict = true, op == "sub!"
			s.risky = true
		default:
			s.operands = append(s.operands, operand{op, effects[strings.TrimSuffix(op, "*")]})
			s.risky = s.risky || op[0] != '@' && strings.ContainsAny(op, "xXcisfw!nNuMAo")
		}
	}
	for _, word := range strings.Fields(options) {
		o := option{}
		spelling := word
		if i := strings.IndexAny(word[1:], "=?:>"); i >= 0 {
			spelling, o.kind = word[:i+1], word[i+2:]
			if word[i+1] != ':' {
				o.takes = word[i+1]
			}
			o.do = effects[o.kind]
			if name, ok := strings.CutPrefix(o.kind, "~"); ok {
				o.do = func(u *use, _ arg, what string) { u.c.actsAs(u.sh, name, u.name+" "+what) }
			}
		}
		o.names = strings.Split(spelling, "/")
		s.risky = s.risky || o.kind != "" && strings.ContainsAny(o.kind[:1], "wWxcisCk!eS~dDfmn")
		s.options = append(s.options, o)
	}
	return s
}

// find returns the spec of a program, and the table's name for it, by the name it was called with,
// without a version ("python3.12"), or by the name of its file.
func (p *Policy) find(prog program) (*spec, string) {
	if prog.builtin {
		return p.programs["builtin "+prog.base], prog.base
	}
	if strings.HasPrefix(prog.base, "ld-") && strings.Contains(prog.base, ".so") {
		return p.programs["ld.so"], "ld.so"
	}
	for _, name := range []string{prog.base, filepath.Base(prog.real)} {
		for _, name := range []string{name, strings.TrimRight(name, "0123456789.-")} {
			if s := p.programs[name]; s != nil {
				return s, name
			}
		}
	}
	return nil, ""
}

// lookup finds an option by its spelling. A long name may be abbreviated, as
// getopt_long(3) allows; of several candidates one with an effect wins.
func (s *spec) lookup(name string, long bool) *option {
	var best *option
	for i := range s.options {
		o := &s.options[i]
		for _, n := range o.names {
			switch {
			case n == name && (len(n) > 1 == long || s.oneDash):
				return o
			case long && (!s.oneDash || len(name) > 2) && len(n) > 1 && strings.HasPrefix(n, name) && (best == nil || best.kind == "" || best.kind == "."):
				best = o
			}
		}
	}
	return best
}
