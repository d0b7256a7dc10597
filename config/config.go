// Package config reads the server's configuration: one YAML file, decoded over
// defaults and checked whole. Where a package has settings of its own, the type of
// their section belongs to it. Only the command imports config.
package config

import (
	"crypto/x509"
	_ "embed"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/toolserver/toolserver/approval"
	"github.com/toolserver/toolserver/audit"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/structschema"
	"github.com/toolserver/toolserver/identity"
	"github.com/toolserver/toolserver/kubernetes"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/server/wellknown"
	"github.com/toolserver/toolserver/store"
	"github.com/toolserver/toolserver/telemetry"
	"github.com/toolserver/toolserver/tools"
	"github.com/toolserver/toolserver/tools/anthropic"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/google"
	"github.com/toolserver/toolserver/tools/linkedin"
	"github.com/toolserver/toolserver/tools/websearch"
	"github.com/toolserver/toolserver/upstream"
)

// Config is the configuration file.
type Config struct {
	WorkingDirectory string                       `yaml:"working_directory" path:"true"`
	Roots            []string                     `yaml:"roots" path:"true"`
	Server           Server                       `yaml:"server"`
	Auth             identity.Settings            `yaml:"auth"`
	Profiles         []Profile                    `yaml:"profiles"`
	ToolSections     ToolSections                 `yaml:"tools"`
	Tools            map[string]domain.Override   `yaml:"-"` // of ToolSections, what any tool has
	Sandbox          Sandbox                      `yaml:"sandbox"`
	Web              Web                          `yaml:"web"`
	LinkedIn         linkedin.Options             `yaml:"linkedin"`
	Anthropic        anthropic.Options            `yaml:"anthropic"`
	Google           google.Options               `yaml:"google"`
	SignIns          signin.Keeping               `yaml:"sign_ins"`
	CapabilitiesFile string                       `yaml:"capabilities_file" path:"true"`
	StateDirectory   string                       `yaml:"state_directory" path:"true"`
	Servers          map[string]upstream.Settings `yaml:"mcp_servers" keys:"server"`
	Structured       string                       `yaml:"structured_content" enum:"both|text|structured"`
	Discovery        domain.Discovery             `yaml:"discovery"`
	Resources        map[string]Offer             `yaml:"resources" keys:"resource"`
	Prompts          map[string]Offer             `yaml:"prompts" keys:"prompt"`
	Skills           Skills                       `yaml:"skills"`
	Limits           domain.Limits                `yaml:"limits"`
	Errors           string                       `yaml:"errors" enum:"jsonrpc|result"`
	Protocol         server.Protocol              `yaml:"protocol"`
	Logging          Logging                      `yaml:"logging"`
	Audit            audit.Settings               `yaml:"audit"`
	Approvals        approval.Settings            `yaml:"approvals" template:"-"`
	Store            store.Settings               `yaml:"store" template:"-"`
	Telemetry        telemetry.Settings           `yaml:"telemetry" template:"-"`
	Console          Console                      `yaml:"console" template:"-"`
	Users            map[string]User              `yaml:"users"`
	Compliance       Compliance                   `yaml:"compliance"`

	Apart []string `yaml:"-"` // of a workspace: directories in which others have theirs
	User  int      `yaml:"-"` // of a workspace: see [sandbox.Policy]
}

// settings say what the keys mean, also of structs of other packages, and what else people call them.
//
//go:embed settings.txt
var settings string

// Words returns the descriptions of the settings, for [structschema.Described].
func (Config) Words() string { return settings }

