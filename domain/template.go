package domain

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// expressions are those of URI templates (RFC 6570): an operator, and variables.
var expressions = lazyregexp.New(`\{([+#./;?&]?)([^{}]+)\}`)

// matchBudget bounds what one look-up may spend on templates, in bytes of patterns times
// bytes of the URI: servers write templates, and what is beyond it matches nothing.
const matchBudget = 16 << 20

// matchTemplate matches a URI with a template, and returns the variables that stand alone
// in an expression without a separator. A value has no slash if that makes a match, and else
// may have some: clients disagree on whether to encode those.
func matchTemplate(template, uri string, budget *int) (map[string]string, bool) {
	pattern, names, end := `\A(?s:`, []string{}, 0
	for _, at := range expressions().FindAllStringSubmatchIndex(template, -1) {
		literal := template[end:at[0]]
		if end == 0 && !strings.HasPrefix(uri, literal) {
			return nil, false // as most are, with nothing compiled
		}
		operator, inside := template[at[2]:at[3]], template[at[4]:at[5]]
		pattern += regexp.QuoteMeta(literal) + expansion(operator, inside)
		name, _, _ := strings.Cut(strings.TrimSuffix(inside, "*"), ":")
		if operator != "" && operator != "+" || strings.Contains(inside, ",") {
			name = ""
		}
		names, end = append(names, name), at[1]
	}
	if *budget -= len(pattern) * (len(uri) + 100); end == 0 || *budget < 0 {
		return map[string]string{}, uri == template
	}
	compiled, err := regexp.Compile(pattern + regexp.QuoteMeta(template[end:]) + `)\z`)
	if err != nil {
		return nil, false
	}
	values, vars := compiled.FindStringSubmatch(uri), map[string]string{}
	for i, name := range names {
		if values == nil || name == "" {
			continue
		}
		if vars[name], err = url.PathUnescape(values[i+1]); err != nil {
			return nil, false
		}
	}
	return vars, values != nil
}

// expansion returns a regular expression of what an expression may expand to, in a group. It
// does not look at how long a value is.
func expansion(operator, inside string) string {
	var names []string
	for name := range strings.SplitSeq(inside, ",") {
		name, _, _ = strings.Cut(name, ":")
		names = append(names, regexp.QuoteMeta(name))
	}
	pair := "(?:" + strings.Join(names, "|") + ")(?:=[^&#]*)?"
	if strings.Contains(inside, "*") { // also of keys that nobody knows
		pair = "[^&;/?#]+"
	}
	switch operator {
	case "":
		return `([^/?#]+|.+)`
	case "+":
		return `([^?#]+|.+)`
	case "#":
		return `((?:#.*)?)`
	case "?":
		return `((?:\?` + pair + `(?:&` + pair + `)*)?)`
	case "&":
		return `((?:&` + pair + `)*)`
	case ";":
		return `((?:;` + strings.ReplaceAll(pair, "[^&#]", "[^;/?#]") + `)*)`
	}
	return `((?:\` + operator + `[^?#]*)?)`
}
