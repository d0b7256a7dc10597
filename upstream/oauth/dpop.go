package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/toolserver/toolserver/outbound/signin"
)

// proofAlgorithm is what proofs are signed with.
const proofAlgorithm = "ES256"

// maxNonces bounds the origins whose nonces are known.
const maxNonces = 64

// errNonce is the code of a server that requires a nonce in proofs.
const errNonce = "use_dpop_nonce"

// binding is a key that a token is bound to (RFC 9449): without it, the token is of no use to who steals it.
type binding struct {
	signer signer
	public map[string]string // as a JSON Web Key
	kept   []byte            // the private key, as it is kept
}

// newBinding returns a binding with a new key.
func newBinding() (*binding, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	kept, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return bindingOf(kept)
}

// bindingOf returns the binding with a key that was kept.
func bindingOf(kept []byte) (*binding, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(kept)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("another kind of key")
	}
	point, err := key.PublicKey.Bytes() // 4, x and y
	if err != nil {
		return nil, err
	}
	b64 := base64.RawURLEncoding.EncodeToString
	return &binding{signer{proofAlgorithm, key}, map[string]string{"kty": "EC", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])}, kept}, nil
}

// proof returns what shows that this client has the key, for one request: with a token, if there is one.
func (b *binding) proof(method string, u *url.URL, nonce, access string, now time.Time) (string, error) {
	claims := map[string]any{"jti": signin.Secret(16), "htm": method, "htu": u.Scheme + "://" + u.Host + u.EscapedPath(), "iat": now.Unix()}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	if access != "" {
		sum := sha256.Sum256([]byte(access))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return b.signer.jwt(map[string]any{"typ": "dpop+jwt", "jwk": b.public}, claims)
}

// noteNonce remembers the nonce of an answer, which its server wants to see in proofs, and reports whether it has one.
func (r *requester) noteNonce(u *url.URL, h http.Header) bool {
	nonce := h.Get("DPoP-Nonce")
	if nonce == "" || len(nonce) > maxToken {
		return false
	}
	r.nonces.Put("", origin(u), nonce, 0)
	return true
}

// prove returns a proof of a key for one request, with the nonce that the server wants to see.
func (r *requester) prove(b *binding, method string, u *url.URL, access string) (string, error) {
	nonce, _ := r.nonces.Get("", origin(u))
	return b.proof(method, u, nonce, access, r.now())
}
