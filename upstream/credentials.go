package upstream

import (
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/domain/redact"
)

// issued matches the forms of keys that services give out, with what stands before them.
var issued = lazyregexp.New(`(^|[^A-Za-z0-9_/.-])(?:sk-|pk_live_|sk_live_|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|hf_|eyJ[A-Za-z0-9_-]{10,}\.|npm_|pat-)[A-Za-z0-9_.-]{8,}`)

// assigned matches a name of a secret, and its value.
var assigned = lazyregexp.New(`(?i)((?:authorization|token|secret|passw(?:or)?d|api[-_]?key|cookie)["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?|\bbearer\s+)([^\s"',;]{8,})`)

// HasIssued reports whether there is a key in a text that has the form of those that
// services give out.
func HasIssued(text string) bool { return issued().MatchString(text) }

// masked returns what a program has written for people, without secrets that it has from
// the configuration and without what looks like others.
func masked(text string, hidden []string) string {
	text = strings.ToValidUTF8(redact.Text(text, hidden), "?")
	text = issued().ReplaceAllString(text, "${1}"+redact.Mark)
	return assigned().ReplaceAllStringFunc(text, func(found string) string {
		parts := assigned().FindStringSubmatch(found)
		if !strings.ContainsAny(parts[2], "0123456789") { // a word, as in TOKEN: required
			return found
		}
		return parts[1] + redact.Mark
	})
}
