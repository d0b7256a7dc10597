package domain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A Resource is something clients can read by its URI: one document or, if it
// has a template, one for each URI that the template matches. Like a [Tool] it
// is a plain value, and not changed once it is in a [Catalog].
type Resource struct {
	URI         string // of a single document
	Template    string // otherwise, such as file:///{path}
	Name        string // unique among resources
	Title       string // for people
	Description string
	MIMEType    string // empty if it depends
	Alias       string // another address or template that reads it, as long as it stands for one resource only; empty for none
	Audience

	// Read returns the document, or the error of [ResourceNotFound].
	Read func(ctx context.Context, at Location) ([]Content, error)
	// Watch calls changed whenever the document has changed, until ctx ends, and
	// returns at once. It is nil if that cannot be told.
	Watch func(ctx context.Context, at Location, changed func()) error
	// Complete returns values for one of the template's variables.
	Complete Completer
	// Listed has further members of the resource in lists; see [Tool].
	Listed json.RawMessage
}

// Audience says who may know of something.
type Audience struct {
	Groups          []string // principals in any of these; empty means everyone
	ComplianceLevel string   // level the data has; empty means unset
	Tool            string   // only those who may use this tool too; empty means no tool
}

// Location is the URI of a document, and what the template made of it.
type Location struct {
	URI  string
	Vars map[string]string // by the name of the variable, decoded; nil without a template
}

// Completer returns values that begin with, or otherwise fit, what the user has
// typed of an argument. The other arguments known so far are in given.
type Completer func(ctx context.Context, argument, typed string, given map[string]string) ([]string, error)

// key is what a resource is listed under.
func (r *Resource) key() string {
	if r.Template != "" {
		return r.Template
	}
	return r.URI
}

func (r *Resource) kind() (Kind, string) { return KindResource, r.Name }

func (r *Resource) ids() (string, string) { return r.Name, "\x00" + r.key() }

func (r *Resource) with(o Override) item {
	r = new(*r)
	r.Audience.override(o)
	if o.Description != "" {
		r.Description = o.Description
	}
	return r
}

func (a *Audience) override(o Override) {
	if o.Groups != nil {
		a.Groups = o.Groups
	}
	if o.ComplianceLevel != "" {
		a.ComplianceLevel = o.ComplianceLevel
	}
}

func (a Audience) equal(b Audience) bool {
	return slices.Equal(a.Groups, b.Groups) && a.ComplianceLevel == b.ComplianceLevel && a.Tool == b.Tool
}

// looksLike reports whether r and old are the same to callers.
func (r *Resource) looksLike(old *Resource) bool {
	return r.key() == old.key() && r.Name == old.Name && r.Title == old.Title && r.Description == old.Description &&
		r.MIMEType == old.MIMEType && r.Audience.equal(old.Audience) && bytes.Equal(r.Listed, old.Listed)
}

func (r *Resource) check() error {
	switch {
	case (r.URI == "") == (r.Template == ""):
		return fmt.Errorf("resource %q has neither or both of a URI and a template", r.Name)
	case r.Name == "" || r.Read == nil:
		return fmt.Errorf("resource %s has no name or cannot be read", r.key())
	}
	return nil
}

// locate returns where uri lies if it is one of the resource's.
func (r *Resource) locate(uri string) (Location, bool) { return locate(r.Template, r.URI, uri) }

// locateAlias is locate for the other address of the resource.
func (r *Resource) locateAlias(uri string) (Location, bool) {
	switch {
	case r.Alias == "":
		return Location{}, false
	case r.Template == "":
		return locate("", r.Alias, uri)
	}
	return locate(r.Alias, "", uri)
}

func locate(template, single, uri string) (Location, bool) {
	if template == "" {
		return Location{URI: uri}, uri == single
	}
	vars, ok := matchTemplate(template, uri)
	return Location{uri, vars}, ok
}

// matchTemplate matches a URI with a template of literals and {variables}
// (RFC 6570, levels 1 and 2). A variable takes what it can up to the literal
// that follows it, slashes included: clients disagree on whether to encode
// those.
func matchTemplate(template, uri string) (map[string]string, bool) {
	vars := map[string]string{}
	for {
		literal, rest, found := strings.Cut(template, "{")
		var ok bool
		if uri, ok = strings.CutPrefix(uri, literal); !ok {
			return nil, false
		}
		if !found {
			return vars, uri == ""
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return nil, false
		}
		template = after
		value := uri
		if next, _, _ := strings.Cut(after, "{"); next != "" {
			end := strings.LastIndex(uri, next)
			if end < 0 {
				return nil, false
			}
			value = uri[:end]
		}
		uri = uri[len(value):]
		decoded, err := url.PathUnescape(value)
		if err != nil || value == "" {
			return nil, false
		}
		vars[strings.TrimPrefix(name, "+")] = decoded
	}
}
