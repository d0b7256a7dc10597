package domain

import "time"

// Principal is who makes a request, as the server has established it at that
// very request: on stdio the configured user, on HTTP whom the credentials
// stand for. It never comes from arguments.
type Principal struct {
	Source          string // who vouches for the subject: "user", "token", an issuer
	Subject         string // unique within its source
	Name            string // for display; two principals may have the same
	Groups          []string
	Scopes          []string  // what the credentials were issued for; nil if that is not limited
	ComplianceLevel string    // of the data this principal works with; empty means unset
	Expires         time.Time // when the credentials stop being valid; zero means never
}

// ID identifies a principal: source:subject. Everything that is kept for a
// principal is kept under it.
func (p Principal) ID() string { return p.Source + ":" + p.Subject }

// Session is the connection a request comes in on, with the principal of that
// request.
type Session struct {
	ID        string
	Principal Principal
}

// Key identifies the session among those of all principals.
func (s Session) Key() string { return SessionKey(s.Principal.ID(), s.ID) }

// SessionKey is the [Session.Key] of a session of a principal, both by their
// IDs.
func SessionKey(principal, session string) string { return principal + "\x00" + session }
