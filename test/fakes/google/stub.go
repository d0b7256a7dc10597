package google

import (
	"net/http"
	"time"
)

const (
	AuthPath   = "/o/oauth2/v2/auth"
	TokenPath  = "/token"
	RevokePath = "/revoke"
	userinfo   = "https://www.googleapis.com/auth/userinfo."
)

type (
	authorization struct{}
	code          struct{}
	grant         struct {
		user   *user
		scopes []string
	}
	accessToken struct {
		grant   *grant
		expires time.Time
	}
)

func (f *Fake) tokenOf(r *http.Request) *accessToken {
	return f.access[r.Header.Get("Authorization")]
}
func (f *Fake) authorize(w http.ResponseWriter, r *http.Request) {}
func (f *Fake) token(w http.ResponseWriter, r *http.Request)     {}
func (f *Fake) revoke(w http.ResponseWriter, r *http.Request)    {}
func (f *Fake) Grant(email string, scopes ...string) (access, refresh string) {
	f.access["Bearer x"] = &accessToken{grant: &grant{f.users[email], scopes}}
	return "x", ""
}
