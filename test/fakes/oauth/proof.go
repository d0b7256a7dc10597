package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"
)

// proved returns the key that a request proves to have (RFC 9449), as a text; empty if it does not. Access is the token that the
// proof has to be for, if there is one. The caller has the lock.
func (s *Server) proved(r *http.Request, base, access string) (key string, fresh bool) {
	proofs := r.Header.Values("DPoP")
	parts := strings.Split(strings.Join(proofs, ","), ".")
	if len(parts) != 3 {
		return "", false
	}
	var head struct {
		Typ, Alg string
		JWK      struct{ Kty, Crv, X, Y, D string }
	}
	var claims struct {
		Jti, Htm, Htu, Nonce, Ath string
		Iat                       int64
	}
	decode := base64.RawURLEncoding.DecodeString
	first, _ := decode(parts[0])
	second, _ := decode(parts[1])
	signature, _ := decode(parts[2])
	if json.Unmarshal(first, &head) != nil || json.Unmarshal(second, &claims) != nil {
		return "", false
	}
	x, _ := decode(head.JWK.X)
	y, _ := decode(head.JWK.Y)
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y)) // SEC 1, section 2.3.4
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	hash := sha256.Sum256([]byte(access))
	ath := base64.RawURLEncoding.EncodeToString(hash[:])
	if access == "" {
		ath = ""
	}
	age := time.Since(time.Unix(claims.Iat, 0))
	switch {
	case err != nil, head.Typ != "dpop+jwt", head.Alg != "ES256", head.JWK.D != "", len(x) != 32, len(y) != 32, len(signature) != 64,
		!ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])),
		claims.Htm != r.Method, claims.Htu != base+r.URL.Path, claims.Ath != ath, age > 5*time.Minute, age < -5*time.Minute,
		claims.Jti == "", s.proofs[claims.Jti]:
		return "", false
	}
	s.proofs[claims.Jti] = true
	return head.JWK.X + "." + head.JWK.Y, claims.Nonce == s.Nonce
}
