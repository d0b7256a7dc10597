package app

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/audit"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/identity"
	"github.com/toolserver/toolserver/server"
)

// authenticator authenticates HTTP requests by the configured tokens. Without
// any, the local user presents the token made for this run; with
// --insecure-no-auth nobody needs one.
type authenticator struct {
	app      *App
	insecure bool
	public   bool           // sign-in pages are
	run      *server.Tokens // nil if there is none
	token    string         // of run
	refusals refusals
}

func newAuthenticator(a *App, insecure bool) *authenticator {
	auth := &authenticator{app: a, insecure: insecure, refusals: refusals{log: a.journal.log, audit: a.journal.auditRefusal}}
	if insecure || a.closed.Load() {
		return auth
	}
	auth.token = NewToken()
	run, err := server.ParseTokens("run", []server.Token{{Name: "run", Hash: server.HashToken(auth.token)}})
	if err != nil {
		panic(err) // the hash is ours
	}
	auth.run = run
	a.addSecret(auth.token)
	return auth
}

// required reports whether every request needs a token.
func (auth *authenticator) required() bool { return !auth.insecure || auth.app.closed.Load() }

// announce prints how clients authenticate if the configuration has no tokens.
func (auth *authenticator) announce(w io.Writer, url string) {
	switch {
	case auth.run != nil:
		fmt.Fprintf(w, "toolserver: clients require this token, which is valid for this run (server.tokens configures permanent ones):\n"+
			`{"mcpServers": {"toolserver": {"type": "http", "url": %q, "headers": {"Authorization": "Bearer %s"}}}}`+"\n", url, auth.token)
	case !auth.required():
		fmt.Fprintln(w, "toolserver: WARNING: --insecure-no-auth: every client that can connect, including other users of this machine, may use every tool")
		auth.app.journal.log.Warn("serving without authentication", zap.String("url", url))
	}
}

// Authenticate returns the principal of a request by its credentials, or
// the challenge to answer with. Once tokens or issuers were configured only those are accepted, so that no change of
// the file opens the server.
func (auth *authenticator) Authenticate(c server.Credentials) (domain.Principal, *server.Challenge) {
	now := auth.app.now.Load()
	switch {
	case now.config.Shared():
		return now.authenticate(c)
	case auth.app.closed.Load():
		return domain.Principal{}, &server.Challenge{Error: server.InvalidToken, Description: "no token is configured"}
	case auth.insecure:
		return now.anyone, nil
	}
	if _, challenge := auth.run.Authenticate(c); challenge != nil {
		return domain.Principal{}, challenge
	}
	return auth.app.User(), nil
}

// sourceAnonymous is the source of people who have not signed in. They are told apart by their addresses.
const sourceAnonymous = "anonymous"

// authenticate returns whom the token of a request stands for: one of the configuration, or one that an issuer has made.
func (now *state) authenticate(c server.Credentials) (domain.Principal, *server.Challenge) {
	scheme, presented, challenge := c.Token()
	if challenge != nil && c.Authorization == "" {
		if p, ok := now.unsigned(c); ok {
			return p, nil
		}
	}
	if challenge != nil || now.issued.Empty() {
		return now.tokens.Authenticate(c)
	}
	if p, challenge := now.tokens.Authenticate(c); challenge == nil {
		return p, nil
	}
	shown := identity.Shown{Scheme: scheme, Proofs: c.Proofs, Method: c.Method, URL: c.URL, Before: c.Again}
	if c.Certificate != nil {
		shown.Certificate = c.Certificate.Raw
	}
	p, err := now.issued.Principal(presented, &shown)
	switch why := err.(type) {
	case nil:
	case *identity.Refusal:
		return p, &server.Challenge{Error: server.InvalidToken, Description: why.Reason, Detail: why.Error()}
	case *identity.BadProof:
		return p, &server.Challenge{Error: server.InvalidProof, Description: why.Reason, Detail: why.Error()}
	default:
		return p, &server.Challenge{Unavailable: true, Description: "the token cannot be verified now; try again later", Detail: err.Error()}
	}
	p.ComplianceLevel = cmp.Or(p.ComplianceLevel, now.config.Compliance.Level)
	return p, nil
}

// unsigned returns who makes a request without a token: whom the client's certificate is of, or nobody in particular, if that is
// allowed.
func (now *state) unsigned(c server.Credentials) (domain.Principal, bool) {
	switch {
	case c.Certificate != nil:
		return now.config.CertificatePrincipal(c.Certificate), true
	case len(now.config.Auth.Anonymous) > 0:
		return domain.Principal{
			ID: domain.PrincipalID(sourceAnonymous, c.Address), Name: sourceAnonymous, Anonymous: true, ComplianceLevel: now.config.Compliance.Level,
		}, true
	}
	return domain.Principal{}, false
}

// Authenticate returns whom a token of an HTTP client stands for. The error says why it stands for nobody.
func (a *App) Authenticate(token string) (domain.Principal, error) {
	p, challenge := a.now.Load().authenticate(server.Credentials{Authorization: "Bearer " + token})
	if challenge != nil {
		return p, errors.New(cmp.Or(challenge.Detail, challenge.Description))
	}
	return p, nil
}

