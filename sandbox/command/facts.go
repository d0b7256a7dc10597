package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// facts are what a look over the whole script tells before it is walked.
type facts struct {
	// assigned counts the places that may assign a variable.
	assigned map[string]int
	// tainted names variables that may hold more than a number.
	tainted map[string]bool
	// dynamic: code comes from strings (eval, trap), so that the counts may
	// miss assignments and no variable is taken as constant.
	dynamic bool
	// shifting: positional parameters change on the way.
	shifting bool
}

// dynamicWords are the builtins that run strings as code in their own shell or
// assign variables under other names. A walk that meets one in a script that
// does not spell its name refuses.
var dynamicWords = [...]string{"eval", "trap", "source", "mapfile", "readarray", "getopts"}

func gather(src string, file *syntax.File, env []string) *facts {
	f := &facts{}
	if !strings.ContainsAny(src, "$([") && !strings.Contains(src, "let") && !strings.Contains(src, "declare") && !strings.Contains(src, "typeset") {
		return f
	}
	f.dynamic = hasDynamic(src)
	f.shifting = strings.Contains(src, "shift") || strings.Contains(src, "set") || strings.Contains(src, "getopts")
	f.assigned, f.tainted = map[string]int{}, map[string]bool{}
	for _, name := range env {
		f.tainted[name] = true
	}
	depends := map[string][]string{}
	syntax.Walk(file, func(n syntax.Node) bool {
		f.visit(n, depends)
		return true
	})
	for range len(depends) { // until taint has flowed through x=$y
		changed := false
		for name, from := range depends {
			for _, v := range from {
				if f.tainted[v] && !f.tainted[name] {
					f.tainted[name], changed = true, true
				}
			}
		}
		if !changed {
			break
		}
	}
	return f
}

func hasDynamic(src string) bool {
	for _, w := range dynamicWords {
		if strings.Contains(src, w) {
			return true
		}
	}
	return false
}

func (f *facts) assign(name string, tainted bool) {
	f.assigned[name]++
	if tainted {
		f.tainted[name] = true
	}
}

func (f *facts) visit(n syntax.Node, depends map[string][]string) {
	switch n := n.(type) {
	case *syntax.Assign:
		if n.Name == nil {
			break
		}
		deps, numeric := sources(n)
		f.assign(n.Name.Value, !numeric)
		if n.Naked || n.Array != nil || n.Index != nil || n.Append {
			f.assign(n.Name.Value, !numeric)
		}
		for _, d := range deps {
			if list := depends[n.Name.Value]; !contains(list, d) {
				depends[n.Name.Value] = append(list, d)
			}
		}
	case *syntax.WordIter:
		numeric := true
		for _, w := range n.Items {
			numeric = numeric && numericWord(w)
		}
		f.assign(n.Name.Value, !numeric || len(n.Items) == 0)
	case *syntax.BinaryArithm:
		if w, ok := n.X.(*syntax.Word); ok && w.Lit() != "" {
			f.assign(w.Lit(), false)
		}
	case *syntax.UnaryArithm:
		if w, ok := n.X.(*syntax.Word); ok && w.Lit() != "" && (n.Op == syntax.Inc || n.Op == syntax.Dec) {
			f.assign(w.Lit(), false)
		}
	case *syntax.ParamExp:
		if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			f.assign(n.Param.Value, true)
		}
	case *syntax.Redirect:
		if n.N != nil {
			f.assign(strings.Trim(n.N.Value, "{}"), false)
		}
	case *syntax.CoprocClause:
		f.dynamic = true
	case *syntax.DeclClause:
		f.decl(n)
	case *syntax.CallExpr:
		f.call(n)
	}
}

// decl notes what a declaration does to constancy: an option may change how
// values are stored (-l) or where (-n); naming a variable to export it does not.
func (f *facts) decl(n *syntax.DeclClause) {
	for _, a := range n.Args {
		switch {
		case a.Name == nil:
			opt, ok := static(a.Value)
			f.dynamic = f.dynamic || !ok || strings.HasPrefix(opt, "-") && strings.Contains(opt, "n")
		case a.Naked && a.Index == nil && (n.Variant.Value == "export" || n.Variant.Value == "readonly"):
			f.assigned[a.Name.Value] -= 2
		}
	}
}

// call notes the variables that a builtin is told to assign.
func (f *facts) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	name, ok := static(n.Args[0])
	switch name {
	case ".":
		f.dynamic = true
		return
	case "", "read", "command", "builtin", "export", "declare", "typeset", "local", "readonly", "unset", "let", "printf", "wait", "exec":
	default:
		return
	}
	for i, w := range n.Args[1:] {
		s, known := static(w)
		if !known && name != "printf" && name != "exec" || !known && i == 0 || name == "builtin" && s == "." {
			f.dynamic = f.dynamic || ok
			continue
		}
		if varName := s[:nameLen(s)]; varName != "" && (name != "printf" || i < 3) {
			f.assign(varName, true)
		}
	}
}

// sources tells what the value of an assignment is made of: whether it is a
// number, given that the variables in deps are.
func sources(a *syntax.Assign) (deps []string, numeric bool) {
	switch {
	case a.Array != nil:
		for _, e := range a.Array.Elems {
			if e.Value != nil && !numericWord(e.Value) {
				return nil, false
			}
		}
		return nil, true
	case a.Value == nil:
		return nil, a.Naked
	case len(a.Value.Parts) == 1:
		part := a.Value.Parts[0]
		if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
			part = q.Parts[0]
		}
		if p, ok := part.(*syntax.ParamExp); ok && plainParam(p) && syntax.ValidName(p.Param.Value) {
			return []string{p.Param.Value}, true
		}
	}
	return nil, numericWord(a.Value)
}

// numericWord reports whether w can only expand to a number, or to nothing.
func numericWord(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.Trim(part.Value, "-+0123456789{}.,") != "" {
				return false
			}
		case *syntax.SglQuoted:
			if strings.Trim(part.Value, "0123456789") != "" {
				return false
			}
		case *syntax.DblQuoted:
			if !numericWord(&syntax.Word{Parts: part.Parts}) {
				return false
			}
		case *syntax.ArithmExp:
		case *syntax.ParamExp:
			if !part.Length && !numberVar(part.Param.Value) {
				return false
			}
		case *syntax.CmdSubst:
			if !printsNumber(part.Stmts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
