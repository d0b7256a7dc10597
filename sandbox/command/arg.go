package command

import (
	"regexp"
	"strings"
)

// An arg is a word of a command as far as it is known before it runs. Bytes 1
// to 6, which a request may not contain, stand for what is not known.
type arg struct {
	s string
	// many: any number of words, none included, each of which may be s.
	many bool
	// odd: the text is not spelt out in the command (brace expansion).
	odd bool
}

const (
	anyName  = 1 // any text without a slash, from a * in a glob
	anyByte  = 2 // one byte that is not a slash, from ? or [...] in a glob
	anyText  = 3 // any text at all
	aNumber  = 4 // digits, possibly after a minus sign
	aToken   = 5 // text that does not start with a dash
	anyBelow = 6 // a relative path without ..
)

func text(s string) arg { return arg{s: s} }

func texts(words []string) []arg {
	list := make([]arg, len(words))
	for i, w := range words {
		list[i].s = w
	}
	return list
}

// join returns words with spaces between them.
func join(words []arg) (all arg) {
	list := make([]string, len(words))
	for i, a := range words {
		list[i], all.many = a.s, all.many || a.many
	}
	all.s = strings.Join(list, " ")
	return all
}

// unknown is one word of any text, unknowns is any number of them, number is a word of digits, and token one that is no option.
var (
	unknown  = arg{s: "\x03"}
	unknowns = arg{s: "\x03", many: true}
	number   = arg{s: "\x04"}
	token    = arg{s: "\x05"}
)

func marker(b byte) bool { return b >= anyName && b <= anyBelow }

// markAt returns the index of the first marker in s, or -1.
func markAt(s string) int { return strings.IndexAny(s, "\x01\x02\x03\x04\x05\x06") }

// exact reports whether the word is known in full.
func (a arg) exact() bool { return !a.many && markAt(a.s) < 0 }

// is reports whether the word is exactly s.
func (a arg) is(s string) bool { return !a.many && a.s == s }

// maybeOption reports whether the word may be an option. A number may be
// negative, but no option that matters is spelt in digits.
func (a arg) maybeOption() bool {
	return a.s != "" && strings.IndexByte("-\x01\x02\x03", a.s[0]) >= 0
}

var shown = strings.NewReplacer("\x01", "*", "\x02", "?", "\x03", "…", "\x04", "…", "\x05", "…", "\x06", "…")

// show returns s with its markers replaced by what a reader understands.
func show(s string) string { return shown.Replace(s) }

// matches reports whether pattern, in which markers stand for text, can be path or lie beneath it.
func matches(pattern, path string) bool { return matching(pattern)(path) }

// matching returns matches for a pattern. Of one that is too intricate it assumes the worst.
func matching(pattern string) func(path string) bool {
	var expr strings.Builder
	for i := range len(pattern) {
		first := i > 0 && pattern[i-1] == '/' // of a name, whose dot no wildcard stands for
		switch c := pattern[i]; {
		case c == anyName && i > 0 && pattern[i-1] == anyName: // ** is a *
		case c == anyName && first:
			expr.WriteString(`(?:[^/.][^/]*)?`)
		case c == anyName:
			expr.WriteString(`[^/]*`)
		case c == anyByte && first:
			expr.WriteString(`[^/.]`)
		case c == anyByte:
			expr.WriteString(`[^/]`)
		case marker(c):
			expr.WriteString(`.*`)
		case c == '/': // where path may end
			expr.WriteString(`(?:/`)
		default:
			expr.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	re, err := regexp.Compile(`(?s)^(?:` + expr.String() + strings.Repeat(`)?`, strings.Count(pattern, "/")) + `)$`)
	if err != nil {
		return func(string) bool { return true }
	}
	return re.MatchString
}
