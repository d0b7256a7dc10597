package mcpshape

import (
	"regexp"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// Parts of regular expressions.
var (
	escapes     = lazyregexp.New(`\\[dDwWsSbB.^$*+?()\[\]{}|/\\nrtfv]`)
	classes     = lazyregexp.New(`\[\^?[^\[\]]+\]`)
	quantifiers = lazyregexp.New(`\{\d+(,\d*)?\}`)
	foreign     = lazyregexp.New(`[\\\[\]{}]|\(\?[^:]`)
	ranges      = lazyregexp.New(`\\[dDwWsS]-[^\]]|[^\[^]-\\[dDwWsS]`)
)

// isPattern reports whether an expression is certainly a regular one both here and for
// clients in JavaScript, which take it in Unicode mode (ECMA-262): one of another language
// costs them the list.
func isPattern(expression string) bool {
	if _, err := regexp.Compile(expression); err != nil || ranges().MatchString(expression) {
		return false
	}
	rest := quantifiers().ReplaceAllString(classes().ReplaceAllString(escapes().ReplaceAllString(expression, "a"), "a"), "")
	return !foreign().MatchString(rest)
}
