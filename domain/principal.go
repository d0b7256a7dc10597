package domain

import "time"

// Principal is who makes a request, as the server has established it at that
// very request: on stdio the configured user, on HTTP whom the credentials
// stand for. It never comes from arguments.
type Principal struct {
	// ID is source:subject, as [PrincipalID] returns it. Everything that is kept
	// for a principal is kept under it.
	ID              string
	Name            string // for display; two principals may have the same
	Groups          []string
	Scopes          []string  // what the credentials were issued for; nil if that is not limited
	ComplianceLevel string    // of the data this principal works with; empty means unset
	Expires         time.Time // when the credentials stop being valid; zero means never
}

// PrincipalID identifies a subject among those of all sources. The source is who
// vouches for it: "user" and "token" for those in the configuration, an issuer.
func PrincipalID(source, subject string) string { return source + ":" + subject }

// Session is the connection a request comes in on, with the principal of that
// request.
type Session struct {
	ID        string
	Principal Principal
}

// Key identifies the session among those of all principals.
func (s Session) Key() string { return SessionKey(s.Principal.ID, s.ID) }

// SessionKey is the [Session.Key] of a session of a principal, both by their
// IDs.
func SessionKey(principal, session string) string { return principal + "\x00" + session }

// Expired reports whether the credentials have stopped being valid.
func (p *Principal) Expired(now time.Time) bool { return !p.Expires.IsZero() && !now.Before(p.Expires) }
