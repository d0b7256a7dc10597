package command

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// checker walks the text of a request. After the first refusal it goes on as little as it can.
type checker struct {
	outputs
	declared bool                 // a function was declared
	active   map[*syntax.Stmt]int // how often the bodies of functions are being checked; 0 for done
}

func newChecker(p *Policy, dir string, vars *variables) *checker {
	found := &files{decision: &decision{p: p}, dir: dir, looks: maxPaths, seen: map[string]string{}, asked: map[asked]bool{}}
	return &checker{outputs: outputs{files: found, vars: vars, fed: map[string]printed{}}, active: map[*syntax.Stmt]int{}}
}

// run parses and walks a whole script that runs in sh. The file is nil if it
// was refused before it could be parsed.
func (c *checker) run(sh *shell, src, what string, language syntax.LangVariant) (file *syntax.File) {
	c.deeper("scripts are nested more than "+fmt.Sprint(maxDepth)+" deep", func() {
		if strings.Contains(src, "\\\n") && ambiguous().MatchString(src) {
			c.refuse("ambiguous", what+" is read in two ways: a line ends with a backslash after a comment or within an operator", "put it on one line")
			return
		}
		parsed, err := syntax.NewParser(syntax.Variant(language)).Parse(strings.NewReader(src), "")
		if err != nil {
			c.refuse("syntax", what+" is not valid bash: "+err.Error(), "check the quoting; a command that cannot be parsed is refused")
			return
		}
		file = parsed
		c.stmts(sh, file.Stmts)
		c.uncalled(sh, file)
	})
	return file
}

// maxUnrolled bounds the items of a for loop that are checked one by one.
const maxUnrolled = 32

func (c *checker) stmts(sh *shell, list []*syntax.Stmt) (out printed) {
	for _, st := range list {
		out = c.stmt(sh, st)
	}
	return out
}

// branch checks statements that may or may not run.
func (c *checker) branch(sh *shell, list []*syntax.Stmt) {
	inner := *sh
	c.stmts(&inner, list)
	sh.merge(&inner)
}

// substitution checks $( ) and returns what is known of the text that it becomes.
func (c *checker) substitution(sh *shell, list []*syntax.Stmt) arg {
	if !c.step() {
		return unknown
	}
	inner := *sh
	out := c.captured(&inner, list)
	c.listed(sh, out)
	return c.output(out)
}

// captured checks statements, and returns what prints their output.
func (c *checker) captured(sh *shell, list []*syntax.Stmt) printed {
	outer := c.said
	c.said = nil
	out := c.stmts(sh, list)
	if len(list) != 1 || len(out.argv) == 0 {
		out = printed{some: c.said}
	}
	c.said = outer
	return out
}

// stmt checks one statement and returns what prints its output.
func (c *checker) stmt(sh *shell, st *syntax.Stmt) (out printed) {
	if !c.step() {
		return out
	}
	if st.Background || st.Coprocess || st.Disown {
		inner := *sh
		sh = &inner
	}
	stdin := sh.stdin
	for _, r := range st.Redirs {
		if c.step() {
			c.redir(sh, r)
		}
	}
	redirected := sh.stdin != stdin
	out = c.command(sh, st)
	// What was read is gone, and a redirection of exec stays.
	if sh.stdin = stdin; redirected || stdin.exact() {
		sh.stdin = unknown
	}
	for _, r := range st.Redirs {
		if r.Op != syntax.RdrIn && r.Op != syntax.WordHdoc && r.Op != syntax.Hdoc && (r.N == nil || r.N.Value != "2") {
			return printed{}
		}
	}
	if len(out.argv) > 0 && len(c.said) < maxListed {
		c.said = append(c.said, out)
	}
	return out
}

