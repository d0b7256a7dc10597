package command

import "strings"

// sedOperands judges the files of sed, which -i writes.
func (u *use) sedOperands() {
	u.done = true
	ops := u.in.operands
	if o, ok := u.in.option("i"); ok && !o.has && len(ops) > 0 && ops[0].is("") {
		ops = ops[1:] // BSD: -i ''
	}
	if !u.drop && len(ops) > 0 {
		u.sed(ops[0])
		ops = ops[1:]
	}
	for _, a := range ops {
		u.c.path(u.sh, a, "sed operand", u.in.given("i", "in-place"))
	}
}

// sed judges a sed script: its e command and flag run programs, w and r name
// files.
func (u *use) sed(script arg) {
	s := strings.ReplaceAll(script.s, string(rune(aNumber)), "1")
	if script.many || markAt(s) >= 0 {
		u.c.refuse("computed", "the sed script "+quote(show(script.s))+" is known only when it runs", "put the script in single quotes")
		return
	}
	p := &sedParser{s: s}
	ok := p.all(u)
	if ok && p.hidden {
		// A sed that ends s/[/]/x/ at the slash in brackets must not run
		// anything either; that it finds a mistake is as good.
		p = &sedParser{s: s, literal: true}
		ok = p.all(u) || p.mistake
	}
	if !ok {
		u.inlineCode("script " + quote(s))
	}
}

// sedParser reads a script command by command, as GNU sed does.
type sedParser struct {
	s       string
	i       int
	literal bool // brackets hide no delimiter
	hidden  bool // brackets hid one
	mistake bool // the script is one that sed refuses
}

// all judges every command and reports whether none runs anything.
func (p *sedParser) all(u *use) bool {
	for p.skip(" \t\n;{}"); p.i < len(p.s); p.skip(" \t\n;{}") {
		if !p.command(u) {
			return false
		}
	}
	return true
}

func (p *sedParser) skip(set string) {
	for p.i < len(p.s) && strings.IndexByte(set, p.s[p.i]) >= 0 {
		p.i++
	}
}

// line takes the rest of the line.
func (p *sedParser) line() string {
	n := strings.IndexByte(p.s[p.i:], '\n')
	if n < 0 {
		n = len(p.s) - p.i
	}
	line := p.s[p.i : p.i+n]
	p.i += n
	return line
}

// until takes text up to an unescaped delimiter; brackets hide it.
func (p *sedParser) until(delim byte, regex bool) bool {
	for ; p.i < len(p.s); p.i++ {
		switch ch := p.s[p.i]; {
		case ch == '\\':
			p.i++
		case ch == delim:
			p.i++
			return true
		case ch == '[' && regex && !p.literal:
			if end := classEnd(p.s[p.i:]); end > 0 {
				p.hidden = p.hidden || strings.IndexByte(p.s[p.i:p.i+end], delim) >= 0
				p.i += end - 1
			}
		}
	}
	p.mistake = true
	return false
}

// classEnd returns the length of a bracket expression, or 0.
func classEnd(s string) int {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for ; i < len(s); i++ {
		if s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0 {
			if end := strings.Index(s[i+2:], s[i+1:i+2]+"]"); end >= 0 {
				i += end + 3
				continue
			}
		}
		if s[i] == ']' {
			return i + 1
		}
	}
	return 0
}

// address takes one address and reports whether it could be read.
func (p *sedParser) address() bool {
	switch ch := p.s[p.i]; {
	case ch >= '0' && ch <= '9' || ch == '$' || ch == '+' || ch == '~':
		p.i++
		p.skip("0123456789~")
	case ch == '/':
		p.i++
		if !p.until('/', true) {
			return false
		}
		p.skip("IM")
	case ch == '\\' && p.i+1 < len(p.s):
		p.i += 2
		if !p.until(p.s[p.i-1], true) {
			return false
		}
		p.skip("IM")
	}
	return true
}

// command judges one command and reports whether it was understood and runs
// nothing.
func (p *sedParser) command(u *use) bool {
	for range 2 {
		if p.i < len(p.s) && !p.address() {
			return false
		}
		p.skip(" \t")
		if p.i < len(p.s) && p.s[p.i] == ',' {
			p.i++
			p.skip(" \t")
			continue
		}
		break
	}
	p.skip(" \t!")
	if p.i >= len(p.s) {
		return true
	}
	ch := p.s[p.i]
	p.i++
	switch ch {
	case '{', '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
	case '#':
		p.line()
	case ':', 'b', 't', 'T':
		n := strings.IndexAny(p.s[p.i:], "\n;}")
		if n < 0 {
			n = len(p.s) - p.i
		}
		p.i += n
	case 'l', 'L', 'q', 'Q':
		p.skip(" \t0123456789")
	case 'a', 'i', 'c':
		for line := p.line(); strings.HasSuffix(line, `\`) && p.i < len(p.s); line = p.line() {
			p.i++
		}
	case 'r', 'R':
		u.read(text(strings.TrimSpace(p.line())), "r command")
	case 'w', 'W':
		u.write(text(strings.TrimSpace(p.line())), "w command")
	case 'y':
		return p.delimited(false)
	case 's':
		return p.delimited(true) && p.flags(u)
	default:
		p.mistake = ch != 'e' && ch != 'v'
		return false
	}
	return true
}

// delimited takes the two parts of s and y.
func (p *sedParser) delimited(regex bool) bool {
	if p.i >= len(p.s) || p.s[p.i] == '\\' || p.s[p.i] == '\n' {
		return false
	}
	delim := p.s[p.i]
	p.i++
	return p.until(delim, regex) && p.until(delim, false)
}

// flags judges the flags of s.
func (p *sedParser) flags(u *use) bool {
	for p.i < len(p.s) {
		ch := p.s[p.i]
		switch {
		case strings.IndexByte("gpiImM0123456789", ch) >= 0:
			p.i++
		case ch == 'w':
			p.i++
			u.write(text(strings.TrimSpace(p.line())), "s///w")
			return true
		case strings.IndexByte(" \t\n;}#", ch) >= 0:
			return true
		default:
			p.mistake = ch != 'e'
			return false
		}
	}
	return true
}
