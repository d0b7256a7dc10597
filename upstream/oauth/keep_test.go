package oauth

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
)

// TestKept keeps sign-ins encrypted, or in the keyring, and reads them again.
func TestKept(t *testing.T) {
	keyring.MockInit()
	for name, keeping := range map[string]signin.Keeping{"plain": {}, "encrypted": {Key: "passphrase"}, "keyring": {Store: signin.KindKeyring}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			with := func(c *Config) { c.Keeping = keeping }
			w.signedIn(w.client(with), "")
			w.EndAccess()
			w.works(w.client(with), "")
			found := false
			files, err := filepath.Glob(filepath.Join(w.dir, "upstream", "grant-*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				data, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				for _, secret := range w.Secrets() {
					found = found || strings.Contains(string(data), secret)
				}
			}
			if found != (name == "plain") || (len(files) == 0) != (name == "keyring") {
				t.Errorf("%d files, secrets: %v", len(files), found)
			}
			if name == "keyring" {
				return
			}
			other := map[string]signin.Keeping{"plain": {Key: "passphrase"}, "encrypted": {}}[name]
			c := w.client(func(c *Config) { c.Keeping = other })
			if _, err := c.Status(""); !w.says(err, "sign_ins.key, or google.token_key,") {
				t.Errorf("with another setting: %v", err)
			}
			if _, err := c.SignIn(t.Context(), ""); !w.says(err, "sign_ins.key") {
				t.Errorf("it would be overwritten: %v", err)
			}
		})
	}
}

// TestOldFiles reads what older versions have kept.
func TestOldFiles(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	w.signedIn(c, "")
	g, err := c.grants.Load(everyone, true)
	if err != nil {
		t.Fatal(err)
	}
	state := sandbox.NewState(w.dir, "upstream")
	old := fmt.Sprintf(`{"upstream":"notes","resource":%q,"resource_metadata":%q,"issuer":%q,"token_endpoint":%q,"revocation_endpoint":%q,`+
		`"client":{"issuer":%[3]q,"client_id":%[6]q,"method":"none","redirect":"http://127.0.0.1:1/callback"},"requested":["read"],"scopes":["read"],`+
		`"access_token":%q,"refresh_token":%q,"expiry":%q,"created":"2026-01-02T03:04:05Z","refreshed":"2026-01-02T03:04:05Z"}`,
		g.Resource, g.Metadata, g.Issuer, g.Token, g.Revocation, g.Client.ID, g.Access, g.Refresh, time.Now().Add(time.Hour).Format(time.RFC3339))
	if err := state.Write(c.name("grant", ""), []byte(old)); err != nil {
		t.Fatal(err)
	}
	c = w.client()
	w.works(c, "")
	if s, err := c.Status(""); err != nil || !s.SignedIn || !s.Renews || s.Created.Year() != 2026 || s.Client != g.Client.ID {
		t.Errorf("%+v, %v", s, err)
	}
	w.EndAccess()
	w.works(w.client(), "")
	if n := len(w.Requests("/register")); n != 1 {
		t.Errorf("%d registrations", n)
	}
}
