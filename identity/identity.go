package identity

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/share"
)

// maxVerified is how many tokens are known at a time.
const maxVerified = 10_000

// Verifier says who has been given an access token. It is safe for concurrent use.
type Verifier struct {
	// Keys, if it is set before Start, is called when the keys of an issuer cannot be had, and with nil when they can be again.
	Keys func(issuer string, err error)

	settings Settings
	resource string
	issuers  []*issuer
	client   func(*url.URL) *http.Client
	verified share.Store[[sha256.Size]byte, verified]
	proofs   proofs
	asking   singleflight.Group // about tokens
	slots    chan struct{}      // of requests about tokens
	ending   context.Context
	now      func() time.Time
	stop     context.CancelFunc // of requests for keys
}

// New returns a verifier of tokens for a resource, unless audiences say otherwise. Client returns what sends requests to an
// address of an authorization server. Keys that the verifier before it has stay known; it may be nil. The caller closes it.
func New(s Settings, resource string, client func(*url.URL) *http.Client, before *Verifier) *Verifier {
	ctx, stop := context.WithCancel(context.Background())
	v := &Verifier{settings: s, resource: resource, now: time.Now, stop: stop, ending: ctx, client: client, slots: make(chan struct{}, maxIntrospects)}
	v.verified.MaxEntries, v.verified.MaxAge = maxVerified, mostAge
	v.proofs.used.MaxEntries, v.proofs.used.MaxAge = maxProofs, 2*proofLife
	for _, settings := range s.Issuers {
		i := &issuer{Issuer: settings, audiences: settings.Audiences, algs: settings.algorithms()}
		if len(i.audiences) == 0 {
			i.audiences = []string{resource}
		}
		i.keys = &keys{issuer: settings.Issuer, jwks: settings.JWKS, client: client, now: v.now, ending: ctx}
		i.keys.told = func(err error) {
			if v.Keys != nil {
				v.Keys(settings.Issuer, err)
			}
		}
		if before != nil {
			if n := slices.IndexFunc(before.issuers, func(b *issuer) bool { return b.Issuer.Issuer == settings.Issuer && b.JWKS == settings.JWKS }); n >= 0 {
				i.keys.take(before.issuers[n].keys)
			}
		}
		v.issuers = append(v.issuers, i)
	}
	return v
}

// Start asks for the keys that are not known, so that the first request need not wait for them.
func (v *Verifier) Start() {
	for _, i := range v.issuers {
		if missing, _ := i.keys.state(); missing != nil {
			i.keys.start()
		}
	}
}

// Same reports whether a verifier of other settings for a resource would be no other.
func (v *Verifier) Same(s Settings, resource string) bool {
	return v.resource == resource && reflect.DeepEqual(v.settings, s)
}

// Close ends requests for keys.
func (v *Verifier) Close() { v.stop() }

// Empty reports whether no token can be good.
func (v *Verifier) Empty() bool { return len(v.issuers) == 0 }

// Ready returns why some tokens cannot be verified, until all have been verifiable once. It has keys asked for that are missing: who is
// not ready gets no requests that would.
func (v *Verifier) Ready() error {
	for _, i := range v.issuers {
		if missing, _ := i.keys.state(); missing != nil {
			i.keys.start()
			return missing
		}
	}
	return nil
}

// Knows reports whether a principal, by its ID, is somebody of an issuer.
func (v *Verifier) Knows(principal string) bool {
	return v.issuerOf(principal) != nil
}

// issuerOf returns the issuer of a principal, by its ID; nil if it is of none.
func (v *Verifier) issuerOf(principal string) *issuer {
	for _, i := range v.issuers {
		if strings.HasPrefix(principal, ID(i.Issuer.Issuer, "")) {
			return i
		}
	}
	return nil
}

func (v *Verifier) names() (all []string) {
	for _, i := range v.issuers {
		all = append(all, i.Issuer.Issuer)
	}
	return all
}

// verified is a token that was found to be good.
type verified struct {
	principal domain.Principal
	bound     confirmation
	until     time.Time // from when on it is verified again
}

// Principal returns who has been given a token, if what else the request shows goes with it. The error is a [*Refusal] or [*BadProof] if the
// token is not good, and else why nobody can say that now.
func (v *Verifier) Principal(token string, shown *Shown) (domain.Principal, error) {
	if len(token) > maxToken {
		return domain.Principal{}, refuse(notValid, "it has more than %d bytes", maxToken)
	}
	sum := sha256.Sum256([]byte(token))
	known, ok := v.verified.Get("", sum)
	if now := v.now(); ok && known.principal.Expired(now) {
		return domain.Principal{}, refuse(expired, "it has expired")
	} else if ok = ok && now.Before(known.until); !ok {
		var err error
		if known, err = v.verifyAnew(token, sum); err != nil {
			return domain.Principal{}, err
		}
		v.verified.Put("", sum, known, 1)
	}
	if known.bound != (confirmation{}) || v.settings.DPoP == dpopRequire || shown.Scheme != "" && !strings.EqualFold(shown.Scheme, "Bearer") {
		if err := v.bound(&known.bound, token, shown); err != nil {
			return domain.Principal{}, err
		}
	}
	return known.principal, nil
}

// verifyAnew verifies a token by its signature, or by asking.
func (v *Verifier) verifyAnew(token string, sum [sha256.Size]byte) (known verified, err error) {
	var from *issuer
	var c *claims
	life := v.settings.CacheTTL
	switch {
	case !compact(token):
		if from, c, err = v.introspect(token, sum); err == nil {
			life = cmp.Or(from.Introspection.CacheTTL, introspectLife)
		}
	case v.hopeless(token):
		err = refuse(notValid, "no issuer has the key that it names")
	default:
		from, c, err = v.verify(token)
	}
	if err != nil {
		return known, err
	}
	return verified{v.principal(from, c), c.Confirmation, v.now().Add(life)}, nil
}

// Claims returns what a token says, whether or not it is true, as indented JSON; nil if it does not have the form of a JWT.
func Claims(token string) json.RawMessage {
	header, rest, _ := strings.Cut(token, ".")
	claims, _, _ := strings.Cut(rest, ".")
	var out bytes.Buffer
	h, err := base64.RawURLEncoding.DecodeString(header)
	c, err2 := base64.RawURLEncoding.DecodeString(claims)
	if err != nil || err2 != nil || json.Indent(&out, fmt.Appendf(nil, `{"header":%s,"claims":%s}`, h, c), "", "  ") != nil {
		return nil
	}
	return out.Bytes()
}
