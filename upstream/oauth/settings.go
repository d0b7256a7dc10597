package oauth

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Ways to get a grant.
const (
	FlowAuto              = "auto"               // a person signs in
	FlowClientCredentials = "client_credentials" // the upstream knows the client itself
	FlowJWTBearer         = "jwt_bearer"         // an assertion of a workload is exchanged (RFC 7523)
	FlowEnterprise        = "enterprise"         // an ID token is exchanged at an identity provider first
)

// Ways a client authenticates at a token endpoint.
const (
	methodNone   = "none"
	methodBasic  = "client_secret_basic"
	methodPost   = "client_secret_post"
	methodSigned = "private_key_jwt"
)

// Settings is the section oauth of an upstream. The zero value has a person sign in, with a client that is registered when it is
// first needed. config/settings.txt says what the keys mean.
type Settings struct {
	ClientID          string   `yaml:"client_id"`
	ClientSecret      string   `yaml:"client_secret" secret:"true"`
	ClientMetadataURL string   `yaml:"client_metadata_url"`
	PrivateKey        string   `yaml:"private_key" secret:"true"`
	SigningAlgorithm  string   `yaml:"signing_algorithm" enum:"ES256|ES384|RS256|PS256|EdDSA"`
	AuthMethod        string   `yaml:"token_endpoint_auth_method" enum:"none|client_secret_basic|client_secret_post|private_key_jwt"`
	Issuer            string   `yaml:"issuer"`
	Resource          string   `yaml:"resource"`
	Scopes            []string `yaml:"scopes"`
	Flow              string   `yaml:"flow" enum:"auto|client_credentials|jwt_bearer|enterprise"`
	AssertionFile     string   `yaml:"assertion_file" path:"true"`
	RedirectPort      int      `yaml:"redirect_port" max:"65535"`
	PerPrincipal      bool     `yaml:"per_principal"`

	IdentityProvider IdentityProvider `yaml:"identity_provider"`
}

// IdentityProvider is where the flow enterprise exchanges an ID token.
type IdentityProvider struct {
	TokenEndpoint string `yaml:"token_endpoint"`
	ClientID      string `yaml:"client_id"`
	ClientSecret  string `yaml:"client_secret" secret:"true"`
}

// interactive reports whether a person signs in.
func (s Settings) interactive() bool { return s.Flow == "" || s.Flow == FlowAuto }

// Validate returns what is wrong with the settings, as a clause that begins with the name of one.
func (s Settings) Validate() error {
	if s.PrivateKey != "" {
		if _, err := parseKey(s.PrivateKey, s.SigningAlgorithm); err != nil {
			return fmt.Errorf("private_key: %w", err)
		}
	}
	secret, idp := s.ClientSecret != "" || s.PrivateKey != "", s.IdentityProvider
	asserts := s.Flow == FlowJWTBearer || s.Flow == FlowEnterprise
	unusual := func(scope string) bool { return strings.ContainsAny(scope, " \"\\\t\r\n") || scope == "" }
	address := func(text string, fits func(*url.URL) bool) bool {
		u, err := url.Parse(text)
		return text == "" || err == nil && u.Host != "" && u.Fragment == "" && fits(u)
	}
	web := func(u *url.URL) bool { return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u) }
	document := func(u *url.URL) bool { return u.Scheme == "https" && u.User == nil && u.Path != "" && u.Path != "/" }
	for _, rule := range []struct {
		broken bool
		says   string
	}{
		{s.SigningAlgorithm != "" && s.PrivateKey == "", "signing_algorithm requires private_key"},
		{s.ClientSecret != "" && s.ClientID == "", "client_secret requires client_id"},
		{s.AuthMethod == methodSigned && s.PrivateKey == "", "token_endpoint_auth_method private_key_jwt requires private_key"},
		{
			(s.AuthMethod == methodBasic || s.AuthMethod == methodPost) && s.ClientID != "" && s.ClientSecret == "",
			"token_endpoint_auth_method " + s.AuthMethod + " requires client_secret",
		},
		{s.PerPrincipal && !s.interactive(), "per_principal requires the flow auto: with " + s.Flow + " nobody signs in"},
		{
			s.Flow == FlowClientCredentials && (s.ClientID == "" || !secret),
			"flow client_credentials requires client_id, and client_secret or private_key",
		},
		{asserts && (s.AssertionFile == "" || s.ClientID == ""), "flow " + s.Flow + " requires client_id and assertion_file"},
		{
			s.Flow == FlowEnterprise && (idp.TokenEndpoint == "" || idp.ClientID == ""),
			"flow enterprise requires token_endpoint and client_id of identity_provider",
		},
		{slices.ContainsFunc(s.Scopes, unusual), "scopes has one that is empty, or has a space, quote or backslash"},
		{!address(s.ClientMetadataURL, document), "client_metadata_url is no https address with a path"},
		{!address(s.Issuer, web), "issuer is no https address"},
		{!address(s.Resource, web), "resource is no https address"},
		{!address(idp.TokenEndpoint, web), "identity_provider.token_endpoint is no https address"},
	} {
		if rule.broken {
			return errors.New(rule.says)
		}
	}
	return nil
}
