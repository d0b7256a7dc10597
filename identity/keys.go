package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// How long keys are used, and how often others are asked for.
const (
	fetchTime   = 5 * time.Second // of a document
	maxDocument = 1 << 20         // bytes
	maxKeys     = 100
	leastAge    = 5 * time.Minute // before keys are asked for again because of their age
	mostAge     = 24 * time.Hour
	lastUse     = 24 * time.Hour   // after which keys that could not be asked for again are not used any more
	askPause    = 10 * time.Second // between two requests because of unknown keys
)

// server is what an authorization server says of itself (RFC 8414, OpenID Connect Discovery).
type server struct {
	Issuer        string `json:"issuer"`
	JWKS          string `json:"jwks_uri"`
	Introspection string `json:"introspection_endpoint"`
	Authorization string `json:"authorization_endpoint"`
	Token         string `json:"token_endpoint"`
}

// keys are the public keys of an authorization server, as of the last time that it was asked.
type keys struct {
	issuer string
	jwks   string // their address; empty for the one that the server names
	client func(*url.URL) *http.Client
	now    func() time.Time
	flight singleflight.Group
	ending context.Context
	told   func(error) // that they cannot be had, or can be again

	mu      sync.Mutex
	set     []jose.JSONWebKey
	got     time.Time // the last time that they came
	asked   time.Time // the last time that they were asked for
	asking  bool
	expires time.Time // from when on they are asked for again
	failed  error     // of the last time; nil if they came
}

// take takes over what other keys of the server have learned.
func (k *keys) take(other *keys) {
	other.mu.Lock()
	defer other.mu.Unlock()
	k.set, k.got, k.asked, k.expires, k.failed = other.set, other.got, other.asked, other.expires, other.failed
}

// find returns the keys that may have signed a token: those with its key ID, or all if it has none. It asks the server for keys that
// are not known, which takes some seconds at most.
func (k *keys) find(id string) ([]jose.JSONWebKey, error) {
	found, old := k.have(id)
	switch {
	case len(found) == 0:
		select {
		case <-k.start():
		case <-time.After(2 * fetchTime):
		}
		found, _ = k.have(id)
	case old:
		k.start()
	}
	if len(found) == 0 {
		if missing, _ := k.state(); missing != nil {
			return nil, &unavailable{missing}
		}
	}
	return found, nil
}

// have returns the known keys of an ID, and reports whether they are old.
func (k *keys) have(id string) (found []jose.JSONWebKey, old bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if now.Sub(k.got) < lastUse {
		for _, key := range k.set {
			if id == "" || key.KeyID == id {
				found = append(found, key)
			}
		}
	}
	return found, now.After(k.expires)
}

// mayAsk reports whether the server can be asked for keys, or is being asked.
func (k *keys) mayAsk() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asking || k.now().Sub(k.asked) >= askPause || k.got.IsZero()
}

// start has the server asked for its keys, once at a time, until the verifier is closed.
func (k *keys) start() <-chan singleflight.Result {
	return k.flight.DoChan("", func() (any, error) {
		k.ask()
		return nil, nil
	})
}

// ask asks the server for its keys, unless that was done a moment ago. If they do not come, the old ones stay in use.
func (k *keys) ask() {
	k.mu.Lock()
	now := k.now()
	if now.Sub(k.asked) < askPause {
		k.mu.Unlock()
		return
	}
	k.asked, k.asking = now, true
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(k.ending, 2*fetchTime)
	defer cancel()
	set, age, err := k.fetch(ctx)
	k.mu.Lock()
	changed := (k.failed == nil) != (err == nil)
	k.asking = false
	if k.failed = err; err == nil {
		k.set, k.got, k.expires = set, now, now.Add(min(max(age, leastAge), mostAge))
	}
	k.mu.Unlock()
	if changed && k.ending.Err() == nil {
		k.told(err)
	}
}

