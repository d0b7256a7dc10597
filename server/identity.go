package server

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/server/wellknown"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Token is a bearer token that HTTP clients may present. Configuration holds
// its hash only; settings.txt of package config says what the fields mean.
// Without scopes, it is good for every tool.
type Token struct {
	Name            string    `yaml:"name" required:"true" min:"1"`
	Hash            string    `yaml:"hash" required:"true" format:"token_hash"`
	Groups          []string  `yaml:"groups"`
	Scopes          []string  `yaml:"scopes" format:"scope"`
	ComplianceLevel string    `yaml:"compliance_level" format:"level"`
	Expires         time.Time `yaml:"expires"`
}

const hashPrefix = "sha256:"

// HashToken returns what [Token.Hash] is for a token. Tokens are long and
// random, so a plain hash is as good as a slow one.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// Tokens are the bearer tokens of a server.
type Tokens struct {
	byHash     map[[sha256.Size]byte]domain.Principal
	principals map[string]bool
}

// A TokenError says what is wrong with the token at an index.
type TokenError struct {
	Index   int
	Field   string // as the configuration has it
	Problem string
}

func (e *TokenError) Error() string {
	return fmt.Sprintf("token %d: %s %s", e.Index+1, e.Field, e.Problem)
}

// ParseTokens checks tokens, whose principals get a source. Tokens of the same name are
// those of one principal, such as the old and the new one while clients change over;
// since limits, logs and results go by the name, they may differ only in hash and
// expiry. The error is a [*TokenError].
func ParseTokens(source string, tokens []Token) (*Tokens, error) {
	t := &Tokens{byHash: map[[sha256.Size]byte]domain.Principal{}, principals: map[string]bool{}}
	first := map[string]*Token{} // of each name
	for i, token := range tokens {
		digits, ok := strings.CutPrefix(token.Hash, hashPrefix)
		sum, err := hex.DecodeString(digits)
		other := first[token.Name]
		switch {
		case token.Name == "":
			return nil, &TokenError{i, "name", "is missing"}
		case other != nil && (!slices.Equal(other.Groups, token.Groups) || !slices.Equal(other.Scopes, token.Scopes) ||
			other.ComplianceLevel != token.ComplianceLevel):
			return nil, &TokenError{i, "name", "is that of another token, " + strconv.Quote(token.Name) +
				", with other groups, scopes or another compliance_level; " +
				"tokens of one name are of one principal"}
		case !ok || err != nil || len(sum) != sha256.Size:
			return nil, &TokenError{i, "hash", "is not sha256: and 64 hexadecimal digits; toolserver token new NAME makes one"}
		}
		if other == nil {
			first[token.Name] = &tokens[i]
		}
		p := domain.Principal{
			ID: domain.PrincipalID(source, token.Name), Name: token.Name, Groups: token.Groups, ComplianceLevel: token.ComplianceLevel, Expires: token.Expires,
			Scopes: token.Scopes, Scoped: token.Scopes != nil,
		}
		if same, ok := t.byHash[[sha256.Size]byte(sum)]; ok && same.ID != p.ID {
			return nil, &TokenError{i, "hash", "is that of " + strconv.Quote(same.Name) + ", too: each principal takes a token of their own"}
		}
		t.byHash[[sha256.Size]byte(sum)], t.principals[p.ID] = p, true
	}
	return t, nil
}

// Principals returns the IDs of those who can present a token.
func (t *Tokens) Principals() map[string]bool { return t.principals }

// Authenticate returns whom the token of a request stands for, or the challenge to answer with. Tokens are found by their hash: how
// long that takes says nothing of them.
func (t *Tokens) Authenticate(c Credentials) (domain.Principal, *Challenge) {
	scheme, presented, challenge := c.Token()
	if challenge != nil {
		return domain.Principal{}, challenge
	}
	p, ok := t.byHash[sha256.Sum256([]byte(presented))]
	switch {
	case !ok || !strings.EqualFold(scheme, "Bearer"):
		return p, &Challenge{Error: InvalidToken, Description: "the bearer token is not known"}
	case p.Expired(time.Now()):
		return p, &Challenge{Error: InvalidToken, Description: "the bearer token has expired"}
	}
	return p, nil
}

// Credentials are what a request shows of who makes it.
type Credentials struct {
	Authorization string            // the header; empty on stdio
	Address       string            // of the client, without port
	Proofs        []string          // the DPoP headers
	Method, URL   string            // that proofs are for: the URL is public, without query; empty without a public address
	Certificate   *x509.Certificate // of the client, verified; nil if it has none
	Public        string            // address of the endpoint; empty without one
	Again         bool              // of a request that was let in before
}

