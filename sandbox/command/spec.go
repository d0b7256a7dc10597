package command

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A spec says what a program does with its arguments. It is a line of programs.txt or builtins.txt:
//
//	names | operands | options
//	grep,egrep | . r* | e/regexp=p f/file=P i v
//
// Here the first operand is data and all others are files to read, unless -e or --regexp, which takes an argument, or -f, whose
// argument is a file to read, replaces the first; -i and -v do nothing that matters. The head of programs.txt explains every
// kind of operand, every word about the whole program, every sign between an option and its effect, and every effect; a test
// holds it to that. In short, by what a kind or effect is about:
//
//	nothing             . t y q quiet     files           r w a l P W R I r*w @tar @dd @zip @pager
//	programs to start   x X = @xargs ~    code as text    c C i S sed awk M A + @eval @trap @test
//	code in files       s f m < @source   directories     d D @cd @popd
//	variables           e n u N @read     git             k G U @git-config
//	refused             !                 other syntax    - old sub sub! o g p @find @make @set @shift
//
// One letter may be a kind of operand, an effect, or both, which then mean the same. [effects] has the code of each; those of
// nothing have none.
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

//go:embed programs.txt
var programLines string

//go:embed builtins.txt
var builtinLines string

// programs returns the table of all programs, parsed at first use; builtins have "builtin " before their names.
var programs = sync.OnceValue(func() map[string]*spec {
	table := make(map[string]*spec, 700)
	effects := effects()
	add := func(prefix, lines string) {
		for line := range strings.Lines(lines) {
			names, rest, _ := strings.Cut(strings.TrimSpace(line), "|")
			if names == "" || names[0] == '#' {
				continue
			}
			s := parseSpec(rest, effects)
			s.ordered = prefix != ""
			for name := range strings.SplitSeq(names, ",") {
				table[prefix+strings.TrimSpace(name)] = s
			}
		}
	}
	add("builtin ", builtinLines)
	add("", programLines)
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
				o.do = func(u *use, _ arg, what string) { u.c.actsAs(name, u.name+" "+what) }
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

//go:embed words.txt
var wordLines string

// wordLists are the sections of words.txt by name, whose head describes the notation.
var wordLists = sync.OnceValue(func() map[string]nameList {
	lists, section := map[string]nameList{}, nameList{}
	for line := range strings.Lines(wordLines) {
		if name, head := strings.CutPrefix(line, "["); head {
			section = nameList{}
			lists[strings.TrimSuffix(name, "]\n")] = section
		} else if line[0] != '#' {
			for word := range strings.FieldsSeq(line) {
				name, _, _ := strings.Cut(word, "=")
				section[name] = word[len(name):]
			}
		}
	}
	return lists
})

// nameList holds names, and what follows them in the list from a = on.
type nameList map[string]string

// isListed reports whether a section has the name with the value; of [unknown] it has any.
func isListed(section, name string, value arg) bool {
	l := wordLists()[section]
	values, ok := l[name]
	for i := 0; i <= len(name) && !ok; i++ {
		values, ok = l[name[:i]+"*"]
	}
	return ok && (values == "" || slices.ContainsFunc(strings.Split(values[1:], "|"), value.is))
}

// specialVar reports whether assigning the variable does more to the shell, or less, than give it the value.
func specialVar(name string) bool {
	return isListed("changing variables", name, unknown) || isListed("code variables", name, unknown) && !strings.HasPrefix(name, "GIT_")
}

// has reports whether an operand of the program is of this kind.
func (s *spec) has(kind string) bool {
	return s != nil && slices.ContainsFunc(s.operands, func(op operand) bool { return op.kind == kind })
}

// is reports whether all operands of the program are of these kinds.
func (s *spec) is(kinds ...string) bool {
	return s != nil && len(s.operands) > 0 && !slices.ContainsFunc(s.operands, func(op operand) bool {
		kind, _ := strings.CutSuffix(op.kind, "*")
		return !slices.Contains(kinds, kind) || op.kind == ".*"
	})
}
