package google

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// document is a discovery document, as far as it is enforced.
type document struct {
	Name        string
	ServicePath string
	Parameters  map[string]*schema
	Schemas     map[string]*schema
	Resources   map[string]*resource
	Auth        struct {
		OAuth2 struct {
			Scopes map[string]struct{ Description string }
		}
	}
}

type resource struct {
	Methods   map[string]*method
	Resources map[string]*resource
}

type method struct {
	ID          string
	HTTPMethod  string
	Path        string
	Parameters  map[string]*schema
	Request     *schema
	Response    *schema
	Scopes      []string
	MediaUpload *struct {
		MaxSize   int64 `json:",string"`
		Protocols map[string]struct{ Path string }
	}
	doc *document
}

// route is a path of a method.
type route struct {
	method   *method
	segments []string
	upload   bool
}

// discover reads the documents.
func (f *Fake) discover() error {
	dir := f.o.Discovery
	if dir == "" {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
		if err != nil {
			return fmt.Errorf("find the module google.golang.org/api, which has the discovery documents: %w", err)
		}
		dir = strings.TrimSpace(string(out))
	}
	f.scopes = map[string]string{
		"openid": "Associate you with your personal info", userinfo + "email": "See your email address", userinfo + "profile": "See your personal info",
	}
	for _, name := range []string{"gmail/v1/gmail-api.json", "calendar/v3/calendar-api.json", "people/v1/people-api.json"} {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		doc := new(document)
		if err := json.Unmarshal(text, doc); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for scope, about := range doc.Auth.OAuth2.Scopes {
			f.scopes[scope] = about.Description
		}
		f.addRoutes(doc, doc.Resources)
	}
	return nil
}

func (f *Fake) addRoutes(doc *document, resources map[string]*resource) {
	for _, r := range resources {
		for _, m := range r.Methods {
			m.doc = doc
			f.routes = append(f.routes, route{m, strings.Split("/"+doc.ServicePath+m.Path, "/"), false})
			if m.MediaUpload != nil {
				f.routes = append(f.routes, route{m, strings.Split(m.MediaUpload.Protocols["simple"].Path, "/"), true})
			}
		}
		f.addRoutes(doc, r.Resources)
	}
}

// match returns the method that a request is for and the parameters in its path: of several methods that with most literal
// segments.
func (f *Fake) match(r *http.Request) (found *route, parameters map[string]string) {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	best := -1
	for i, route := range f.routes {
		if route.method.HTTPMethod != r.Method || len(route.segments) != len(segments) {
			continue
		}
		if values, literal, ok := bind(route.segments, segments); ok && literal > best {
			found, parameters, best = &f.routes[i], values, literal
		}
	}
	return found, parameters
}

// bind returns the values of a template's variables, and how many of its segments are literal.
func bind(template, segments []string) (values map[string]string, literal int, ok bool) {
	values = map[string]string{}
	for i, t := range template {
		if !strings.HasPrefix(t, "{") {
			if t != segments[i] {
				return nil, 0, false
			}
			literal++
			continue
		}
		name, suffix, _ := strings.Cut(t[1:], "}")
		value, has := strings.CutSuffix(segments[i], suffix)
		decoded, err := url.PathUnescape(value)
		if !has || err != nil || decoded == "" {
			return nil, 0, false
		}
		values[name] = decoded
	}
	return values, literal, true
}

// allows reports whether one of scopes allows the method.
func (m *method) allows(scopes []string) bool {
	for _, s := range m.Scopes {
		for _, has := range scopes {
			if s == has {
				return true
			}
		}
	}
	return false
}

// check returns the refusal of parameters that the method does not have, or whose values are wrong.
func (m *method) check(query url.Values) *Answer {
	for name, values := range query {
		p := m.Parameters[name]
		if p == nil || p.Location != "query" {
			p = m.doc.Parameters[name]
		}
		if p == nil {
			return badRequest(fmt.Sprintf("Invalid JSON payload received. Unknown name %q: Cannot bind query parameter. "+
				"Field '%s' could not be found in request message.", name, name), name)
		}
		if len(values) > 1 && !p.Repeated {
			return badRequest(fmt.Sprintf("Invalid value at '%s', it is not repeated", name), name)
		}
		for _, v := range values {
			if err := p.parameter(v); err != nil {
				if p.Format == "date-time" {
					return &Answer{Status: http.StatusBadRequest, Reason: "badRequest", Message: "Bad Request", Location: name}
				}
				return badRequest(fmt.Sprintf("Invalid value at '%s' (%s), %q", name, err, v), name)
			}
		}
	}
	for name, p := range m.Parameters {
		if p.Required && p.Location == "query" && !query.Has(name) {
			return &Answer{Status: http.StatusBadRequest, Reason: "required", Message: "Required parameter: " + name, Location: name}
		}
	}
	return nil
}

// badRequest is the answer to a request that does not fit its method.
func badRequest(message, field string) *Answer {
	return &Answer{
		Status: http.StatusBadRequest, Reason: "invalid", Message: message, Location: field, Canonical: "INVALID_ARGUMENT",
		Details: []any{map[string]any{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": []any{
			map[string]string{"field": field, "description": message},
		}}},
	}
}
