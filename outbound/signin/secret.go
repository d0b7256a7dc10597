package signin

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"strconv"
)

// Secret returns a text of n bytes that nobody can guess.
func Secret(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Same compares secrets.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Unused returns an address for a redirect that only the address bar of a browser has to show: the public one, or one that hardly
// anything listens on. Port 0 stands for any.
func (h Host) Unused(port int) string {
	if h.PublicURL != "" {
		return NewPages(h.PublicURL).redirect()
	}
	if port == 0 {
		b := make([]byte, 2)
		_, _ = rand.Read(b) // never fails
		port = 49152 + (int(b[0])<<8|int(b[1]))%16384
	}
	return "http://127.0.0.1:" + strconv.Itoa(port) + callbackPath
}
