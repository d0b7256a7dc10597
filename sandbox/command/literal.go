package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
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

// maxBraces bounds the brace expressions of a word.
const maxBraces = 10

// braces expands the brace expressions of w; odd says that it may hold some.
// Where there are too many alternatives, the result is one unknown part.
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
	tooMany := [][]syntax.WordPart{{&syntax.ExtGlob{Pattern: &syntax.Lit{}}}}
	if n > maxBraces {
		return tooMany, true
	}
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	syntax.SplitBraces(split)
	for alternative, err := range expand.BracesSeq(nil, split) {
		if err != nil || len(alternatives) >= maxFields {
			return tooMany, true
		}
		alternatives = append(alternatives, alternative.Parts)
	}
	return alternatives, true
}

// static returns the text of a word made of literals and quotes only.
func static(w *syntax.Word) (text string, ok bool) {
	var c checker
	var f fields
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, "*?[{~") && part.Value != "[" {
				return "", false
			}
			f.add(c.unquoted(nil, &f, part.Value, false, false))
		case *syntax.SglQuoted:
			c.quotedPart(nil, &f, part)
		case *syntax.DblQuoted:
			if slices.ContainsFunc(part.Parts, func(p syntax.WordPart) bool { return !isLit(p) }) {
				return "", false
			}
			c.quotedPart(nil, &f, part)
		default:
			return "", false
		}
	}
	text = string(f.cur)
	return text, markAt(text) < 0
}

// nameLen returns the length of the variable name at the start of s.
func nameLen(s string) int {
	i := 0
	for i < len(s) && (s[i] == '_' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' || i > 0 && s[i] >= '0' && s[i] <= '9') {
		i++
	}
	return i
}
