package command

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// script is a script for sed or awk, which may run programs and name files.
type script struct {
	*use
	text string
}

// program returns the text of a sed or awk script, or refuses if it is not known.
func (u *use) program(script arg) (s string, known bool) {
	u.drop = true
	s = strings.ReplaceAll(script.s, number.s, "1")
	if script.many || markAt(s) >= 0 {
		u.c.spelled(u.sh, s, "the script of "+u.name)
		u.c.refuse("computed", "the script "+quote(show(script.s))+" of "+u.name+" is known only when it runs", "put the script in single quotes")
		return "", false
	}
	return s, true
}

// unclear refuses a script that runs programs, or may.
func (s script) unclear() {
	s.c.spelled(s.sh, s.text, "the script of "+s.name)
	s.inlineCode("script " + quote(s.text))
}

// The parts of a sed script: addresses, and commands that run nothing and name no file.
const (
	sedBracket = `\[\^?\]?(?:\[[:.=][^\]\n]*[:.=]\]|[^\]\n])*\]`
	sedAddress = `(?:[0-9+~$][0-9~]*|/(?:[^/\\\n\[]|\\.|` + sedBracket + `)*/[IM]*)?`
	sedCommand = `[{}=dDgGhHnNpPxzF]|#[^\n]*|[:btT][ \t]*[^ \t\n;}]*|[lLqQ][ \t0-9]*|[aic](?:[^\\\n]|\\[^\n]|\\\n)*\\?`
)

// sedStep matches a command with its addresses: one of those, or r or w with a file, or s or y with
// one of the usual delimiters, and the file that its flags name.
var sedStep = sync.OnceValue(func() *regexp.Regexp {
	var quoted []string
	for d := range strings.SplitSeq(`/ \| # , : ; @ ! % \+ _ ~ =`, " ") {
		const text = `(?:[^/\\]|\\(?s:.))*/`
		quoted = append(quoted, strings.ReplaceAll(`s/(?:[^/\\\[]|\\(?s:.)|`+sedBracket+`)*/`+text+`|y/`+text+text, "/", d))
	}
	return regexp.MustCompile(`^[ \t\n;{}]*` + sedAddress + `(?:[ \t]*,[ \t]*` + sedAddress + `)?[ \t!]*(?:` + sedCommand + `|([rRwW])([^\n]*)|` +
		`(?:` + strings.Join(quoted, "|") + `)[gpiImM0-9]*(?:(w)([^\n]*))?(?:[ \t]*#[^\n]*|[ \t\n;}]|$))`)
})

// sed checks a sed script, read as GNU sed does: its e command and flag run
// programs, w and r name files. A script that is not understood counts as code.
func (s script) sed() {
	for rest := s.text; strings.Trim(rest, " \t\n;{}") != ""; {
		step := sedStep().FindStringSubmatch(rest)
		if step == nil {
			s.unclear()
			return
		}
		rest = rest[len(step[0]):]
		if command, file := step[1]+step[3], step[2]+step[4]; command != "" {
			s.c.path(s.sh, text(strings.TrimSpace(file)), "sed "+command, strings.EqualFold(command, "w"))
		}
	}
}

var (
	// awkMatters finds what runs programs or opens files.
	awkMatters = lazyregexp.New(`[|@>]|system|getline|ARGV`)
	// awkQuoted matches strings, comments, patterns, which begin where no value has ended, and slashes
	// that divide. After ) and length a slash is either.
	awkQuoted = lazyregexp.New(`"(?:[^"\\\n]|\\(?s:.))*"|#[^\n]*|` +
		`(?:^|[(,~!{};&|\n]|\b(?:print|printf|return|in|else|do|getline|delete|case|exit)\b)[ \t]*/(?:[^/\\\n\[]|\\(?s:.)|\[\^?\]?(?:[^\]/\\\n]|\\(?s:.))*\])*/|` +
		`\blength[ \t]*/|[0-9A-Za-z_\].][ \t]*/`)
	awkCode   = lazyregexp.New(`["/\\@]|\bsystem\b|(?:^|[^|])\|(?:[^|]|$)|\|\|\|`)
	awkParens = lazyregexp.New(`\([^()\[\]]*\)|\[[^()\[\]]*\]`)
	// awkReads and awkWrites find what opens files: a string in the one place, or something else.
	awkReads  = lazyregexp.New(`getline[^;{}\n<]*<[ \t]*(?:\x01([0-9]+)[ \t]*(?:[;}\n)]|$))?`)
	awkWrites = lazyregexp.New(`print[^;{}>]*>>?[ \t]*(?:\x01([0-9]+)[ \t]*(?:[;}\n]|$))?`)
)

// awk checks an awk program: system(), pipes and indirect calls run programs, print > and getline < name files.
func (s script) awk() {
	if !awkMatters().MatchString(s.text) {
		return
	}
	var quoted []string
	bare := awkQuoted().ReplaceAllStringFunc(s.text, func(part string) string {
		before, _, _ := strings.Cut(part, "/")
		switch {
		case part[0] == '"':
			quoted = append(quoted, strings.Trim(part, `"`))
			return "\x01" + strconv.Itoa(len(quoted)-1)
		case part[0] == '#':
			return ""
		case strings.HasPrefix(part, "length"):
			return part
		}
		return before + "0"
	})
	if awkCode().MatchString(bare) {
		s.unclear()
		return
	}
	reads := awkReads().FindAllStringSubmatch(bare, -1)
	for outside := ""; outside != bare; { // what is within parentheses compares
		outside, bare = bare, awkParens().ReplaceAllString(bare, "0")
	}
	writes := awkWrites().FindAllStringSubmatch(bare, -1)
	if len(reads)+len(writes) > 0 || strings.Contains(s.text, "ARGV") {
		s.c.spelled(s.sh, s.text, "the script of awk")
	}
	for i, file := range slices.Concat(reads, writes) {
		n, err := strconv.Atoi(file[1])
		switch {
		case err != nil || strings.Contains(quoted[n], `\`):
			if s.c.p.Paths.Write != nil || s.c.p.InlineCode == Deny {
				s.refuse("path", "the awk program names a file that is known only when it runs")
			}
		case strings.HasPrefix(quoted[n], "/inet"):
			s.refuse("network", "the awk program opens a network connection")
		default:
			s.c.path(s.sh, text(quoted[n]), "awk program", i >= len(reads))
		}
	}
}
