package command

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxFields bounds what one word may expand to before it counts as unknown.
const maxFields = 256

// fields collects the arguments that a word expands to.
type fields struct {
	out  []arg
	cur  []byte
	have bool // the current argument exists, even if it is empty
	many bool // the current argument may be any number of arguments
	odd  bool
}

func (f *fields) add(s string) {
	f.cur = append(f.cur, s...)
	f.have = true
}

// end closes the current argument.
func (f *fields) end() {
	if f.have || f.many {
		f.out = append(f.out, arg{s: string(f.cur), many: f.many, odd: f.odd})
	}
	f.cur, f.have, f.many = f.cur[:0], false, false
}

// expand returns the arguments that words stand for.
func (c *checker) expand(sh *shell, words []*syntax.Word) []arg {
	out := make([]arg, 0, len(words)+2)
	for _, w := range words {
		if len(w.Parts) == 1 {
			if lit, ok := w.Parts[0].(*syntax.Lit); ok && plainLit(lit.Value) {
				out = append(out, text(lit.Value))
				continue
			}
		}
		out = append(out, c.fieldsOf(sh, w)...)
	}
	return out
}

// plainLit reports whether unquoted text means just itself.
func plainLit(s string) bool {
	return s != "" && !strings.ContainsAny(s, "\\*?[{~\x01\x02\x03\x04\x05\x06")
}

func (c *checker) fieldsOf(sh *shell, w *syntax.Word) []arg {
	alternatives, odd := braces(w)
	var out []arg
	for _, alt := range alternatives {
		f := fields{odd: odd}
		for i, part := range alt {
			c.part(sh, &f, alt, i, part)
		}
		f.end()
		if out = append(out, f.out...); len(out) > maxFields {
			return []arg{unknowns}
		}
	}
	return out
}

// value returns the one string that w expands to where no splitting and no
// globbing happens: assignments, here-strings, case words.
func (c *checker) value(sh *shell, w *syntax.Word) arg {
	if w == nil {
		return arg{}
	}
	var f fields
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			f.add(c.unquoted(sh, &f, part.Value, i == 0, false))
		default:
			c.quotedPart(sh, &f, part)
		}
	}
	return arg{s: string(f.cur)}
}

func (c *checker) part(sh *shell, f *fields, all []syntax.WordPart, i int, part syntax.WordPart) {
	switch part := part.(type) {
	case *syntax.Lit:
		s := c.unquoted(sh, f, part.Value, i == 0, true)
		if len(all) > 1 && closesLater(all[i:]) {
			before, _, _ := strings.Cut(part.Value, "[")
			s, f.many = before+unknown.s, true
		}
		f.add(s)
	case *syntax.ParamExp:
		c.splitParam(sh, f, part, len(all) == 1)
	case *syntax.CmdSubst:
		out := c.outputOf(sh, part.Stmts)
		c.split(f, out.s, out.exact())
	case *syntax.ExtGlob:
		f.add(unknown.s)
		f.many = true
	case *syntax.DblQuoted:
		if len(part.Parts) == 1 && len(all) == 1 {
			if p, ok := part.Parts[0].(*syntax.ParamExp); ok && allParams(p) {
				c.allPositional(sh, f)
				return
			}
		}
		c.quotedPart(sh, f, part)
	default:
		c.quotedPart(sh, f, part)
	}
}

// quotedPart adds a part whose expansion is neither split nor globbed.
func (c *checker) quotedPart(sh *shell, f *fields, part syntax.WordPart) {
	f.have = true
	switch part := part.(type) {
	case *syntax.Lit:
		f.add(unescape(part.Value))
	case *syntax.SglQuoted:
		if part.Dollar {
			f.add(ansiC(part.Value))
		} else {
			f.add(part.Value)
		}
	case *syntax.DblQuoted:
		for _, p := range part.Parts {
			c.quotedPart(sh, f, p)
		}
	case *syntax.ParamExp:
		v, many := c.param(sh, part)
		f.many = f.many || many
		f.add(v)
	case *syntax.CmdSubst:
		f.add(c.outputOf(sh, part.Stmts).s)
	case *syntax.ArithmExp:
		f.add(string(rune(aNumber)))
	case *syntax.ProcSubst:
		f.add("/dev/fd/63")
	default:
		f.add(unknown.s)
	}
}

// splitParam adds an unquoted parameter expansion.
func (c *checker) splitParam(sh *shell, f *fields, p *syntax.ParamExp, alone bool) {
	if alone && allParams(p) {
		c.allPositional(sh, f)
		return
	}
	v, many := c.param(sh, p)
	f.many = f.many || many
	c.split(f, v, markAt(v) < 0 && !many)
}

// split adds the value of an unquoted expansion: words of it if it is known.
func (c *checker) split(f *fields, v string, exact bool) {
	if !exact {
		f.many = true
		f.add(v)
		return
	}
	for i, word := range strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }) {
		if i > 0 || strings.IndexByte(" \t\n", v[0]) >= 0 {
			f.end()
		}
		if strings.ContainsAny(word, "*?[\\") {
			f.many = true
			word = strings.NewReplacer("*", "\x01", "?", "\x02", "[", "\x03", "\\", "\x03").Replace(word)
		}
		f.add(word)
	}
	if v != "" && strings.IndexByte(" \t\n", v[len(v)-1]) >= 0 {
		f.end()
	}
}

// allPositional adds "$@", each parameter its own argument.
func (c *checker) allPositional(sh *shell, f *fields) {
	pos := c.parameters(sh)
	if pos == nil {
		f.add(unknown.s)
		f.many = true
		return
	}
	f.end()
	f.out = append(f.out, pos...)
}

func allParams(p *syntax.ParamExp) bool {
	return plainParam(p) && (p.Param.Value == "@" || p.Param.Value == "*")
}

// plainParam reports whether p is $name or ${name} and no more.
func plainParam(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil &&
		p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// param returns the value of a parameter as far as it is known, and whether it
// may be several words even in quotes.
func (c *checker) param(sh *shell, p *syntax.ParamExp) (value string, many bool) {
	switch {
	case p.Param == nil || p.Param.Value == "@" || p.Excl:
		return unknown.s, true
	case p.Length:
		return string(rune(aNumber)), false
	case p.Index != nil:
		w, ok := p.Index.(*syntax.Word)
		return unknown.s, ok && w.Lit() == "@"
	case !plainParam(p):
		return unknown.s, false
	}
	name := p.Param.Value
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		switch pos := c.parameters(sh); {
		case pos == nil:
			return unknown.s, false
		case n > len(pos):
			return "", false
		default:
			return pos[n-1].s, pos[n-1].many
		}
	}
	v := c.valueOf(sh, name)
	return v.s, v.many
}
