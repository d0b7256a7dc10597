package command

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

const (
	maxFields = 256 // arguments of one word, beyond which it counts as unknown
	maxBraces = 10  // brace expressions of a word, whose alternatives take time to list
)

// expander collects the arguments that a word expands to, and checks what runs or is evaluated on the way.
type expander struct {
	c    *checker
	sh   *shell
	out  []arg
	cur  []byte
	have bool // the current argument exists, even if it is empty
	many bool // the current argument may be any number of arguments
	odd  bool
}

// words checks words and returns the arguments that they stand for.
func (c *checker) words(sh *shell, list []*syntax.Word) []arg {
	out := make([]arg, 0, len(list)+2)
	for _, w := range list {
		if s := w.Lit(); s != "" && !strings.ContainsAny(s, "\\*?[{~\x01\x02\x03\x04\x05\x06") {
			out = append(out, text(s))
			continue
		}
		out = append(out, c.word(sh, w)...)
	}
	return out
}

func (c *checker) word(sh *shell, w *syntax.Word) (out []arg) {
	alternatives, odd := braces(w)
	if odd {
		c.value(sh, w) // also checks what no alternative holds
	}
	if alternatives == nil {
		return []arg{{s: unknown.s, many: true, odd: true}}
	}
	for _, parts := range alternatives {
		x := expander{c: c, sh: sh, odd: odd}
		for i, part := range parts {
			x.part(part, i == 0, i == len(parts)-1)
		}
		x.end()
		if out = append(out, x.out...); len(out) > maxFields {
			return []arg{unknowns}
		}
	}
	return out
}

// value checks w and returns the one string that it expands to where no
// splitting and no globbing happens: assignments, here-strings, case words.
func (c *checker) value(sh *shell, w *syntax.Word) arg {
	x := expander{c: c, sh: sh}
	if w == nil {
		return arg{}
	}
	for i, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			x.add(x.unquoted(lit.Value, i == 0, false))
		} else {
			x.quoted(part)
		}
	}
	return text(string(x.cur))
}

func (x *expander) add(s string) {
	x.cur = append(x.cur, s...)
	x.have = true
}

// end closes the current argument.
func (x *expander) end() {
	if x.have || x.many {
		x.out = append(x.out, arg{s: string(x.cur), many: x.many, odd: x.odd})
	}
	x.cur, x.have, x.many = x.cur[:0], false, false
}

// part adds a part of a word that is split and globbed where it is not quoted.
func (x *expander) part(part syntax.WordPart, first, last bool) {
	alone := part
	if quotes, ok := part.(*syntax.DblQuoted); ok && len(quotes.Parts) == 1 && !quotes.Dollar {
		alone = quotes.Parts[0]
	}
	if p, ok := alone.(*syntax.ParamExp); ok && first && last && plainParam(p) && (p.Param.Value == "@" || p.Param.Value == "*") {
		x.allPositional()
		return
	}
	switch p := part.(type) {
	case *syntax.Lit:
		s := x.unquoted(p.Value, first, true)
		if !last && strings.Contains(p.Value, "[") { // which a later part may close
			s, x.many = unknown.s, true
		}
		x.add(s)
	case *syntax.ParamExp:
		value, many := x.param(p)
		x.many = x.many || many
		x.split(value, markAt(value) < 0 && !many)
	case *syntax.CmdSubst:
		out := x.c.substitution(x.sh, p.Stmts)
		x.split(out.s, out.exact())
	case *syntax.ExtGlob:
		x.quoted(part)
		x.many = true
	default:
		x.quoted(part)
	}
}

