package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// sedOperands checks the files of sed, which -i writes.
func (u *use) sedOperands() {
	ops := u.in.operands
	if o, ok := u.in.option("i"); ok && !o.has && len(ops) > 0 && ops[0].is("") {
		ops = ops[1:] // BSD: -i ''
	}
	if !u.drop && len(ops) > 0 {
		u.sed(ops[0], "")
		ops = ops[1:]
	}
	for _, a := range ops {
		u.c.path(u.sh, a, "sed operand", u.in.given("i", "in-place"))
	}
}

// program returns the text of a sed or awk script, or refuses if it is not known.
func (u *use) program(script arg) (s string, known bool) {
	s = strings.ReplaceAll(script.s, number.s, "1")
	if script.many || markAt(s) >= 0 {
		u.c.spelled(u.sh, s, "the script of "+u.name)
		u.c.refuse("computed", "the script "+quote(show(script.s))+" of "+u.name+" is known only when it runs", "put the script in single quotes")
		return "", false
	}
	return s, true
}

// The parts of a sed script: addresses, commands that run nothing, those that
// name a file, and what follows s/a/b/.
var (
	sedAddresses = pattern(`^(?:` + sedAddress + `)?(?:[ \t]*,[ \t]*(?:` + sedAddress + `)?)?[ \t!]*`)
	sedCommand   = pattern(`^(?:[{}=dDgGhHnNpPxzF]|#[^\n]*|[:btT][ \t]*[^ \t\n;}]*|[lLqQ][ \t0-9]*|[aic](?:[^\\\n]|\\[^\n]|\\\n)*\\?)`)
	sedFile      = pattern(`^[rRwW]([^\n]*)`)
	sedFlags     = pattern(`^[gpiImM0-9]*(?:w([^\n]*))?`)
	sedBracket   = pattern(`^` + bracketExpr)
)

const sedAddress = `[0-9+~$][0-9~]*|/(?:[^/\\\n\[]|\\.|` + bracketExpr + `)*/[IM]*`

const bracketExpr = `\[\^?\]?(?:\[[:.=][^\]\n]*[:.=]\]|[^\]\n])*\]`

// sed checks a sed script, read as GNU sed does: its e command and flag run
// programs, w and r name files. A script that is not understood counts as code.
func (u *use) sed(script arg, _ string) {
	s, known := u.program(script)
	for rest := s; known; {
		if rest = strings.TrimLeft(rest, " \t\n;{}"); rest == "" {
			return
		}
		rest = rest[len(sedAddresses().FindString(rest)):]
		length := len(sedCommand().FindString(rest))
		if file := sedFile().FindStringSubmatch(rest); file != nil {
			length = len(file[0])
			u.c.path(u.sh, text(strings.TrimSpace(file[1])), "sed "+rest[:1], rest[0]|0x20 == 'w')
		} else if length == 0 {
			length = delimited(rest)
		}
		if length > 0 && rest[0] == 's' {
			flags := sedFlags().FindStringSubmatch(rest[length:])
			if length += len(flags[0]); flags[1] != "" {
				u.write(text(strings.TrimSpace(flags[1])), "s///w")
			}
			if length < len(rest) && !strings.Contains(" \t\n;}#", rest[length:length+1]) {
				length = 0
			}
		}
		if length == 0 {
			u.c.spelled(u.sh, s, "the script of sed")
			u.inlineCode("script " + quote(s))
			return
		}
		rest = rest[length:]
	}
}

// delimited returns the length of s/a/b/ or y/a/b/ at the start of s, or 0.
func delimited(s string) int {
	if len(s) < 2 || s[0] != 's' && s[0] != 'y' || s[1] == '\\' || s[1] == '\n' {
		return 0
	}
	delim, parts := s[1], 0
	for i := 2; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == delim:
			if parts++; parts == 2 {
				return i + 1
			}
		case s[i] == '[' && s[0] == 's' && parts == 0:
			i += max(0, len(sedBracket().FindString(s[i:]))-1)
		}
	}
	return 0
}

