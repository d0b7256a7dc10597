package command

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unquoted returns the text of an unquoted literal: backslashes removed, a
// leading tilde expanded, and with globbing its wildcards as markers.
func (c *checker) unquoted(sh *shell, f *fields, s string, first, globbing bool) string {
	if first && strings.HasPrefix(s, "~") {
		s = c.tilde(sh, s)
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
		case !globbing:
			b.WriteByte(ch)
		case ch == '*':
			b.WriteByte(anyName)
			f.many = true
		case ch == '?':
			b.WriteByte(anyByte)
			f.many = true
		case ch == '[' && strings.Contains(s[i+1:], "]"):
			b.WriteByte(anyByte)
			f.many = true
			i += bracket(s[i:]) - 1
		default:
			b.WriteByte(ch)
		}
	}
	return b.String()
}

// bracket returns the length of the bracket expression at the start of s, which
// holds a closing bracket.
func bracket(s string) int {
	i := 1
	for i < len(s) && strings.IndexByte("!^", s[i]) >= 0 {
		i++
	}
	if i < len(s) && s[i] == ']' && strings.Contains(s[i+1:], "]") {
		i++
	}
	return i + strings.Index(s[i:], "]") + 1
}

// closesLater reports whether a bracket opened in the first part may be closed
// in a later one.
func closesLater(parts []syntax.WordPart) bool {
	lit, ok := parts[0].(*syntax.Lit)
	if !ok || strings.LastIndexByte(lit.Value, '[') <= strings.LastIndexByte(lit.Value, ']') {
		return false
	}
	return slices.ContainsFunc(parts[1:], func(p syntax.WordPart) bool {
		lit, ok := p.(*syntax.Lit)
		return ok && strings.Contains(lit.Value, "]")
	})
}

// tilde expands the tilde prefix of s.
func (c *checker) tilde(sh *shell, s string) string {
	user, rest, _ := strings.Cut(s[1:], "/")
	if len(user)+1 < len(s) {
		rest = "/" + rest
	}
	switch {
	case user == "":
		return c.valueOf(sh, "HOME").s + rest
	case user == "+" && len(sh.dirs) == 1:
		return sh.dirs[0] + rest
	case strings.Trim(user, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+") != "":
		return s
	}
	return unknown.s + rest
}

// braces expands the brace expressions of w. Where there are too many, or the
// form is unusual, the result is one unknown part.
func braces(w *syntax.Word) (alternatives [][]syntax.WordPart, odd bool) {
	if !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		lit, ok := p.(*syntax.Lit)
		return ok && strings.Contains(lit.Value, "{")
	}) {
		return [][]syntax.WordPart{w.Parts}, false
	}
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	if !syntax.SplitBraces(split) {
		return [][]syntax.WordPart{w.Parts}, true
	}
	out, ok := product(split.Parts)
	if !ok {
		return [][]syntax.WordPart{{&syntax.ExtGlob{Pattern: &syntax.Lit{}}}}, true
	}
	return out, true
}

// product returns every way to choose an element of each brace expression.
func product(parts []syntax.WordPart) ([][]syntax.WordPart, bool) {
	out := [][]syntax.WordPart{nil}
	for _, part := range parts {
		choices := [][]syntax.WordPart{{part}}
		if br, ok := part.(*syntax.BraceExp); ok {
			if choices, ok = elements(br); !ok {
				return nil, false
			}
		}
		if len(out)*len(choices) > maxFields {
			return nil, false
		}
		next := make([][]syntax.WordPart, 0, len(out)*len(choices))
		for _, head := range out {
			for _, choice := range choices {
				next = append(next, append(slices.Clone(head), choice...))
			}
		}
		out = next
	}
	return out, true
}

func elements(br *syntax.BraceExp) (out [][]syntax.WordPart, ok bool) {
	if br.Sequence {
		return sequence(br)
	}
	for _, elem := range br.Elems {
		alt, ok := product(elem.Parts)
		if !ok {
			return nil, false
		}
		out = append(out, alt...)
	}
	return out, len(out) <= maxFields
}

// sequence expands {1..9} and {a..e}.
func sequence(br *syntax.BraceExp) (out [][]syntax.WordPart, ok bool) {
	from, to := br.Elems[0].Lit(), br.Elems[1].Lit()
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	letters := errA != nil && errB != nil && len(from) == 1 && len(to) == 1
	if letters {
		a, b = int(from[0]), int(to[0])
	}
	lo, hi := min(a, b), max(a, b)
	if !letters && (errA != nil || errB != nil) || lo < -1e6 || hi > 1e6 || hi-lo > maxFields ||
		letters && !(lo >= 'a' && hi <= 'z' || lo >= 'A' && hi <= 'Z') {
		return nil, false
	}
	for i := lo; i <= hi; i++ {
		s := strconv.Itoa(i)
		switch {
		case letters:
			s = string(rune(i))
		case strings.HasPrefix(from, "0") || strings.HasPrefix(to, "0"):
			s = string(rune(aNumber)) // zero-padded
		}
		out = append(out, []syntax.WordPart{&syntax.SglQuoted{Value: s}})
	}
	return out, true
}

// static returns the text of a word made of literals and quotes only.
func static(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", false
	}
	var b strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, "*?[{~") && part.Value != "[" {
				return "", false
			}
			for i := 0; i < len(part.Value); i++ {
				if part.Value[i] == '\\' && i+1 < len(part.Value) {
					i++
				}
				b.WriteByte(part.Value[i])
			}
		case *syntax.SglQuoted:
			if part.Dollar {
				b.WriteString(ansiC(part.Value))
			} else {
				b.WriteString(part.Value)
			}
		case *syntax.DblQuoted:
			for _, q := range part.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(unescape(lit.Value))
			}
		default:
			return "", false
		}
	}
	s := b.String()
	return s, markAt(s) < 0
}

// nameLen returns the length of the variable name at the start of s.
func nameLen(s string) int {
	i := 0
	for i < len(s) && (s[i] == '_' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' || i > 0 && s[i] >= '0' && s[i] <= '9') {
		i++
	}
	return i
}
