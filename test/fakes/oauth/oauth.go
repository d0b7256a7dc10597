// Package oauth is a stand-in for a remote MCP server that requires OAuth, and for its authorization server. Both enforce what the
// specifications demand of clients: redirects are exact, PKCE and the resource are required, codes work once, refresh tokens are
// rotated and their reuse ends the grant, and a token is good for one resource.
package oauth

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is the pair. The fields may be changed between requests with [Server.Set].
type Server struct {
	Authorization *httptest.Server
	Resource      *httptest.Server

	// Inner serves requests with a good token, whose user is in the header X-User; nil answers each with the name of the user.
	Inner http.Handler
	// Need returns the scopes that a request to the resource requires; nil requires read.
	Need func(method string, body []byte) []string
	// Consent decides on an authorization request: what the answer has instead of a code, or nil.
	Consent func(q url.Values) url.Values
	// Grant returns the scopes that are granted of those that were asked for; nil grants all.
	Grant func(asked []string) []string
	// Change changes a JSON answer: resource, server, registration or token.
	Change func(document string, answer map[string]any)
	// Before is called before a request to either server is served, and may answer it.
	Before func(w http.ResponseWriter, r *http.Request) (ended bool)

	User      string        // who is signed in at the authorization server, unless the header X-User of a browser says so
	Life      time.Duration // of access tokens
	Documents bool          // client ID metadata documents are supported; they are not fetched
	AnyPort   bool          // redirects to 127.0.0.1 match with any port
	Names     string        // what it calls itself in answers to browsers; its issuer if empty
	NoRefresh bool
	Binds     bool              // tokens are bound to a key, and no others accepted
	Nonce     string            // that proofs of the key must have
	Clients   map[string]Client // that are registered, by ID

	mu       sync.Mutex
	codes    map[string]*grant
	access   map[string]*grant
	refresh  map[string]*grant
	requests []Request
	proofs   map[string]bool // that were used
	problems []string        // what clients did wrong
}

// Client is one that is registered.
type Client struct {
	Secret    string
	Method    string // of authentication
	Redirects []string
	Key       any // the public key of private_key_jwt
}

// Request is one that a server has received.
type Request struct {
	Path string
	Form url.Values
	Auth string // the header Authorization
}

// grant is what a person has agreed to.
type grant struct {
	client, redirect, challenge, resource, user string
	scopes                                      []string
	expires                                     time.Time // of the access token
	ended                                       bool
	refresh                                     string // the one that is valid
	key                                         string // that the tokens are bound to
	family                                      *grant // of an access token: the grant that it came from
}

// Start returns servers that listen on loopback addresses.
func Start() *Server {
	return start(func(h http.Handler) *httptest.Server { return httptest.NewServer(h) })
}

// StartTLS returns servers with TLS that listen where listen does.
func StartTLS(listen func() net.Listener, certificate tls.Certificate) *Server {
	return start(func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Listener.Close()
		s.Listener, s.TLS = listen(), &tls.Config{Certificates: []tls.Certificate{certificate}}
		s.StartTLS()
		return s
	})
}

func start(serve func(http.Handler) *httptest.Server) *Server {
	s := &Server{
		User: "ann", Life: time.Hour, Clients: map[string]Client{},
		codes: map[string]*grant{}, access: map[string]*grant{}, refresh: map[string]*grant{}, proofs: map[string]bool{},
	}
	as := http.NewServeMux()
	as.HandleFunc("GET /.well-known/oauth-authorization-server", s.serverMetadata)
	as.HandleFunc("GET /authorize", s.authorize)
	as.HandleFunc("POST /token", s.token)
	as.HandleFunc("POST /register", s.register)
	as.HandleFunc("POST /revoke", s.revoke)
	rs := http.NewServeMux()
	rs.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", s.resourceMetadata)
	rs.HandleFunc("/mcp", s.serve)
	s.Authorization, s.Resource = serve(s.before(as)), serve(s.before(rs))
	return s
}

// Close stops both servers.
func (s *Server) Close() {
	s.Authorization.Close()
	s.Resource.Close()
}

// URL returns the address of the MCP server.
func (s *Server) URL() string { return s.Resource.URL + "/mcp" }

// Set changes how the servers behave.
func (s *Server) Set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Requests returns the requests to a path, such as /token.
func (s *Server) Requests(path string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(r Request) bool { return r.Path != path })
}

// Problems returns what clients did that the specifications forbid.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Secrets returns all codes and tokens that were given out: nobody else may see them.
func (s *Server) Secrets() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range []map[string]*grant{s.codes, s.access, s.refresh} {
		for secret := range m {
			all = append(all, secret)
		}
	}
	for _, c := range s.Clients {
		if c.Secret != "" {
			all = append(all, c.Secret)
		}
	}
	return all
}

// EndAccess makes all access tokens invalid.
func (s *Server) EndAccess() {
	s.Set(func() {
		for _, g := range s.access {
			g.expires = time.Time{}
		}
	})
}

// EndGrants ends all grants, as when a person removes the access.
func (s *Server) EndGrants() {
	s.Set(func() {
		for _, m := range []map[string]*grant{s.access, s.refresh} {
			for _, g := range m {
				g.ended = true
			}
		}
	})
}

