package clients

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/clients/edit"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/upstream"
)

// object is the members of a file, or of a part of it.
type object = map[string]any

// reader reads one file.
type reader struct {
	client    Client            // whose file it is, as far as that is known
	asWritten bool              // references stay what they are
	workspace string            // the directory that the file is about
	inputs    map[string]string // what VS Code asks for, by id
	asked     map[string]bool   // ids that warnings have named
	warnings  []string
}

// Read returns the servers that a file of another program names, with a line for all that could not
// be taken over as it is. JSON may have comments and trailing commas.
func Read(file string, text []byte) (servers []config.Entry, warnings []string, err error) {
	format := edit.FormatOf(file)
	whole, err := format.Decode(append(slices.Clone(text), '\n')) // which ends a comment at the end
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	top, ok := whole.(object)
	if !ok {
		return nil, nil, fmt.Errorf("%s is no %s object", file, strings.ToUpper(cmp.Or(string(format), "json")))
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, err
	}
	r := &reader{client: owner(abs), workspace: filepath.Dir(abs), inputs: map[string]string{}, asked: map[string]bool{}}
	if strings.HasPrefix(filepath.Base(r.workspace), ".") { // as .vscode
		r.workspace = filepath.Dir(r.workspace)
	}
	all, err := r.section(top)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	settings, _ := member(top, "mcp").(object)
	excluded, _ := member(settings, "excluded").([]any) // of Gemini CLI and Qwen Code
	taken := map[string]bool{}
	for _, given := range slices.Sorted(maps.Keys(all)) {
		name := r.name(given)
		if taken[name] {
			r.warn(name, "%q would have the same name and is left out", given)
			continue
		}
		if settings, ok := r.server(name, all[given]); ok {
			taken[name] = true
			if slices.Contains(excluded, any(given)) {
				settings.Enabled = new(bool)
			}
			servers = append(servers, config.Entry{Name: name, Settings: settings})
		}
	}
	return servers, r.warnings, nil
}

// owner returns the client whose file has such a path, the zero value if none has.
func owner(file string) (client Client) {
	most := 0
	for _, c := range All() {
		for _, template := range slices.Concat(c.Files, c.Project, c.Legacy) {
			end := variable().ReplaceAllString(template, "$2")
			end = end[min(strings.IndexByte(end+"/", '/'), len(end)):] // without where that directory is
			if strings.HasSuffix(filepath.ToSlash(file), end) && len(end) > most {
				client, most = c, len(end)
			}
		}
	}
	return client
}

func (r *reader) warn(server, format string, args ...any) {
	r.warnings = append(r.warnings, "mcp_servers."+server+": "+fmt.Sprintf(format, args...))
}

// folded returns a key as the programs agree on it: ComplianceLevel and compliance_level are
// the same.
func folded(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
}

// member returns a member by the folded name that keys agree on, nil if there is none.
func member(o object, name string) any {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if folded(key) == folded(name) {
			return o[key]
		}
	}
	return nil
}

// section returns the servers of a file.
func (r *reader) section(top object) (object, error) {
	sections := [][]string{{"mcp", "servers"}, {"mcpServers"}, {"servers"}, nil}
	for _, c := range All() {
		sections = append(sections, c.Keys...)
	}
	none := false // a section is null
	for _, keys := range sections {
		if keys == nil && areServers(top) {
			return top, nil
		}
		in, found := top, any(nil)
		for _, key := range keys {
			r.readInputs(in)
			_, has := in[key]
			found = member(in, key)
			none = none || has && found == nil
			in, _ = found.(object)
		}
		if list, ok := found.([]any); ok {
			in = object{}
			for _, item := range list {
				entry, _ := item.(object)
				if name, ok := entry["name"].(string); ok {
					in[name] = entry
				}
			}
		}
		switch {
		case in != nil && found != nil:
			return in, nil
		case found != nil:
			return nil, fmt.Errorf("%s is no object of servers", keys[len(keys)-1])
		}
	}
	if none {
		return nil, nil
	}
	return nil, errors.New("it has no section mcpServers, servers or McpServers, or another one of a client that install knows, and is no map of servers")
}

// areServers reports whether a file is a map of servers, as that of Atlas: servers by name, and
// nothing else.
func areServers(top object) bool {
	for _, entry := range top {
		inner, _ := entry.(object)
		if !slices.ContainsFunc([]string{"command", "url", "serverurl", "transport"}, func(key string) bool { return member(inner, key) != nil }) {
			return false
		}
	}
	return true
}

