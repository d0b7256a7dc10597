// Package config reads the server's configuration: one YAML file, decoded over
// defaults and checked whole. Where a package has settings of its own, the type of
// their section belongs to it. Only the command imports config.
package config

import (
	"fmt"
	"reflect"
	"time"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/server"
	"toolserver/structschema"
	"toolserver/tools"
	"toolserver/tools/anthropic"
	"toolserver/tools/declare"
	"toolserver/tools/google"
	"toolserver/tools/linkedin"
	"toolserver/tools/signin"
	"toolserver/tools/upstream"
	"toolserver/tools/websearch"
)

// Config is the configuration file.
type Config struct {
	WorkingDirectory string                       `yaml:"working_directory" path:"true" also:"working_dir workdir cwd directory project" example:"." doc:"Where relative paths and commands start; the directory the server is started in if unset."`
	Roots            []string                     `yaml:"roots" path:"true" also:"directories allowed_directories allowed_dirs folders" hint:"tools.read_file.allowed_paths and tools.write_file.allowed_paths are lists of single tools." doc:"Further directories that file tools may use by default."`
	Server           Server                       `yaml:"server" doc:"How clients reach the server."`
	ToolSections     ToolSections                 `yaml:"tools" doc:"Settings of single tools, by name. Keys that several tools have are explained at the first; toolserver config schema has those of each tool."`
	Tools            map[string]domain.Override   `yaml:"-"` // of ToolSections, what any tool has
	Sandbox          Sandbox                      `yaml:"sandbox" also:"security policy" doc:"Policy of all tools, whatever their own settings."`
	Web              Web                          `yaml:"web" doc:"How the web is read and searched."`
	LinkedIn         linkedin.Options             `yaml:"linkedin" doc:"Address of LinkedIn and interval of requests."`
	Anthropic        anthropic.Options            `yaml:"anthropic" doc:"Anthropic's API: keys, model, address."`
	Google           google.Options               `yaml:"google" also:"gmail calendar" doc:"Gmail and Google Calendar: credentials, time zone, where sign-ins are kept."`
	SignIns          signin.Keeping               `yaml:"sign_ins" also:"sign_in token_store" doc:"How sign-ins to other MCP servers, and to Google, are kept."`
	CapabilitiesFile string                       `yaml:"capabilities_file" path:"true" doc:"Where capabilities_refresh writes its summary; capabilities.md in the working directory if unset."`
	StateDirectory   string                       `yaml:"state_directory" path:"true" also:"state state_dir data_directory data_dir" doc:"Directory for tokens, pins and catalogs, accessible to this user only; toolserver in the user's state directory (~/.local/state) if unset."`
	Servers          map[string]upstream.Settings `yaml:"mcp_servers" keys:"server" also:"mcpServers servers mcp upstreams" hint:"toolserver config import FILE takes over the servers of another program." example:"{files: {command: [npx, -y, '@modelcontextprotocol/server-filesystem', .]}, docs: {url: 'https://mcp.example.com/mcp', groups: [staff]}}" doc:"Other MCP servers, by name. Clients see their tools as NAME__TOOL."`
	Structured       string                       `yaml:"structured_content" enum:"both|text|structured" doc:"Which half of results clients get, where results have text and structured content. Unset, it is both, and text for clients that show models structured content only (Claude Code): then JSON that the text does not repeat follows it."`
	Discovery        domain.Discovery             `yaml:"discovery" doc:"Which tools clients find in lists, and which with mcp_search only."`
	Resources        map[string]Offer             `yaml:"resources" keys:"resource" example:"{config: {enabled: false}}" doc:"Settings of single resources, by name."`
	Prompts          map[string]Offer             `yaml:"prompts" keys:"prompt" doc:"Settings of single prompts, by name."`
	Limits           domain.Limits                `yaml:"limits" doc:"Limits of calls, results and lists."`
	Errors           string                       `yaml:"errors" enum:"jsonrpc|result" also:"error error_mode" doc:"Whether a tool that could not run returns a JSON-RPC error or a result that the model sees."`
	Logging          Logging                      `yaml:"logging" also:"log logs logger" doc:"What is logged, and where."`
	Users            map[string]User              `yaml:"users" example:"{ann: {groups: [staff]}, local: {groups: [staff]}}" doc:"Groups and compliance levels, by the name of the user or token."`
	Compliance       Compliance                   `yaml:"compliance" example:"{level: public, levels: {public: {}, internal: {allowed_with: [public]}}}" doc:"Which compliance levels may be combined."`
}

