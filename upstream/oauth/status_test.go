package oauth

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/outbound/signin"
)

func TestStatus(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	if s, err := c.Status(""); s.SignedIn || s.Problem != "" || s.Flow != FlowAuto || !s.Shared || err != nil {
		t.Errorf("before: %+v, %v", s, err)
	}
	w.signedIn(c, "")
	s, err := c.Status("user:bob")
	if err != nil || !s.SignedIn || !s.Renews || s.Issuer != w.Issuer() || s.Resource != w.URL() || s.Client == "" || !slices.Equal(s.Scopes, []string{"read"}) || len(s.Missing) > 0 || s.Created.IsZero() || s.Expires.IsZero() {
		t.Errorf("%+v, %v", s, err)
	}
	other := w.client(settings(func(s *Settings) { s.ClientID = "another" }))
	if s, err := other.Status(""); s.SignedIn || !strings.Contains(s.Problem, "another address, client") || err != nil {
		t.Errorf("another client: %+v, %v", s, err)
	}
	each := w.client(settings(func(s *Settings) { s.PerPrincipal = true }))
	if s, err := each.Status(""); s.SignedIn || s.Problem == "" || err == nil {
		t.Errorf("nobody: %+v, %v", s, err)
	}
	if n := len(w.Requests("/token")); n != 1 {
		t.Errorf("%d requests for tokens", n)
	}
}

func TestLogout(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	if err := c.Logout(t.Context(), ""); err != signin.ErrNoGrant {
		t.Error(err)
	}
	w.signedIn(c, "")
	if err := c.Logout(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if r := w.Requests("/revoke"); len(r) != 1 || !strings.HasPrefix(r[0].Form.Get("token"), "refresh-") {
		t.Errorf("%+v", r)
	}
	_, _, err := w.call(c, "", "tools/list")
	required(t, err)
	w.signedIn(c, "")
	w.Set(func() {
		w.Before = func(to http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/revoke" {
				to.WriteHeader(http.StatusServiceUnavailable)
			}
			return r.URL.Path == "/revoke"
		}
	})
	if err := c.Logout(t.Context(), ""); !w.says(err, "is forgotten here, but was not revoked") {
		t.Error(err)
	}
	_, _, err = w.call(c, "", "tools/list")
	required(t, err)
}

// TestDamaged has something else in the place of a grant. A sign-in replaces it, and it can be removed.
func TestDamaged(t *testing.T) {
	w := newWorld(t)
	each := settings(func(s *Settings) { s.PerPrincipal = true })
	c := w.client(each)
	w.signedIn(c, "user:ann")
	data, err := os.ReadFile(filepath.Join(w.dir, "upstream", c.name("grant", "user:ann")))
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []string{"", "{", "null", "[]", `{"upstream":"notes"}`, string(data)} { // the last is of another principal
		c := w.client(each)
		if err := c.config.State.Write(c.name("grant", "user:bob"), []byte(damaged)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.call(c, "user:bob", "tools/list"); !w.says(err, "no sign-in of this principal") {
			t.Errorf("%q: %v", damaged, err)
		}
		if _, err := c.SignIn(t.Context(), "user:bob"); err != nil { // which replaces it
			t.Errorf("%q: %v", damaged, err)
		}
		if err := c.Logout(t.Context(), "user:bob"); !w.says(err, "is forgotten here") {
			t.Errorf("%q: %v", damaged, err)
		}
		if err := c.Logout(t.Context(), "user:bob"); err != signin.ErrNoGrant {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}