// quoted adds a part whose expansion is neither split nor globbed.
func (x *expander) quoted(part syntax.WordPart) {
	x.have = true
	s := unknown.s
	switch p := part.(type) {
	case *syntax.Lit:
		s = doubleEscapes.Replace(p.Value)
	case *syntax.SglQuoted:
		if s = p.Value; p.Dollar {
			s = unescape(s)
		}
	case *syntax.DblQuoted:
		if p.Dollar {
			x.c.refuse("computed", `a $"..." string is translated when it runs`, `use "..."`)
		}
		for _, p := range p.Parts {
			x.quoted(p)
		}
		return
	case *syntax.ParamExp:
		var many bool
		s, many = x.param(p)
		x.many = x.many || many
	case *syntax.CmdSubst:
		s = x.c.substitution(x.sh, p.Stmts).s
	case *syntax.ArithmExp:
		arithmetic{x.c, x.sh}.expr(p.X)
		s = number.s
	case *syntax.ProcSubst:
		inner := *x.sh
		inner.stdin = unknown
		out := x.c.captured(&inner, p.Stmts)
		s = "/dev/fd/" + strconv.Itoa(63+len(x.c.fed))
		x.c.fed[s] = out
	case *syntax.ExtGlob:
		if strings.ContainsAny(p.Pattern.Value, "$`<>") {
			x.c.refuse("computed", "an extended glob holds an expansion", "")
		}
	}
	x.add(s)
}

// split adds the value of an unquoted expansion: words of it as far as it is known.
func (x *expander) split(v string, exact bool) {
	space := func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }
	for i, word := range strings.FieldsFunc(v, space) {
		if i > 0 || space(rune(v[0])) {
			x.end()
		}
		x.many = x.many || !exact
		if exact && strings.ContainsAny(word, "*?[\\") {
			x.many = true
			word = strings.NewReplacer("*", "\x01", "?", "\x02", "[", "\x03", "\\", "\x03").Replace(word)
		}
		x.add(word)
	}
	switch {
	case v != "" && space(rune(v[len(v)-1])):
		x.end()
	case v == "" && !exact:
		x.many, x.have = true, true
	}
}

// allPositional adds "$@", each parameter its own argument.
func (x *expander) allPositional() {
	if pos := x.c.vars.parameters(x.sh); pos != nil {
		x.end()
		x.out = append(x.out, pos...)
		return
	}
	x.add(unknown.s)
	x.many = true
}

// plainParam reports whether p is $name or ${name} and no more.
func plainParam(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil &&
		p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// param checks a parameter expansion and returns its value as far as it is
// known, and whether it may be several words even in quotes.
func (x *expander) param(p *syntax.ParamExp) (value string, many bool) {
	c := x.c
	if !c.step() {
		return unknown.s, true
	}
	if p.NestedParam != nil || p.Flags != nil || p.Width || p.IsSet || p.Param == nil {
		c.refuse("computed", "a parameter expansion is not of bash", "")
		return unknown.s, true
	}
	name := p.Param.Value
	if plainParam(p) {
		return x.parameter(name)
	}
	index, _ := p.Index.(*syntax.Word)
	if p.Index != nil {
		arithmetic{c, x.sh}.subscript(p.Index)
	}
	if p.Excl && p.Names == 0 && (index == nil || index.Lit() != "@" && index.Lit() != "*") { // but ${!a[@]} lists keys
		if v, _ := x.parameter(name); !syntax.ValidName(v) {
			c.refuse("evaluates", "${!"+name+"} evaluates the value of "+name+" as a variable name", "name the variable itself")
		}
	}
	if p.Slice != nil {
		arithmetic{c, x.sh}.expr(p.Slice.Offset)
		arithmetic{c, x.sh}.expr(p.Slice.Length)
	}
	if p.Repl != nil {
		x.operand(p.Repl.Orig)
		x.operand(p.Repl.With)
	}
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.OtherParamOps:
			if op := p.Exp.Word.Lit(); op == "" || strings.Contains(op, "P") {
				c.refuse("evaluates", "${"+name+"@P} evaluates the value of "+name+" as a prompt", "")
			}
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			c.checkEnvName(name, unknown, "${"+name+":=}")
			c.vars.assign(x.sh, name, unknown, false)
		}
		word := x.operand(p.Exp.Word)
		switch p.Exp.Op {
		case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix: // a pattern
		default:
			c.name(x.sh, word.s, false, "${"+name+"}")
		}
	}
	if p.Length {
		return number.s, false
	}
	value = unknown.s
	if v, many := x.parameter(name); !many && markAt(v) < 0 && !p.Excl && index == nil {
		if s, err := expand.Literal(&expand.Config{Env: expand.ListEnviron(name + "=" + v)}, &syntax.Word{Parts: []syntax.WordPart{p}}); err == nil {
			value += "\n" + s // where the operands are known
		}
	}
	return value, p.Excl || name == "@" || index != nil && index.Lit() == "@"
}

