package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expansions checks everything that runs or is evaluated when node, a word or
// a part of an assignment, is expanded.
func (c *checker) expansions(sh *shell, node syntax.Node) {
	if w, ok := node.(*syntax.Word); ok && (w == nil || len(w.Parts) == 1 && isLit(w.Parts[0])) {
		return
	}
	syntax.Walk(node, func(n syntax.Node) bool { return c.expansion(sh, n) })
}

// expansion checks one node of a word and reports whether to go into it.
func (c *checker) expansion(sh *shell, n syntax.Node) bool {
	if c.refused {
		return false
	}
	switch n := n.(type) {
	case *syntax.CmdSubst:
		c.substitution(sh, n.Stmts)
		return false
	case *syntax.ProcSubst:
		inner := *sh
		inner.stdin = unknown
		c.subshell(&inner, n.Stmts)
		return false
	case *syntax.ArithmExp:
		c.arith(sh, n.X)
		return false
	case *syntax.ParamExp:
		return c.paramExp(sh, n)
	case *syntax.DblQuoted:
		if n.Dollar {
			c.refuse("computed", `a $"..." string is translated when it runs`, `use "..."`)
		}
	case *syntax.ExtGlob:
		if strings.ContainsAny(n.Pattern.Value, "$`<>") {
			c.refuse("computed", "an extended glob holds an expansion", "")
		}
	}
	return true
}

func isLit(p syntax.WordPart) bool { _, ok := p.(*syntax.Lit); return ok }

// substitution checks $( ). $(<file) reads the file.
func (c *checker) substitution(sh *shell, stmts []*syntax.Stmt) {
	if c.step() {
		c.subshell(sh, stmts)
	}
}

// paramExp checks a parameter expansion and reports whether its words remain
// to be walked.
func (c *checker) paramExp(sh *shell, p *syntax.ParamExp) bool {
	if !c.step() {
		return false
	}
	switch {
	case p.NestedParam != nil || p.Flags != nil || p.Width || p.IsSet || p.Param == nil:
		c.refuse("computed", "a parameter expansion is not of bash", "")
	case p.Excl && p.Names == 0 && !arrayKeys(p):
		v, _ := c.param(sh, &syntax.ParamExp{Param: p.Param})
		if !syntax.ValidName(v) {
			c.refuse("evaluates", "${!"+p.Param.Value+"} evaluates the value of "+p.Param.Value+" as a variable name", "name the variable itself")
		}
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps:
		if s, ok := static(p.Exp.Word); !ok || strings.ContainsAny(s, "P") {
			c.refuse("evaluates", "${"+p.Param.Value+"@P} evaluates the value of "+p.Param.Value+" as a prompt", "")
		}
	case p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull):
		c.checkEnvName(p.Param.Value, unknown, "${"+p.Param.Value+":=}")
		c.assign(sh, p.Param.Value, unknown, false)
	}
	if p.Slice != nil {
		c.arith(sh, p.Slice.Offset)
		c.arith(sh, p.Slice.Length)
	}
	if p.Index != nil {
		c.subscript(sh, p.Index)
	}
	if p.Repl != nil {
		c.paramWord(sh, p.Repl.Orig)
		c.paramWord(sh, p.Repl.With)
	}
	if p.Exp != nil {
		c.paramWord(sh, p.Exp.Word)
	}
	return false
}

// paramWord checks a word within a parameter expansion, where bash substitutes
// processes though the parser takes them for text.
func (c *checker) paramWord(sh *shell, w *syntax.Word) {
	if w == nil { // as in ${x/}
		return
	}
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.ContainsAny(lit.Value, "<>") {
			c.refuse("computed", "a parameter expansion holds < or >, which may start a process", "put the text in quotes")
			return
		}
	}
	syntax.Walk(w, func(n syntax.Node) bool { return c.expansion(sh, n) })
}

// arrayKeys reports whether p is ${!a[@]}, which lists keys.
func arrayKeys(p *syntax.ParamExp) bool {
	w, ok := p.Index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// subscript checks a[x]: arithmetic, unless it is @ or *.
func (c *checker) subscript(sh *shell, x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") {
		return
	}
	c.arith(sh, x)
}

// assignment checks an assignment: what it evaluates, and the variable it sets.
// It is followed if it takes effect in this shell.
func (c *checker) assignment(sh *shell, a *syntax.Assign, followed bool) {
	if !c.step() || a.Name == nil {
		return
	}
	name := a.Name.Value
	if a.Value != nil {
		c.expansions(sh, a.Value)
	}
	if a.Index != nil {
		c.subscript(sh, a.Index)
	}
	if a.Naked {
		return
	}
	value := c.value(sh, a.Value)
	c.checkEnvName(name, value, "")
	c.at(a)
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				c.subscript(sh, e.Index)
			}
			if e.Value != nil {
				c.expansions(sh, e.Value)
				for _, v := range c.expand(sh, []*syntax.Word{e.Value}) {
					c.assign(sh, name, v, false)
				}
			}
		}
	}
	c.assign(sh, name, value, followed && a.Array == nil && a.Index == nil && !a.Append)
}
