package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"toolserver/domain"
)

// Token is a bearer token that HTTP clients may present. Configuration holds
// its hash only.
type Token struct {
	Name            string    `yaml:"name" doc:"Whom the token stands for."`
	Hash            string    `yaml:"hash" doc:"SHA-256 of the token as sha256:HEX; toolserver token new NAME makes one."`
	Groups          []string  `yaml:"groups" doc:"Groups of whoever presents the token."`
	ComplianceLevel string    `yaml:"compliance_level" doc:"Compliance level of whoever presents the token."`
	Expires         time.Time `yaml:"expires" doc:"When the token stops to be valid; never if unset."`
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
	Token
	sum [sha256.Size]byte
}

// ParseTokens checks tokens. Names are unique, since limits, logs and results
// go by them.
func ParseTokens(tokens []Token) (*Tokens, error) {
	t := &Tokens{}
	names := map[string]bool{}
	for _, token := range tokens {
		p := parsedToken{Token: token}
		digits, ok := strings.CutPrefix(token.Hash, hashPrefix)
		n, err := hex.Decode(p.sum[:], []byte(digits[:min(len(digits), 2*sha256.Size)]))
		switch {
		case token.Name == "":
			return nil, errors.New("a token has no name")
		case names[token.Name]:
			return nil, errors.New("token " + token.Name + " is there twice")
		case !ok || err != nil || n != sha256.Size || len(digits) != 2*sha256.Size:
			return nil, errors.New("the hash of token " + token.Name + " is not sha256: and 64 hexadecimal digits")
		}
		names[token.Name] = true
		t.list = append(t.list, p)
	}
	return t, nil
}

// empty reports whether there is no token, so that no client can present one.
func (t *Tokens) empty() bool { return t == nil || len(t.list) == 0 }

var errNoToken = errors.New("a bearer token is required")

// identify returns whom a request's token stands for. It compares with every
// token, each in constant time.
func (t *Tokens) identify(r *http.Request, now time.Time) (domain.Principal, error) {
	scheme, presented, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || presented == "" {
		return domain.Principal{}, errNoToken
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(presented)))
	var match *parsedToken
	if t.empty() {
		return domain.Principal{}, errors.New("the bearer token is not known")
	}
	for i := range t.list {
		if subtle.ConstantTimeCompare(sum[:], t.list[i].sum[:]) == 1 {
			match = &t.list[i]
		}
	}
	switch {
	case match == nil:
		return domain.Principal{}, errors.New("the bearer token is not known")
	case !match.Expires.IsZero() && !now.Before(match.Expires):
		return domain.Principal{}, errors.New("the bearer token has expired")
	}
	return domain.Principal{Name: match.Name, Groups: match.Groups, ComplianceLevel: match.ComplianceLevel}, nil
}
