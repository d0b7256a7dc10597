package google

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Paths of the OAuth server.
const (
	AuthPath   = "/o/oauth2/v2/auth"
	TokenPath  = "/token"
	RevokePath = "/revoke"
)

const userinfo = "https://www.googleapis.com/auth/userinfo."

// codeLife is how long a code can be exchanged.
const codeLife = 10 * time.Minute

// code is what the consent page gives out.
type code struct {
	asked   *authorization
	user    *user
	scopes  []string
	expires time.Time
	grant   *grant // that it was exchanged for
}

// grant is what a user has allowed the client, until it is revoked.
type grant struct {
	user    *user
	scopes  []string
	revoked bool
}

type accessToken struct {
	grant   *grant
	expires time.Time
}

// tokenOf returns the token of a request, nil if it has none that is valid. The caller holds the lock.
func (f *Fake) tokenOf(r *http.Request) *accessToken {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if t := f.access[text]; ok && t != nil && !t.grant.revoked && f.o.Now().Before(t.expires) {
		return t
	}
	return nil
}

// refuse answers as the OAuth server does.
func refuse(w http.ResponseWriter, status int, reason, description string) {
	writeJSON(w, status, map[string]any{"error": reason, "error_description": description})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache, no-store, max-age=0, must-revalidate")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// token answers the token endpoint.
func (f *Fake) token(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		refuse(w, http.StatusBadRequest, "invalid_request", "The request requires POST and a form.")
		return
	}
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", "Malformed form.")
		return
	}
	form := r.PostForm
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokenRequests[form.Get("grant_type")]++
	switch {
	case len(r.URL.Query()) > 0:
		refuse(w, http.StatusBadRequest, "invalid_request", "Parameters are not allowed in the query.")
	case form.Get("client_id") == "":
		refuse(w, http.StatusBadRequest, "invalid_request", "Could not determine client ID from request.")
	case form.Get("client_id") != f.o.ClientID:
		refuse(w, http.StatusUnauthorized, "invalid_client", "The OAuth client was not found.")
	case form.Get("client_secret") == "":
		refuse(w, http.StatusBadRequest, "invalid_request", "client_secret is missing.")
	case form.Get("client_secret") != f.o.ClientSecret:
		refuse(w, http.StatusUnauthorized, "invalid_client", "The provided client secret is invalid.")
	case form.Get("grant_type") == "authorization_code":
		f.exchange(w, form)
	case form.Get("grant_type") == "refresh_token":
		f.renew(w, form)
	default:
		refuse(w, http.StatusBadRequest, "unsupported_grant_type", "Invalid grant_type: "+form.Get("grant_type"))
	}
}

// exchange answers a code with tokens.
func (f *Fake) exchange(w http.ResponseWriter, form url.Values) {
	c := f.codes[form.Get("code")]
	switch {
	case c != nil && c.grant != nil: // somebody else may have used it
		c.grant.revoked = true
		refuse(w, http.StatusBadRequest, "invalid_grant", "Bad Request")
		return
	case c == nil || !f.o.Now().Before(c.expires):
		refuse(w, http.StatusBadRequest, "invalid_grant", "Malformed auth code.")
		return
	case form.Get("redirect_uri") != c.asked.redirect:
		refuse(w, http.StatusBadRequest, "redirect_uri_mismatch", "Bad Request")
		return
	case form.Get("code_verifier") == "":
		refuse(w, http.StatusBadRequest, "invalid_grant", "Missing code verifier.")
		return
	case subtle.ConstantTimeCompare([]byte(challenge(form.Get("code_verifier"))), []byte(c.asked.challenge)) == 0:
		refuse(w, http.StatusBadRequest, "invalid_grant", "Invalid code verifier.")
		return
	}
	c.grant = &grant{user: c.user, scopes: c.scopes}
	f.grants = append(f.grants, c.grant)
	answer := f.tokens(c.grant, c.asked.nonce)
	if c.asked.offline && c.asked.consent {
		answer["refresh_token"] = f.newRefresh(c.grant)
	}
	writeJSON(w, http.StatusOK, answer)
}