// parameter returns the value of a variable or a positional parameter.
func (x *expander) parameter(name string) (value string, many bool) {
	if name == "@" {
		return unknown.s, true
	}
	v := unknown
	if n, err := strconv.Atoi(name); err != nil || n == 0 {
		v = x.c.vars.valueOf(x.sh, name)
	} else if pos := x.c.vars.parameters(x.sh); n <= len(pos) {
		v = pos[n-1]
	} else if pos != nil {
		v = text("")
	}
	return v.s, v.many
}

// operand checks a word within a parameter expansion, where bash substitutes
// processes though the parser takes them for text. It is nil in ${x/}.
func (x *expander) operand(w *syntax.Word) arg {
	if w == nil {
		return arg{}
	}
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.ContainsAny(lit.Value, "<>") {
			x.c.refuse("computed", "a parameter expansion holds < or >, which may start a process", "put the text in quotes")
			return unknown
		}
	}
	return x.c.value(x.sh, w)
}

// unquoted returns the text of an unquoted literal: backslashes removed, a
// leading tilde expanded, and with globbing its wildcards as markers.
func (x *expander) unquoted(s string, first, globbing bool) string {
	if first && strings.HasPrefix(s, "~") {
		s = x.tilde(s)
	}
	if !strings.ContainsAny(s, "\\*?[") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '\\' && i+1 < len(s):
			if i++; s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case globbing && ch == '*':
			b.WriteByte(anyName)
			x.many = true
		case globbing && ch == '?':
			b.WriteByte(anyByte)
			x.many = true
		case globbing && ch == '[' && strings.Contains(s[i+1:], "]"):
			b.WriteByte(anyName) // also for what follows it in the name
			x.many = true
			if slash := strings.IndexByte(s[i:], '/'); slash >= 0 {
				i += slash - 1
			} else {
				i = len(s)
			}
		default:
			b.WriteByte(ch)
		}
	}
	return b.String()
}

// tilde expands the tilde prefix of s.
func (x *expander) tilde(s string) string {
	user, rest, below := strings.Cut(s[1:], "/")
	if below {
		rest = "/" + rest
	}
	switch {
	case user == "":
		return x.c.vars.valueOf(x.sh, "HOME").s + rest
	case user == "+" && len(x.sh.dirs) == 1:
		return x.sh.dirs[0] + rest
	case userName().MatchString(user):
		return unknown.s + rest
	}
	return s
}

var userName = lazyregexp.New(`^[\w.+-]+$`)

// braces expands the brace expressions of w; odd says that it may hold some.
// Where there are too many alternatives, the result is nil.
func braces(w *syntax.Word) (alternatives [][]syntax.WordPart, odd bool) {
	n := 0
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	if n == 0 {
		return [][]syntax.WordPart{w.Parts}, false
	}
	if n > maxBraces {
		return nil, true
	}
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	syntax.SplitBraces(split)
	for alternative, err := range expand.BracesSeq(nil, split) {
		if err != nil || len(alternatives) >= maxFields {
			return nil, true
		}
		alternatives = append(alternatives, alternative.Parts)
	}
	return alternatives, true
}

var doubleEscapes = strings.NewReplacer(`\$`, "$", "\\`", "`", `\"`, `"`, `\\`, `\`, "\\\n", "")
