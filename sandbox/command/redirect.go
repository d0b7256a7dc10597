package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirs checks redirections against the path policy and notes what standard input becomes.
func (c *checker) redirs(sh *shell, list []*syntax.Redirect) {
	for _, r := range list {
		if !c.step() {
			return
		}
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			name := strings.Trim(r.N.Value, "{}")
			c.checkEnvName(name, unknown, "redirection")
			c.place = r
			c.assign(sh, name, number, false)
		}
		c.redir(sh, r)
	}
}

func (c *checker) redir(sh *shell, r *syntax.Redirect) {
	stdin, input := unknown, r.N != nil && r.N.Value == "0"
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.WordHdoc, syntax.Hdoc, syntax.DashHdoc:
		input = input || r.N == nil
	}
	switch r.Op {
	case syntax.RdrIn:
		c.target(sh, r.Word, false)
	case syntax.RdrInOut, syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		c.target(sh, r.Word, true)
	case syntax.DplIn, syntax.DplOut:
		if lit, ok := r.Word.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "-") && (lit.Value != "-" || len(r.Word.Parts) > 1) {
			c.refuse("ambiguous", "a word is glued to >&-, which bash reads apart", "put a space after >&-")
		} else if !numeric(c.value(sh, r.Word)) {
			c.target(sh, r.Word, true)
		}
	case syntax.WordHdoc:
		stdin = c.value(sh, r.Word)
	case syntax.Hdoc, syntax.DashHdoc:
		stdin = c.hereDoc(sh, r)
	default:
		c.refuse("ambiguous", "a redirection is not of bash", "")
	}
	if input {
		sh.stdin = stdin
	}
}

// hereDoc returns the text of a here-document.
func (c *checker) hereDoc(sh *shell, r *syntax.Redirect) arg {
	if r.Hdoc == nil {
		return text("")
	}
	c.value(sh, r.Word)
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

// target checks the file of a redirection.
func (c *checker) target(sh *shell, w *syntax.Word, write bool) {
	for _, a := range c.word(sh, w) {
		if strings.HasPrefix(a.s, "/dev/tcp/") || strings.HasPrefix(a.s, "/dev/udp/") {
			c.refuse("network", "the redirection "+show(a.s)+" opens a network connection", "")
			return
		}
		c.path(sh, a, "the redirection", write)
	}
}