// Server is how clients reach the server.
type Server struct {
	Name           string             `yaml:"name" min:"1"`
	Title          string             `yaml:"title"`
	Description    string             `yaml:"description"`
	WebsiteURL     string             `yaml:"website_url" format:"server_url"`
	User           string             `yaml:"user"`
	HTTP           string             `yaml:"http" format:"listen"`
	Diagnostics    string             `yaml:"diagnostics" format:"listen" template:"-"`
	Path           string             `yaml:"path" format:"endpoint"`
	TLS            TLS                `yaml:"tls"`
	Tokens         []server.Token     `yaml:"tokens"`
	PublicURL      string             `yaml:"public_url" format:"public_url"`
	TrustedProxies []string           `yaml:"trusted_proxies" format:"prefix" template:"-"`
	AllowedOrigins []string           `yaml:"allowed_origins" format:"origin"`
	AllowedHosts   []string           `yaml:"allowed_hosts" format:"host_name"`
	SessionTTL     time.Duration      `yaml:"session_ttl" min:"1s"`
	MaxSessions    int                `yaml:"max_sessions" min:"1"`
	MaxMessage     structschema.Bytes `yaml:"max_message" min:"1KiB" max:"1GiB"`
	MaxInFlight    int                `yaml:"max_in_flight" min:"1"`
	DrainDelay     time.Duration      `yaml:"drain_delay" min:"0s" max:"10m"`
	Grace          time.Duration      `yaml:"grace" min:"0s" max:"10m"`
	Keys           []Key              `yaml:"keys" template:"-"`
	Replica        string             `yaml:"replica" template:"-"`
}

// Key is one that replicas share.
type Key struct {
	ID   string `yaml:"id" required:"true" format:"key_id"`
	File string `yaml:"file" required:"true" path:"true"`
}

// TLS names a certificate.
type TLS struct {
	Cert       string `yaml:"cert" path:"true"`
	Key        string `yaml:"key" path:"true"`
	ClientCA   string `yaml:"client_ca" path:"true"`
	ClientAuth string `yaml:"client_auth" enum:"optional|require"`
}

// Sandbox is what holds for all tools.
type Sandbox struct {
	sandbox.Settings `yaml:",inline"`
	Limits           CommandLimits `yaml:"limits"`
	Driving          `yaml:",inline"`
}

// Driving is where workspaces of profiles are.
type Driving struct {
	Driver     string              `yaml:"driver" enum:"local|kubernetes" template:"-"`
	Kubernetes kubernetes.Settings `yaml:"kubernetes" template:"-"`
}

// InPods reports whether workspaces are pods.
func (d *Driving) InPods() bool { return d.Driver == "kubernetes" }

// CommandLimits bounds what a command uses, which 0 leaves unbounded unless it
// says otherwise.
type CommandLimits struct {
	Processes int                `yaml:"processes" min:"0" max:"4194304"`
	Memory    structschema.Bytes `yaml:"memory"`
	Disk      structschema.Bytes `yaml:"disk"`
	OpenFiles int                `yaml:"open_files" min:"0" max:"1048576"`
	FileSize  structschema.Bytes `yaml:"file_size"`
}

// Web is how tools read and search the web.
type Web struct {
	UserAgent string            `yaml:"user_agent" format:"header"`
	Proxy     string            `yaml:"proxy" format:"proxy" secret:"true"`
	Search    websearch.Options `yaml:"search"`
}

// Skills are what configuration says of skills.
type Skills struct {
	Directories []string         `yaml:"directories" path:"true"`
	Settings    map[string]Offer `yaml:"settings"`
}

// Offer is what configuration says of one resource, prompt or skill.
type Offer struct {
	Enabled         *bool    `yaml:"enabled"`
	Groups          []string `yaml:"groups"`
	ComplianceLevel string   `yaml:"compliance_level" format:"level"`
}

// Logging says what is logged. Nothing is ever logged to standard output.
type Logging struct {
	Level  string `yaml:"level" enum:"debug|info|warn|error"`
	Format string `yaml:"format" enum:"console|json"`
	File   string `yaml:"file" path:"true"`
	Record bool   `yaml:"record"`
}

// Console says where people look at what a server does that serves over HTTP, and who may.
type Console struct {
	HTTP      string   `yaml:"http" format:"listen"`
	PublicURL string   `yaml:"public_url" format:"public_url"`
	Groups    []string `yaml:"groups"`
}

// User is a user whom the configuration names.
type User struct {
	Groups          []string `yaml:"groups"`
	ComplianceLevel string   `yaml:"compliance_level" format:"level"`
}

// Compliance says which levels of data may come together.
type Compliance struct {
	Level  string                  `yaml:"level" format:"level"`
	Strict bool                    `yaml:"strict"`
	Levels map[string]domain.Level `yaml:"levels"`
}

