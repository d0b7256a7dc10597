package command

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Request is a command to decide on.
type Request struct {
	// Command is the text that bash would get with -c.
	Command string
	// Dir is the absolute directory it would start in.
	Dir string
	// Env names the variables that the caller sets for it.
	Env []string
}

// Verdict is the decision on a request. The texts are single lines of at most
// a few hundred bytes.
type Verdict struct {
	Allowed bool
	// Rule is the list entry ("denied: rm") or built-in rule ("inline-code")
	// that decided; empty if the command is allowed.
	Rule string
	// Reason says what was checked and why it is refused.
	Reason string
	// Hint says what would be allowed.
	Hint string
	// Argv holds the simple commands found, as they would run, those behind
	// wrappers included; at most 256. Parts that are known only when the
	// command runs are shown as "…", globs as "*" and "?".
	Argv [][]string
	// Reads and Writes are absolute paths that the command names for reading
	// and writing, as far as they are known; at most 256 each.
	Reads, Writes []string
	// Plain is the argument list if the whole request is one simple command of
	// literal words, so that it can run without a shell; nil otherwise.
	Plain []string
}

// The limits of an analysis. What is over a limit is refused.
const (
	maxCommand = 32 << 10 // bytes of a request
	maxNesting = 40       // brackets within brackets
	maxDepth   = 12       // scripts within scripts, and functions within functions
	maxSteps   = 20_000   // commands and expansions looked at
	maxPaths   = 8_000    // looks at the file system for paths
	maxPath    = 1024     // bytes of a directory that cd is followed into
	maxListed  = 256      // entries of a list in a Verdict
	maxText    = 240      // bytes of a reason
)

// Decide tells whether the command of req may run. It never panics and takes
// at most some milliseconds, whatever the text. Without a list it may; what it
// names is told as far as the first part that cannot be decided.
func (p *Policy) Decide(req Request) (v Verdict) {
	defer func() {
		if recover() != nil { // a mistake in here or in the parser is no reason to run something, nor to end the server
			v = Verdict{Rule: brokenRule, Reason: "the command could not be checked, because of a mistake in the analysis", Hint: "write it in another way"}
		}
	}()
	if why := unfit(req.Command); why != "" {
		if !p.listed {
			return Verdict{Allowed: true}
		}
		return Verdict{Rule: "malformed", Reason: why, Hint: "send one command of plain UTF-8 text"}
	}
	vars := newVariables(req.Env)
	var c *checker
	var file *syntax.File
	for pass := 1; pass == 1 || vars.again; pass++ {
		vars.restart(pass)
		c = &checker{p: p, req: &req, paths: maxPaths, seen: map[string]string{}, active: map[*syntax.Stmt]int{}, vars: vars}
		file = c.run(&shell{dirs: []string{req.Dir}, pos: []arg{}, stdin: unknown}, req.Command, "the command", syntax.LangBash)
	}
	c.v.Allowed = !c.refused
	if !p.listed {
		c.v.Allowed, c.v.Rule, c.v.Reason, c.v.Hint = true, "", "", ""
	}
	if c.v.Allowed && file != nil {
		c.v.Plain = c.plain(file)
	}
	return c.v
}

// brokenRule is the rule of a refusal that should not be.
const brokenRule = "broken"

// unfit says why no shell should get this text at all, or returns "".
func unfit(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "the command is empty"
	case len(s) > maxCommand:
		return fmt.Sprintf("the command has %d bytes: at most %d are checked", len(s), maxCommand)
	case !utf8.ValidString(s):
		return "the command is not valid UTF-8"
	}
	depth, deepest := 0, 0
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b < ' ' && b != '\n' && b != '\t' || b == 0x7f:
			return fmt.Sprintf("the command holds the control character 0x%02x", b)
		case b == '(' || b == '{':
			depth++
			deepest = max(deepest, depth)
		case (b == ')' || b == '}') && depth > 0:
			depth--
		case b >= utf8.RuneSelf:
			if r, _ := utf8.DecodeRuneInString(s[i:]); unicode.Is(unicode.Bidi_Control, r) || r >= 0x80 && r < 0xa0 || r == 0xfeff {
				return fmt.Sprintf("the command holds the invisible character %U", r)
			}
		}
	}
	if deepest > maxNesting || strings.Count(s, `\\\\`) > 100 && strings.Contains(s, "`") {
		return fmt.Sprintf("the command nests brackets more than %d deep", maxNesting)
	}
	return ""
}

// ambiguous says where the parser and bash are known to read a text
// differently, or returns "". Both cases are about a backslash at the end of a
// line: bash lets it continue no comment, but it joins the halves of $( and <(.
func ambiguous(s string) string {
	for rest := s; ; {
		i := strings.Index(rest, "\\\n")
		if i < 0 {
			return ""
		}
		line := rest[:i]
		rest = rest[i+2:]
		line = line[strings.LastIndexByte(line, '\n')+1:]
		if line != "" && strings.IndexByte("$<>([{!@?*+`", line[len(line)-1]) >= 0 {
			return "a line ends within an operator"
		}
		for j := range len(line) {
			if line[j] == '#' && (j == 0 || strings.IndexByte(" \t;&|()<>`", line[j-1]) >= 0) {
				return "a line with a comment ends with a backslash"
			}
		}
	}
}

// run parses and walks a whole script that runs in sh. The file is nil if it
// was refused before it could be parsed.
func (c *checker) run(sh *shell, src, what string, language syntax.LangVariant) *syntax.File {
	if c.depth++; c.depth > maxDepth {
		c.refuse("too-complex", "scripts are nested more than "+fmt.Sprint(maxDepth)+" deep", "")
		return nil
	}
	defer func() { c.depth-- }()
	if why := ambiguous(src); why != "" {
		c.refuse("syntax", what+" is read in two ways: "+why, "put it on one line")
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(language)).Parse(strings.NewReader(src), "")
	if err != nil {
		c.refuse("syntax", what+" is not valid bash: "+err.Error(), "check the quoting; a command that cannot be parsed is refused")
		return nil
	}
	c.stmts(sh, file.Stmts)
	c.uncalled(sh, file)
	return file
}

// plain returns the arguments of file if it is one simple command of literals.
func (c *checker) plain(file *syntax.File) []string {
	if file == nil || len(file.Stmts) != 1 {
		return nil
	}
	st := file.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || st.Background || st.Coprocess || st.Disown || len(st.Redirs) > 0 || len(call.Assigns) > 0 {
		return nil
	}
	argv := make([]string, 0, len(call.Args))
	for _, w := range call.Args {
		s, ok := static(w)
		if !ok {
			return nil
		}
		argv = append(argv, s)
	}
	if c.p.builtin(argv[0]) && argv[0] != "true" && argv[0] != "false" || argv[0] == "" {
		return nil // true and false are no different as programs
	}
	return argv
}
