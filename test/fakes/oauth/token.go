package oauth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// token is the token endpoint.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	_ = r.ParseForm()
	s.note(r)
	if r.URL.RawQuery != "" || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		s.wrong(w, http.StatusBadRequest, "invalid_request", "a query, or no form")
		return
	}
	id, ok := s.authenticated(r)
	if !ok {
		s.wrong(w, http.StatusUnauthorized, "invalid_client", "the client is unknown, or has not authenticated as registered")
		return
	}
	key := ""
	if s.Binds {
		var fresh bool
		switch key, fresh = s.proved(r, s.Issuer(), ""); {
		case key == "":
			s.wrong(w, http.StatusBadRequest, "invalid_dpop_proof", "at the token endpoint")
			return
		case !fresh:
			w.Header().Set("DPoP-Nonce", s.Nonce)
			refuse(w, http.StatusBadRequest, "use_dpop_nonce", "")
			return
		}
	}
	if r.PostForm.Get("resource") != s.URL() {
		s.wrong(w, http.StatusBadRequest, "invalid_target", "the resource is "+r.Form.Get("resource"))
		return
	}
	f := r.PostForm
	switch f.Get("grant_type") {
	case "authorization_code":
		g := s.codes[f.Get("code")]
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		switch {
		case g == nil || g.client != id || g.redirect != f.Get("redirect_uri") || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]):
			s.wrong(w, http.StatusBadRequest, "invalid_grant", "the code is of another client, redirect or verifier")
		case g.ended || g.refresh != "":
			g.ended = true
			s.wrong(w, http.StatusBadRequest, "invalid_grant", "the code was used twice")
		default:
			g.refresh, g.key = "used", key
			s.give(w, g)
		}
	case "refresh_token":
		g := s.refresh[f.Get("refresh_token")]
		switch {
		case g == nil || g.client != id || g.key != key:
			s.wrong(w, http.StatusBadRequest, "invalid_grant", "unknown refresh token")
		case g.refresh != f.Get("refresh_token"):
			g.ended = true
			s.wrong(w, http.StatusBadRequest, "invalid_grant", "a refresh token was used twice")
		case g.ended:
			refuse(w, http.StatusBadRequest, "invalid_grant", "the grant has ended")
		default:
			s.give(w, g)
		}
	case "client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer":
		if f.Get("grant_type") != "client_credentials" && f.Get("assertion") == "" {
			s.wrong(w, http.StatusBadRequest, "invalid_request", "no assertion")
			return
		}
		g := &grant{client: id, resource: f.Get("resource"), user: id, key: key, scopes: strings.Fields(f.Get("scope"))}
		if s.Grant != nil {
			g.scopes = s.Grant(g.scopes)
		}
		s.giveAccess(w, g, map[string]any{})
	default:
		s.wrong(w, http.StatusBadRequest, "unsupported_grant_type", f.Get("grant_type"))
	}
}

// give answers with tokens. The caller has the lock.
func (s *Server) give(w http.ResponseWriter, g *grant) {
	answer := map[string]any{}
	if !s.NoRefresh {
		g.refresh = s.secret("refresh")
		s.refresh[g.refresh] = g
		answer["refresh_token"] = g.refresh
	}
	s.giveAccess(w, g, answer)
}

func (s *Server) giveAccess(w http.ResponseWriter, g *grant, answer map[string]any) {
	access := s.secret("access")
	given := *g
	given.expires, given.family = time.Now().Add(s.Life), g
	s.access[access] = &given
	answer["access_token"], answer["token_type"], answer["expires_in"] = access, "Bearer", int(s.Life.Seconds())
	if g.key != "" {
		answer["token_type"] = "DPoP"
	}
	if len(g.scopes) > 0 {
		answer["scope"] = strings.Join(g.scopes, " ")
	}
	s.answer(w, http.StatusOK, "token", answer)
}

// authenticated returns the client that a request is of, if it has authenticated as it was registered.
func (s *Server) authenticated(r *http.Request) (id string, ok bool) {
	f := r.PostForm
	method := "none"
	id = f.Get("client_id")
	secret := f.Get("client_secret")
	if user, password, basic := r.BasicAuth(); basic {
		id, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(password)
		method = "client_secret_basic"
	} else if secret != "" {
		method = "client_secret_post"
	} else if f.Get("client_assertion") != "" {
		method = "private_key_jwt"
	}
	c, known := s.Clients[id]
	if s.Documents && strings.HasPrefix(id, "https://") {
		return id, method == "none"
	}
	if !known || method != c.Method || secret != c.Secret {
		return id, false
	}
	return id, method != "private_key_jwt" || s.signed(c, id, f.Get("client_assertion")) == nil
}

