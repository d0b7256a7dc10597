package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"time"
)

// cimd is the client ID metadata document that the suite knows.
const cimd = "https://conformance-test.local/client-metadata.json"

// configure writes what a person would configure for a scenario, and returns the file.
func (s *scenario) configure(dir, url string) (file string, err error) {
	oauth, assertion := map[string]any{}, s.IDToken
	for key, value := range map[string]string{
		"client_id": s.ClientID, "client_secret": s.ClientSecret, "private_key": s.PrivateKey, "signing_algorithm": s.SigningAlgorithm,
	} {
		if value != "" {
			oauth[key] = value
		}
	}
	switch s.Name {
	case "auth/basic-cimd":
		oauth["client_metadata_url"] = cimd
	case "auth/client-credentials-basic", "auth/client-credentials-jwt":
		oauth["flow"] = "client_credentials"
	case "auth/enterprise-managed-authorization":
		oauth["flow"] = "enterprise"
		oauth["identity_provider"] = map[string]string{"token_endpoint": s.IDPTokenEndpoint, "client_id": s.IDPClientID}
	case "auth/wif-jwt-bearer":
		oauth["flow"], assertion = "jwt_bearer", s.ValidJWT
	}
	if assertion != "" {
		at := filepath.Join(dir, "assertion")
		if err := os.WriteFile(at, []byte(assertion), 0o600); err != nil {
			return "", err
		}
		oauth["assertion_file"] = at
	}
	server := map[string]any{"url": url}
	if len(oauth) > 0 {
		server["oauth"] = oauth
	}
	b, err := json.Marshal(map[string]any{
		"working_directory": dir, "state_directory": filepath.Join(dir, "state"), "discovery": "all",
		"sandbox": map[string]any{"private_hosts": []string{"127.0.0.1:*", "localhost:*"}}, "mcp_servers": map[string]any{"s": server},
	})
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "config.yaml")
	return file, os.WriteFile(file, b, 0o600)
}

// person is who sits before the client.
type person struct{}

// answer fills in the form of an elicitation with its defaults, or opens its address in a
// browser of its own.
func (person) answer(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		Mode, URL       string
		RequestedSchema schema
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	content := map[string]any{}
	if p.Mode == "url" {
		if err := browse(ctx, p.URL); err != nil {
			fmt.Fprintln(os.Stderr, "browser:", err)
		}
		return map[string]any{"action": "accept"}, nil
	}
	for name, property := range p.RequestedSchema.Properties {
		content[name] = property.example()
	}
	return map[string]any{"action": "accept", "content": content}, nil
}

// browse opens an address and follows where it leads.
func browse(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Jar: jar}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