func (r *reader) readInputs(in object) {
	list, _ := member(in, "inputs").([]any) // what is no list asks for nothing
	for _, item := range list {
		input, _ := item.(object)
		id, _ := member(input, "id").(string)
		r.inputs[id], _ = member(input, "description").(string)
	}
}

var badName = lazyregexp.New(`[^A-Za-z0-9._-]+`)

// name returns the name of a server as it can be here.
func (r *reader) name(given string) string {
	name := strings.TrimLeft(badName().ReplaceAllString(given, "-"), "._-")
	name = cmp.Or(strings.TrimRight(name[:min(len(name), 64)], "-"), "server")
	if name != given {
		r.warn(name, "was called %q, which is no name of a server here", given)
	}
	return name
}

// written returns a value as JSON, for messages.
func written(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// server returns what an entry says.
func (r *reader) server(name string, entry any) (s upstream.Settings, ok bool) {
	given, ok := entry.(object)
	if !ok {
		r.warn(name, "is %.40s and is left out", written(entry))
		return s, false
	}
	auth := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if known, ok := r.take(name, &s, auth, key, given[key]); !known {
			r.warn(name, "%s has no counterpart here and is left out", key)
		} else if !ok {
			r.warn(name, "%s is %.60s, which is not understood, and is left out", key, written(given[key]))
		}
	}
	r.authorize(name, &s, auth)
	if !r.asWritten && len(s.Command) == 1 {
		r.split(name, &s)
	}
	if sse := r.client.Shape.SSE; sse != "" && given[sse] != nil && s.Transport == "" {
		s.Transport = "sse"
	}
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
	for _, w := range Credentials(name, &s) {
		r.warn(name, "%s", w)
	}
	return s, true
}

// split takes a command that has arguments apart, which only shells do.
func (r *reader) split(name string, s *upstream.Settings) {
	whole := s.Command[0]
	words := strings.Fields(whole)
	if _, err := exec.LookPath(whole); err == nil || len(words) < 2 {
		return
	}
	if strings.ContainsAny(whole, "\"'`\\") || strings.ContainsAny(words[0], "/") && !exists(words[0]) {
		r.warn(name, "command %q is no program here; if it has arguments, write them in args, one text each", whole)
		return
	}
	s.Command, s.Args = words[:1], slices.Concat(words[1:], s.Args)
	r.warn(name, "command %q has arguments, which became args", whole)
}

// take takes over one key of an entry, and reports whether there is something it can become, and
// whether it could be read.
func (r *reader) take(name string, s *upstream.Settings, auth map[string]string, key string, v any) (known, ok bool) {
	if v == nil || key == "name" { // which is known
		return true, true
	}
	switch folded(key) {
	case "command", "cmd":
		s.Command, ok = r.texts(name, v)
	case "args":
		s.Args, ok = r.texts(name, v)
	case "env", "envs", "environment":
		s.Env, ok = r.values(name, v)
	case "envvars", "envkeys":
		s.Inherit, ok = r.texts(name, v)
	case "headers", "httpheaders":
		s.Headers, ok = r.values(name, v)
	case "requestoptions":
		var options object
		options, ok = v.(object)
		for _, key := range slices.Sorted(maps.Keys(options)) {
			if folded(key) != "headers" {
				r.warn(name, "requestOptions.%s has no counterpart here and is left out", key)
			} else if ok {
				s.Headers, ok = r.values(name, options[key])
			}
		}
	case "url", "serverurl", "httpurl", "uri":
		if s.URL, ok = r.text(name, v); ok && !strings.Contains(s.URL, "://") && !strings.HasPrefix(s.URL, "${") {
			s.URL = "http://" + s.URL
		}
	case "cwd", "workingdirectory":
		if s.Cwd, ok = r.text(name, v); ok && s.Cwd != "" && !filepath.IsAbs(s.Cwd) && !strings.HasPrefix(s.Cwd, "${") && !strings.HasPrefix(s.Cwd, "~") {
			s.Cwd = filepath.Join(r.workspace, s.Cwd)
			r.warn(name, "cwd was relative and is taken to be %s", s.Cwd)
		}
	case "enabled", "disabled":
		var on bool
		if on, ok = v.(bool); ok && on == (folded(key) == "disabled") {
			s.Enabled = new(bool)
		}
	case "transport", "type":
		var to string
		to, ok = transports[folded(fmt.Sprint(v))]
		s.Transport = cmp.Or(s.Transport, to) // transport comes before type, which is older
	case "groups":
		if s.Groups, ok = r.texts(name, v); slices.Contains(s.Groups, "users") {
			r.warn(name, "groups has users, which Atlas takes for everyone; here it is a group like others, see users in the configuration")
		}
	case "compliancelevel":
		s.ComplianceLevel, ok = r.text(name, v)
	case "includetools", "enabledtools", "tools":
		if s.Tools.Allow, ok = r.texts(name, v); slices.Equal(s.Tools.Allow, []string{"*"}) {
			s.Tools.Allow = nil
		}
	case "excludetools", "disabledtools":
		s.Tools.Deny, ok = r.texts(name, v)
	case "authtoken", "authtype", "authheader":
		auth[folded(key)], ok = r.text(name, v)
	case "bearertokenenvvar":
		var variable string
		if variable, ok = r.text(name, v); ok {
			auth["authtoken"] = "${" + variable + "}"
		}
	case "timeout", "calltimeout", "tooltimeoutsec", "startuptimeoutsec", "connectiontimeout":
		unit, to := r.client.Shape.Timeout, &s.CallTimeout
		if strings.HasSuffix(key, "_sec") {
			unit = "s"
		}
		if strings.HasPrefix(key, "startup") || strings.HasPrefix(key, "connection") {
			to = &s.Timeout
		}
		d, err := time.ParseDuration(fmt.Sprint(v))
		if err != nil {
			d, err = time.ParseDuration(fmt.Sprint(v) + unit)
		}
		if *to = d; err != nil {
			r.warn(name, "%s: %s has no unit; set timeout (to connect) or call_timeout, such as 30s", key, written(v))
		}
		ok = true
	default:
		return false, false
	}
	return true, ok
}