// Server is how clients reach the server.
type Server struct {
	Name           string             `yaml:"name" min:"1" doc:"Name the server reports to clients."`
	Title          string             `yaml:"title" doc:"Title that clients show to people."`
	Description    string             `yaml:"description" doc:"Sentence that clients show to people beside the title."`
	WebsiteURL     string             `yaml:"website_url" format:"server_url" also:"website homepage" doc:"Page about this server that clients link to."`
	User           string             `yaml:"user" doc:"Name of the user on stdio and the command line; users has the groups."`
	HTTP           string             `yaml:"http" format:"listen" also:"port host listen address bind" hint:"It is an address such as 127.0.0.1:8080." example:"127.0.0.1:8080" doc:"Address to serve HTTP on, such as 127.0.0.1:8080; stdio if unset."`
	Path           string             `yaml:"path" format:"endpoint" doc:"Path of the MCP endpoint."`
	TLS            TLS                `yaml:"tls" also:"ssl https" example:"{cert: cert.pem, key: key.pem}" doc:"Certificate for HTTPS."`
	Tokens         []server.Token     `yaml:"tokens" also:"token auth bearer_token auth_token" hint:"toolserver token new NAME makes an entry." example:"[{name: ann, hash: 'sha256:0000000000000000000000000000000000000000000000000000000000000000', groups: [staff]}]" doc:"Bearer tokens that HTTP clients must present; without any, only loopback addresses are served."`
	PublicURL      string             `yaml:"public_url" format:"public_url" also:"external_url base_url" example:"https://tools.example.com" doc:"Address at which people's browsers reach this server over HTTP, for the pages of sign-ins (/start/ and /callback); without it they are on a loopback address of this machine only."`
	AllowedOrigins []string           `yaml:"allowed_origins" format:"origin" also:"origins cors cors_origins" example:"[https://example.com]" doc:"Origins of web pages that may use the server, such as https://example.com."`
	AllowedHosts   []string           `yaml:"allowed_hosts" format:"host_name" example:"[tools.example.com]" doc:"Host names that requests may use, besides localhost (protects from DNS rebinding)."`
	SessionTTL     time.Duration      `yaml:"session_ttl" min:"1s" doc:"How long an idle HTTP session lives."`
	MaxSessions    int                `yaml:"max_sessions" min:"1" doc:"Concurrent HTTP sessions."`
	MaxMessage     structschema.Bytes `yaml:"max_message" min:"1KiB" max:"1GiB" doc:"Largest message accepted from a client."`
	MaxInFlight    int                `yaml:"max_in_flight" min:"1" doc:"Requests in flight per client."`
	DrainDelay     time.Duration      `yaml:"drain_delay" min:"0s" max:"10m" doc:"How long an HTTP server that stops goes on while /readyz answers 503, so that a balancer sends it nothing new."`
	Grace          time.Duration      `yaml:"grace" min:"0s" max:"10m" doc:"How long calls in flight may continue when the server stops."`
}

// TLS names a certificate.
type TLS struct {
	Cert string `yaml:"cert" path:"true" also:"certificate cert_file" doc:"File with the certificate chain, in PEM."`
	Key  string `yaml:"key" path:"true" also:"private_key key_file" doc:"File with the private key, in PEM."`
}

// Sandbox is what holds for all tools.
type Sandbox struct {
	sandbox.Settings `yaml:",inline"`
	Limits           CommandLimits `yaml:"limits" doc:"Resource limits of a command."`
}

// CommandLimits bounds what a command uses, which 0 leaves unbounded unless it
// says otherwise.
type CommandLimits struct {
	Processes int                `yaml:"processes" min:"0" max:"4194304" doc:"Processes and threads of a command."`
	Memory    structschema.Bytes `yaml:"memory" doc:"Memory of all processes of a command; 0 for half of what the machine has."`
	Disk      structschema.Bytes `yaml:"disk" doc:"What a command may write to disk altogether, together with the temporary files that commands have left; 0 for half of what is free when it starts."`
	OpenFiles int                `yaml:"open_files" min:"0" max:"1048576" doc:"Files each process may have open; 0 for what the server was started with."`
	FileSize  structschema.Bytes `yaml:"file_size" doc:"Size of each file that a command writes."`
}

// Web is how tools read and search the web.
type Web struct {
	UserAgent string            `yaml:"user_agent" format:"header" doc:"User-Agent of web_fetch; that of a browser if unset, because many sites block others."`
	Proxy     string            `yaml:"proxy" format:"proxy" secret:"true" example:"http://proxy.lan:3128" doc:"Proxy through which tools reach all hosts but private_hosts: an http, https or socks5 URL such as http://user:${PROXY_PASSWORD}@proxy.lan:3128. Unset means none, whatever HTTP_PROXY says."`
	Search    websearch.Options `yaml:"search" doc:"Search services of web_search."`
}

