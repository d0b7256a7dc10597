package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"time"

	"toolserver/mcpclient"
	"toolserver/sandbox"
	"toolserver/tools/upstream/oauth"
)

// signIns bounds how often a person signs in during a scenario.
const signIns = 5

// cimd is the client ID metadata document that the suite knows.
const cimd = "https://conformance-test.local/client-metadata.json"

// scenarioContext is what the suite tells a client beforehand.
type scenarioContext struct {
	ClientID         string `json:"client_id"`
	ClientSecret     string `json:"client_secret"`
	PrivateKey       string `json:"private_key_pem"`
	SigningAlgorithm string `json:"signing_algorithm"`
	IDPClientID      string `json:"idp_client_id"`
	IDPTokenEndpoint string `json:"idp_token_endpoint"`
	IDToken          string `json:"idp_id_token"`
	ValidJWT         string `json:"valid_jwt"`
}

// authorize runs a scenario of authorization: it lists the tools of the server and calls each, signing in as a person does
// wherever the product's client says that one has to.
func authorize(ctx context.Context, scenario, url string) error {
	dir, err := os.MkdirTemp("", "conformance-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	settings, err := authSettings(scenario, dir)
	if err != nil {
		return err
	}
	client, err := oauth.New(oauth.Config{
		Settings: settings, Upstream: "conformance", URL: url, HTTP: http.DefaultTransport, State: sandbox.NewState(filepath.Join(dir, "state"), "upstream"),
		Linger: time.Millisecond,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	var c *mcpclient.Client
	for range 2 { // a second connection, as after a restart
		if err := signedIn(ctx, func() (err error) {
			c, err = mcpclient.ConnectHTTP(ctx, &http.Client{Transport: client.Transport("")}, url, nil, mcpclient.Options{Name: "toolserver", Version: "1"})
			return err
		}); err != nil {
			return err
		}
		err = callAll(ctx, c)
		c.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// callAll calls every tool.
func callAll(ctx context.Context, c *mcpclient.Client) error {
	var tools []json.RawMessage
	if err := signedIn(ctx, func() (err error) { tools, err = c.List(ctx, "tools/list"); return err }); err != nil {
		return err
	}
	for _, raw := range tools {
		var tool struct{ Name string }
		if err := json.Unmarshal(raw, &tool); err != nil {
			return err
		}
		if err := signedIn(ctx, func() error { _, err := c.CallTool(ctx, tool.Name, map[string]any{}, nil); return err }); err != nil {
			return err
		}
	}
	return nil
}

// authSettings returns what a person would configure for a scenario.
func authSettings(scenario, dir string) (s oauth.Settings, err error) {
	var given scenarioContext
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return s, err
		}
	}
	s.ClientID, s.ClientSecret = given.ClientID, given.ClientSecret
	s.PrivateKey, s.SigningAlgorithm = given.PrivateKey, given.SigningAlgorithm
	assertion := given.IDToken
	switch scenario {
	case "auth/basic-cimd":
		s.ClientMetadataURL = cimd
	case "auth/client-credentials-basic", "auth/client-credentials-jwt":
		s.Flow = oauth.FlowClientCredentials
	case "auth/enterprise-managed-authorization":
		s.Flow = oauth.FlowEnterprise
		s.IdentityProvider = oauth.IdentityProvider{TokenEndpoint: given.IDPTokenEndpoint, ClientID: given.IDPClientID}
	case "auth/wif-jwt-bearer":
		s.Flow, assertion = oauth.FlowJWTBearer, given.ValidJWT
	}
	if assertion != "" {
		s.AssertionFile = filepath.Join(dir, "assertion")
		err = os.WriteFile(s.AssertionFile, []byte(assertion), 0o600)
	}
	return s, err
}

// signedIn does something, again after signing in.
func signedIn(ctx context.Context, do func() error) error {
	for range signIns {
		err := do()
		required, ok := errors.AsType[*oauth.SignInRequired](err)
		if !ok {
			return err
		}
		fmt.Fprintln(os.Stderr, "signing in:", required.Why)
		if err := signIn(ctx, required); err != nil {
			return err
		}
	}
	return errors.New("a sign-in is required again and again")
}

// signIn opens the address of a sign-in in a browser of its own.
func signIn(ctx context.Context, required *oauth.SignInRequired) error {
	flow, err := required.Begin(ctx)
	if err != nil {
		return err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, flow.URL, nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Jar: jar}).Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	select {
	case <-flow.Done():
		return flow.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
