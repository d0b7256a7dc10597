package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/sandbox"
)

// TestGoogleCredentials reads the file that the Google Cloud console offers, and names files that are something else.
func TestGoogleCredentials(t *testing.T) {
	const client = `{"client_id":"1-a.apps.googleusercontent.com","project_id":"p","client_secret":"GOCSPX-verysecret","redirect_uris":["http://localhost"]}`
	for _, test := range []struct{ name, file, more, err string }{
		{"installed", `{"installed":` + client + `}`, "", ""},
		{"web", `{"web":` + client + `}`, "server: {public_url: 'https://tools.example.com', tokens: [{name: a, hash: 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'}]}\n", ""},
		{"web without an address", `{"web":` + client + `}`, "", "is of a Web application, which requires server.public_url"},
		{"service account", `{"type":"service_account","client_id":"1","private_key":"-----BEGIN-----"}`, "", "is the key of a service account"},
		{"user", `{"type":"authorized_user","client_id":"1","client_secret":"GOCSPX-verysecret","refresh_token":"1//x"}`, "", "has no client of the Google Cloud console"},
		{"empty", ``, "", "has no client"},
		{"no JSON", `GOCSPX-verysecret`, "", "has no client"},
		{"list", `[1]`, "", "has no client"},
		{"no secret", `{"installed":{"client_id":"1"}}`, "", "has no client"},
		{"given twice", `{"installed":` + client + `}`, "  client_id: x\n", "leave those settings out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "client_secret_1.json")
			if err := os.WriteFile(file, []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			settings := filepath.Join(dir, "toolserver.yaml")
			if err := os.WriteFile(settings, []byte("google:\n  credentials_file: client_secret_1.json\n"+test.more), 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := config.Load(config.Overrides{File: settings})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), "google.credentials_file: ") || strings.Contains(err.Error(), "verysecret") {
					t.Errorf("%v; want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if l.Google.ClientID != "1-a.apps.googleusercontent.com" || l.Google.ClientSecret != "GOCSPX-verysecret" || !slices.Contains(l.Secrets, "GOCSPX-verysecret") {
				t.Errorf("%+v", l.Google)
			}
			if !slices.ContainsFunc(l.Policy().Own, func(o sandbox.OwnFile) bool { return o.Path == file && o.Secret }) {
				t.Error("not protected")
			}
		})
	}
}
