package server

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// Token is a bearer token that HTTP clients may present. Configuration holds
// its hash only; settings.txt of package config says what the fields mean.
type Token struct {
	Name            string    `yaml:"name" required:"true" min:"1"`
	Hash            string    `yaml:"hash" required:"true" format:"token_hash"`
	Groups          []string  `yaml:"groups"`
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
	list []parsedToken
}

type parsedToken struct {
	principal domain.Principal
	sum       [sha256.Size]byte
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
	t := &Tokens{}
	first := map[string]*Token{} // of each name
	for i, token := range tokens {
		digits, ok := strings.CutPrefix(token.Hash, hashPrefix)
		sum, err := hex.DecodeString(digits)
		other := first[token.Name]
		switch {
		case token.Name == "":
			return nil, &TokenError{i, "name", "is missing"}
		case other != nil && (!slices.Equal(other.Groups, token.Groups) || other.ComplianceLevel != token.ComplianceLevel):
			return nil, &TokenError{i, "name", "is that of another token, " + strconv.Quote(token.Name) +
				", with other groups or another compliance_level; tokens of one name are of one principal"}
		case !ok || err != nil || len(sum) != sha256.Size:
			return nil, &TokenError{i, "hash", "is not sha256: and 64 hexadecimal digits; toolserver token new NAME makes one"}
		}
		if other == nil {
			first[token.Name] = &tokens[i]
		}
		t.list = append(t.list, parsedToken{domain.Principal{
			ID: domain.PrincipalID(source, token.Name), Name: token.Name, Groups: token.Groups, ComplianceLevel: token.ComplianceLevel, Expires: token.Expires,
		}, [sha256.Size]byte(sum)})
	}
	return t, nil
}

// Principals returns the IDs of those who can present a token.
func (t *Tokens) Principals() (ids []string) {
	for _, token := range t.list {
		ids = append(ids, token.principal.ID)
	}
	return ids
}

// Empty reports whether there is no token, so that no client can present one.
func (t *Tokens) Empty() bool { return len(t.list) == 0 }

// Authenticate returns whom the token in an Authorization header stands for, or
// the challenge to answer with. It compares with every token, each in constant time.
func (t *Tokens) Authenticate(authorization string) (domain.Principal, *Challenge) {
	scheme, presented, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") || presented == "" {
		return domain.Principal{}, &Challenge{Description: "a bearer token is required"}
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(presented)))
	var match *parsedToken
	for i := range t.list {
		if subtle.ConstantTimeCompare(sum[:], t.list[i].sum[:]) == 1 {
			match = &t.list[i]
		}
	}
	switch {
	case match == nil:
		return domain.Principal{}, &Challenge{Error: "invalid_token", Description: "the bearer token is not known"}
	case match.principal.Expired(time.Now()):
		return domain.Principal{}, &Challenge{Error: "invalid_token", Description: "the bearer token has expired"}
	}
	return match.principal, nil
}

// An Authenticator establishes who makes an HTTP request. It is asked at every
// request, and again for the streams that are open when configuration changes.
type Authenticator interface {
	// Authenticate returns the principal of a request with this Authorization
	// header, or the challenge that it is answered with (401). It is safe for
	// concurrent use.
	Authenticate(authorization string) (domain.Principal, *Challenge)
}

// Challenge says what is wrong with the credentials of a request, as a
// WWW-Authenticate header does (RFC 6750, section 3).
type Challenge struct {
	Error       string // such as invalid_token; empty if there were no credentials
	Description string
}

// write answers a request with the challenge.
func (c *Challenge) write(w http.ResponseWriter, realm string) {
	header := `Bearer realm="` + realm + `"`
	if c.Error != "" {
		header += `, error="` + c.Error + `", error_description="` + c.Description + `"`
	}
	w.Header().Set("WWW-Authenticate", header)
	body := jsonrpc.AppendValue(nil, map[string]string{"error": cmp.Or(c.Error, "unauthorized"), "error_description": c.Description})
	writeJSON(w, body, http.StatusUnauthorized)
}

// caller is who makes a request, and how to establish that again: the same
// credentials may stand for a principal with other groups by then, or for none.
type caller struct {
	principal     domain.Principal
	authenticator Authenticator
	authorization string // header of the request; empty on stdio
}

// again returns the principal as it is now, and reports whether its credentials
// are still accepted, and for the same subject.
func (c caller) again() (domain.Principal, bool) {
	now, challenge := c.authenticator.Authenticate(c.authorization)
	return now, challenge == nil && now.ID == c.principal.ID
}
