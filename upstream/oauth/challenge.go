package oauth

import (
	"net/http"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// challenge is what a server says of the token that it requires (RFC 6750, RFC 9728).
type challenge struct {
	Error    string
	Scopes   []string
	Metadata string // the address of the protected resource metadata
	Binds    bool   // tokens may be bound to a key (RFC 9449)
}

// challengePart matches the scheme of a challenge or, with an equals sign, a parameter, at the begin of what is left of a header. A
// value is a quoted string or ends at a comma or a space: servers write addresses without quotes.
var (
	challengePart = lazyregexp.New("^[ \\t,]*([\\w!#$%&'*+.^|~`-]+)" + `(?:[ \t]*(=)[ \t=]*(?:"((?:[^"\\]|\\.)*)(?:"|$|\\$)|([^, \t]*)))?`)
	quotedPair    = lazyregexp.New(`\\(.)`)
)

// challengeOf returns the first challenge of a response with the scheme DPoP or, without one, Bearer. Of parameters with the same
// name the first counts.
func challengeOf(h http.Header) (found challenge, ok bool) {
	params := map[string]string{} // of what was found
	for _, header := range h.Values("WWW-Authenticate") {
		into := map[string]string{} // of the challenge that is read
		for part := challengePart().FindStringSubmatch(header); part != nil; part = challengePart().FindStringSubmatch(header) {
			header = header[len(part[0]):]
			name := strings.ToLower(part[1])
			if part[2] == "=" {
				if into[name] == "" {
					into[name] = quotedPair().ReplaceAllString(part[3], "$1") + part[4]
				}
				continue
			}
			into = map[string]string{}
			if binds := name == "dpop"; (binds || name == "bearer") && (!ok || binds && !found.Binds) {
				params, found.Binds, ok = into, binds, true
			}
		}
	}
	found.Error, found.Scopes, found.Metadata = params["error"], strings.Fields(params["scope"]), params["resource_metadata"]
	return found, ok
}