// awkOperands checks the files of awk.
func (u *use) awkOperands() {
	ops := u.in.operands
	if !u.drop && len(ops) > 0 {
		u.awk(ops[0], "")
		ops = ops[1:]
	}
	for _, a := range ops {
		if name, _, ok := strings.Cut(a.s, "="); ok && syntax.ValidName(name) {
			continue
		}
		u.read(a, "operand")
	}
}

var (
	awkToken = pattern(`^(?:[ \t\r]+|#[^\n]*|\\(?s:.)|"(?:[^"\\\n]|\\(?s:.))*"|[A-Za-z_][A-Za-z_0-9]*|[0-9]+|\|\||\|&|>>|&&|\+\+|--|[^"/])`)
	// awkPattern is a pattern; implementations differ on a slash in brackets.
	awkPattern = pattern(`^/(?:[^/\\\n\[]|\\(?s:.)|\[\^?\]?(?:[^\]/\\\n]|\\(?s:.))*\])*/`)
	// awkValue is a token that a value may end with, so that a slash divides.
	awkValue = pattern(`(?s)^(?:["$)\].0-9A-Za-z_].*|/.+|\+\+|--)$`)
	// awkMatters finds what runs programs or names files.
	awkMatters = pattern(`[|@>]|system|getline`)
	// awkOpens finds what opens files and other programs.
	awkOpens = pattern(`[|@]|print[^;}]*>|system|getline|ARGV`)
	// awkKeyword is one after which a slash begins a pattern.
	awkKeyword = pattern(`^(?:print|printf|return|in|else|do|getline|delete|case|exit)$`)
)

// awkTokens splits an awk program; ok is false where it is not understood.
func awkTokens(s string) (tokens []string, ok bool) {
	last := ""
	for rest := s; rest != ""; {
		token := awkToken().FindString(rest)
		if token == "" && rest[0] == '/' {
			if awkValue().MatchString(last) && !awkKeyword().MatchString(last) {
				token = "/"
				if strings.Contains(" ++ -- length ) ", " "+last+" ") && awkMatters().MatchString(s) {
					return nil, false // it reads both ways
				}
			} else {
				token = awkPattern().FindString(rest)
			}
		}
		if token == "" {
			return nil, false
		}
		rest = rest[len(token):]
		if !strings.Contains(" \t\r#\\", token[:1]) {
			last = token
			tokens = append(tokens, token)
		}
	}
	return tokens, true
}

// awk checks an awk program: system(), pipes and indirect calls run programs,
// print > and getline < name files.
func (u *use) awk(script arg, _ string) {
	s, known := u.program(script)
	if !known {
		return
	}
	tokens, ok := awkTokens(s)
	if awkOpens().MatchString(s) {
		u.c.spelled(u.sh, s, "the program of awk")
	}
	if !ok {
		u.inlineCode("program " + quote(s))
		return
	}
	depth, printing, getting := 0, -1, false
	for i, token := range tokens {
		switch token {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		case "print", "printf":
			printing = depth
		case ";", "\n", "{", "}":
			printing, getting = -1, false
		case "|", "|&", "@", "system":
			u.inlineCode("program " + quote(s))
		case ">", ">>":
			if printing == depth {
				u.awkFile(tokens[i+1:], true)
			}
		case "<":
			if getting {
				u.awkFile(tokens[i+1:], false)
			}
		case "getline":
			getting = true
		}
	}
}

// awkFile checks the file expression at the start of tokens: one string.
func (u *use) awkFile(tokens []string, write bool) {
	ends := len(tokens) == 1 || len(tokens) > 1 && strings.Contains(";}\n)", tokens[1])
	if len(tokens) == 0 || tokens[0][0] != '"' || !ends || strings.Contains(tokens[0], `\`) {
		if u.c.p.Paths.Write != nil || u.c.p.InlineCode == Deny {
			u.refuse("path", "the awk program names a file that is known only when it runs")
		}
		return
	}
	name := strings.Trim(tokens[0], `"`)
	if strings.HasPrefix(name, "/inet") {
		u.refuse("network", "the awk program opens a network connection")
		return
	}
	u.c.path(u.sh, text(name), "awk program", write)
}
