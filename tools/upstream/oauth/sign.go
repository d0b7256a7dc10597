package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha256" // the hashes of the algorithms
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"toolserver/tools/signin"
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
	header["alg"] = s.algorithm
	head, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(body)
	signature, err := s.sign([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), err
}

// sign returns the signature of a text as JSON Web Signature has it (RFC 7518).
func (s signer) sign(text []byte) ([]byte, error) {
	hash := crypto.SHA256
	if s.algorithm == "ES384" {
		hash = crypto.SHA384
	}
	h := hash.New()
	h.Write(text)
	digest := h.Sum(nil)
	switch key := s.key.(type) {
	case ed25519.PrivateKey:
		return key.Sign(rand.Reader, text, crypto.Hash(0))
	case *ecdsa.PrivateKey: // both numbers, with leading zeros
		r, v, err := ecdsa.Sign(rand.Reader, key, digest)
		if err != nil {
			return nil, err
		}
		size := key.Params().BitSize / 8
		signature := make([]byte, 2*size)
		r.FillBytes(signature[:size])
		v.FillBytes(signature[size:])
		return signature, nil
	case *rsa.PrivateKey:
		if s.algorithm == "PS256" {
			return rsa.SignPSS(rand.Reader, key, hash, digest, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
		}
		return rsa.SignPKCS1v15(rand.Reader, key, hash, digest)
	}
	return nil, errors.New("no private key")
}

// assertionLife is how long an assertion that authenticates this client is valid.
const assertionLife = time.Minute

// assertion authenticates a client at the authorization server of an issuer (RFC 7523).
func (c *Client) assertion(clientID, issuer string) (string, error) {
	now := c.now()
	return c.key.jwt(map[string]any{"typ": "JWT"}, map[string]any{
		"iss": clientID, "sub": clientID, "aud": issuer, "jti": signin.Secret(16), "iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
}
