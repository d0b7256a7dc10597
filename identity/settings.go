// Package identity establishes who makes an HTTP request by what others vouch for: access tokens of OAuth 2.1 authorization servers,
// for which this server is a resource server.
package identity

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Settings say whose tokens are accepted, and what they are good for.
type Settings struct {
	Issuers     []Issuer            `yaml:"issuers"`
	Scopes      []string            `yaml:"scopes" format:"scope"`
	StepUp      []string            `yaml:"step_up" format:"scope"`
	Implies     map[string][]string `yaml:"scope_implies"`
	ScopePrefix string              `yaml:"scope_prefix" template:"-"`
	Anonymous   []string            `yaml:"anonymous"`
	CacheTTL    time.Duration       `yaml:"token_cache" min:"0s" max:"1h" template:"-"`
	Leeway      time.Duration       `yaml:"leeway" min:"0s" max:"10m" template:"-"`
	DPoP        string              `yaml:"dpop" enum:"off|accept|require"`
	Help        string              `yaml:"documentation" format:"server_url" template:"-"`
}

// Issuer is an authorization server whose tokens are accepted. Names of claims may have dots, which lead into objects.
type Issuer struct {
	Issuer        string        `yaml:"issuer" required:"true" format:"issuer"`
	Audiences     []string      `yaml:"audiences"`
	JWKS          string        `yaml:"jwks_url" format:"issuer_url"`
	Algorithms    []string      `yaml:"algorithms" format:"algorithm"`
	AcceptUntyped bool          `yaml:"accept_untyped"`
	GroupsFrom    []string      `yaml:"groups_from"`
	GroupPrefix   string        `yaml:"group_prefix"`
	NameFrom      []string      `yaml:"name_from"`
	LevelFrom     string        `yaml:"compliance_level_from"`
	Level         string        `yaml:"compliance_level" format:"level"`
	Introspection Introspection `yaml:"introspection"`
	Browser       Browser       `yaml:"sign_in"`
}

// Whether tokens may or have to be bound to a key of the client (RFC 9449).
const (
	dpopOff     = "off"
	dpopRequire = "require"
)

// Proofs returns the algorithms that clients may prove with that they have the key of a token; nil if they cannot.
func (s *Settings) Proofs() []string {
	if s.DPoP == dpopOff {
		return nil
	}
	return Algorithms()
}

// Binds reports whether every token has to be bound to a key.
func (s *Settings) Binds() bool { return s.DPoP == dpopRequire }

// DefaultSettings returns the settings of a configuration that says nothing.
func DefaultSettings() Settings {
	return Settings{CacheTTL: 5 * time.Minute, Leeway: time.Minute, DPoP: dpopOff}
}

// The claims that say who somebody is, unless configuration names others.
var (
	groupClaims = []string{"groups", "roles"}
	nameClaims  = []string{"email", "preferred_username", "name", "client_name"}
)

// Algorithms returns the signature algorithms that can be accepted. All are asymmetric: who verifies cannot sign.
func Algorithms() (names []string) {
	for _, a := range algorithms {
		names = append(names, string(a))
	}
	return names
}

var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.ES256, jose.EdDSA, jose.PS256, jose.RS384, jose.RS512, jose.ES384, jose.ES512, jose.PS384, jose.PS512,
}

func (i *Issuer) algorithms() (accepted []jose.SignatureAlgorithm) {
	if len(i.Algorithms) == 0 {
		return algorithms
	}
	for _, name := range i.Algorithms {
		accepted = append(accepted, jose.SignatureAlgorithm(name))
	}
	return accepted
}

// Problem is what is wrong with a setting.
type Problem struct{ Key, Text string }

// Check returns what single values do not show. Resource is what tokens are issued for unless audiences say otherwise; empty if the server
// has no public address.
func (s *Settings) Check(resource string) (all []Problem) {
	seen := map[string]bool{}
	for n, i := range s.Issuers {
		key := fmt.Sprintf("issuers[%d].", n)
		if seen[i.Issuer] {
			all = append(all, Problem{key + "issuer", "is there twice"})
		}
		seen[i.Issuer] = true
		if slices.Contains(i.Audiences, "") {
			all = append(all, Problem{key + "audiences", "has an empty entry"})
		}
		if in := i.Introspection; in.ClientID == "" && in != (Introspection{}) {
			all = append(all, Problem{key + "introspection", "lacks client_id: servers answer clients that they know only"})
		}
	}
	switch {
	case len(s.Issuers) > 0 && resource == "":
		all = append(all, Problem{"issuers", "is of use only with server.public_url: clients learn there where to sign in, and tokens are issued for that address"})
	case len(s.Issuers) == 0 && len(s.Anonymous) > 0:
		all = append(all, Problem{"anonymous", "is for servers that people sign in to; there is no issuer"})
	}
	return all
}

// CheckIssuer checks an issuer identifier (RFC 8414, section 2).
func CheckIssuer(text string) error {
	if u, err := url.Parse(text); err != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(text, "?#") || !Secure(u) {
		return fmt.Errorf("%q is not an issuer; write it as its tokens have it in iss, such as https://idp.example.com, to the last slash", text)
	}
	return nil
}

// CheckURL checks an address of an authorization server; none is the one that it names itself.
func CheckURL(text string) error {
	if u, err := url.Parse(text); text != "" && (err != nil || u.Fragment != "" || !Secure(u)) {
		return fmt.Errorf("%q is not an address of an authorization server; write https://HOST/PATH", text)
	}
	return nil
}

// Secure reports whether nobody on the way can change what comes from an address: it is https, or of this machine.
func Secure(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && ip.Unmap().IsLoopback()
	return u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && local)
}

// CheckScope checks a scope (RFC 6749, section 3.3).
func CheckScope(text string) error {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
		return fmt.Errorf("%q is not a scope; write each as an entry of its own, in printable ASCII without quotes", text)
	}
	return nil
}

// implied returns scopes with all that they imply.
func (s *Settings) implied(scopes []string) []string {
	all := slices.Clone(scopes)
	for i := 0; i < len(all); i++ {
		for _, more := range s.Implies[all[i]] {
			if !slices.Contains(all, more) {
				all = append(all, more)
			}
		}
	}
	return all
}
