package server

import (
	"strconv"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Members of a tool's _meta that Claude Code reads.
const (
	askHint    = "anthropic/requiresUserInteraction" // true: it asks its user about each call, whatever they have allowed for good
	lengthHint = "anthropic/maxResultSizeChars"      // longer texts of results become a file that the model is told of; at most 500,000
	searchHint = "anthropic/searchHint"              // counts twice as much as the description where a deferred tool is searched for
	loadHint   = "anthropic/alwaysLoad"              // true: the tool is not deferred
)

// usualLength is what lengthHint is if a tool does not say.
const usualLength = 50_000

// hints are what this server adds to the tools of a list for one client.
type hints struct {
	catalog *domain.Catalog
	claude  bool // it is Claude Code: nobody else is known to read its hints, and everybody would pay for them
	hidden  bool // lists leave tools out for it
}

func (x *exchange) hints(c *domain.Catalog) hints {
	session := x.domain()
	claude := session.ClaudeCode()
	return hints{c, claude, claude && c.Hidden(session) > 0}
}

// append adds to the entry of a tool, from start on, what it has in _meta.
func (h hints) append(b []byte, start int, t *domain.Tool, form string) []byte {
	theirs := rawjson.Member(t.Listed, "_meta")
	meta, added := h.meta(theirs, t, form)
	switch {
	case !added:
		return b
	case theirs == nil:
		return append(append(append(b[:len(b)-1], `,"_meta":`...), meta...), '}')
	}
	return append(b[:start], rawjson.With(b[start:], "_meta", meta)...)
}

// meta returns the _meta of a tool, and whether that is more than its server says, whose members stay as they are. It cannot
// say that nobody has to agree to a call, though.
func (h hints) meta(theirs []byte, t *domain.Tool, form string) (meta []byte, added bool) {
	meta = theirs
	if len(meta) == 0 || meta[0] != '{' {
		meta = []byte("{}")
	}
	add := func(key, value string) {
		if key == askHint || rawjson.Member(meta, key) == nil {
			meta, added = rawjson.With(meta, key, []byte(value)), true
		}
	}
	if t.Category != "" && t.Origin.Server == "" && t.Listed == nil { // other servers say all of theirs themselves
		add(categoryKey, string(rawjson.AppendString(nil, t.Category)))
	}
	if !h.claude {
		return meta, added
	}
	if t.Confirm || t.Final {
		add(askHint, "true")
	}
	length := h.catalog.Settings.Limits.ResultChars(t.MaxResultChars)
	if t.Output != nil && form != domain.FormText {
		length *= call.StructuredShare
	}
	if length > usualLength {
		add(lengthHint, strconv.Itoa(length))
	}
	if t.Ability != "" {
		add(searchHint, string(rawjson.AppendString(nil, t.Ability)))
	}
	if t.Listing == domain.ListedAlways || t.Listing == domain.ListedToSearch && h.hidden {
		add(loadHint, "true")
	}
	return meta, added
}