// transports are the ways that messages travel, by what programs call them.
var transports = map[string]string{"stdio": "stdio", "local": "stdio", "http": "http", "streamablehttp": "http", "remote": "http", "sse": "sse"}

// authorize makes a header of a token.
func (r *reader) authorize(name string, s *upstream.Settings, auth map[string]string) {
	token := auth["authtoken"]
	header, value := "Authorization", "Bearer "+token
	switch kind := folded(auth["authtype"]); kind {
	case "", "none", "bearer", "jwt":
	case "apikey":
		header, value = cmp.Or(auth["authheader"], "X-API-Key"), token
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
func (r *reader) text(server string, v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return r.references(server, v), true
	case bool, json.Number, int, int64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// texts returns a list of texts, or one.
func (r *reader) texts(server string, v any) (list []string, ok bool) {
	items, ok := v.([]any)
	if !ok {
		items = []any{v}
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

// values returns texts by names. One that is only $NAME is a reference to some programs, and nothing to others.
func (r *reader) values(server string, v any) (all map[string]string, ok bool) {
	given, ok := v.(object)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if given[key] == nil {
			continue
		}
		text, ok := r.text(server, given[key])
		if !ok {
			return nil, false
		}
		if !r.asWritten {
			text = bareReference().ReplaceAllString(text, "$1$${$2}")
		}
		if all == nil {
			all = map[string]string{}
		}
		all[key] = text
	}
	return all, ok
}

var (
	anyReference   = lazyregexp.New(`\$\{\{[^{}]*\}\}|\$\{[^}]*\}?|\{env:\w+\}`)
	ourReference   = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?$`)
	bareReference  = lazyregexp.New(`^(Bearer )?\$([A-Z_][A-Z0-9_]*)$`)
	nakedReference = lazyregexp.New(`\$([A-Za-z_]\w*)`)
	notInNames     = lazyregexp.New(`[^A-Za-z0-9]+`)
)

// references returns a text with its references as they are written here.
func (r *reader) references(server, text string) string {
	if r.asWritten {
		return text
	}
	if r.client.Shape.Reference == "$NAME" {
		text = nakedReference().ReplaceAllString(text, "$${$1}")
	}
	return anyReference().ReplaceAllStringFunc(text, func(ref string) string {
		inner := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(ref, "$"), "{"), "}")
		kind, rest, _ := strings.Cut(inner, ":")
		secret, isSecret := strings.CutPrefix(strings.Trim(inner, "{ }"), "secrets.") // of Continue
		switch {
		case kind == "env" && ourReference().MatchString(rest):
			return "${" + rest + "}"
		case isSecret && ourReference().MatchString(secret):
			return "${" + secret + "}"
		case kind == "input":
			variable := variableFor(rest)
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

// variableFor returns the name of an environment variable for what has another name.
func variableFor(name string) string {
	name = strings.ToUpper(strings.Trim(notInNames().ReplaceAllString(name, "_"), "_"))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "X" + name
	}
	return name
}
