package identity

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4/json"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// Introspection says how an authorization server is asked about tokens that say nothing themselves (RFC 7662).
type Introspection struct {
	URL      string        `yaml:"url" format:"issuer_url"`
	ClientID string        `yaml:"client_id"`
	Secret   string        `yaml:"client_secret" secret:"true"`
	CacheTTL time.Duration `yaml:"cache" min:"1s" max:"10m"`
}

const (
	introspectTime = 3 * time.Second
	introspectLife = 30 * time.Second // of an answer, unless configuration says otherwise
	maxIntrospects = 16               // requests at a time
)

// introspected is what a server says of a token.
type introspected struct {
	Active bool `json:"active"`
	claims
}

// introspect asks the servers that can be asked about a token, and returns its claims and who knows it.
func (v *Verifier) introspect(token string, sum [sha256.Size]byte) (*issuer, *claims, error) {
	var failed error
	asked := false
	for _, from := range v.issuers {
		if from.Introspection.ClientID == "" {
			continue
		}
		asked = true
		answer, err, _ := v.asking.Do(from.Issuer.Issuer+string(sum[:]), func() (any, error) { return v.ask(from, token) })
		switch {
		case err != nil:
			failed = err
		case answer.(*introspected).Active:
			c := &answer.(*introspected).claims
			if c.Issuer != "" && c.Issuer != from.Issuer.Issuer {
				return nil, nil, refuse(notValid, "%s says that it is of %q", from.Issuer.Issuer, c.Issuer)
			}
			return from, c, v.accepts(from, c)
		}
	}
	switch {
	case failed != nil:
		return nil, nil, &unavailable{failed}
	case asked:
		return nil, nil, refuse(notValid, "no issuer knows it, or it is not valid any more")
	}
	return nil, nil, refuse(notValid, "it does not have the form of a JWT, and no issuer has introspection")
}

func (v *Verifier) ask(from *issuer, token string) (*introspected, error) {
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-time.After(introspectTime):
		return nil, errors.New("too many tokens are being asked about")
	}
	ctx, cancel := context.WithTimeout(v.ending, introspectTime)
	defer cancel()
	s := &from.Introspection
	address := s.URL
	if address == "" {
		said, err := discover(ctx, v.client, from.Issuer.Issuer)
		if err != nil {
			return nil, err
		}
		if address = said.Introspection; address == "" {
			return nil, fmt.Errorf("the metadata of %s has no introspection_endpoint; set introspection.url", from.Issuer.Issuer)
		}
	}
	u, err := url.Parse(address)
	if err != nil || !Secure(u) {
		return nil, fmt.Errorf("%q is neither https nor on this machine", address)
	}
	credentials := url.QueryEscape(s.ClientID) + ":" + url.QueryEscape(s.Secret) // RFC 6749, section 2.3.1
	service := httpcall.Service{
		Name: u.Host, Timeout: introspectTime, MaxBody: maxDocument, Client: v.client(u), Header: map[string]string{
			"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded",
			"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials)),
		},
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	var said introspected
	err = service.Do(ctx, httpcall.Request{URL: address, Body: []byte(form.Encode())}, func(res *httpcall.Response) error {
		if res.Status != http.StatusOK || json.Unmarshal(res.Body, &said) != nil || json.Unmarshal(res.Body, &said.all) != nil {
			return fmt.Errorf("%s gives no answer that can be read", u.Host)
		}
		said.Subject = cmp.Or(said.Subject, said.ClientID) // of a program that acts for itself, as in JWTs (RFC 9068, section 2.2)
		return nil
	})
	return &said, err
}