// challenge returns the PKCE challenge of a verifier, by S256.
func challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// renew answers a refresh token with an access token.
func (f *Fake) renew(w http.ResponseWriter, form url.Values) {
	old := form.Get("refresh_token")
	g := f.refresh[old]
	if g == nil || g.revoked {
		refuse(w, http.StatusBadRequest, "invalid_grant", "Token has been expired or revoked.")
		return
	}
	answer := f.tokens(g, "")
	if f.o.RotateRefresh {
		delete(f.refresh, old)
		answer["refresh_token"] = f.newRefresh(g)
	}
	writeJSON(w, http.StatusOK, answer)
}

func (f *Fake) newRefresh(g *grant) string {
	token := "1//" + secret(32)
	f.refresh[token] = g
	return token
}

func (f *Fake) newAccess(g *grant) string {
	token := "ya29." + secret(64)
	f.access[token] = &accessToken{g, f.o.Now().Add(f.o.TokenLife)}
	return token
}

// tokens returns what both kinds of request are answered with.
func (f *Fake) tokens(g *grant, nonce string) map[string]any {
	answer := map[string]any{
		"access_token": f.newAccess(g), "expires_in": int(f.o.TokenLife / time.Second), "scope": strings.Join(g.scopes, " "), "token_type": "Bearer",
	}
	if slices.Contains(g.scopes, "openid") {
		answer["id_token"] = f.idToken(g, nonce)
	}
	return answer
}

// idToken returns a signed token that says who the user is.
func (f *Fake) idToken(g *grant, nonce string) string {
	now := f.o.Now()
	sum := sha256.Sum256([]byte(g.user.Email))
	claims := map[string]any{
		"iss": "https://accounts.google.com", "aud": f.o.ClientID, "azp": f.o.ClientID, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"sub": "1" + strings.Map(digit, base64.RawURLEncoding.EncodeToString(sum[:15])),
	}
	if slices.Contains(g.scopes, userinfo+"email") {
		claims["email"], claims["email_verified"] = g.user.Email, true
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	text := segment(map[string]any{"alg": "RS256", "typ": "JWT", "kid": "fake"}) + "." + segment(claims)
	digest := sha256.Sum256([]byte(text))
	key, err := f.key()
	if err != nil {
		panic(err) // without random numbers nothing works
	}
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		panic(err) // a key of 2048 bits signs
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func digit(r rune) rune { return '0' + r%10 }

func segment(v map[string]any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// revoke answers the revocation endpoint: either kind of token ends the grant.
func (f *Fake) revoke(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		refuse(w, http.StatusMethodNotAllowed, "invalid_request", "The request requires POST.")
		return
	}
	if err := r.ParseForm(); err != nil || r.Form.Get("token") == "" {
		refuse(w, http.StatusBadRequest, "invalid_request", "Missing required parameter: token")
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	token := r.Form.Get("token")
	g := f.refresh[token]
	if t := f.access[token]; t != nil && f.o.Now().Before(t.expires) {
		g = t.grant
	}
	if g == nil || g.revoked {
		refuse(w, http.StatusBadRequest, "invalid_token", "Token expired or revoked")
		return
	}
	g.revoked = true
	writeJSON(w, http.StatusOK, map[string]any{})
}

// ExpireTokens ends all access tokens. Refresh tokens stay valid.
func (f *Fake) ExpireTokens() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.access {
		t.expires = time.Time{}
	}
}

// Revoke ends the grants of a user with a scope that has a text in it: all of them, as a change of the password does, if the
// text is empty.
func (f *Fake) Revoke(email, scope string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range f.grants {
		if g.user.Email == email && slices.ContainsFunc(g.scopes, func(s string) bool { return strings.Contains(s, scope) }) {
			g.revoked = true
		}
	}
}

// Grant returns tokens of a user without the pages. It panics if there is no such user.
func (f *Fake) Grant(email string, scopes ...string) (access, refresh string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := &grant{user: f.mustUser(email), scopes: scopes}
	f.grants = append(f.grants, g)
	return f.newAccess(g), f.newRefresh(g)
}

// TokenRequests returns how many requests the token endpoint got, by grant type, successful or not.
func (f *Fake) TokenRequests() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.tokenRequests)
}

func (f *Fake) mustUser(email string) *user {
	u := f.users[email]
	if u == nil {
		panic("the fake has no user " + email)
	}
	return u
}
