// Package foreign reads the MCP servers that configurations of other programs name: Claude
// Desktop and Claude Code, VS Code, Cursor, Windsurf, .NET settings, Atlas.
package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tailscale/hujson"

	"toolserver/tools/upstream"
)

// Server is a server that a file names.
type Server struct {
	Name     string
	Settings upstream.Settings
}

// object is a JSON object.
type object = map[string]json.RawMessage

// reader reads one file.
type reader struct {
	workspace string            // the directory that the file is about
	inputs    map[string]string // what VS Code asks for, by id
	asked     map[string]bool   // ids that warnings have named
	warnings  []string
}

// Read returns the servers in a file, by name, with a line for all that could not be taken
// over as it is. JSON may have comments and trailing commas.
func Read(file string, text []byte) (servers []Server, warnings []string, err error) {
	standard, err := hujson.Standardize(append(slices.Clone(text), '\n')) // which ends a comment at the end
	if err != nil {
		return nil, nil, fmt.Errorf("%s is no JSON: %w", file, err)
	}
	var top object
	if err := json.Unmarshal(standard, &top); err != nil {
		return nil, nil, fmt.Errorf("%s is no JSON object: %w", file, err)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, err
	}
	r := &reader{workspace: filepath.Dir(abs), inputs: map[string]string{}, asked: map[string]bool{}}
	if slices.Contains([]string{".vscode", ".cursor"}, filepath.Base(r.workspace)) {
		r.workspace = filepath.Dir(r.workspace)
	}
	all, err := r.section(top)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	taken := map[string]bool{}
	for _, given := range slices.Sorted(maps.Keys(all)) {
		name := r.name(given)
		if taken[name] {
			r.warn(name, "%q would have the same name and is left out", given)
			continue
		}
		if settings, ok := r.server(name, all[given]); ok {
			taken[name] = true
			servers = append(servers, Server{name, settings})
		}
	}
	return servers, r.warnings, nil
}

func (r *reader) warn(server, format string, args ...any) {
	r.warnings = append(r.warnings, "mcp_servers."+server+": "+fmt.Sprintf(format, args...))
}

// folded returns a key as the programs agree on it: ComplianceLevel and compliance_level are
// the same.
func folded(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
}

// section returns the servers of a file.
func (r *reader) section(top object) (object, error) {
	for key, raw := range top {
		var inner object
		switch folded(key) {
		case "inputs":
			r.readInputs(raw)
		case "mcp": // of the settings of VS Code
			if json.Unmarshal(raw, &inner) == nil && inner["servers"] != nil {
				return r.section(inner)
			}
		}
	}
	for _, wanted := range []string{"mcpservers", "servers"} {
		for _, key := range slices.Sorted(maps.Keys(top)) {
			var inner object
			if folded(key) != wanted {
				continue
			}
			if err := json.Unmarshal(top[key], &inner); err != nil {
				return nil, fmt.Errorf("%s is no object of servers: %w", key, err)
			}
			return inner, nil
		}
	}
	for _, raw := range top { // Atlas: servers by name, and nothing else
		var inner object
		if json.Unmarshal(raw, &inner) != nil || !slices.ContainsFunc(slices.Collect(maps.Keys(inner)), func(key string) bool {
			return slices.Contains([]string{"command", "url", "serverurl", "transport"}, folded(key))
		}) {
			return nil, errors.New("it has no section mcpServers, servers or McpServers, and is no map of servers")
		}
	}
	return top, nil
}

func (r *reader) readInputs(raw json.RawMessage) {
	var inputs []struct{ ID, Description string }
	_ = json.Unmarshal(raw, &inputs) // what is no list asks for nothing
	for _, in := range inputs {
		r.inputs[in.ID] = in.Description
	}
}

