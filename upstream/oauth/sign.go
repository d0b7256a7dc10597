package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/toolserver/toolserver/outbound/signin"
)

// signer signs assertions with a private key.
type signer struct {
	algorithm string
	key       crypto.Signer // nil without a key
}

// parseKey reads a private key in PEM: PKCS #8, or the older forms of RSA and EC keys. Algorithm is empty for the one that fits it.
func parseKey(text, algorithm string) (signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return signer{}, errors.New("it is not in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if rsaKey, old := x509.ParsePKCS1PrivateKey(block.Bytes); old == nil {
			parsed = rsaKey
		} else if ecKey, old := x509.ParseECPrivateKey(block.Bytes); old == nil {
			parsed = ecKey
		} else {
			return signer{}, errors.New("it is no private key that can be read; one with a password has to be decrypted")
		}
	}
	key, _ := parsed.(crypto.Signer)
	fits := algorithms(key)
	if len(fits) == 0 {
		return signer{}, errors.New("it is no RSA key of at least 2048 bits, EC key on P-256 or P-384, or Ed25519 key")
	}
	for _, a := range fits {
		if algorithm == "" || algorithm == a {
			return signer{a, key}, nil
		}
	}
	return signer{}, fmt.Errorf("it cannot sign with %s", algorithm)
}

// algorithms returns what a key signs with, the usual one first.
func algorithms(key crypto.Signer) []string {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if k.N.BitLen() >= 2048 {
			return []string{"RS256", "PS256"}
		}
	case *ecdsa.PrivateKey:
		switch k.Params().BitSize {
		case 256:
			return []string{"ES256"}
		case 384:
			return []string{"ES384"}
		}
	case ed25519.PrivateKey:
		return []string{"EdDSA"}
	}
	return nil
}

// jwt returns claims, signed. The algorithm is added to the header.
func (s signer) jwt(header, claims map[string]any) (string, error) {
	if s.key == nil {
		return "", errors.New("no private key")
	}
	options := (&jose.SignerOptions{}).WithType("JWT")
	for name, value := range header {
		options.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(s.algorithm), Key: s.key}, options)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}

// assertionLife is how long an assertion that authenticates this client is valid.
const assertionLife = time.Minute

// assertion authenticates a client at the authorization server of an issuer (RFC 7523).
func (t *tokens) assertion(clientID, issuer string) (string, error) {
	now := t.now()
	return t.key.jwt(nil, map[string]any{
		"iss": clientID, "sub": clientID, "aud": issuer, "jti": signin.Secret(16), "iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
}
