package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const resource = "https://mcp.example.com/mcp"

var encode = base64.RawURLEncoding.EncodeToString

// keyring are the keys of an authorization server. It makes whatever tokens, also some that no library would make.
type keyring struct {
	rsa  *rsa.PrivateKey
	ec   *ecdsa.PrivateKey
	ed   ed25519.PrivateKey
	weak *rsa.PrivateKey
}

func newKeyring(t testing.TB) *keyring {
	t.Helper()
	var k keyring
	var errs [4]error
	k.rsa, errs[0] = rsa.GenerateKey(rand.Reader, 2048)
	k.ec, errs[1] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, k.ed, errs[2] = ed25519.GenerateKey(rand.Reader)
	k.weak, errs[3] = rsa.GenerateKey(rand.Reader, 1024)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return &k
}

// sign signs what is not valid, too.
func (k *keyring) sign(t testing.TB, alg, header, payload string) string {
	t.Helper()
	signed := encode([]byte(header)) + "." + encode([]byte(payload))
	sum := sha256.Sum256([]byte(signed))
	var signature []byte
	var err error
	switch alg {
	case "RS256":
		signature, err = rsa.SignPKCS1v15(rand.Reader, k.rsa, crypto.SHA256, sum[:])
	case "weak":
		signature, err = rsa.SignPKCS1v15(rand.Reader, k.weak, crypto.SHA256, sum[:])
	case "ES256":
		r, s, failed := ecdsa.Sign(rand.Reader, k.ec, sum[:])
		if err = failed; err == nil {
			signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	case "DER":
		signature, err = k.ec.Sign(rand.Reader, sum[:], crypto.SHA256)
	case "EdDSA":
		signature = ed25519.Sign(k.ed, []byte(signed))
	case "HS256": // keyed with the public key
		der, _ := x509.MarshalPKIXPublicKey(&k.rsa.PublicKey)
		mac := hmac.New(sha256.New, der)
		mac.Write([]byte(signed))
		signature = mac.Sum(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + encode(signature)
}

// world is an authorization server, and a verifier of its tokens.
type world struct {
	*httptest.Server
	keys     atomic.Pointer[[]jose.JSONWebKey]
	asked    atomic.Int64 // for keys
	down     atomic.Bool
	keyring  *keyring
	verifier *Verifier
}

func newWorld(t testing.TB, settings Settings, issuer Issuer) *world {
	t.Helper()
	w := &world{keyring: newKeyring(t)}
	w.publish("r", "e", "d", "w")
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case w.down.Load():
			http.Error(rw, "down", http.StatusServiceUnavailable)
		case r.URL.Path == "/.well-known/oauth-authorization-server":
			fmt.Fprintf(rw, `{"issuer":%q,"jwks_uri":%q}`, w.URL, w.URL+"/jwks")
		case r.URL.Path == "/jwks":
			w.asked.Add(1)
			_ = json.NewEncoder(rw).Encode(jose.JSONWebKeySet{Keys: *w.keys.Load()})
		default:
			http.NotFound(rw, r)
		}
	}))
	t.Cleanup(w.Close)
	issuer.Issuer = w.URL
	settings.Issuers = []Issuer{issuer}
	w.verifier = New(settings, resource, func(*url.URL) *http.Client { return w.Client() }, nil)
	t.Cleanup(w.verifier.Close)
	return w
}

// publish gives the keys IDs; the weak one is the last.
func (w *world) publish(ids ...string) {
	all := []any{&w.keyring.rsa.PublicKey, &w.keyring.ec.PublicKey, w.keyring.ed.Public(), &w.keyring.weak.PublicKey}
	var set []jose.JSONWebKey
	for i, id := range ids {
		set = append(set, jose.JSONWebKey{Key: all[i], KeyID: id, Use: "sig"})
	}
	set = append(set, jose.JSONWebKey{Key: &w.keyring.rsa.PublicKey, KeyID: "enc", Use: "enc"})
	w.keys.Store(&set)
}

// payload returns good claims with some replaced, as "name": value; nothing leaves one out.
func (w *world) payload(replaced ...string) string {
	now := time.Now().Unix()
	members := [][2]string{
		{`"iss"`, fmt.Sprintf("%q", w.URL)}, {`"sub"`, `"alice"`}, {`"aud"`, `"` + resource + `"`}, {`"exp"`, fmt.Sprint(now + 300)},
		{`"iat"`, fmt.Sprint(now)}, {`"scope"`, `"mcp:read"`}, {`"client_id"`, `"c"`},
	}
	for _, text := range replaced {
		name, value, _ := strings.Cut(text, ":")
		i := slices.IndexFunc(members, func(m [2]string) bool { return m[0] == name })
		switch {
		case i < 0:
			members = append(members, [2]string{name, value})
		case value == "":
			members = slices.Delete(members, i, i+1)
		default:
			members[i][1] = value
		}
	}
	var all []string
	for _, m := range members {
		all = append(all, m[0]+":"+m[1])
	}
	return "{" + strings.Join(all, ",") + "}"
}

// token returns a good token but for some claims.
func (w *world) token(t testing.TB, replaced ...string) string {
	t.Helper()
	return w.keyring.sign(t, "RS256", `{"alg":"RS256","typ":"at+jwt","kid":"r"}`, w.payload(replaced...))
}
