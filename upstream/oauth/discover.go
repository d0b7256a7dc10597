package oauth

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/outbound/signin"
)

// documentLife is how long a document is used without asking for it again.
const documentLife = 10 * time.Minute

// document is one that was fetched.
type document struct {
	value   any
	fetched time.Time
}

// protectedResource is what an upstream says of itself (RFC 9728).
type protectedResource struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`

	metadata string // where it was found; empty if the upstream has none
}

// authorizationServer is what an authorization server says of itself (RFC 8414, OpenID Connect Discovery).
type authorizationServer struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	Scopes        []string `json:"scopes_supported"`
	Responses     []string `json:"response_types_supported"`
	Grants        []string `json:"grant_types_supported"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	Proofs        []string `json:"dpop_signing_alg_values_supported"`
	NamesIssuer   bool     `json:"authorization_response_iss_parameter_supported"`
	Documents     bool     `json:"client_id_metadata_document_supported"`
}

// resource returns what the upstream says of itself. Metadata is the address that a challenge names, or empty; then the
// well-known addresses are tried. A document that is not fresh may be some minutes old.
func (c *Client) resource(ctx context.Context, metadata string, fresh bool) (protectedResource, error) {
	return cached(ctx, c, "resource "+metadata, fresh, func(ctx context.Context) (protectedResource, error) {
		if metadata != "" {
			return c.resourceAt(ctx, metadata)
		}
		root := wellKnown(&url.URL{Scheme: c.base.Scheme, Host: c.base.Host}, "oauth-protected-resource")
		places := slices.Compact([]string{wellKnown(c.base, "oauth-protected-resource"), root})
		for _, place := range places {
			found, err := c.resourceAt(ctx, place)
			if err == nil || !missing(err) {
				return found, err
			}
		}
		issuer := c.settings.Issuer
		if issuer == "" { // in protocol version 2025-03-26 the upstream is its own, at the root
			root := c.base.Scheme + "://" + c.base.Host
			if _, err := c.server(ctx, root, fresh); err == nil {
				issuer = root
			}
		}
		if issuer != "" {
			return protectedResource{Resource: c.identifier().String(), Issuers: []string{issuer}}, nil
		}
		return protectedResource{}, c.refused("it has no protected resource metadata that names its authorization server",
			"Set issuer in the section oauth of the upstream, or use headers if it has no OAuth.")
	})
}

// identifier returns what the upstream is called as a resource, if it does not say so itself.
func (c *Client) identifier() *url.URL {
	if c.settings.Resource != "" {
		u, _ := url.Parse(c.settings.Resource) // was validated
		return u
	}
	u := *c.base
	u.Fragment, u.User, u.Scheme, u.Host = "", nil, strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawPath = strings.TrimSuffix(u.RawPath, "/")
	return &u
}

// resourceAt returns the metadata at an address, which must be that of the upstream: tokens for another resource are of use to
// others.
func (c *Client) resourceAt(ctx context.Context, address string) (protectedResource, error) {
	var found protectedResource
	if err := c.fetch(ctx, address, &found); err != nil {
		return found, err
	}
	found.metadata = address
	u, err := url.Parse(found.Resource)
	switch {
	case found.Resource == "" || err != nil || u.Host == "" || u.Fragment != "":
		return found, c.refused("its protected resource metadata has no resource", "Report it to whoever runs the upstream.")
	case c.settings.Resource != "" && found.Resource != c.settings.Resource, c.settings.Resource == "" && !covers(u, c.base):
		return found, c.refused("its protected resource metadata is of another resource, "+clean(found.Resource),
			"If that is right, set resource in the section oauth of the upstream.")
	case len(found.Issuers) == 0 && c.settings.Issuer == "":
		return found, c.refused("its protected resource metadata names no authorization server", "Set issuer in the section oauth of the upstream.")
	case len(found.Issuers) == 0:
		found.Issuers = []string{c.settings.Issuer}
	}
	return found, nil
}

