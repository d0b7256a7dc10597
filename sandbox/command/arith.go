package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// arithmetic is what is evaluated as arithmetic in a shell. Bash evaluates the values of the variables in it as expressions again,
// with command substitution in subscripts, so a variable that may hold more than a number is refused.
type arithmetic struct {
	*checker
	sh *shell
}

// expr checks an arithmetic expression.
func (a arithmetic) expr(x syntax.ArithmExpr) {
	if x == nil || !a.step() {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.ParenArithm:
		case *syntax.BinaryArithm:
			a.counted(n.X)
		case *syntax.UnaryArithm:
			a.counted(n.X)
		case *syntax.Word:
			a.text(a.parts(n.Parts))
			return false
		default:
			a.refuse("evaluates", "an arithmetic expression is not of bash", "")
		}
		return a.step()
	})
}

// counted notes that an operator may assign a number to its operand.
func (a arithmetic) counted(x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
		a.checkEnvName(w.Lit(), unknown, "(( ))")
		a.vars.assign(a.sh, w.Lit(), number, false)
	}
}

// parts checks parts of a word and returns the text that they become in
// arithmetic, in which a number that is not known is its marker.
func (a arithmetic) parts(parts []syntax.WordPart) (s string) {
	x := expander{c: a.checker, sh: a.sh}
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			s += p.Value
		case *syntax.SglQuoted:
			s += p.Value
		case *syntax.DblQuoted:
			s += a.parts(p.Parts)
		case *syntax.ParamExp:
			switch value, many := x.param(p); {
			case !many && numeric(text(value)):
				s += value
			case p.Param != nil && (plainParam(p) || p.Index != nil && p.Exp == nil && p.Repl == nil):
				a.evaluate(p.Param.Value)
				s += number.s
			default:
				a.refuseValue("an expansion")
			}
		case *syntax.CmdSubst:
			out := strings.Trim(a.substitution(a.sh, p.Stmts).s, " \n")
			if s += out; !numeric(text(out)) {
				a.refuseValue("the output of a command")
			}
		case *syntax.ArithmExp:
			a.expr(p.X)
			s += number.s
		default:
			a.refuseValue("an expansion")
		}
	}
	return s
}

func (a arithmetic) refuseValue(what string) {
	a.refuse("evaluates", "arithmetic evaluates "+what+" as an expression, which may run commands", "use a value that is assigned as a number")
}

// subscript checks a[x]: arithmetic, unless it is @ or *.
func (a arithmetic) subscript(x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); !ok || w.Lit() != "@" && w.Lit() != "*" {
		a.expr(x)
	}
}

// text checks text that is evaluated as arithmetic after its quotes are
// gone: a number, the name of a variable, or an expression.
func (a arithmetic) text(s string) {
	switch {
	case strings.Trim(s, "0123456789 +-*/%()\x04") == "" || literalNumber().MatchString(s):
		return
	case syntax.ValidName(s):
		a.evaluate(s)
		return
	}
	if a.depth++; a.depth > maxDepth || strings.ContainsAny(s, "$`\"'\\\x03") || numberInName().MatchString(s) {
		a.refuseValue("the text " + s)
		a.depth--
		return
	}
	defer func() { a.depth-- }()
	s = strings.ReplaceAll(s, number.s, "1")
	x, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Arithmetic(strings.NewReader(s))
	if w, ok := x.(*syntax.Word); err != nil || x == nil || ok && w.Lit() == s {
		a.refuseValue("the text " + s)
		return
	}
	a.expr(x)
}

var (
	// numberInName is the name of a variable that holds a number not known yet.
	numberInName = lazyregexp.New(`[A-Za-z_][A-Za-z_0-9]*\x04`)
	// literalNumber is a number, perhaps with a base as in 16#ff.
	literalNumber = lazyregexp.New(`^[0-9][0-9A-Za-z#@_]*$`)
)

// test checks [[ ]].
func (a arithmetic) test(x syntax.TestExpr) {
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.ParenTest:
		case *syntax.UnaryTest:
			if w, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) {
				a.varName(a.value(a.sh, w), "[[ -v ]]")
			}
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				for _, side := range []syntax.TestExpr{n.X, n.Y} {
					if w, ok := side.(*syntax.Word); ok {
						a.text(a.parts(w.Parts))
					}
				}
			}
		case *syntax.Word:
			a.value(a.sh, n)
			return false
		default:
			a.refuse("ambiguous", "[[ ]] holds an expression that is not known here", "")
		}
		return a.step()
	})
}

// evaluate notes that arithmetic evaluates the value of the variable as an
// expression, and refuses if that may be more than a number.
func (a arithmetic) evaluate(name string) {
	v := a.vars.get(name)
	v.read = true
	if (v.text || specialVar(name) || !syntax.ValidName(name)) && !isListed("numeric variables", name, number) {
		a.refuseValue(name)
	}
}