// Default returns the configuration of a server that has no file.
func Default() Config {
	return Config{
		Server: Server{
			Name: "toolserver", Title: "Toolserver", Description: "Files, commands, the web and other MCP servers, under one policy",
			WebsiteURL: "https://github.com/toolserver/toolserver", User: "local", Path: "/mcp", TLS: TLS{ClientAuth: "optional"},
			SessionTTL: 30 * time.Minute, MaxSessions: 10_000, MaxMessage: 64 << 20, MaxInFlight: 1000, Grace: 5 * time.Second,
		},
		Auth: identity.DefaultSettings(),
		Limits: domain.Limits{
			MaxResultChars: domain.DefaultMaxResultChars, DefaultTimeout: 55 * time.Second, TaskTimeout: time.Hour, MaxAbandonGrace: 3 * time.Second,
			PerPrincipal: 128, QueueWait: 30 * time.Second, PageSize: 250,
		},
		Sandbox: Sandbox{
			Settings: sandbox.Settings{ProtectDefault: new(true), Enforcement: sandbox.EnforceBestEffort, Network: sandbox.Network{Reach: "none"}},
			Limits:   CommandLimits{Processes: 1024, FileSize: 4 << 30},
			Driving:  Driving{Driver: "local", Kubernetes: kubernetes.DefaultSettings()},
		},
		Web:       Web{Search: websearch.DefaultOptions()},
		LinkedIn:  linkedin.DefaultOptions(),
		Anthropic: anthropic.DefaultOptions(),
		Discovery: domain.Discovery{Mode: "auto", Limit: 40},
		Errors:    "jsonrpc",
		Protocol:  server.DefaultProtocol(),
		Audit:     audit.DefaultSettings(),
		Approvals: approval.DefaultSettings(),
		Store:     store.Settings{OnFailure: store.Local},
		Telemetry: telemetry.Settings{OTLP: telemetry.OTLP{Traces: true}},
		Logging:   Logging{Level: "info", Format: "console", Record: true},
	}
}

// Executor returns the settings of the executor.
func (c *Config) Executor(secrets []string) domain.Settings {
	return domain.Settings{
		Limits: c.Limits, Access: domain.Access{Levels: c.Compliance.Levels, Strict: c.Compliance.Strict, Open: c.Auth.Anonymous}, Secrets: secrets,
		Discovery: c.Discovery, StructuredContent: c.Structured, Directory: c.WorkingDirectory,
		Tools: c.Tools, Resources: overrides(c.Resources), Prompts: overrides(c.Prompts), Skills: overrides(c.Skills.Settings),
		OtherNames: tools.OtherNames,
	}
}

func overrides(offers map[string]Offer) map[string]domain.Override {
	all := make(map[string]domain.Override, len(offers))
	for name, o := range offers {
		all[name] = domain.Override{Enabled: o.Enabled, Groups: o.Groups, ComplianceLevel: o.ComplianceLevel}
	}
	return all
}

// Sources of principals: those that configuration names, those it has tokens for, and those with certificates.
const (
	SourceUser        = "user"
	SourceToken       = "token"
	SourceCertificate = "certificate"
)

// Principal returns what configuration knows of a user.
func (c *Config) Principal(name string) domain.Principal {
	u := c.Users[name]
	p := domain.Principal{ID: domain.PrincipalID(SourceUser, name), Name: name, Groups: u.Groups, ComplianceLevel: u.ComplianceLevel}
	if p.ComplianceLevel == "" {
		p.ComplianceLevel = c.Compliance.Level
	}
	return p
}

// CertificatePrincipal returns whom a certificate is of, with what is known of the user of that name: its first URI, such as a SPIFFE ID,
// else its first DNS name, else its common name.
func (c *Config) CertificatePrincipal(cert *x509.Certificate) domain.Principal {
	name := cert.Subject.CommonName
	switch {
	case len(cert.URIs) > 0:
		name = cert.URIs[0].String()
	case len(cert.DNSNames) > 0:
		name = cert.DNSNames[0]
	}
	p := c.Principal(name)
	p.ID, p.Expires = domain.PrincipalID(SourceCertificate, name), cert.NotAfter
	return p
}