// prover returns what checks that somebody at a sign-in page is a principal: that they know its bearer token. It is nil for
// who starts this server themselves, unless the page is public, and for who needs no token, as without HTTP.
func (auth *authenticator) prover(principal string) func(credential string) bool {
	if auth == nil {
		return nil
	}
	if now := auth.app.now.Load(); principal == now.user.ID && !auth.public || principal == now.anyone.ID {
		return nil
	}
	return func(credential string) bool {
		p, challenge := auth.Authenticate(server.Credentials{Authorization: "Bearer " + credential})
		if challenge != nil {
			auth.refusals.note("a sign-in page", challenge)
		}
		return challenge == nil && p.ID == principal
	}
}

// knows reports whether anybody can authenticate as a principal, by its ID.
func (auth *authenticator) knows(principal string) bool {
	now := auth.app.now.Load()
	switch {
	case auth.required() && auth.app.closed.Load():
		if strings.HasPrefix(principal, domain.PrincipalID(sourceAnonymous, "")) {
			return len(now.config.Auth.Anonymous) > 0
		}
		if strings.HasPrefix(principal, domain.PrincipalID(config.SourceCertificate, "")) {
			return now.config.Server.TLS.ClientCA != ""
		}
		return now.tokens.Principals()[principal] || now.issued.Knows(principal)
	case auth.insecure:
		return principal == now.anyone.ID
	}
	return principal == now.user.ID
}

// revoke ends what principals do who could authenticate before and no longer can.
func (auth *authenticator) revoke(before *state) {
	served := auth.app.serving.Load().server
	all := slices.Concat([]string{before.user.ID, before.anyone.ID}, served.Principals(), auth.app.runner.Owners())
	for _, id := range slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(all, maps.Keys(before.tokens.Principals()))))) {
		if !auth.knows(id) {
			served.Revoke(id)
			if !strings.HasPrefix(id, domain.PrincipalID(config.SourceUser, "")) { // who is on this machine
				auth.app.journal.auditEvent(audit.Revoked, id, nil)
			}
		}
	}
}

// NewToken returns 256 random bits with a prefix that secret scanners recognize.
func NewToken() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return "toolserver_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// Bounds of what is logged of failed authentication.
const (
	refusalsWindow    = time.Minute
	refusalsLogged    = 5  // addresses of a window that are logged at once, each for its first attempt
	refusalsAddresses = 64 // that are counted by themselves
)

// refusals log failed authentication: the first attempt of an address at once, and how
// many there were at the end of a minute. Whoever floods the server adds a few lines a
// minute, and neither hides others nor is hidden by them. What was presented is never
// logged.
type refusals struct {
	log   *zap.Logger
	audit func(address string, attempts int, c *server.Challenge) // may be nil

	mu        sync.Mutex
	window    *time.Timer // nil if nothing was refused for a while
	attempts  int
	logged    int
	addresses map[string]int  // attempts by address
	asking    map[string]bool // addresses that presented nothing
	closed    bool
}

// note notes an attempt from an address that was answered with a challenge.
func (r *refusals) note(address string, c *server.Challenge) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.window == nil {
		r.attempts, r.logged, r.addresses, r.asking = 0, 0, map[string]int{}, map[string]bool{}
		r.window = time.AfterFunc(refusalsWindow, r.end)
	}
	said := []zap.Field{zap.String("address", address), zap.String("reason", cmp.Or(c.Detail, c.Description))}
	if c.Error == "" { // clients ask like that what the server requires
		if !r.asking[address] && len(r.asking) < refusalsLogged {
			r.asking[address] = true
			r.log.Info("authentication failed", said...)
		}
		return
	}
	r.attempts++
	if n := r.addresses[address]; n > 0 || len(r.addresses) < refusalsAddresses {
		r.addresses[address] = n + 1
	}
	if r.addresses[address] != 1 || r.logged == refusalsLogged {
		return
	}
	r.logged++
	if r.audit != nil {
		r.audit(address, 1, c)
	}
	r.log.Warn("authentication failed", said...)
}

// end logs the attempts of a window that were not logged.
func (r *refusals) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.window == nil {
		return
	}
	r.window = nil
	if r.attempts == r.logged {
		return
	}
	if r.audit != nil {
		r.audit("", r.attempts-r.logged, nil)
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(r.addresses)), func(a, b string) int { return cmp.Compare(r.addresses[a], r.addresses[b]) })
	r.log.Warn("authentication failed: attempts within a minute", zap.Int("attempts", r.attempts), zap.Int("addresses", len(r.addresses)),
		zap.Bool("more_addresses", len(r.addresses) == refusalsAddresses), zap.String("most_from", most), zap.Int("most", r.addresses[most]))
}

// close ends the window.
func (r *refusals) close() {
	r.mu.Lock()
	r.closed = true
	if r.window != nil {
		r.window.Stop()
	}
	r.mu.Unlock()
	r.end()
}
