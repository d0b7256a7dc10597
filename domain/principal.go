package domain

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/telemetry"
)

// Principal is who makes a request, as the server has established it at that
// very request: on stdio the configured user, on HTTP whom the credentials
// stand for. It never comes from arguments.
type Principal struct {
	// ID is source:subject, as [PrincipalID] returns it. Everything that is kept
	// for a principal is kept under it.
	ID              string
	Name            string // for display; two principals may have the same
	Groups          []string
	ComplianceLevel string    // of the data this principal works with; empty means unset
	Expires         time.Time // when the credentials stop being valid; zero means never
	Scopes          []string  // what the credentials are good for, if Scoped
	Scoped          bool      // the credentials are not good for everything
	Client          string    // that the credentials were issued to, by its ID at the issuer; empty if that is not known
	Anonymous       bool      // nobody has signed in: what may be called is [Access.Open]
}

// PrincipalID identifies a subject among those of all sources. The source is who
// vouches for it: "user" and "token" for those in the configuration.
func PrincipalID(source, subject string) string { return source + ":" + subject }

// Session is the connection a request comes in on, with the principal of that
// request.
type Session struct {
	ID        string
	Principal Principal
	Once      bool   // the server ends with the request, as that of a command line
	Address   string // of the client over HTTP, without port
	Client    string // name and version of the client, as it says; empty if it does not
	// Meta is the _meta of the request, as the client wrote it; nil for none. It can be read
	// as long as the request is served.
	Meta json.RawMessage
	// Operation observes the request; nil if nobody does.
	Operation *telemetry.Operation
}

// Key identifies the session among those of all principals.
func (s Session) Key() string { return SessionKey(s.Principal.ID, s.ID) }

// Lasts reports whether more requests may come in the session: a client without
// sessions makes one of each request, which has no ID.
func (s Session) Lasts() bool { return s.ID != "" }

// ClaudeCode reports whether the client is Claude Code. It shows models the structured content of a result instead of its
// text, reads hints in the _meta of tools, and since 2.1.7 finds tools itself where there are many: it needs no list that
// leaves some out. No other client that does is known by its name: Codex defers with some models only, and from 100 tools on.
func (s Session) ClaudeCode() bool { return strings.HasPrefix(s.Client+" ", "claude-code ") }

// SessionKey is the [Session.Key] of a session of a principal, both by their
// IDs.
func SessionKey(principal, session string) string { return principal + "\x00" + session }

// Expired reports whether the credentials have stopped being valid.
func (p *Principal) Expired(now time.Time) bool { return !p.Expires.IsZero() && !now.Before(p.Expires) }

// Access says which principals may use which tools.
type Access struct {
	// Levels are the compliance levels there are, by name. A session of one
	// level may use tools of the same level and of those it is allowed with.
	Levels map[string]Level
	// Strict refuses where either side has no level.
	Strict bool
	Open   []string // names of tools that may be called without signing in
}

// Lacks returns the scopes that p's credentials lack to call a tool that p may use, and reports whether anything keeps p from it: of
// who has not signed in, nobody knows which scopes they would have.
func (a Access) Lacks(p Principal, t *Tool) (scopes []string, lacks bool) {
	if p.Anonymous {
		return nil, !slices.Contains(a.Open, t.Name)
	}
	scopes = p.without(t.Scopes)
	return scopes, len(scopes) > 0
}

// without returns those of some scopes that p's credentials do not have.
func (p *Principal) without(scopes []string) []string {
	if !p.Scoped {
		return nil
	}
	return filter(scopes, func(scope string) bool { return !slices.Contains(p.Scopes, scope) })
}

// Level is a compliance level. AllowedWith is not symmetric: patient records
// may go where audited data goes, and not the other way round.
type Level struct {
	Aliases     []string `yaml:"aliases"`
	AllowedWith []string `yaml:"allowed_with" format:"level"`
}

// Allowed reports whether p may use t, and so whether it may know of it.
func (a Access) Allowed(p Principal, t *Tool) bool {
	return a.admits(p, t.Groups, t.ComplianceLevel)
}

func (a Access) admits(p Principal, groups []string, level string) bool {
	return inGroup(p.Groups, groups) && a.compatible(p.ComplianceLevel, level)
}

// Known returns the level that name or alias stands for.
func (a Access) Known(name string) (string, bool) {
	name = fold(name)
	for level, l := range a.Levels {
		if fold(level) == name || slices.ContainsFunc(l.Aliases, func(alias string) bool { return fold(alias) == name }) {
			return level, true
		}
	}
	return "", false
}

// In reports whether p is in one of some groups; everybody is if there are none.
func (p *Principal) In(groups []string) bool { return inGroup(p.Groups, groups) }

func inGroup(have, want []string) bool {
	if len(want) == 0 {
		return true
	}
	return slices.ContainsFunc(want, func(w string) bool {
		return slices.ContainsFunc(have, func(h string) bool { return SameGroup(h, w) })
	})
}

// SameGroup reports whether two names are those of one group.
func SameGroup(a, b string) bool { return fold(a) == fold(b) }

func (a Access) compatible(session, resource string) bool {
	if session == "" || resource == "" {
		return !a.Strict
	}
	from, ok := a.Known(session)
	to, known := a.Known(resource)
	if !ok || !known {
		return false // configuration refuses unknown levels; fail closed all the same
	}
	return from == to || slices.ContainsFunc(a.Levels[from].AllowedWith, func(name string) bool {
		level, ok := a.Known(name)
		return ok && level == to
	})
}

func fold(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
