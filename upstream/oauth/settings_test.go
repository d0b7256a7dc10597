package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
)

func TestSettings(t *testing.T) {
	key, _ := newKey(t)
	for _, test := range []struct {
		settings Settings
		want     string
	}{
		{Settings{}, ""},
		{Settings{ClientID: "x", Flow: FlowAuto, PerPrincipal: true, ClientMetadataURL: "https://client.example/c.json", Issuer: "http://127.0.0.1:1"}, ""},
		{Settings{ClientSecret: "x"}, "client_secret requires client_id"},
		{Settings{SigningAlgorithm: "ES256"}, "requires private_key"},
		{Settings{PrivateKey: "x"}, "private_key: it is not in PEM"},
		{Settings{PrivateKey: key, SigningAlgorithm: "RS256"}, "cannot sign with RS256"},
		{Settings{AuthMethod: methodSigned}, "requires private_key"},
		{Settings{AuthMethod: methodBasic, ClientID: "x"}, "requires client_secret"},
		{Settings{Flow: FlowClientCredentials, ClientID: "x", ClientSecret: "y", PerPrincipal: true}, "per_principal requires"},
		{Settings{Flow: FlowClientCredentials, ClientID: "x"}, "requires client_id, and"},
		{Settings{Flow: FlowJWTBearer, ClientID: "x"}, "assertion_file"},
		{Settings{Flow: FlowEnterprise, ClientID: "x", AssertionFile: "y"}, "identity_provider"},
		{Settings{Scopes: []string{"a b"}}, "scopes"},
		{Settings{Scopes: []string{""}}, "scopes"},
		{Settings{ClientMetadataURL: "https://client.example"}, "client_metadata_url"},
		{Settings{ClientMetadataURL: "http://client.example/c.json"}, "client_metadata_url"},
		{Settings{Issuer: "http://as.example"}, "issuer is no https address"},
		{Settings{Resource: "notes"}, "resource is no https address"},
	} {
		err := test.settings.Validate()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v; want %q", test.settings, err, test.want)
		}
	}
	for address, want := range map[string]string{"http://m.example/mcp": "https", "": "no address", "m.example": "no address", "http://127.0.0.1/mcp": "", "http://[::1]:5/mcp": ""} {
		_, err := New(Config{Upstream: "notes", URL: address})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestKeys signs with keys of each kind and form.
func TestKeys(t *testing.T) {
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	oldEC, err := x509.MarshalECPrivateKey(p256)
	if err != nil {
		t.Fatal(err)
	}
	onCurve := func(key *ecdsa.PublicKey) func(text, signature []byte) bool {
		return func(text, signature []byte) bool {
			half := len(signature) / 2
			sum := sha256.Sum256(text)
			digest := sum[:]
			if half == 48 {
				sum := sha512.Sum384(text)
				digest = sum[:]
			}
			return ecdsa.Verify(key, digest, new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:]))
		}
	}
	for _, test := range []struct {
		der             []byte
		algorithm, want string
		verify          func(text, signature []byte) bool
	}{
		{pkcs8(p256), "", "ES256", onCurve(&p256.PublicKey)},
		{oldEC, "ES256", "ES256", onCurve(&p256.PublicKey)},
		{pkcs8(p384), "", "ES384", onCurve(&p384.PublicKey)},
		{pkcs8(ed), "", "EdDSA", func(text, signature []byte) bool { return ed25519.Verify(public, text, signature) }},
		{pkcs8(long), "", "RS256", func(text, signature []byte) bool {
			sum := sha256.Sum256(text)
			return rsa.VerifyPKCS1v15(&long.PublicKey, crypto.SHA256, sum[:], signature) == nil
		}},
		{x509.MarshalPKCS1PrivateKey(long), "PS256", "PS256", func(text, signature []byte) bool {
			sum := sha256.Sum256(text)
			return rsa.VerifyPSS(&long.PublicKey, crypto.SHA256, sum[:], signature, nil) == nil
		}},
	} {
		s, err := parseKey(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: test.der})), test.algorithm)
		if err != nil || s.algorithm != test.want {
			t.Errorf("%s: %s, %v", test.want, s.algorithm, err)
			continue
		}
		for range 20 { // numbers with leading zeros are rare
			token, err := s.jwt(map[string]any{}, map[string]any{"sub": "x"})
			if err != nil {
				t.Fatal(err)
			}
			text, last, _ := strings.Cut(token[strings.Index(token, ".")+1:], ".")
			signature, err := base64.RawURLEncoding.DecodeString(last)
			signed := token[:strings.Index(token, ".")+1] + text
			if err != nil || !test.verify([]byte(signed), signature) {
				t.Errorf("%s: the signature is wrong, %v", test.want, err)
			}
		}
	}
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err == nil {
		if _, err := parseKey(string(pem.EncodeToMemory(&pem.Block{Bytes: pkcs8(short)})), ""); err == nil {
			t.Error("a short key is accepted")
		}
	}
	if _, err := parseKey(string(pem.EncodeToMemory(&pem.Block{Bytes: []byte("x")})), ""); err == nil {
		t.Error("what is no key is accepted")
	}
}
