package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A word is one word of a text: as written in lower case without accents, and
// its stem. A part of a word such as GitHub or getUser is a word too, after the
// word it is part of.
type word struct {
	plain, stem string
	parts       int  // how many words of the text that follow are parts of this one
	part        bool // is a part of an earlier word
}

// words splits text into its words. Identifiers are split where the case
// changes, and at everything that is neither a letter nor a digit. Text that is
// written without spaces, such as Chinese, stays in one piece.
func words(text string) []word {
	list := make([]word, 0, len(text)/6+1)
	start, dense := -1, false
	for i, r := range text {
		inside := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		if start >= 0 && inside && unspaced(r) != dense {
			list = appendWord(list, text[start:i])
			start = -1
		}
		dense = unspaced(r)
		switch {
		case inside && start < 0:
			start = i
		case !inside && start >= 0:
			list = appendWord(list, text[start:i])
			start = -1
		}
	}
	if start >= 0 {
		list = appendWord(list, text[start:])
	}
	return list
}

// appendWord appends a word, and its parts if there are several.
func appendWord(list []word, s string) []word {
	at := len(list)
	list = append(list, newWord(s))
	from, previous := 0, rune(0)
	for i, r := range s {
		lower := i > 0 && unicode.IsUpper(r) && !unicode.IsUpper(previous)
		acronym := i > 0 && unicode.IsUpper(r) && unicode.IsUpper(previous) && nextIsLower(s[i:]) && s[i+utf8.RuneLen(r):] != "s"
		if (lower || acronym) && i > from {
			list = append(list, newWord(s[from:i]))
			from = i
		}
		previous = r
	}
	if from > 0 {
		list = append(list, newWord(s[from:]))
	}
	list[at].parts = len(list) - at - 1
	for i := at + 1; i < len(list); i++ {
		list[i].part = true
	}
	return list
}

// nextIsLower reports whether the second letter of s is in lower case.
func nextIsLower(s string) bool {
	for i, r := range s {
		if i > 0 {
			return unicode.IsLower(r)
		}
	}
	return false
}

func newWord(s string) word {
	plain := fold(s)
	return word{plain: plain, stem: stem(plain)}
}

// fold returns s in lower case and without accents.
func fold(s string) string {
	s = strings.ToLower(s)
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return s
	}
	letter := rune(0)
	return norm.NFC.String(strings.Map(func(r rune) rune {
		switch {
		case !unicode.Is(unicode.Mn, r):
			letter = r
		case letter < 0x0400: // an accent in Latin and Greek makes no other letter
			return -1
		}
		return r
	}, norm.NFD.String(strings.ReplaceAll(s, "ß", "ss"))))
}

// stem removes the endings by which English words of one family differ: create,
// creates, created, creating and creation have one stem. It is light, because
// the words of tools are few: a stemmer such as Porter's folds what should stay
// apart, such as organ and organization.
func stem(w string) string {
	if len(w) < 4 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "es") && slices.ContainsFunc(hissing, func(end string) bool { return strings.HasSuffix(w[:len(w)-2], end) }):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"), strings.HasSuffix(w, "news"):
	case strings.HasSuffix(w, "s"):
		w = w[:len(w)-1]
	}
	switch {
	case strings.HasSuffix(w, "ing") && hasVowel(w[:len(w)-3]) && len(w) > 5:
		w = undouble(w[:len(w)-3])
	case strings.HasSuffix(w, "ied") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "eed") && hasVowel(w[:len(w)-2]) && len(w) > 4:
		w = undouble(w[:len(w)-2])
	case strings.HasSuffix(w, "tion") && len(w) > 6:
		w = w[:len(w)-3]
	case strings.HasSuffix(w, "ment") && len(w) > 8:
		w = w[:len(w)-4]
	}
	if strings.HasSuffix(w, "e") && len(w) > 3 {
		w = w[:len(w)-1]
	}
	if strings.HasSuffix(w, "y") && len(w) > 3 {
		w = w[:len(w)-1] + "i"
	}
	return w
}

// hissing are the ends of words after which a plural is es.
var hissing = []string{"ss", "sh", "ch", "x", "zz"}

func hasVowel(w string) bool { return strings.ContainsAny(w, "aeiouy") }

// undouble removes the second of two equal consonants at the end: planned, plan.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiouls", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// unspaced reports whether r belongs to a script that does not separate words.
func unspaced(r rune) bool {
	return r >= 0x3040 && r <= 0x30ff || r >= 0x3400 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7af
}

// isPlural guesses whether an English noun is in the plural.
func isPlural(w string) bool {
	return len(w) > 3 && strings.HasSuffix(w, "s") && !strings.ContainsRune("sui", rune(w[len(w)-2]))
}
