package mcpshape

import "regexp"

var (
	escapes     = regexp.MustCompile(`\\[dDwWsSbB.^$*+?()\[\]{}|/\\nrtfv]`)
	classes     = regexp.MustCompile(`\[\^?[^\[\]]+\]`)
	quantifiers = regexp.MustCompile(`\{\d+(,\d*)?\}`)
	foreign     = regexp.MustCompile(`[\\\[\]{}]|\(\?[^:]`)
	ranges      = regexp.MustCompile(`\\[dDwWsS]-[^\]]|[^\[^]-\\[dDwWsS]`)
)

// isPattern reports whether an expression is certainly a regular one both here and for
// clients in JavaScript, which take it in Unicode mode (ECMA-262): one of another language
// costs them the list.
func isPattern(expression string) bool {
	if _, err := regexp.Compile(expression); err != nil || ranges.MatchString(expression) {
		return false
	}
	rest := quantifiers.ReplaceAllString(classes.ReplaceAllString(escapes.ReplaceAllString(expression, "a"), "a"), "")
	return !foreign.MatchString(rest)
}
