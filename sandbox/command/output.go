package command

import (
	"cmp"
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// outputs knows what commands print.
type outputs struct {
	*files
	vars *variables
	said []printed          // the commands so far whose output is captured
	fed  map[string]printed // what the files of process substitutions hold
}

// printed is a simple command whose output is wanted, with what it reads, or some of those that print it. The zero value
// prints what is not known.
type printed struct {
	argv []arg
	in   arg
	some []printed
}

//go:embed outputs.txt
var outputLines string

// printing is a line of outputs.txt, whose head describes the notation.
type printing struct {
	output  arg // nothing for input
	command *regexp.Regexp
}

var printings = sync.OnceValue(func() (table []printing) {
	many := func(s string) arg { return arg{s: s, many: true} }
	known := map[string]arg{"number": number, "numbers": many(number.s), "token": token, "below": many("./\x06"), "names": many("\x01")}
	operand := `(?:\.(?:[^.\x00][^\x00]*)?|[^-.\x00-\x03\x07][^\x00]*)?`
	notation := strings.NewReplacer(" _*", `(?:\x00\x07?`+operand+`)*`, " _", `\x00`+operand, " **", `(?s:\x00.*)?`, " ", `\x00`, "#", `\x07`)
	for line := range strings.Lines(outputLines) {
		if output, commands, row := strings.Cut(strings.TrimSpace(line), " | "); row && line[0] != '#' {
			table = append(table, printing{known[output], regexp.MustCompile(`^(?:` + notation.Replace(commands) + `)$`)})
		}
	}
	return table
})

// output returns what is known of the text that a command prints, without trailing newlines.
func (o *outputs) output(p printed) arg {
	if len(p.argv) == 0 || o.refused {
		lines := []string{unknown.s} // in which further ones are found
		for _, q := range p.some {
			if out := o.output(q).s; out != unknown.s {
				lines = append(lines, out)
			}
		}
		return text(strings.Join(lines, "\n"))
	}
	words := make([]string, len(p.argv))
	for i, a := range p.argv {
		words[i] = a.s
		if a.many {
			words[i] = "\x07" + a.s // of which there may be many
		}
	}
	line := strings.Join(words, "\x00")
	switch args := p.argv[1:]; p.argv[0].s {
	case "echo", "printf":
		return echoed(p.argv[0].s, args)
	case "find":
		if s := newSearch(args); s.starts[0].s != "" && s.starts[0].s[0] != '-' {
			return s.output()
		}
		return unknown
	case "mktemp":
		if (len(args) == 0 || len(args) == 1 && args[0].is("-d")) && o.vars.untouched("TMPDIR") {
			return text(strings.TrimSuffix(cmp.Or(o.p.Temp, "/tmp"), "/") + "/tmp.\x01")
		}
		return unknown
	}
	for _, row := range printings() {
		if row.command.MatchString(line) {
			if row.output.s == "" && (markAt(p.in.s) >= 0 || p.argv[0].is("cat")) {
				return p.in
			}
			return cmp.Or(row.output, text(unknown.s+"\n"+p.in.s)) // of which it prints a part
		}
	}
	return unknown
}

// echoed returns what echo and printf print. Where that depends on the shell, or a format, it is a line after what is
// not known.
func echoed(name string, args []arg) arg {
	out := join(args)
	option := name == "echo" && len(args) > 0 && args[0].maybeOption()
	switch {
	case name == "printf" && len(args) == 2 && !out.many && (args[0].is("%s") || args[0].is(`%s\n`)):
		return args[1]
	case name == "printf" && (len(args) > 1 || strings.ContainsAny(out.s, `%\`)):
		return text(unknown.s + "\n" + formatted(args))
	case option && args[0].is("-n"):
		return echoed(name, args[1:])
	case option || strings.Contains(out.s, `\`):
		return text(unknown.s + "\n" + out.s + "\n" + unescape(out.s))
	case out.many:
		return unknown
	}
	return out
}

// formatted returns what printf makes of a format and arguments.
func formatted(args []arg) (s string) {
	format, args := args[0].s, args[1:]
	for more := true; more; more = more && len(args) > 0 {
		more = false
		s += directive().ReplaceAllStringFunc(format, func(d string) (value string) {
			if d == "%%" {
				return "%"
			}
			if more = true; len(args) > 0 {
				value, args = args[0].s, args[1:]
			}
			return value
		})
	}
	return unescape(s)
}

// directive matches a directive of a format of printf.
var directive = lazyregexp.New(`%[^a-zA-Z%]*[a-zA-Z%]`)

// unescape decodes the backslashes of a $'...' string as bash does, which are nearly those of echo and printf. A NUL
// ends the text. Bytes that are markers, and characters that depend on the language, become unknown.
func unescape(s string) string {
	var b strings.Builder
	for {
		plain, rest, found := strings.Cut(s, `\`)
		b.WriteString(plain)
		if !found || rest == "" {
			return b.String() + s[len(plain):]
		}
		kind, code := rest[0], uint64(rest[0])
		s = rest[1:]
		number := func(base, most int) bool {
			n := min(most, len(s)-len(strings.TrimLeft(s, "0123456789abcdefABCDEF"[:base+base/16*6])))
			if n > 0 {
				code, _ = strconv.ParseUint(s[max(0, n-8):n], base, 64)
			}
			s = s[n:]
			return n > 0
		}
		switch i := strings.IndexByte(`abeEfnrtv\'"?`, kind); {
		case i >= 0:
			code = uint64("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[i])
		case kind >= '0' && kind <= '7':
			s = rest
			number(8, 3)
		case kind == 'x' && strings.HasPrefix(s, "{"):
			s, code = s[1:], 0
			number(16, len(s))
			s = strings.TrimPrefix(s, "}")
		case kind == 'x' && number(16, 2), kind == 'u' && number(16, 4), kind == 'U' && number(16, 8):
		case kind == 'c' && s != "":
			if code = uint64(s[0] & 0x1f); s[0] == '?' {
				code = 0x7f
			}
			if s = s[1:]; strings.HasPrefix(rest[1:], `\\`) {
				s = s[1:]
			}
		default:
			b.WriteByte('\\')
		}
		switch wide := kind == 'u' || kind == 'U'; {
		case wide && code > 0x7f, marker(byte(code)), byte(code) == '\a': // \a is one in output
			b.WriteString(unknown.s)
		case byte(code) == 0:
			return b.String()
		default:
			b.WriteByte(byte(code))
		}
	}
}

// listed checks what a program prints that only looks at names, where another one takes that for names.
func (o *outputs) listed(sh *shell, p printed) {
	for _, q := range p.some {
		o.listed(sh, q)
	}
	if len(p.argv) == 0 {
		return
	}
	s := o.p.programs[p.argv[0].s]
	if s != nil && s.sub && len(p.argv) > 1 {
		s = o.p.programs[p.argv[0].s+" "+p.argv[1].s]
	}
	if out := o.output(p); s.is("l", "t") && !out.exact() && !numeric(out) && !strings.Contains(out.s, "\n") {
		o.named(sh, nil, nil, p.argv[1:])
	}
}

// substituted checks what the files of process substitutions hold, where that is names or code.
func (o *outputs) substituted(sh *shell, args []arg) {
	for _, a := range args {
		if p, ok := o.fed[a.s[max(0, strings.Index(a.s, "/dev/fd/")):]]; ok {
			o.listed(sh, p)
			o.spelled(sh, o.output(p).s, "a process substitution")
		}
	}
}
