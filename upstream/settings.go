package upstream

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/upstream/oauth"
)

// Settings is one entry of the section mcp_servers: a program to start, or the address
// of a server. config/settings.txt says what the keys mean.
type Settings struct {
	Enabled   *bool             `yaml:"enabled"`
	Command   []string          `yaml:"command" one:"true"`
	Args      []string          `yaml:"args"`
	Cwd       string            `yaml:"cwd" path:"true"`
	Env       map[string]string `yaml:"env"`
	Inherit   []string          `yaml:"inherit_env"`
	Sandbox   bool              `yaml:"sandbox"`
	URL       string            `yaml:"url" format:"server_url"`
	Headers   map[string]string `yaml:"headers" format:"header"`
	Transport string            `yaml:"transport" enum:"stdio|http|sse"`

	Groups          []string          `yaml:"groups"`
	Scopes          []string          `yaml:"scopes" format:"scope"`
	ComplianceLevel string            `yaml:"compliance_level" format:"level"`
	Tools           Filter            `yaml:"tools"`
	Skills          Filter            `yaml:"skills"`
	Identity        map[string]string `yaml:"identity" enum:"name|id|groups|compliance_level"`
	Pin             string            `yaml:"pin" enum:"warn|quarantine"`
	Structured      string            `yaml:"structured_content" enum:"both|text|structured"`

	OAuth oauth.Settings `yaml:"oauth"`

	Instance    string        `yaml:"instance" enum:"shared|principal"`
	Lazy        bool          `yaml:"lazy"`
	Timeout     time.Duration `yaml:"timeout" min:"100ms" max:"10m"`
	CallTimeout time.Duration `yaml:"call_timeout" min:"100ms" max:"24h"`
}

// Each reports whether everybody who has a workspace of their own has an instance of the server in it.
func (s *Settings) Each() bool { return s.Instance == "principal" }

// Filter says which tools or skills are offered. Entries may have * for any characters.
type Filter struct {
	Allow []string `yaml:"allow" format:"glob"`
	Deny  []string `yaml:"deny" format:"glob"`
}

// offers reports whether a tool or skill of that name is offered, and if not, the setting that
// leaves it out, as a filter of tools has it.
func (f Filter) offers(name string) (setting string, ok bool) {
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(pattern string) bool {
			found, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
			return err == nil && found
		})
	}
	switch {
	case in(f.Deny):
		return "tools.deny", false
	case f.Allow != nil && !in(f.Allow):
		return "tools.allow", false
	}
	return "", true
}

// The transports of [Settings].
const (
	transportStdio = "stdio"
	transportHTTP  = "http"
	transportSSE   = "sse"
)

// defaultTimeout is that of connecting, and of lists.
const defaultTimeout = 30 * time.Second

// IsEnabled reports whether the server is used.
func (s *Settings) IsEnabled() bool { return s.Enabled == nil || *s.Enabled }

// transport returns how messages travel.
func (s *Settings) transport() string {
	switch u, err := url.Parse(s.URL); {
	case s.Transport != "":
		return s.Transport
	case len(s.Command) > 0:
		return transportStdio
	case err == nil && strings.HasSuffix(u.Path, "/sse"):
		return transportSSE
	}
	return transportHTTP
}

// perPrincipal reports whether each caller has a connection of their own.
func (s *Settings) perPrincipal() bool { return s.signsIn() && s.OAuth.PerPrincipal }

// signsIn reports whether the server may have somebody sign in: it is reached over HTTP,
// and configuration has no credentials for it.
func (s *Settings) signsIn() bool {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return false
		}
	}
	return s.URL != ""
}

// argv returns the command line.
func (s *Settings) argv() []string { return slices.Concat(s.Command, s.Args) }

// environment returns the variables that the program gets beside the minimal ones, of
// those in environ.
func (s *Settings) environment(environ []string) map[string]string {
	all := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if slices.ContainsFunc(s.Inherit, func(pattern string) bool {
			prefix, open := strings.CutSuffix(pattern, "*")
			return pattern == name || open && strings.HasPrefix(name, prefix)
		}) {
			all[name] = value
		}
	}
	maps.Copy(all, s.Env)
	return all
}