// before serves a request, unless the hook does.
func (s *Server) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		hook := s.Before
		s.mu.Unlock()
		if hook == nil || !hook(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// note keeps a request. The caller has the lock.
func (s *Server) note(r *http.Request) {
	s.requests = append(s.requests, Request{r.URL.Path, r.Form, r.Header.Get("Authorization")})
}

// wrong notes what a client did wrong, and refuses the request. The caller has the lock.
func (s *Server) wrong(w http.ResponseWriter, status int, code, why string) {
	s.problems = append(s.problems, code+": "+why)
	refuse(w, status, code, why)
}

func refuse(w http.ResponseWriter, status int, code, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": why})
}

// answer sends JSON. The caller has the lock.
func (s *Server) answer(w http.ResponseWriter, status int, document string, answer map[string]any) {
	if s.Change != nil {
		s.Change(document, answer)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// secret returns a text that nobody can guess.
func (s *Server) secret(kind string) string { return kind + "-" + rand.Text() }

// Issuer returns the identifier of the authorization server.
func (s *Server) Issuer() string { return s.Authorization.URL }

func (s *Server) resourceMetadata(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer(w, http.StatusOK, "resource", map[string]any{
		"resource": s.URL(), "authorization_servers": []string{s.Issuer()}, "bearer_methods_supported": []string{"header"},
	})
}

func (s *Server) serverMetadata(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	base := s.Issuer()
	proofs := []string{}
	if s.Binds {
		proofs = []string{"ES256"}
	}
	s.answer(w, http.StatusOK, "server", map[string]any{
		"dpop_signing_alg_values_supported": proofs,
		"issuer":                            base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token", "registration_endpoint": base + "/register",
		"revocation_endpoint": base + "/revoke", "response_types_supported": []string{"code"},
		"grant_types_supported":            []string{"authorization_code", "refresh_token", "client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic", "client_secret_post", "private_key_jwt"},
		"authorization_response_iss_parameter_supported": true, "client_id_metadata_document_supported": s.Documents,
	})
}

// register registers a client (RFC 7591).
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(r)
	var asked struct {
		Redirects []string `json:"redirect_uris"`
		Grants    []string `json:"grant_types"`
		Kind      string   `json:"application_type"`
		Method    string   `json:"token_endpoint_auth_method"`
	}
	switch err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&asked); {
	case err != nil, len(asked.Redirects) == 0, asked.Kind != kindOf(asked.Redirects), !slices.Contains(asked.Grants, "refresh_token"):
		s.wrong(w, http.StatusBadRequest, "invalid_client_metadata", "redirect_uris, application_type or grant_types")
		return
	}
	id, c := s.secret("client"), Client{Method: asked.Method, Redirects: asked.Redirects}
	answer := map[string]any{"client_id": id, "redirect_uris": asked.Redirects, "token_endpoint_auth_method": asked.Method}
	if c.Method != "none" {
		c.Secret = s.secret("client-secret")
		answer["client_secret"], answer["client_secret_expires_at"] = c.Secret, 0
	}
	s.Clients[id] = c
	s.answer(w, http.StatusCreated, "registration", answer)
}

// kindOf returns what a client is by where its sign-ins lead back to.
func kindOf(redirects []string) string {
	for _, r := range redirects {
		if u, err := url.Parse(r); err == nil && u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" && u.Host != "" {
			return "web"
		}
	}
	return "native"
}

// redirects reports whether a client may be sent back to an address.
func (s *Server) redirects(c Client, address string) bool {
	if slices.Contains(c.Redirects, address) {
		return true
	}
	u, err := url.Parse(address)
	return s.AnyPort && err == nil && u.Hostname() == "127.0.0.1" && slices.Contains(c.Redirects, "http://127.0.0.1"+u.Path)
}

// authorize asks the user, who agrees at once, and sends the browser back.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	s.note(r)
	q := r.Form
	c, known := s.Clients[q.Get("client_id")]
	if s.Documents && strings.HasPrefix(q.Get("client_id"), "https://") {
		c, known = Client{Method: "none", Redirects: []string{"http://127.0.0.1/callback"}}, true
	}
	switch {
	case !known, !s.redirects(c, q.Get("redirect_uri")):
		s.wrong(w, http.StatusBadRequest, "invalid_request", "unknown client, or another redirect than is registered")
		return
	case q.Get("response_type") != "code", q.Get("code_challenge_method") != "S256", len(q.Get("code_challenge")) != 43, len(q.Get("state")) < 22:
		s.wrong(w, http.StatusBadRequest, "invalid_request", "response_type, state or PKCE")
		return
	case q.Get("resource") != s.URL():
		s.wrong(w, http.StatusBadRequest, "invalid_target", "the resource is "+q.Get("resource"))
		return
	}
	answer := url.Values{}
	if s.Consent != nil {
		answer = s.Consent(q)
	}
	if len(answer) == 0 {
		scopes := strings.Fields(q.Get("scope"))
		if s.Grant != nil {
			scopes = s.Grant(scopes)
		}
		code := s.secret("code")
		s.codes[code] = &grant{client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), resource: q.Get("resource"), user: cmp.Or(r.Header.Get("X-User"), s.User), scopes: scopes}
		answer = url.Values{"code": {code}}
	}
	if !answer.Has("state") {
		answer.Set("state", q.Get("state"))
	}
	if !answer.Has("iss") {
		answer.Set("iss", cmp.Or(s.Names, s.Issuer()))
	}
	if answer.Get("iss") == "" {
		answer.Del("iss")
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}
