package mcpshape

import (
	"regexp"
	"sync"
)

// patterns are parts of regular expressions, compiled when the first schema has one.
var patterns = sync.OnceValue(func() (p struct{ escapes, classes, quantifiers, foreign, ranges *regexp.Regexp }) {
	p.escapes = regexp.MustCompile(`\\[dDwWsSbB.^$*+?()\[\]{}|/\\nrtfv]`)
	p.classes = regexp.MustCompile(`\[\^?[^\[\]]+\]`)
	p.quantifiers = regexp.MustCompile(`\{\d+(,\d*)?\}`)
	p.foreign = regexp.MustCompile(`[\\\[\]{}]|\(\?[^:]`)
	p.ranges = regexp.MustCompile(`\\[dDwWsS]-[^\]]|[^\[^]-\\[dDwWsS]`)
	return p
})

// isPattern reports whether an expression is certainly a regular one both here and for
// clients in JavaScript, which take it in Unicode mode (ECMA-262): one of another language
// costs them the list.
func isPattern(expression string) bool {
	p := patterns()
	if _, err := regexp.Compile(expression); err != nil || p.ranges.MatchString(expression) {
		return false
	}
	rest := p.quantifiers.ReplaceAllString(p.classes.ReplaceAllString(p.escapes.ReplaceAllString(expression, "a"), "a"), "")
	return !p.foreign.MatchString(rest)
}