// secretNames are parts of names whose values are secret, of headers and variables.
var secretNames = [...]string{"authorization", "token", "secret", "password", "passwd", "credential", "api-key", "api_key", "apikey", "cookie"}

// Secrets returns the values of headers and variables that are secret by their name.
func (s *Settings) Secrets() (all []string) {
	for _, values := range []map[string]string{s.Headers, s.Env} {
		for name, value := range values {
			if !SecretName(name) {
				continue
			}
			all = append(all, value)
			if scheme, rest, ok := strings.Cut(value, " "); ok && (strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "basic")) {
				all = append(all, rest)
			}
		}
	}
	return all
}

// serverName matches the names of servers: those that a tool's name can begin with.
var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(ServerName) })

// ServerName is the pattern of the names of servers.
const ServerName = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`

// CheckURL reports what is wrong with the address of a server.
func CheckURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("is no URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%q is no address of a server; write https://HOST/PATH", text)
	case u.User != nil:
		return errors.New("has a user or password; put credentials into headers, as ${VARIABLE}")
	case u.Fragment != "":
		return errors.New("has a fragment (#), which servers never get")
	}
	return nil
}

// BuiltIn stands for this server where the server of a tool is named.
const BuiltIn = "toolserver"

// A Mistake is what is wrong with an entry, at a key below it.
type Mistake struct{ Key, Problem string }

// Check reports what the types do not say of the entry called name.
func (s *Settings) Check(name string) (mistakes []Mistake) {
	wrong := func(key, problem string) { mistakes = append(mistakes, Mistake{key, problem}) }
	if !serverName().MatchString(name) {
		wrong("", "the name of a server has at most 64 letters, digits, dots, dashes and underscores, a letter or digit first")
	}
	if name == BuiltIn {
		wrong("", "is what mcp_list_tools and mcp_search call this server itself; choose another name")
	}
	local := len(s.Command) > 0
	switch {
	case local && s.URL != "":
		wrong("", "has both command and url; a server has one")
	case !local && s.URL == "":
		wrong("", "has neither command nor url")
	case local && strings.TrimSpace(s.Command[0]) == "":
		wrong("command", "is empty")
	case local && s.transport() != transportStdio, !local && s.transport() == transportStdio:
		wrong("transport", "does not fit: "+s.Transport+map[bool]string{true: " takes url instead of command", false: " takes command instead of url"}[local])
	}
	for key, set := range map[string]bool{"args": s.Args != nil, "cwd": s.Cwd != "", "env": s.Env != nil, "inherit_env": s.Inherit != nil, "sandbox": s.Sandbox} {
		if set && !local && s.URL != "" {
			wrong(key, "is for servers with a command")
		}
	}
	if local && s.Headers != nil {
		wrong("headers", "is for servers with a url")
	}
	if oauth := s.OAuth; !reflect.DeepEqual(oauth, (Settings{}).OAuth) && !s.signsIn() {
		wrong("oauth", "is for servers with a url, and without an Authorization header")
	} else if err := oauth.Validate(); err != nil {
		wrong("oauth", err.Error())
	}
	slices.SortFunc(mistakes, func(a, b Mistake) int { return strings.Compare(a.Key, b.Key) })
	return mistakes
}

// header returns the headers of each request.
func (s *Settings) header() http.Header {
	h := http.Header{}
	for name, value := range s.Headers {
		h.Set(name, value)
	}
	return h
}

// audience says who may use what the server offers.
func (s *Settings) audience() domain.Audience {
	return domain.Audience{Groups: s.Groups, Scopes: s.Scopes, ComplianceLevel: s.ComplianceLevel}
}

// SecretName reports whether the value of a header or variable is secret, by its name.
func SecretName(name string) bool {
	return slices.ContainsFunc(secretNames[:], func(part string) bool { return strings.Contains(strings.ToLower(name), part) })
}
