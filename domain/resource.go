package domain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
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

	// Unlisted leaves it out of lists: only what names it leads to it.
	Unlisted bool
	// Linked makes it one that is not listed: it has all documents whose address begins with
	// URI, and those that it reports were linked in what a principal, by its ID, has got.
	Linked func(principal, uri string) bool

	// Read returns the document, or the error of [ResourceNotFound]. A resource of another
	// server has ReadRaw instead, whose result has the document as content.
	Read    func(ctx context.Context, at Location) ([]Content, error)
	ReadRaw func(ctx context.Context, at Location) (ToolResult, error)
	// Watch calls changed whenever the document has changed, until ctx ends, and
	// returns at once. It is nil if that cannot be told.
	Watch func(ctx context.Context, at Location, changed func()) error
	// Complete returns values for one of the template's variables.
	Complete Completer
	// Listed has further members of the resource in lists; see [Tool].
	Listed json.RawMessage
}

// Views are pages that show results of tools (the extension io.modelcontextprotocol/ui). Their addresses begin with
// ViewBase, and ViewType is their type, to the letter.
const (
	ViewBase = "ui://toolserver/"
	ViewType = "text/html;profile=mcp-app"
)

// Audience says who may know of something.
type Audience struct {
	Groups          []string // principals in any of these; empty means everyone
	Scopes          []string // that credentials need which are not good for everything
	ComplianceLevel string   // level the data has; empty means unset
	Tool            string   // only those who may use this tool too, by the name that its source gives it; empty means no tool
}

// Location is the URI of a document, and what the template made of it.
type Location struct {
	URI  string
	Vars map[string]string // by the name of the variable, decoded; nil without a template
}

// Completer returns values that begin with, or otherwise fit, what the user has
// typed of an argument. The other arguments known so far are in given.
type Completer func(ctx context.Context, argument, typed string, given map[string]string) (Completions, error)

// Completions is what an argument may be completed to.
type Completions struct {
	Values []string
	// Extra has the further members of another server's, such as total, as a JSON object;
	// nil if Values are all there are.
	Extra json.RawMessage
}

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
	return slices.Equal(a.Groups, b.Groups) && slices.Equal(a.Scopes, b.Scopes) && a.ComplianceLevel == b.ComplianceLevel && a.Tool == b.Tool
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
	case r.Name == "" || (r.Read == nil) == (r.ReadRaw == nil):
		return fmt.Errorf("resource %s has no name, or no one way to be read", r.key())
	}
	return nil
}

// locate returns where uri lies if it is one of the resource's or, with alias, one by its
// other address, and how specific that is: the bytes of a template that are literal.
func (r *Resource) locate(uri string, alias bool, budget *int) (at Location, specific int, ok bool) {
	key := r.key()
	if alias {
		key = r.Alias
	}
	if r.Template == "" {
		return Location{URI: uri}, math.MaxInt, uri == key
	}
	vars, ok := matchTemplate(key, uri, budget)
	return Location{uri, vars}, len(expressions().ReplaceAllLiteralString(key, "")), ok
}
