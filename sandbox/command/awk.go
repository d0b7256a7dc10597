package command

import "strings"

// awkOperands judges the files of awk.
func (u *use) awkOperands() {
	u.done = true
	ops := u.in.operands
	if !u.drop && len(ops) > 0 {
		u.awk(ops[0])
		ops = ops[1:]
	}
	for _, a := range ops {
		if name, _, ok := strings.Cut(a.s, "="); ok && nameLen(name) == len(name) && name != "" {
			continue
		}
		u.read(a, "operand")
	}
}

// awk judges an awk program: system(), pipes and indirect calls run programs,
// print > and getline < name files.
func (u *use) awk(prog arg) {
	s := strings.ReplaceAll(prog.s, string(rune(aNumber)), "1")
	if prog.many || markAt(s) >= 0 {
		u.c.refuse("computed", "the awk program "+quote(show(prog.s))+" is known only when it runs", "put the program in single quotes and pass values with -v")
		return
	}
	l := &awkLexer{s: s}
	tokens, ok := l.tokens()
	if !ok {
		u.inlineCode("program " + quote(s))
		return
	}
	depth, printing, getting := 0, -1, false
	for i, t := range tokens {
		if t.str {
			continue
		}
		switch t.text {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		case "print", "printf":
			printing = depth
		case ";", "\n", "{", "}":
			printing, getting = -1, false
		case "|", "|&", "@", "system":
			u.inlineCode("program " + quote(s))
		case ">", ">>":
			if printing == depth {
				u.awkFile(tokens[i+1:], true)
			}
		case "<":
			if getting {
				u.awkFile(tokens[i+1:], false)
			}
		case "getline":
			getting = true
		}
	}
}

// awkFile judges the file expression at the start of tokens: one string.
func (u *use) awkFile(tokens []awkToken, write bool) {
	ends := len(tokens) == 1 || len(tokens) > 1 && strings.Contains(";}\n)", tokens[1].text)
	if len(tokens) == 0 || !tokens[0].str || !ends || strings.ContainsAny(tokens[0].text, `\`) {
		if u.c.p.Paths.Write != nil || u.c.p.inlineDenied() {
			u.refuse("path", "the awk program names a file that is known only when it runs")
		}
		return
	}
	name := tokens[0].text
	if strings.HasPrefix(name, "/inet") {
		u.refuse("network", "the awk program opens a network connection")
		return
	}
	u.c.path(u.sh, text(name), "awk program", write)
}

type awkToken struct {
	text string
	str  bool // a string literal, text without quotes
}

// awkLexer splits an awk program into tokens.
type awkLexer struct {
	s   string
	i   int
	out []awkToken
}

func (l *awkLexer) add(text string) {
	l.out = append(l.out, awkToken{text: text})
	l.i += len(text)
}

// tokens returns the tokens, or false where a slash could be a division or
// the start of a pattern.
func (l *awkLexer) tokens() ([]awkToken, bool) {
	for l.i < len(l.s) {
		ch, rest := l.s[l.i], l.s[l.i:]
		switch {
		case ch == ' ' || ch == '\t' || ch == '\r':
			l.i++
		case ch == '\\':
			l.i += 2
		case ch == '#':
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				return l.out, true
			}
			l.i += n
		case ch == '"':
			if !l.quoted('"', true) {
				return nil, false
			}
		case ch == '/':
			if l.endsValue() {
				if l.unclear() {
					return nil, false
				}
				l.add("/")
			} else if !l.quoted('/', false) {
				return nil, false
			}
		case nameLen(rest) > 0:
			l.add(rest[:nameLen(rest)])
		default:
			l.add(rest[:operator(rest)])
		}
	}
	return l.out, true
}

// operator returns the length of the operator at the start of s.
func operator(s string) int {
	for _, op := range []string{"||", "|&", ">>", "&&", "++", "--"} {
		if strings.HasPrefix(s, op) {
			return len(op)
		}
	}
	return 1
}

// quoted takes a string or a pattern.
func (l *awkLexer) quoted(end byte, str bool) bool {
	class := false
	for j := l.i + 1; j < len(l.s); j++ {
		switch ch := l.s[j]; {
		case ch == '\\':
			j++
		case ch == '\n':
			return false
		case ch == '[' && !str:
			class = true
		case ch == ']' && !str:
			class = false
		case ch == end:
			if class {
				return false // implementations differ on a slash in brackets
			}
			text := l.s[l.i+1 : j]
			if !str {
				text = "/"
			}
			l.out = append(l.out, awkToken{text: text, str: str})
			if !str {
				l.out[len(l.out)-1].text = "pattern"
			}
			l.i = j + 1
			return true
		}
	}
	return false
}

// endsValue reports whether the last token can be the end of a value, after
// which a slash divides.
func (l *awkLexer) endsValue() bool {
	if len(l.out) == 0 {
		return false
	}
	t := l.out[len(l.out)-1]
	if t.str || t.text == ")" || t.text == "]" || t.text == "++" || t.text == "--" || t.text == "pattern" || t.text == "$" {
		return true
	}
	switch t.text {
	case "print", "printf", "return", "in", "else", "do", "getline", "delete", "case", "exit":
		return false
	}
	return nameLen(t.text) > 0 || t.text[0] >= '0' && t.text[0] <= '9' || t.text == "."
}

// unclear reports whether a slash after the last token reads both ways while
// the program holds something that matters.
func (l *awkLexer) unclear() bool {
	t := l.out[len(l.out)-1].text
	return (t == "++" || t == "--" || t == "length" || t == ")") && strings.ContainsAny(l.s, "|@>") || t == ")" && strings.Contains(l.s, "system")
}
