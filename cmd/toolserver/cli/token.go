package cli

import (
	"crypto/rand"
	"encoding/base64"
)

// newToken returns 256 random bits, marked so that secret scanners know them.
func newToken() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return "toolserver_" + base64.RawURLEncoding.EncodeToString(b[:])
}
