package cli

import (
	"fmt"
	"io"
	"net/http"

	"go.uber.org/zap"

	"toolserver/domain"
	"toolserver/server"
)

// authenticator establishes who calls over HTTP: whom a configured token stands
// for. Without configured tokens it is the local user who presents the token that
// was made for this run or, with --insecure-no-auth, anybody.
type authenticator struct {
	app      *app
	insecure bool
	run      *server.Tokens // nil if there is none
	token    string         // of run
}

func newAuthenticator(a *app, insecure bool) *authenticator {
	auth := &authenticator{app: a, insecure: insecure}
	if insecure || a.hadTokens.Load() {
		return auth
	}
	auth.token = newToken()
	run, err := server.ParseTokens("run", []server.Token{{Name: "run", Hash: server.HashToken(auth.token)}})
	if err != nil {
		panic(err) // the hash is ours
	}
	auth.run = run
	a.addSecret(auth.token)
	return auth
}

// required reports whether nobody can call without a token.
func (auth *authenticator) required() bool { return !auth.insecure || auth.app.hadTokens.Load() }

// announce says, once, how clients authenticate if configuration does not.
func (auth *authenticator) announce(w io.Writer, url string) {
	switch {
	case auth.run != nil:
		fmt.Fprintf(w, "toolserver: clients need this token, which is made for this run (server.tokens makes lasting ones):\n"+
			`{"mcpServers": {"toolserver": {"type": "http", "url": %q, "headers": {"Authorization": "Bearer %s"}}}}`+"\n", url, auth.token)
	case !auth.required():
		fmt.Fprintln(w, "toolserver: WARNING: --insecure-no-auth: everybody who can connect may use every tool, other users of this machine too")
		auth.app.log.Warn("serving without authentication", zap.String("url", url))
	}
}

// Authenticate returns whom a request is from, or the challenge to answer with.
// Where tokens were once configured none but a configured token will do, so that
// no change of the file opens the server.
func (auth *authenticator) Authenticate(r *http.Request) (domain.Principal, *server.Challenge) {
	now := auth.app.now.Load()
	switch {
	case !now.tokens.Empty():
		return now.tokens.Authenticate(r)
	case auth.app.hadTokens.Load():
		return domain.Principal{}, &server.Challenge{Error: "invalid_token", Description: "no token is configured any more"}
	case auth.insecure:
		return now.anyone, nil
	}
	if _, challenge := auth.run.Authenticate(r); challenge != nil {
		return domain.Principal{}, challenge
	}
	return auth.app.user(), nil
}