// command checks a command. Every kind is listed; one that is not known is refused.
func (c *checker) command(sh *shell, st *syntax.Stmt) (out printed) {
	switch cmd := st.Cmd.(type) {
	case nil: // $(< file)
		return printed{argv: []arg{text("cat")}, in: sh.stdin}
	case *syntax.CallExpr:
		return printed{argv: c.call(sh, cmd, st.Redirs), in: sh.stdin}
	case *syntax.BinaryCmd:
		switch cmd.Op {
		case syntax.Pipe, syntax.PipeAll:
			return c.pipe(sh, cmd)
		case syntax.AndStmt:
			c.and(sh, cmd)
		default:
			c.stmt(sh, cmd.X)
			c.branch(sh, []*syntax.Stmt{cmd.Y})
		}
	case *syntax.Block:
		c.stmts(sh, cmd.Stmts)
	case *syntax.Subshell:
		inner := *sh
		c.stmts(&inner, cmd.Stmts)
	case *syntax.IfClause:
		for ; cmd != nil; cmd = cmd.Else {
			c.branch(sh, cmd.Cond)
			c.branch(sh, cmd.Then)
		}
	case *syntax.WhileClause:
		c.loop(sh, slices.Concat(cmd.Cond, cmd.Do))
	case *syntax.ForClause:
		c.forLoop(sh, cmd)
	case *syntax.CaseClause:
		c.value(sh, cmd.Word)
		for _, item := range cmd.Items {
			for _, w := range item.Patterns {
				c.value(sh, w)
			}
			c.branch(sh, item.Stmts)
		}
	case *syntax.FuncDecl:
		c.declareFunc(sh, cmd)
	case *syntax.ArithmCmd:
		arithmetic{c, sh}.expr(cmd.X)
	case *syntax.LetClause:
		c.check(sh, []arg{text("let")}, byName)
		for _, x := range cmd.Exprs {
			arithmetic{c, sh}.expr(x)
		}
	case *syntax.TestClause:
		arithmetic{c, sh}.test(cmd.X)
	case *syntax.DeclClause:
		c.decl(sh, cmd)
	case *syntax.TimeClause:
		if cmd.Stmt == nil {
			return out
		}
		if call, ok := cmd.Stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && strings.HasPrefix(call.Args[0].Lit(), "-") {
			c.refuse("ambiguous", "an option follows time, which bash reads apart from the command", "leave "+quote(call.Args[0].Lit())+" out")
			return out
		}
		c.stmt(sh, cmd.Stmt)
	case *syntax.CoprocClause:
		if cmd.Name != nil { // bash may run that word, and there may be a variable of that name
			c.refuse("ambiguous", "coproc with a name is read in two ways", "leave the name out, and put braces around the command")
		}
		inner := *sh
		c.stmt(&inner, cmd.Stmt)
	default:
		c.refuse("ambiguous", "the command uses a shell construct that is not known here", "")
	}
	return out
}

// pipe checks a | b, the second with what the first prints.
func (c *checker) pipe(sh *shell, b *syntax.BinaryCmd) printed {
	left := *sh
	in := c.captured(&left, []*syntax.Stmt{b.X})
	if b.Op == syntax.PipeAll {
		in = printed{}
	}
	call, simple := b.Y.Cmd.(*syntax.CallExpr)
	if !simple || len(call.Args) > 0 && strings.Contains(" xargs parallel cpio tar rsync ", " "+call.Args[0].Lit()+" ") {
		c.listed(sh, in)
	}
	right := *sh
	right.stdin = c.output(in)
	out := c.stmt(&right, b.Y)
	sh.merge(&right) // lastpipe may be on
	return out
}

// and checks a && b, and returns the shell where both succeeded, in which a cd
// has happened. A chain is nested to the left.
func (c *checker) and(sh *shell, b *syntax.BinaryCmd) shell {
	inner := *sh
	x := b.X
	if left, ok := x.Cmd.(*syntax.BinaryCmd); ok && left.Op == syntax.AndStmt && len(x.Redirs) == 0 && !x.Negated && !x.Background {
		inner = c.and(sh, left)
	} else {
		c.succeed(&inner, x)
		sh.vars, sh.funcs = inner.vars, inner.funcs
		sh.merge(&inner)
	}
	c.succeed(&inner, b.Y)
	sh.merge(&inner)
	return inner
}

// succeed checks st and leaves sh as it is where st succeeded.
func (c *checker) succeed(sh *shell, st *syntax.Stmt) {
	before := sh.dirs
	c.stmt(sh, st)
	if call, ok := st.Cmd.(*syntax.CallExpr); ok && !st.Negated && len(call.Args) == 2 && call.Args[0].Lit() == "cd" && len(sh.dirs) > len(before) {
		sh.dirs = sh.dirs[len(before):]
	}
}

