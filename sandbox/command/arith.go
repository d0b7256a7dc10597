package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arith judges an arithmetic expression. Bash evaluates the values of the
// variables in it as expressions again, with command substitution in
// subscripts, so a variable that may hold more than a number is refused.
func (c *checker) arith(sh *shell, x syntax.ArithmExpr) {
	if !c.step() {
		return
	}
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		c.arith(sh, x.X)
		c.arith(sh, x.Y)
		if w, ok := x.X.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
			c.checkEnvName(w.Lit(), unknown, "(( ))")
		}
	case *syntax.UnaryArithm:
		c.arith(sh, x.X)
	case *syntax.ParenArithm:
		c.arith(sh, x.X)
	case *syntax.Word:
		c.arithWord(sh, x)
	default:
		c.refuse("evaluates", "an arithmetic expression is not of bash", "")
	}
}

func (c *checker) arithWord(sh *shell, w *syntax.Word) {
	c.expansions(sh, w)
	for _, part := range w.Parts {
		c.arithPart(sh, part)
	}
}

func (c *checker) arithPart(sh *shell, part syntax.WordPart) {
	switch part := part.(type) {
	case *syntax.Lit:
		c.arithName(sh, part.Value)
	case *syntax.SglQuoted:
		c.arithText(sh, part.Value)
	case *syntax.DblQuoted:
		if s, ok := static(&syntax.Word{Parts: []syntax.WordPart{part}}); ok {
			c.arithText(sh, s)
			return
		}
		for _, p := range part.Parts {
			c.arithPart(sh, p)
		}
	case *syntax.ParamExp:
		if part.Length {
			return
		}
		v, many := c.param(sh, part)
		if !many && strings.Trim(v, "0123456789-\x04") == "" {
			return
		}
		if !c.safeNumber(sh, part.Param.Value) || !plainParam(part) && !arrayItem(part) {
			c.refuseArith("$" + part.Param.Value)
		}
	case *syntax.CmdSubst:
		if out := c.outputOf(sh, part.Stmts); strings.Trim(out.s, "0123456789-\x04 \n") != "" && !printsNumber(part.Stmts) {
			c.refuseArith("the output of a command")
		}
	case *syntax.ArithmExp:
	default:
		c.refuseArith("an expansion")
	}
}

func arrayItem(p *syntax.ParamExp) bool { return p.Index != nil && p.Exp == nil && p.Repl == nil }

// arithName judges a bare word in arithmetic: a number or a variable.
func (c *checker) arithName(sh *shell, s string) {
	if !syntax.ValidName(s) {
		if strings.ContainsAny(s, "[`$\\") {
			c.arithText(sh, s)
		}
		return
	}
	if v, ok := sh.lookup(s); ok && strings.Trim(v.s, "0123456789-\x04") == "" {
		return
	}
	if !c.safeNumber(sh, s) {
		c.refuseArith(s)
	}
}

// safeNumber reports whether no place in the script gives the variable
// anything but a number.
func (c *checker) safeNumber(sh *shell, name string) bool {
	if numberVar(name) {
		return true
	}
	return syntax.ValidName(name) && !sh.facts.tainted[name] && !c.callerSets(name)
}

func (c *checker) refuseArith(what string) {
	c.refuse("evaluates", "arithmetic evaluates "+what+" as an expression, which may run commands", "use a value that is assigned as a number")
}

// arithText judges text that is evaluated as arithmetic after its quotes are
// gone.
func (c *checker) arithText(sh *shell, s string) {
	if strings.Trim(s, "0123456789 +-*/%()") == "" {
		return
	}
	if c.depth++; c.depth > maxDepth || strings.ContainsAny(s, "$`\"'\\\x03") {
		c.refuseArith("the text " + s)
	}
	defer func() { c.depth-- }()
	if c.refused {
		return
	}
	parser := c.p.parsers.Get().(*syntax.Parser)
	defer c.p.parsers.Put(parser)
	x, err := parser.Arithmetic(strings.NewReader(s))
	if err != nil || x == nil {
		c.refuseArith("the text " + s)
		return
	}
	c.arith(sh, x)
}

// let judges the expressions of the let builtin, which is a command like any
// other for the lists.
func (c *checker) let(sh *shell, l *syntax.LetClause) {
	c.permitBuiltin("let")
	for _, x := range l.Exprs {
		c.arith(sh, x)
	}
}

// testExpr judges [[ ]].
func (c *checker) testExpr(sh *shell, x syntax.TestExpr) {
	if !c.step() {
		return
	}
	switch x := x.(type) {
	case *syntax.ParenTest:
		c.testExpr(sh, x.X)
	case *syntax.UnaryTest:
		c.testExpr(sh, x.X)
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar) {
			c.varName(c.value(sh, w), "[[ -v ]]")
		}
	case *syntax.BinaryTest:
		c.testExpr(sh, x.X)
		c.testExpr(sh, x.Y)
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					c.arithWord(sh, w)
				}
			}
		}
	case *syntax.Word:
		c.expansions(sh, x)
	default:
		c.refuse("syntax", "[[ ]] holds an expression that is not known here", "")
	}
}

// varName judges an operand that names a variable to a builtin: a subscript in
// it would be evaluated.
func (c *checker) varName(a arg, where string) {
	name := a.s
	if n := nameLen(name); n > 0 && n < len(name) && name[n] == '[' && strings.HasSuffix(name, "]") {
		if strings.Trim(name[n+1:len(name)-1], "0123456789@*") == "" {
			name = name[:n]
		}
	}
	if a.many || !syntax.ValidName(name) {
		c.refuse("evaluates", where+" evaluates "+show(a.s)+" as a variable", "name a variable without a computed subscript")
	}
}