var badName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._-]+`) })

// name returns the name of a server as it can be here.
func (r *reader) name(given string) string {
	name := strings.TrimLeft(badName().ReplaceAllString(given, "-"), "._-")
	name = strings.TrimRight(name[:min(len(name), 64)], "-")
	if name == "" {
		name = "server"
	}
	if name != given {
		r.warn(name, "was called %q, which is no name of a server here", given)
	}
	return name
}

// server returns what an entry says.
func (r *reader) server(name string, raw json.RawMessage) (s upstream.Settings, ok bool) {
	var given object
	if err := json.Unmarshal(raw, &given); err != nil || given == nil {
		r.warn(name, "is %.40s and is left out", raw)
		return s, false
	}
	auth := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !r.take(name, &s, auth, key, given[key]) {
			r.warn(name, "%s has no counterpart here and is left out", key)
		}
	}
	r.authorize(name, &s, auth)
	if len(s.Command) > 0 && s.URL != "" {
		if s.Transport == "stdio" {
			r.warn(name, "has both command and url; url is left out")
			s.URL = ""
		} else {
			r.warn(name, "has both command and url; the program is not started here, and only url is used")
			s.Command, s.Args, s.Env, s.Cwd = nil, nil, nil, ""
		}
	}
	if len(s.Command) == 0 && s.URL == "" {
		r.warn(name, "has neither command nor url and is left out")
		return s, false
	}
	derived := s
	derived.Transport = ""
	if s.Transport == upstream.Disabled(name, derived).Transport {
		s.Transport = ""
	}
	r.credentials(name, &s)
	return s, true
}

// take takes over one key of an entry, and reports whether there is something it can become.
func (r *reader) take(name string, s *upstream.Settings, auth map[string]string, key string, raw json.RawMessage) bool {
	if string(raw) == "null" {
		return true
	}
	ok := true
	switch folded(key) {
	case "command":
		s.Command, ok = r.texts(name, raw)
	case "args":
		s.Args, ok = r.texts(name, raw)
	case "env":
		s.Env, ok = r.values(name, raw)
	case "headers":
		s.Headers, ok = r.values(name, raw)
	case "url", "serverurl", "httpurl":
		if s.URL, ok = r.text(name, raw); ok && !strings.Contains(s.URL, "://") && !strings.HasPrefix(s.URL, "${") {
			s.URL = "http://" + s.URL
		}
	case "cwd", "workingdirectory":
		if s.Cwd, ok = r.text(name, raw); ok && s.Cwd != "" && !filepath.IsAbs(s.Cwd) && !strings.HasPrefix(s.Cwd, "${") && !strings.HasPrefix(s.Cwd, "~") {
			s.Cwd = filepath.Join(r.workspace, s.Cwd)
			r.warn(name, "cwd was relative and is taken to be %s", s.Cwd)
		}
	case "enabled", "disabled":
		var on bool
		if ok = json.Unmarshal(raw, &on) == nil; ok && on == (folded(key) == "disabled") {
			s.Enabled = new(bool)
		}
	case "transport", "type":
		ok = r.transport(s, raw)
	case "groups":
		if s.Groups, ok = r.texts(name, raw); slices.Contains(s.Groups, "users") {
			r.warn(name, "groups has users, which Atlas takes for everyone; here it is a group like others, see users in the configuration")
		}
	case "compliancelevel":
		s.ComplianceLevel, ok = r.text(name, raw)
	case "includetools":
		s.Tools.Allow, ok = r.texts(name, raw)
	case "excludetools", "disabledtools":
		s.Tools.Deny, ok = r.texts(name, raw)
	case "authtoken", "authtype", "authheader":
		auth[folded(key)], ok = r.text(name, raw)
	case "timeout", "calltimeout":
		s.CallTimeout, ok = duration(raw)
		if !ok {
			r.warn(name, "%s: %s has no unit; set timeout (to connect) or call_timeout, such as 30s", key, raw)
			return true
		}
	default:
		return false
	}
	if !ok {
		r.warn(name, "%s is %.60s, which is not understood, and is left out", key, raw)
	}
	return true
}

func duration(raw json.RawMessage) (time.Duration, bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

func (r *reader) transport(s *upstream.Settings, raw json.RawMessage) bool {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return false
	}
	known := map[string]string{"stdio": "stdio", "local": "stdio", "http": "http", "streamablehttp": "http", "remote": "http", "sse": "sse"}
	to, ok := known[folded(text)]
	if s.Transport == "" { // transport comes before type, which is older
		s.Transport = to
	}
	return ok
}

// authorize makes a header of a token.
func (r *reader) authorize(name string, s *upstream.Settings, auth map[string]string) {
	token := auth["authtoken"]
	kind := folded(auth["authtype"])
	header, value := "Authorization", "Bearer "+token
	switch kind {
	case "", "none", "bearer", "jwt":
	case "apikey":
		header, value = "X-API-Key", token
		if auth["authheader"] != "" {
			header = auth["authheader"]
		}
	default:
		r.warn(name, "auth_type %s has no counterpart here", kind)
	}
	if token == "" {
		return
	}
	if s.Headers == nil {
		s.Headers = map[string]string{}
	}
	s.Headers[header] = value
}

// text returns a text; numbers and truth values are as they are written.
func (r *reader) text(server string, raw json.RawMessage) (string, bool) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case string:
		return r.references(server, v), true
	case bool, float64:
		return string(raw), true
	}
	return "", false
}

// texts returns a list of texts, or one.
func (r *reader) texts(server string, raw json.RawMessage) (list []string, ok bool) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		if one, ok := r.text(server, raw); ok {
			return []string{one}, true
		}
		return nil, false
	}
	for _, item := range items {
		text, ok := r.text(server, item)
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

func (r *reader) values(server string, raw json.RawMessage) (map[string]string, bool) {
	var given object
	if json.Unmarshal(raw, &given) != nil {
		return nil, false
	}
	all := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if string(given[key]) == "null" {
			continue
		}
		text, ok := r.text(server, given[key])
		if !ok {
			return nil, false
		}
		all[key] = text
	}
	if len(all) == 0 {
		return nil, true
	}
	return all, true
}

var (
	reference    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[^}]*\}?`) })
	ourReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?$`) })
	notInNames   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9]+`) })
)

// references returns a text with its references as they are written here.
func (r *reader) references(server, text string) string {
	return reference().ReplaceAllStringFunc(text, func(ref string) string {
		inner := strings.TrimSuffix(strings.TrimPrefix(ref, "${"), "}")
		kind, rest, _ := strings.Cut(inner, ":")
		switch {
		case kind == "env" && ourReference().MatchString(rest):
			return "${" + rest + "}"
		case kind == "input":
			variable := Variable(rest)
			if !r.asked[rest] {
				r.asked[rest] = true
				r.warn(server, "set the environment variable %s, which VS Code asks for as %s", variable, strconv.Quote(rest+" "+r.inputs[rest]))
			}
			return "${" + variable + "}"
		case inner == "workspaceFolder" || inner == "workspaceRoot":
			return r.workspace
		case inner == "userHome":
			return "${HOME}"
		case strings.HasSuffix(ref, "}") && ourReference().MatchString(inner):
			return ref
		}
		r.warn(server, "%s is not known here and is passed on as it is", ref)
		return "$" + ref
	})
}

// Variable returns the name of an environment variable for what has another name.
func Variable(name string) string {
	name = strings.ToUpper(strings.Trim(notInNames().ReplaceAllString(name, "_"), "_"))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "X" + name
	}
	return name
}
