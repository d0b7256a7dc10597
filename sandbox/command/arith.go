package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// arith checks an arithmetic expression. Bash evaluates the values of the variables in it as expressions again,
// with command substitution in subscripts, so a variable that may hold more than a number is refused.
func (c *checker) arith(sh *shell, x syntax.ArithmExpr) {
	if x == nil || !c.step() {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.ParenArithm:
		case *syntax.BinaryArithm:
			c.counted(sh, n.X)
		case *syntax.UnaryArithm:
			c.counted(sh, n.X)
		case *syntax.Word:
			c.arithText(sh, c.arithParts(sh, n.Parts))
			return false
		default:
			c.refuse("evaluates", "an arithmetic expression is not of bash", "")
		}
		return c.step()
	})
}

// counted notes that an operator may assign a number to its operand.
func (c *checker) counted(sh *shell, x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
		c.checkEnvName(w.Lit(), unknown, "(( ))")
		c.assign(sh, w.Lit(), number, false)
	}
}

// arithParts checks parts of a word and returns the text that they become in
// arithmetic, in which a number that is not known is its marker.
func (c *checker) arithParts(sh *shell, parts []syntax.WordPart) (s string) {
	x := expander{c: c, sh: sh}
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			s += p.Value
		case *syntax.SglQuoted:
			s += p.Value
		case *syntax.DblQuoted:
			s += c.arithParts(sh, p.Parts)
		case *syntax.ParamExp:
			switch value, many := x.param(p); {
			case !many && numeric(text(value)):
				s += value
			case p.Param != nil && (plainParam(p) || p.Index != nil && p.Exp == nil && p.Repl == nil):
				c.evaluate(p.Param.Value)
				s += number.s
			default:
				c.refuseArith("an expansion")
			}
		case *syntax.CmdSubst:
			out := strings.Trim(c.substitution(sh, p.Stmts).s, " \n")
			if s += out; !numeric(text(out)) {
				c.refuseArith("the output of a command")
			}
		case *syntax.ArithmExp:
			c.arith(sh, p.X)
			s += number.s
		default:
			c.refuseArith("an expansion")
		}
	}
	return s
}

func (c *checker) refuseArith(what string) {
	c.refuse("evaluates", "arithmetic evaluates "+what+" as an expression, which may run commands", "use a value that is assigned as a number")
}

// subscript checks a[x]: arithmetic, unless it is @ or *.
func (c *checker) subscript(sh *shell, x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); !ok || w.Lit() != "@" && w.Lit() != "*" {
		c.arith(sh, x)
	}
}

// arithText checks text that is evaluated as arithmetic after its quotes are
// gone: a number, the name of a variable, or an expression.
func (c *checker) arithText(sh *shell, s string) {
	switch {
	case strings.Trim(s, "0123456789 +-*/%()\x04") == "" || literalNumber().MatchString(s):
		return
	case syntax.ValidName(s):
		c.evaluate(s)
		return
	}
	if c.depth++; c.depth > maxDepth || strings.ContainsAny(s, "$`\"'\\\x03") || numberInName().MatchString(s) {
		c.refuseArith("the text " + s)
		c.depth--
		return
	}
	defer func() { c.depth-- }()
	s = strings.ReplaceAll(s, number.s, "1")
	x, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Arithmetic(strings.NewReader(s))
	if w, ok := x.(*syntax.Word); err != nil || x == nil || ok && w.Lit() == s {
		c.refuseArith("the text " + s)
		return
	}
	c.arith(sh, x)
}

var (
	// numberInName is the name of a variable that holds a number not known yet.
	numberInName = lazyregexp.New(`[A-Za-z_][A-Za-z_0-9]*\x04`)
	// literalNumber is a number, perhaps with a base as in 16#ff.
	literalNumber = lazyregexp.New(`^[0-9][0-9A-Za-z#@_]*$`)
)

// testExpr checks [[ ]].
func (c *checker) testExpr(sh *shell, x syntax.TestExpr) {
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.ParenTest:
		case *syntax.UnaryTest:
			if w, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) {
				c.varName(c.value(sh, w), "[[ -v ]]")
			}
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				for _, side := range []syntax.TestExpr{n.X, n.Y} {
					if w, ok := side.(*syntax.Word); ok {
						c.arithText(sh, c.arithParts(sh, w.Parts))
					}
				}
			}
		case *syntax.Word:
			c.value(sh, n)
			return false
		default:
			c.refuse("ambiguous", "[[ ]] holds an expression that is not known here", "")
		}
		return c.step()
	})
}
