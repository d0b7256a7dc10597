// Package oauth signs in to remote upstreams: it is a client of OAuth 2.1 as the Model Context Protocol has it. It finds the
// authorization server of an upstream, registers with it, has people sign in, keeps their grants and refreshes tokens, and adds
// them to the requests that go to the upstream, and to no others.
package oauth

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"

	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
)

// Config is what the client of an upstream is made from.
type Config struct {
	Settings Settings
	Upstream string            // its name
	URL      string            // its address
	HTTP     http.RoundTripper // sends all requests, and follows no redirects
	State    *sandbox.State    // keeps grants and registrations
	signin.Host
	// SignedIn is called when a principal has signed in, "" if for all; nil does nothing.
	SignedIn func(principal string)
	// Patience is how long a sign-in waits for a person; 0 means 10 minutes.
	Patience time.Duration
	// Linger is how long the pages of a sign-in stay for second tabs; 0 means 3 seconds.
	Linger time.Duration
	Now    func() time.Time // nil for the clock
	Log    *zap.Logger      // may be nil
}

// Client holds the grants for one upstream. It is safe for concurrent use, also by several processes with the same state.
type Client struct {
	*requester
	config    Config
	discovery *discovery
	clients   *clients
	tokens    *tokens
	desk      *signin.Desk
	grants    *signin.Grants[grant]
	log       *zap.Logger
	flights   singleflight.Group // requests for tokens and sign-ins that callers share
}

// New returns the client of an upstream. It sends and reads nothing yet. The error is of the settings or the address.
func New(config Config) (*Client, error) {
	settings := config.Settings
	if err := settings.Validate(); err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	base, err := url.Parse(config.URL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("%.200q is no address of an upstream", config.URL)
	}
	r := &requester{upstream: config.Upstream, settings: settings, base: base, http: config.HTTP, answer: 15 * time.Second, now: config.Now}
	if _, ok := r.trusted((&url.URL{Scheme: base.Scheme, Host: base.Host}).String()); !ok {
		return nil, fmt.Errorf("oauth requires an https address of the upstream: a token would be sent unencrypted to %s", base.Host)
	}
	for _, s := range []string{settings.ClientSecret, settings.PrivateKey, settings.IdentityProvider.ClientSecret} {
		if s != "" {
			r.secrets.always = append(r.secrets.always, s)
		}
	}
	var key signer
	if settings.PrivateKey != "" {
		if key, err = parseKey(settings.PrivateKey, settings.SigningAlgorithm); err != nil {
			return nil, err
		}
	}
	if r.now == nil {
		r.now = time.Now
	}
	c := &Client{
		requester: r, config: config, discovery: &discovery{requester: r}, tokens: &tokens{r, key},
		log: cmp.Or(config.Log, zap.NewNop()),
	}
	r.nonces.MaxEntries = maxNonces
	known := &c.discovery.documents
	known.MaxEntries, known.MaxAge, known.Now = maxDocuments, documentLife, r.now
	c.grants = c.newGrants()
	c.clients = &clients{r, key.key != nil, &signin.Grants[registration]{
		Store:  signin.NewStore(signin.StoreConfig{State: config.State, Forget: c.command("logout")}),
		Entry:  func(name string) signin.Entry { return signin.Entry{Name: name, Title: "upstream " + config.Upstream} },
		Opened: func(_ string, known *registration) error { r.secrets.hide(known.Secret); return nil },
	}}
	c.desk = signin.New(signin.Config{
		For: config.Upstream, Paste: c.command("login") + " --paste", Host: config.Host, Patience: config.Patience, Linger: config.Linger,
	})
	return c, nil
}

// Close ends the sign-ins that wait, and waits until their pages are delivered. Grants can still be used.
func (c *Client) Close() error { return c.desk.Close() }

// command returns a command about the sign-in: login or logout.
func (c *Client) command(verb string) string { return "toolserver upstream " + verb + " " + c.upstream }

// everyone is the owner of a grant that all principals share.
const everyone = ""

// ownerOf returns whose grant a principal uses. Without a principal there is none where each has their own.
func (c *Client) ownerOf(principal string) (owner string, err error) {
	switch {
	case !c.settings.PerPrincipal:
		return everyone, nil
	case principal == "":
		return "", fmt.Errorf("upstream %s requires a sign-in of each caller, and this request has none", c.upstream)
	}
	return principal, nil
}

// name returns what is kept for an upstream under: nothing of what callers or servers are called is in it.
func (r *requester) name(kind, whose string) string {
	return kind + "-" + signin.Hashed(r.upstream+"\x00"+whose)
}

// principalIn returns the principal of the call that a context belongs to.
func principalIn(ctx context.Context) string { return call.SessionOf(ctx).Principal.ID }

// Secrets returns what must be redacted wherever text of the upstream or its authorization server is shown: the secrets of the
// settings, and the tokens and client secrets that were used lately.
func (c *Client) Secrets() []string { return c.secrets.all() }
