package identity

import (
	"crypto"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"

	"github.com/toolserver/toolserver/domain/share"
)

// Shown is what a request shows besides its token.
type Shown struct {
	Scheme      string   // of the Authorization header
	Proofs      []string // DPoP headers
	Method, URL string   // of the request; the URL without query
	Certificate []byte   // of the client, in DER; nil if there is none
	Before      bool     // the request was let in before, and is only looked at again: a proof is good once
}

// confirmation is the key that a token is bound to (RFC 7800).
type confirmation struct {
	Key         string `json:"jkt"`      // thumbprint (RFC 9449)
	Certificate string `json:"x5t#S256"` // hash (RFC 8705)
}

// Bounds of proofs.
const (
	proofLife = 5 * time.Minute // before and after it was made
	maxProofs = 100_000         // that are remembered, so that none is used twice
	maxProof  = 8 << 10         // bytes
)

// proofs are those that were used.
type proofs struct {
	mu   sync.Mutex
	used share.Store[string, struct{}]
}

// BadProof is the error of a request whose token is bound to a key that it does not show to have.
type BadProof struct{ Refusal }

func badProof(format string, args ...any) error {
	return &BadProof{Refusal{"the proof of possession is not valid", "the proof of possession: " + fmt.Sprintf(format, args...)}}
}

// bound checks that whoever shows a token has the key that it is bound to.
func (v *Verifier) bound(c *confirmation, token string, s *Shown) error {
	if c.Certificate != "" {
		sum := sha256.Sum256(s.Certificate)
		if s.Certificate == nil || subtle.ConstantTimeCompare([]byte(c.Certificate), []byte(base64.RawURLEncoding.EncodeToString(sum[:]))) != 1 {
			return refuse(notValid, "it is bound to a certificate that the client does not have")
		}
	}
	scheme := strings.EqualFold(s.Scheme, "DPoP")
	switch {
	case c.Key == "" && !scheme && v.settings.DPoP == dpopRequire:
		return refuse(notValid, "it is not bound to a key, and auth.dpop is require")
	case c.Key == "" && !scheme:
		return nil
	case c.Key == "":
		return badProof("the token is not bound to a key")
	case v.settings.DPoP == "" || v.settings.DPoP == dpopOff:
		return refuse(notValid, "it is bound to a key (DPoP), and auth.dpop is off")
	case !scheme:
		return refuse(notValid, "it is bound to a key, and the request has it as a bearer token")
	case s.Before:
		return nil
	case len(s.Proofs) != 1 || len(s.Proofs[0]) > maxProof || !compact(s.Proofs[0]):
		return badProof("there are %d DPoP headers of the form of a JWT; there has to be one", len(s.Proofs))
	}
	return v.proves(s.Proofs[0], c.Key, token, s)
}

// proves checks a proof (RFC 9449, section 4.3).
func (v *Verifier) proves(proof, key, token string, s *Shown) error {
	jws, err := jose.ParseSignedCompact(proof, algorithms)
	if err != nil {
		return badProof("%v", err)
	}
	header := jws.Signatures[0].Protected
	if kind, _ := header.ExtraHeaders[jose.HeaderType].(string); kind != "dpop+jwt" {
		return badProof("typ is %.40q", kind)
	}
	if header.JSONWebKey == nil || !header.JSONWebKey.IsPublic() || !usable(header.JSONWebKey) {
		return badProof("it has no public key that is strong enough")
	}
	print, err := header.JSONWebKey.Thumbprint(crypto.SHA256)
	if err != nil || subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(print)), []byte(key)) != 1 {
		return badProof("it is of another key than the token is bound to")
	}
	payload, err := jws.Verify(header.JSONWebKey)
	if err != nil {
		return badProof("%v", err)
	}
	var c struct {
		ID     string   `json:"jti"`
		Method string   `json:"htm"`
		URL    string   `json:"htu"`
		Issued *seconds `json:"iat"`
		Hash   string   `json:"ath"`
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return badProof("%v", err)
	}
	hash := sha256.Sum256([]byte(token))
	switch {
	case c.Method != s.Method:
		return badProof("htm is %.40q, and the request %s", c.Method, s.Method)
	case !sameURL(c.URL, s.URL):
		return badProof("htu is %.200q, and the request is to %s", c.URL, s.URL)
	case c.Hash != base64.RawURLEncoding.EncodeToString(hash[:]):
		return badProof("ath is not the hash of the token")
	case c.Issued == nil || v.now().Sub(c.Issued.Time).Abs() > proofLife:
		return badProof("iat is not within %v of now", proofLife)
	case c.ID == "" || len(c.ID) > maxSubject:
		return badProof("it has no jti")
	}
	v.proofs.mu.Lock()
	defer v.proofs.mu.Unlock()
	if _, used := v.proofs.used.Get("", key+c.ID); used {
		return badProof("it was used before")
	}
	v.proofs.used.Put("", key+c.ID, struct{}{}, 1)
	return nil
}

// sameURL compares addresses without their queries, as RFC 9449 does.
func sameURL(said, is string) bool {
	a, err := url.Parse(said)
	b, err2 := url.Parse(is)
	if err != nil || err2 != nil {
		return false
	}
	port := func(u *url.URL) string {
		if (u.Scheme == "https" && u.Port() == "443") || (u.Scheme == "http" && u.Port() == "80") {
			return ""
		}
		return u.Port()
	}
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b) && a.EscapedPath() == b.EscapedPath()
}