// Offer is what configuration says of one resource or prompt.
type Offer struct {
	Enabled         *bool    `yaml:"enabled" doc:"Whether it is offered; true if unset."`
	Groups          []string `yaml:"groups" doc:"Groups that may use it; everyone if unset."`
	ComplianceLevel string   `yaml:"compliance_level" format:"level" doc:"Compliance level of what it gives access to."`
}

// Logging says what is logged. Nothing is ever logged to standard output.
type Logging struct {
	Level  string `yaml:"level" enum:"debug|info|warn|error" also:"log_level verbosity" doc:"Lowest level that is logged."`
	Format string `yaml:"format" enum:"console|json" also:"log_format" doc:"Form of the entries."`
	File   string `yaml:"file" path:"true" also:"log_file" example:"/var/log/toolserver.log" doc:"File to log to, standard error if unset."`
	Record bool   `yaml:"record" also:"audit" doc:"Keep a record of what was done in the state directory, for toolserver log."`
}

// User is a user whom the configuration names.
type User struct {
	Groups          []string `yaml:"groups" doc:"Groups the user is in."`
	ComplianceLevel string   `yaml:"compliance_level" format:"level" doc:"Compliance level the user works at."`
}

// Compliance says which levels of data may come together.
type Compliance struct {
	Level  string                  `yaml:"level" format:"level" doc:"Level of users that have none of their own."`
	Strict bool                    `yaml:"strict" doc:"Deny a tool if the user or the tool has no level."`
	Levels map[string]domain.Level `yaml:"levels" doc:"The compliance levels, by name."`
}

// Default returns the configuration of a server that has no file.
func Default() Config {
	return Config{
		Server: Server{
			Name: "toolserver", Title: "Toolserver", Description: "Files, commands, the web and other MCP servers, under one policy",
			WebsiteURL: "https://github.com/toolserver/toolserver", User: "local", Path: "/mcp",
			SessionTTL: 30 * time.Minute, MaxSessions: 10_000, MaxMessage: 64 << 20, MaxInFlight: 1000, Grace: 5 * time.Second,
		},
		Limits: domain.Limits{
			MaxResultChars: domain.DefaultMaxResultChars, DefaultTimeout: 55 * time.Second, MaxAbandonGrace: 3 * time.Second,
			PerPrincipal: 128, QueueWait: 30 * time.Second, PageSize: 250,
		},
		Sandbox: Sandbox{
			Settings: sandbox.Settings{ProtectDefault: new(true), Enforcement: sandbox.EnforceBestEffort, Network: sandbox.Network{Reach: "none"}},
			Limits:   CommandLimits{Processes: 1024, FileSize: 4 << 30},
		},
		Web:       Web{Search: websearch.DefaultOptions()},
		LinkedIn:  linkedin.DefaultOptions(),
		Anthropic: anthropic.DefaultOptions(),
		Discovery: domain.Discovery{Mode: "auto", Limit: 40},
		Errors:    "jsonrpc",
		Logging:   Logging{Level: "info", Format: "console", Record: true},
	}
}

// Executor returns the settings of the executor.
func (c *Config) Executor(secrets []string) domain.Settings {
	return domain.Settings{
		Limits: c.Limits, Access: domain.Access{Levels: c.Compliance.Levels, Strict: c.Compliance.Strict}, Secrets: secrets, Discovery: c.Discovery, StructuredContent: c.Structured,
		Tools: c.Tools, Resources: overrides(c.Resources), Prompts: overrides(c.Prompts),
	}
}

func overrides(offers map[string]Offer) map[string]domain.Override {
	all := make(map[string]domain.Override, len(offers))
	for name, o := range offers {
		all[name] = domain.Override{Enabled: o.Enabled, Groups: o.Groups, ComplianceLevel: o.ComplianceLevel}
	}
	return all
}

// SourceUser is the source of principals that configuration names, and
// SourceToken that of those it has tokens for.
const (
	SourceUser  = "user"
	SourceToken = "token"
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

// Policy returns what tools may touch.
func (c *Config) Policy() sandbox.Policy {
	p := sandbox.Policy{
		Owners: declare.Owners(tools.Declared()...), WorkingDirectory: c.WorkingDirectory, Roots: c.Roots,
		StateDirectory: c.stateDirectory(), Proxy: c.Web.Proxy, Settings: c.Sandbox.Settings, Tools: map[string]sandbox.ToolPolicy{},
	}
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
	return p
}
