package clients

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/upstream"
)

// Credentials returns a line for each text of an entry that looks like a credential, with
// what to write instead.
func Credentials(name string, s *upstream.Settings) (warnings []string) {
	suspect := func(at, instead, variable string) {
		warnings = append(warnings, fmt.Sprintf("%s looks like a credential; better write %s, and set %s where toolserver runs", at, instead, variable))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		if literal(s.Env[key]) && (upstream.SecretName(key) || isCredential(s.Env[key])) {
			suspect("env."+key, "${"+key+"}", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Headers)) {
		value := s.Headers[key]
		if !literal(value) || !upstream.SecretName(key) && !isCredential(value) {
			continue
		}
		variable := variableFor(name) + "_TOKEN"
		instead := "${" + variable + "}"
		if scheme, _, ok := strings.Cut(value, " "); ok {
			instead = scheme + " " + instead
		}
		suspect("headers."+key, instead, variable)
	}
	argv := slices.Concat(s.Command, s.Args)
	said := -1 // an argument that a warning is about already
	for i, arg := range argv {
		option, value, joined := strings.Cut(arg, "=")
		isOption := strings.HasPrefix(option, "-") && upstream.SecretName(option)
		switch variable := variableFor(name + "_" + strings.TrimLeft(option, "-")); {
		case joined && literal(value) && value != "" && isOption:
			suspect(fmt.Sprintf("argument %d (%s)", i+1, option), option+"=${"+variable+"}", variable)
		case !joined && isOption && i+1 < len(argv) && literal(argv[i+1]) && !strings.HasPrefix(argv[i+1], "-"):
			suspect(fmt.Sprintf("argument %d (after %s)", i+2, option), "${"+variable+"}", variable)
			said = i + 1
		case i != said && literal(arg) && isCredential(arg):
			suspect(fmt.Sprintf("argument %d", i+1), "${"+variableFor(name)+"_TOKEN}", variableFor(name)+"_TOKEN")
		}
	}
	u, err := url.Parse(s.URL)
	if err != nil || s.URL == "" {
		return warnings
	}
	if u.User != nil {
		suspect("url", "a header Authorization", variableFor(name)+"_TOKEN")
	}
	for key, values := range u.Query() {
		if literal(values[0]) && (upstream.SecretName(key) || isCredential(values[0])) {
			suspect("url ("+key+")", key+"=${"+variableFor(name+"_"+key)+"}", variableFor(name+"_"+key))
		}
	}
	return warnings
}

// literal reports whether a text is not, or not only, a reference.
func literal(text string) bool { return text != "" && !strings.Contains(text, "${") }

var random = lazyregexp.New(`^[A-Za-z0-9_+/=-]{24,}$`)

// isCredential reports whether a text has the form of keys that services give out, or looks
// random.
func isCredential(text string) bool {
	if upstream.HasIssued(text) {
		return true
	}
	has := func(set string) bool { return strings.ContainsAny(text, set) }
	hexadecimal := strings.Trim(text, "0123456789abcdef") == "" && len(text) >= 32
	mixed := has("0123456789") && has("abcdefghijklmnopqrstuvwxyz") && has("ABCDEFGHIJKLMNOPQRSTUVWXYZ") && !has("/") // no path
	return hexadecimal || mixed && random().MatchString(text)
}
