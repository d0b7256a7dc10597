package oauth

import (
	"net/http"
	"strings"
)

// challenge is what a server says of the token that it requires (RFC 6750, RFC 9728).
type challenge struct {
	Error    string
	Why      string // a description of the error
	Scopes   []string
	Metadata string // the address of the protected resource metadata
	Binds    bool   // tokens may be bound to a key (RFC 9449)
}

// challengeOf returns the first challenge of a response with the scheme DPoP or, without one, Bearer.
func challengeOf(h http.Header) (found challenge, ok bool) {
	for _, header := range h.Values("WWW-Authenticate") {
		for header != "" {
			var scheme string
			var params map[string]string
			scheme, params, header = nextChallenge(header)
			binds := strings.EqualFold(scheme, "DPoP")
			if !binds && !strings.EqualFold(scheme, "Bearer") || ok && (found.Binds || !binds) {
				continue
			}
			found, ok = challenge{params["error"], params["error_description"], strings.Fields(params["scope"]), params["resource_metadata"], binds}, true
		}
	}
	return found, ok
}

// nextChallenge takes one challenge off a header. Of parameters with the same name the first counts.
func nextChallenge(text string) (scheme string, params map[string]string, rest string) {
	text = strings.TrimLeft(text, " \t,")
	scheme, text = token(text)
	params = map[string]string{}
	if scheme == "" {
		return "", params, ""
	}
	for {
		text = strings.TrimLeft(text, " \t,")
		name, after := token(text)
		after = strings.TrimLeft(after, " \t")
		if name == "" || !strings.HasPrefix(after, "=") {
			return scheme, params, text // the next scheme, or nothing
		}
		var value string
		value, text = paramValue(strings.TrimLeft(after[1:], " \t="))
		if name = strings.ToLower(name); params[name] == "" {
			params[name] = value
		}
	}
}

// token takes a token off a text (RFC 9110).
func token(text string) (found, rest string) {
	i := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"[]?={}`, r) })
	if i < 0 {
		i = len(text)
	}
	return text[:i], text[i:]
}

// paramValue takes the value of a parameter off a text: a token, or a quoted string. Servers write addresses without quotes, so
// what ends a value without them is a comma or a space.
func paramValue(text string) (value, rest string) {
	if !strings.HasPrefix(text, `"`) {
		i := strings.IndexAny(text, ", \t")
		if i < 0 {
			i = len(text)
		}
		return text[:i], text[i:]
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return b.String(), text[i+1:]
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String(), ""
}
