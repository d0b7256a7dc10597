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
	var key error
	if s.PrivateKey != "" {
		_, key = parseKey(s.PrivateKey, s.SigningAlgorithm)
	}
	idp := s.IdentityProvider
	switch {
	case key != nil:
		return fmt.Errorf("private_key: %w", key)
	case s.SigningAlgorithm != "" && s.PrivateKey == "":
		return errors.New("signing_algorithm requires private_key")
	case s.ClientSecret != "" && s.ClientID == "":
		return errors.New("client_secret requires client_id")
	case s.AuthMethod == methodSigned && s.PrivateKey == "":
		return errors.New("token_endpoint_auth_method private_key_jwt requires private_key")
	case (s.AuthMethod == methodBasic || s.AuthMethod == methodPost) && s.ClientID != "" && s.ClientSecret == "":
		return fmt.Errorf("token_endpoint_auth_method %s requires client_secret", s.AuthMethod)
	case s.PerPrincipal && !s.interactive():
		return fmt.Errorf("per_principal requires the flow auto: with %s nobody signs in", s.Flow)
	case s.Flow == FlowClientCredentials && (s.ClientID == "" || s.ClientSecret == "" && s.PrivateKey == ""):
		return errors.New("flow client_credentials requires client_id, and client_secret or private_key")
	case (s.Flow == FlowJWTBearer || s.Flow == FlowEnterprise) && (s.AssertionFile == "" || s.ClientID == ""):
		return fmt.Errorf("flow %s requires client_id and assertion_file", s.Flow)
	case s.Flow == FlowEnterprise && (idp.TokenEndpoint == "" || idp.ClientID == ""):
		return errors.New("flow enterprise requires token_endpoint and client_id of identity_provider")
	case slices.ContainsFunc(s.Scopes, func(scope string) bool { return strings.ContainsAny(scope, " \"\\\t\r\n") || scope == "" }):
		return errors.New("scopes has one that is empty, or has a space, quote or backslash")
	}
	if s.ClientMetadataURL != "" {
		if u, err := url.Parse(s.ClientMetadataURL); err != nil || u.Scheme != "https" || u.Host == "" || u.Path == "" || u.Path == "/" || u.Fragment != "" || u.User != nil {
			return errors.New("client_metadata_url is no https address with a path")
		}
	}
	for name, address := range map[string]string{"issuer": s.Issuer, "resource": s.Resource, "identity_provider.token_endpoint": idp.TokenEndpoint} {
		if u, err := url.Parse(address); address != "" && (err != nil || u.Host == "" || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u))) {
			return fmt.Errorf("%s is no https address", name)
		}
	}
	return nil
}