// state returns why there are no keys, nil if there are some, and what went wrong the last time.
func (k *keys) state() (missing, failed error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.got.IsZero():
		return nil, k.failed
	case k.failed != nil:
		return fmt.Errorf("the keys of %s are not known: %w", k.issuer, k.failed), k.failed
	}
	return fmt.Errorf("the keys of %s have not come yet", k.issuer), nil
}

func (k *keys) fetch(ctx context.Context) (set []jose.JSONWebKey, age time.Duration, err error) {
	address := k.jwks
	if address == "" {
		said, err := discover(ctx, k.client, k.issuer)
		if err != nil {
			return nil, 0, err
		}
		if address = said.JWKS; address == "" {
			return nil, 0, errors.New("its metadata has no jwks_uri; set jwks_url")
		}
	}
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	header, err := get(ctx, k.client, address, &document)
	if err != nil {
		return nil, 0, err
	}
	for _, raw := range document.Keys[:min(len(document.Keys), maxKeys)] {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) == nil && usable(&key) { // of a kind that nobody here knows, the others are good all the same
			set = append(set, key.Public())
		}
	}
	if len(set) == 0 {
		return nil, 0, fmt.Errorf("%s has no key that verifies signatures", address)
	}
	for directive := range strings.SplitSeq(header.Get("Cache-Control"), ",") {
		if seconds, ok := strings.CutPrefix(strings.TrimSpace(directive), "max-age="); ok {
			n, _ := strconv.Atoi(seconds)
			age = time.Duration(min(max(n, 0), int(mostAge/time.Second))) * time.Second
		}
	}
	return set, age, nil
}

// usable reports whether a key verifies signatures, and is not too weak for that.
func usable(key *jose.JSONWebKey) bool {
	if key.Use != "" && key.Use != "sig" || !key.Valid() {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= 2048
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}

// discover returns what an authorization server says of itself, in the first of the well-known places that has it. It must name itself
// as it was asked for, or one server could pose as another.
func discover(ctx context.Context, client func(*url.URL) *http.Client, issuer string) (found server, err error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return found, err
	}
	host, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{host + path + "/.well-known/openid-configuration", host + "/.well-known/oauth-authorization-server" + path}
	if path != "" {
		places = append(places, host+"/.well-known/openid-configuration"+path)
	}
	var wrong []error
	for _, place := range places {
		found = server{}
		_, err := get(ctx, client, place, &found)
		if err == nil && found.Issuer != issuer {
			err = fmt.Errorf("%s is the metadata of %q, not of %q; write the issuer as its metadata has it", place, found.Issuer, issuer)
		}
		if err == nil {
			return found, nil
		}
		wrong = append(wrong, err)
	}
	return found, errors.Join(wrong...)
}

// get gets a JSON document, from where nobody on the way can change it.
func get(ctx context.Context, client func(*url.URL) *http.Client, address string, into any) (header http.Header, err error) {
	u, err := url.Parse(address)
	if err != nil || !Secure(u) {
		return nil, fmt.Errorf("%q is neither https nor on this machine", address)
	}
	within := func(req *http.Request, before []*http.Request) error {
		if len(before) <= 3 && req.URL.Scheme == u.Scheme && req.URL.Host == u.Host {
			return nil
		}
		return http.ErrUseLastResponse
	}
	service := httpcall.Service{
		Name: u.Host, Timeout: fetchTime, MaxBody: maxDocument, Header: map[string]string{"Accept": "application/json"},
		Client:  &http.Client{Transport: client(u).Transport, CheckRedirect: within},
		Observe: func(h http.Header) { header = h },
	}
	err = service.Do(ctx, httpcall.Request{URL: address}, func(res *httpcall.Response) error {
		if !httpcall.IsObject(res.Body) || json.Unmarshal(res.Body, into) != nil {
			return fmt.Errorf("%s is no JSON object that can be read", address)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w", address, err)
	}
	return header, err
}

// unavailable is the error of a token of which nobody can say now whether it is good.
type unavailable struct{ error }

func (u *unavailable) Unwrap() error { return u.error }