// issuer returns the authorization server of a resource: the one of the settings, if there is one, or of a grant that the
// resource still names, or the first.
func (c *Client) issuer(r protectedResource, g *grant) (string, error) {
	switch {
	case c.settings.Issuer != "" && !r.named(c.settings.Issuer):
		return "", c.refused("it no longer names the authorization server "+clean(c.settings.Issuer)+", but "+clean(r.Issuers[0]),
			"If that is right, change issuer, client_id and client_secret in the section oauth of the upstream.")
	case c.settings.Issuer != "":
		return c.settings.Issuer, nil
	case g != nil && r.named(g.Issuer):
		return g.Issuer, nil
	}
	return r.Issuers[0], nil
}

// server returns what an authorization server says of itself.
func (c *Client) server(ctx context.Context, issuer string, fresh bool) (authorizationServer, error) {
	return cached(ctx, c, "server "+issuer, fresh, func(ctx context.Context) (authorizationServer, error) {
		u, ok := c.trusted(issuer)
		if !ok || u.RawQuery != "" {
			return authorizationServer{}, c.untrusted(issuer)
		}
		var absent, wrong error
		for _, place := range serverPlaces(u) {
			found, err := c.serverAt(ctx, issuer, place)
			switch {
			case err == nil:
				return found, nil
			case ctx.Err() != nil:
				return found, ctx.Err()
			case missing(err):
				absent = cmp.Or(absent, err)
			default:
				wrong = cmp.Or(wrong, err)
			}
		}
		if wrong != nil {
			return authorizationServer{}, wrong
		}
		return authorizationServer{}, c.refused("its authorization server "+clean(issuer)+" has no metadata: "+absent.Error(), "Check issuer, or report it to whoever runs the upstream.")
	})
}

// serverPlaces returns where the metadata of an authorization server may be, in the order in which they are tried.
func serverPlaces(issuer *url.URL) []string {
	places := []string{wellKnown(issuer, "oauth-authorization-server"), wellKnown(issuer, "openid-configuration")}
	if path := strings.TrimSuffix(issuer.EscapedPath(), "/"); path != "" {
		places = append(places, issuer.Scheme+"://"+issuer.Host+path+"/.well-known/openid-configuration")
	}
	return places
}

// serverAt returns the metadata at an address, which must be that of the issuer: otherwise one server could pose as another.
func (c *Client) serverAt(ctx context.Context, issuer, address string) (authorizationServer, error) {
	var found authorizationServer
	if err := c.fetch(ctx, address, &found); err != nil {
		return found, err
	}
	if !sameIssuer(found.Issuer, issuer) {
		return found, c.refused("the metadata of its authorization server "+clean(issuer)+" is of another issuer, "+clean(found.Issuer), "Report it to whoever runs the upstream.")
	}
	for _, endpoint := range []string{found.Authorization, found.Token, found.Registration, found.Revocation} {
		if _, ok := c.trusted(endpoint); endpoint != "" && !ok {
			return found, c.untrusted(endpoint)
		}
	}
	if found.Token == "" {
		return found, c.refused("its authorization server "+clean(issuer)+" has no token endpoint", "Report it to whoever runs the upstream.")
	}
	return found, nil
}

// missing reports whether an error is that there is no document at an address.
func missing(err error) bool {
	f, ok := errors.AsType[*httpcall.Failure](err)
	return ok && f.Status >= 300 && f.Status < 500
}

// cached returns a document of the last minutes, or fetches it once for all who ask for it at the same time.
func cached[T any](ctx context.Context, c *Client, key string, fresh bool, fetch func(context.Context) (T, error)) (T, error) {
	c.mu.Lock()
	known, ok := c.documents[key]
	c.mu.Unlock()
	if ok && !fresh && c.now().Sub(known.fetched) < documentLife {
		return known.value.(T), nil
	}
	return signin.Shared(ctx, &c.flights, key, func(ctx context.Context) (T, error) {
		value, err := fetch(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.documents, key)
		if err == nil {
			if len(c.documents) >= maxDocuments {
				clear(c.documents)
			}
			c.documents[key] = document{value, c.now()}
		}
		return value, err
	})
}