// loop checks a body that runs any number of times.
func (c *checker) loop(sh *shell, body []*syntax.Stmt) {
	inner := *sh
	c.stmts(&inner, body)
	if !slices.Equal(inner.dirs, sh.dirs) && !c.refused {
		inner = *sh
		inner.dirs = nil
		c.stmts(&inner, body)
	}
	sh.merge(&inner)
}

func (c *checker) forLoop(sh *shell, f *syntax.ForClause) {
	iter, ok := f.Loop.(*syntax.WordIter)
	if !ok {
		cs := f.Loop.(*syntax.CStyleLoop)
		for _, x := range []syntax.ArithmExpr{cs.Init, cs.Cond, cs.Post} {
			arithmetic{c, sh}.expr(x)
		}
		c.loop(sh, f.Do)
		return
	}
	items := c.words(sh, iter.Items)
	if !iter.InPos.IsValid() {
		if items = c.vars.parameters(sh); items == nil {
			items = []arg{unknowns}
		}
	}
	name := iter.Name.Value
	c.checkEnvName(name, unknown, "for")
	c.vars.place = f
	if f.Select || len(items) > maxUnrolled || c.vars.blind || c.vars.get(name).many { // else the body is checked with each
		c.named(sh, nil, nil, items)
	}
	if f.Select || len(items) > maxUnrolled {
		c.vars.assign(sh, name, unknown, true)
		c.loop(sh, f.Do)
		return
	}
	for _, item := range items {
		inner := *sh
		c.vars.place = f
		c.vars.assign(&inner, name, text(item.s), true)
		c.stmts(&inner, f.Do)
		sh.merge(&inner)
	}
}

// redir checks a redirection against the path policy and notes what standard input becomes.
func (c *checker) redir(sh *shell, r *syntax.Redirect) {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		name := strings.Trim(r.N.Value, "{}")
		c.checkEnvName(name, unknown, "redirection")
		c.vars.place = r
		c.vars.assign(sh, name, number, false)
	}
	stdin, input := unknown, r.N == nil || r.N.Value == "0"
	switch r.Op {
	case syntax.RdrIn:
		stdin = c.output(c.fed[c.target(sh, r.Word, false)])
	case syntax.RdrInOut, syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		input = input && (r.N != nil || r.Op == syntax.RdrInOut)
		c.target(sh, r.Word, true)
	case syntax.DplIn, syntax.DplOut:
		input = input && (r.N != nil || r.Op == syntax.DplIn)
		if lit, ok := r.Word.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "-") && (lit.Value != "-" || len(r.Word.Parts) > 1) {
			c.refuse("ambiguous", "a word is glued to >&-, which bash reads apart", "put a space after >&-")
		} else if !numeric(c.value(sh, r.Word)) {
			c.target(sh, r.Word, true)
		}
		stdin = c.output(c.fed["/dev/fd/"+r.Word.Lit()])
	case syntax.WordHdoc:
		stdin = c.value(sh, r.Word)
	case syntax.Hdoc, syntax.DashHdoc:
		stdin = c.hereDoc(sh, r)
	default:
		c.refuse("ambiguous", "a redirection is not of bash", "")
	}
	if input {
		sh.stdin = stdin
	} else if r.N != nil {
		c.fed["/dev/fd/"+r.N.Value] = printed{argv: []arg{text("cat")}, in: stdin}
	}
}

// hereDoc returns the text of a here-document.
func (c *checker) hereDoc(sh *shell, r *syntax.Redirect) arg {
	if r.Hdoc == nil {
		return text("")
	}
	c.value(sh, r.Word)
	for _, part := range r.Word.Parts {
		if q, ok := part.(*syntax.SglQuoted); ok && q.Dollar && strings.Contains(q.Value, `\`) { // the parser looks for it as it is written
			c.refuse("ambiguous", "the end of a here-document is spelled in escapes, which are read in two ways", "write its letters out")
		}
	}
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

// target checks the file of a redirection, and returns it.
func (c *checker) target(sh *shell, w *syntax.Word, write bool) (file string) {
	for _, a := range c.word(sh, w) {
		file = a.s
		if strings.HasPrefix(a.s, "/dev/tcp/") || strings.HasPrefix(a.s, "/dev/udp/") {
			c.refuse("network", "the redirection "+show(a.s)+" opens a network connection", "")
			return ""
		}
		c.path(sh, a, "the redirection", write)
	}
	return file
}
