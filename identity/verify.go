package identity

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json" // its names are as they are written, and none is there twice

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// maxToken bounds a token, in bytes.
const maxToken = 16 << 10

// Reasons for which tokens are refused, as everybody may know them.
const (
	notValid = "the token is not valid"
	expired  = "the token has expired"
	foreign  = "the token is not for this server"
)

// Refusal is the error of a token that is not accepted. Its message is for operators; strangers are told the reason only.
type Refusal struct {
	Reason string
	why    string
}

func (r *Refusal) Error() string { return r.why }

// maxWhy bounds what is said of a token, of which anybody may be the author.
const maxWhy = 500

func refuse(reason, format string, args ...any) error {
	return &Refusal{reason, brief.Clip(fmt.Sprintf(format, args...), maxWhy)}
}

// issuer is an authorization server in use.
type issuer struct {
	Issuer
	audiences []string
	keys      *keys
	algs      []jose.SignatureAlgorithm
}

// compact reports whether a token has the form of a JWS (RFC 7515, section 7.1), to the letter: libraries drop line breaks.
func compact(token string) bool {
	dots := 0
	for i := range len(token) {
		switch c := token[i]; {
		case c == '.':
			dots++
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return dots == 2
}

// hopeless reports whether no issuer has the key that a token names, nor can be asked for it now: floods of such tokens cost little.
func (v *Verifier) hopeless(token string) bool {
	head, _, _ := strings.Cut(token, ".")
	header, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return true
	}
	id, err := rawjson.String(rawjson.Member(header, "kid"))
	return err == nil && !slices.ContainsFunc(v.issuers, func(i *issuer) bool {
		found, _ := i.keys.have(id)
		return len(found) > 0 || i.keys.mayAsk()
	})
}

// claims are those of a token that decide whether it is accepted (RFC 9068).
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience texts    `json:"aud"`
	Expires  *seconds `json:"exp"`
	Before   *seconds `json:"nbf"`
	Issued   *seconds `json:"iat"`
	Scope    texts    `json:"scope"`
	Scopes   texts    `json:"scp"`
	ClientID string   `json:"client_id"`
	Party    string   `json:"azp"`
	Nonce    any      `json:"nonce"`
	Hash     any      `json:"at_hash"`

	Confirmation confirmation `json:"cnf"`

	all map[string]any
}

// texts are one text or several.
type texts []string