// Tokens returns the tokens of HTTP clients, with what is known of the users
// they stand for.
func (c *Config) Tokens() (*server.Tokens, error) {
	var list []server.Token
	for _, t := range c.Server.Tokens {
		p := c.Principal(t.Name)
		t.Groups = append(t.Groups[:len(t.Groups):len(t.Groups)], p.Groups...)
		if t.ComplianceLevel == "" {
			t.ComplianceLevel = p.ComplianceLevel
		}
		list = append(list, t)
	}
	tokens, err := server.ParseTokens(SourceToken, list)
	if err != nil {
		return nil, fmt.Errorf("server.tokens: %w", err)
	}
	return tokens, nil
}

// Shared reports whether several people may use the server.
func (c *Config) Shared() bool {
	return len(c.Server.Tokens) > 0 || len(c.Auth.Issuers) > 0 || c.Server.TLS.ClientCA != ""
}

// Resource returns what access tokens for this server are issued for; empty without a public address.
func (c *Config) Resource() string { return wellknown.Resource(c.Server.PublicURL, c.Server.Path) }

// Proxies returns the addresses of proxies that say where requests come from.
func (c *Config) Proxies() (all []netip.Prefix) {
	for _, text := range c.Server.TrustedProxies {
		if p, err := parsePrefix(text); err == nil { // was checked
			all = append(all, p)
		}
	}
	return all
}

// Protected returns what OAuth clients have to know to sign in, nil if they cannot.
func (c *Config) Protected() *wellknown.Protected {
	if len(c.Auth.Issuers) == 0 {
		return nil
	}
	p := &wellknown.Protected{Scopes: c.Auth.Scopes, ScopePrefix: c.Auth.ScopePrefix, Documentation: c.Auth.Help, Proofs: c.Auth.Proofs(), Binds: c.Auth.Binds()}
	for _, i := range c.Auth.Issuers {
		p.Issuers = append(p.Issuers, i.Issuer)
	}
	if p.Scopes == nil {
		p.Scopes = c.neededScopes()
	}
	return p
}

// neededScopes returns the scopes that tools need, without those for which clients sign in again.
func (c *Config) neededScopes() []string {
	needed := map[string]bool{}
	for _, t := range c.Tools {
		for _, scope := range t.Scopes {
			needed[scope] = true
		}
	}
	for _, s := range c.Servers {
		for _, scope := range s.Scopes {
			needed[scope] = true
		}
	}
	maps.DeleteFunc(needed, func(scope string, _ bool) bool { return slices.Contains(c.Auth.StepUp, scope) })
	return slices.Sorted(maps.Keys(needed))
}

// owners are what the tools declare, which each workspace has.
var owners = sync.OnceValue(func() []sandbox.Owner { return declare.Owners(tools.Declared()) })

// Policy returns what tools may touch.
func (c *Config) Policy() sandbox.Policy {
	p := sandbox.Policy{
		Owners: owners(), WorkingDirectory: c.WorkingDirectory, Roots: c.Roots,
		StateDirectory: c.stateDirectory(), Proxy: c.Web.Proxy, Settings: c.Sandbox.Settings, Tools: map[string]sandbox.ToolPolicy{},
	}
	p.Apart, p.User = c.Apart, c.User
	l := c.Sandbox.Limits
	p.Settings.Limits = sandbox.Limits{Processes: l.Processes, Memory: int64(l.Memory), Disk: int64(l.Disk), OpenFiles: l.OpenFiles, FileSize: int64(l.FileSize)}
	for _, o := range p.Owners {
		t := c.Tools[o.Tool]
		p.TemporaryFiles = p.TemporaryFiles || o.Runs != "" && (t.Enabled == nil || *t.Enabled) && len(t.Groups) == 0 && t.ComplianceLevel == ""
	}
	for name, section := range c.ToolSections {
		if own := policyOf(section); !reflect.DeepEqual(own, sandbox.ToolPolicy{}) { // so that other settings of a tool are no other policy
			p.Tools[name] = own
		}
	}
	if reads := p.Tools[files.ReadFile]; c.Apart != nil && reads.AllowedPaths == nil { // which commands would list everything without
		reads.AllowedPaths = append([]string{c.WorkingDirectory}, c.Roots...)
		p.Tools[files.ReadFile] = reads
	}
	return p
}