// signed checks an assertion that authenticates a client.
func (s *Server) signed(c Client, id, assertion string) error {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return fmt.Errorf("%d parts", len(parts))
	}
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	key, isEC := c.Key.(*ecdsa.PublicKey)
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !isEC || len(signature) != 64 || !ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return fmt.Errorf("bad signature")
	}
	var claims struct {
		Iss, Sub, Aud, Jti string
		Exp                int64
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return err
	}
	if claims.Iss != id || claims.Sub != id || claims.Aud != s.Issuer() || claims.Jti == "" || time.Now().Unix() > claims.Exp {
		return fmt.Errorf("bad claims")
	}
	return nil
}

// revoke ends the grant of a token (RFC 7009).
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	s.note(r)
	if _, ok := s.authenticated(r); !ok {
		s.wrong(w, http.StatusUnauthorized, "invalid_client", "the client has not authenticated")
		return
	}
	token := r.PostForm.Get("token")
	for _, g := range []*grant{s.refresh[token], s.access[token]} {
		if g != nil {
			g.ended = true
		}
	}
}

// serve is the MCP server.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.note(r)
	user, status, said := s.judge(r, body)
	inner := s.Inner
	s.mu.Unlock()
	switch {
	case status != 0:
		w.Header().Set("WWW-Authenticate", said)
		if s.Nonce != "" {
			w.Header().Set("DPoP-Nonce", s.Nonce)
		}
		http.Error(w, "not authorized", status)
	case inner != nil:
		r.Header.Set("X-User", user)
		inner.ServeHTTP(w, r)
	default:
		fmt.Fprintf(w, "%s %s", user, body)
	}
}

// judge returns whose token a request has, or what it is refused with. The caller has the lock.
func (s *Server) judge(r *http.Request, body []byte) (user string, status int, said string) {
	need := []string{"read"}
	var message struct{ Method string }
	if s.Need != nil {
		_ = json.Unmarshal(body, &message)
		need = s.Need(message.Method, body)
	}
	metadata := fmt.Sprintf(`resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, s.Resource.URL)
	scope := fmt.Sprintf(`scope="%s"`, strings.Join(need, " "))
	scheme := "Bearer"
	if s.Binds {
		scheme = "DPoP"
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), scheme+" ")
	g := s.access[token]
	switch {
	case !ok && need == nil:
		return "", 0, ""
	case !ok:
		return "", http.StatusUnauthorized, scheme + " " + scope + ", " + metadata
	case g == nil:
		s.problems = append(s.problems, "invalid_token: "+r.Header.Get("Authorization")[:min(20, len(r.Header.Get("Authorization")))])
		return "", http.StatusUnauthorized, scheme + ` error="invalid_token", ` + metadata
	case g.resource != s.URL():
		s.problems = append(s.problems, "invalid_token: for another resource")
		return "", http.StatusUnauthorized, scheme + ` error="invalid_token", ` + metadata
	case g.ended || g.family.ended || time.Now().After(g.expires):
		return "", http.StatusUnauthorized, scheme + ` error="invalid_token", error_description="expired", ` + scope + ", " + metadata
	}
	if key, fresh := "", false; s.Binds {
		switch key, fresh = s.proved(r, s.Resource.URL, token); {
		case key == "" || key != g.key:
			s.problems = append(s.problems, "invalid_dpop_proof: at the resource")
			return "", http.StatusUnauthorized, `DPoP error="invalid_dpop_proof", ` + metadata
		case !fresh:
			return "", http.StatusUnauthorized, `DPoP error="use_dpop_nonce", ` + metadata
		}
	}
	for _, scope := range need {
		if !slices.Contains(g.scopes, scope) {
			return "", http.StatusForbidden, fmt.Sprintf(`%s error="insufficient_scope", scope="%s", %s, error_description="not enough"`, scheme, scope, metadata)
		}
	}
	return g.user, 0, ""
}