// UnmarshalJSON takes a text or a list of them.
func (t *texts) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte{'"'}) {
		*t = make(texts, 1)
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// seconds are those since the epoch.
type seconds struct{ time.Time }

// UnmarshalJSON takes a number.
func (s *seconds) UnmarshalJSON(b []byte) error {
	var n float64
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	if n < 0 || n > 1<<40 {
		return errors.New("is no time")
	}
	s.Time = time.Unix(int64(n), 0)
	return nil
}

// parsed is a token whose signature has not been looked at.
type parsed struct {
	jws    *jose.JSONWebSignature
	key    string // ID
	alg    string
	kind   string // typ
	claims claims
}

// parse reads a token.
func (v *Verifier) parse(token string) (p parsed, err error) {
	if p.jws, err = jose.ParseSignedCompact(token, algorithms); err != nil {
		return p, refuse(notValid, "it is no token with an asymmetric signature: %v", err)
	}
	header := p.jws.Signatures[0].Protected
	p.key, p.alg = header.KeyID, header.Algorithm
	p.kind, _ = header.ExtraHeaders[jose.HeaderType].(string)
	payload := p.jws.UnsafePayloadWithoutVerification()
	if err := json.Unmarshal(payload, &p.claims); err != nil {
		return p, refuse(notValid, "its claims cannot be read: %v", err)
	}
	if err := json.Unmarshal(payload, &p.claims.all); err != nil {
		return p, refuse(notValid, "its claims cannot be read: %v", err)
	}
	return p, nil
}

// verify checks a token, and returns its claims and who has issued it.
func (v *Verifier) verify(token string) (*issuer, *claims, error) {
	p, err := v.parse(token)
	if err != nil {
		return nil, nil, err
	}
	c := &p.claims
	n := slices.IndexFunc(v.issuers, func(i *issuer) bool { return i.Issuer.Issuer == c.Issuer })
	if n < 0 {
		return nil, nil, refuse(notValid, "iss is %q, and auth.issuers has %s", c.Issuer, strings.Join(v.names(), ", "))
	}
	from := v.issuers[n]
	if !slices.Contains(from.algs, jose.SignatureAlgorithm(p.alg)) {
		return nil, nil, refuse(notValid, "it is signed with %s, which algorithms does not have", p.alg)
	}
	if err := from.signed(&p); err != nil {
		return nil, nil, err
	}
	if err := from.isAccess(&p); err != nil {
		return nil, nil, err
	}
	return from, c, v.accepts(from, c)
}

// signed checks the signature.
func (i *issuer) signed(p *parsed) error {
	candidates, err := i.keys.find(p.key)
	if err != nil {
		return err
	}
	tried := 0
	for n := range candidates {
		key := &candidates[n]
		if key.Algorithm != "" && key.Algorithm != p.alg || tried == maxTried {
			continue
		}
		tried++
		if _, err = p.jws.Verify(key.Key); err == nil {
			return nil
		}
	}
	if tried == 0 {
		return refuse(notValid, "%s has no key %q for %s", i.Issuer.Issuer, p.key, p.alg)
	}
	return refuse(notValid, "its signature is wrong: %v", err)
}

// maxTried is how many keys a token is tried with that does not name one.
const maxTried = 4

// isAccess checks that a token is an access token.
func (i *issuer) isAccess(p *parsed) error {
	c := &p.claims
	switch kind := strings.TrimPrefix(strings.ToLower(p.kind), "application/"); {
	case kind == "at+jwt":
		return nil
	case kind != "" && kind != "jwt":
		return refuse(notValid, "typ is %q: it is no access token", p.kind)
	case !i.AcceptUntyped:
		return refuse(notValid, "typ is %q, not at+jwt (RFC 9068), so it may be an ID token; accept_untyped: true accepts access tokens of such servers", p.kind)
	case c.Nonce != nil || c.Hash != nil:
		return refuse(notValid, "it is an ID token: it has nonce or at_hash")
	case c.Scope == nil && c.Scopes == nil && c.ClientID == "" && c.Party == "":
		return refuse(notValid, "it may be an ID token: it has neither scope, scp, client_id nor azp")
	}
	return nil
}

// accepts checks that claims are for this server, valid now, and about somebody.
func (v *Verifier) accepts(from *issuer, c *claims) error {
	now := v.now()
	switch {
	case !slices.ContainsFunc(c.Audience, func(a string) bool { return slices.Contains(from.audiences, a) }):
		return refuse(foreign, "aud is %q, and this server is %s", []string(c.Audience), strings.Join(from.audiences, " or "))
	case c.Expires == nil:
		return refuse(notValid, "it has no exp")
	case !now.Before(c.Expires.Add(v.settings.Leeway)):
		return refuse(expired, "it expired at %s", c.Expires.UTC().Format(time.RFC3339))
	case c.Before != nil && now.Add(v.settings.Leeway).Before(c.Before.Time):
		return refuse(notValid, "it is not valid before %s", c.Before.UTC().Format(time.RFC3339))
	case c.Issued != nil && now.Add(v.settings.Leeway).Before(c.Issued.Time):
		return refuse(notValid, "it was issued in the future, at %s: look at the clocks", c.Issued.UTC().Format(time.RFC3339))
	case c.Subject == "" || len(c.Subject) > maxSubject || strings.ContainsFunc(c.Subject, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return refuse(notValid, "sub is %.300q, which is not the name of anybody", c.Subject)
	}
	return nil
}

// maxSubject bounds a subject, in bytes, as OpenID Connect does.
const maxSubject = 255