// Token returns the token that a request presents, and how, or the challenge of one that presents none.
func (c Credentials) Token() (scheme, token string, challenge *Challenge) {
	scheme, token, _ = strings.Cut(c.Authorization, " ")
	if token = strings.TrimSpace(token); token == "" || !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "DPoP") {
		return "", "", &Challenge{Description: "a bearer token is required"}
	}
	return scheme, token, nil
}

// An Authenticator establishes who makes an HTTP request. It is asked at every
// request, and again for the streams that are open when configuration changes.
type Authenticator interface {
	// Authenticate returns the principal of a request with these credentials, or the
	// challenge that it is answered with. It is safe for concurrent use.
	Authenticate(Credentials) (domain.Principal, *Challenge)
}

// Errors of a challenge (RFC 6750, section 3.1).
const (
	InvalidToken      = "invalid_token"
	InsufficientScope = "insufficient_scope"
	InvalidProof      = "invalid_dpop_proof" // RFC 9449, section 7.1
)

// Challenge says what is wrong with the credentials of a request, as a
// WWW-Authenticate header does (RFC 6750, section 3).
type Challenge struct {
	Error       string   // such as InvalidToken; empty if there were no credentials
	Description string   // without quotes and backslashes
	Detail      string   // for the log, instead of the description; empty for no more than that
	Scopes      []string // all that the request takes; nil for those that are asked for at first
	Unavailable bool     // nobody can say whether the credentials are good; they may be later
}

// write answers a request with the challenge. Resource is where clients read how to sign in.
//
// Clients look for the parameters in the whole header with expressions of their own, and take the first that they find: there is one
// challenge, and its description comes last.
func (c *Challenge) write(w http.ResponseWriter, realm string, resource *wellknown.Protected) {
	body := func(short string) []byte {
		return jsonrpc.AppendValue(nil, map[string]string{"error": cmp.Or(c.Error, short), "error_description": c.Description})
	}
	if c.Unavailable {
		w.Header().Set("Retry-After", "5")
		writeJSON(w, body("temporarily_unavailable"), http.StatusServiceUnavailable)
		return
	}
	status, header, scopes := http.StatusUnauthorized, "Bearer ", c.Scopes
	if c.Error == InsufficientScope {
		status = http.StatusForbidden
	}
	if c.Error == InvalidProof || resource != nil && resource.Binds {
		header = "DPoP "
	}
	parameter := func(name, value string) {
		if value != "" {
			header += name + `="` + value + `", `
		}
	}
	if resource == nil {
		parameter("realm", realm)
	}
	parameter("error", c.Error)
	if resource != nil {
		if scopes == nil {
			scopes = resource.Scopes
		}
		parameter("resource_metadata", resource.Metadata())
		scopes = resource.Asked(scopes)
	}
	parameter("scope", strings.Join(scopes, " "))
	if resource != nil && strings.HasPrefix(header, "DPoP") {
		parameter("algs", strings.Join(resource.Proofs, " "))
	}
	if c.Error != "" {
		parameter("error_description", c.Description)
	}
	w.Header().Set("WWW-Authenticate", strings.TrimSuffix(header, ", "))
	writeJSON(w, body("unauthorized"), status)
}

// caller is who makes a request, and how to establish that again: the same
// credentials may stand for a principal with other groups by then, or for none.
type caller struct {
	principal     domain.Principal
	authenticator Authenticator
	credentials   Credentials
	carrier       string // the traceparent header of its request over HTTP
}

// again returns the principal as it is now, and reports whether its credentials
// are still accepted, and for the same subject.
func (c caller) again() (domain.Principal, bool) {
	c.credentials.Again = true
	now, challenge := c.authenticator.Authenticate(c.credentials)
	return now, challenge == nil && now.ID == c.principal.ID
}

// needs returns the challenge of a message whose sender has to sign in for it, or has to do so with more scopes; nil if it is served.
func (h *httpHandler) needs(who caller, msg *message) *Challenge {
	p := &who.principal
	switch {
	case msg.method == mcp.MethodToolsCall && (p.Scoped || p.Anonymous):
		tool, _ := rawjson.String(msg.name)
		scopes, lacks := h.server.exec.CatalogOf(*p).Lacks(*p, tool)
		switch {
		case !lacks:
		case p.Anonymous:
			return &Challenge{Description: "sign in to call this tool"}
		default: // clients may ask for these alone, so that those they have must be among them
			return &Challenge{
				Error: InsufficientScope, Description: "the token lacks the scope " + strings.Join(scopes, " "),
				Scopes: append(p.Scopes[:len(p.Scopes):len(p.Scopes)], scopes...),
			}
		}
	case p.Anonymous && (msg.method == mcp.MethodResourcesRead || msg.method == mcp.MethodPromptsGet):
		return &Challenge{Description: "sign in for this"}
	}
	return nil
}
