package domain

import (
	"encoding/base64"
	"sort"
	"strings"
)

// ListToolsQuery asks for the tools a session may use.
type ListToolsQuery struct {
	Session  Session
	Category string // empty means all
	Cursor   string // of an earlier page; empty means the first
}

// ToolPage is one page of an answer, sorted by name.
type ToolPage struct {
	Tools []*Tool
	Next  string // cursor of the next page; empty on the last
}

// List returns the enabled tools the session may use. A page is never empty
// unless there are none at all. The only error is a cursor that is none of
// ours, an [*Error] with [CodeInvalidParams].
func (c *Catalog) List(q ListToolsQuery) (ToolPage, error) {
	tools := filter(c.tools, func(t *Tool) bool {
		return !t.Disabled && (q.Category == "" || t.Category == q.Category) && c.Settings.Access.Allowed(q.Session.Principal, t)
	})
	page, next, err := pageOf(tools, func(t *Tool) string { return t.Name }, q.Cursor, c.Settings.Limits.PageSize)
	return ToolPage{page, next}, err
}

// ListResources returns the page of the resources p may read that begins after
// cursor, with or without a template, and the cursor of the next page.
func (c *Catalog) ListResources(p Principal, templates bool, cursor string) (page []*Resource, next string, err error) {
	all := filter(c.resources, func(r *Resource) bool { return (r.Template != "") == templates && c.allows(p, r.Audience) })
	return pageOf(all, (*Resource).key, cursor, c.Settings.Limits.PageSize)
}

// ListPrompts returns the page of the prompts p may have that begins after
// cursor, and the cursor of the next page.
func (c *Catalog) ListPrompts(p Principal, cursor string) (page []*Prompt, next string, err error) {
	all := filter(c.prompts, func(prompt *Prompt) bool { return c.allows(p, prompt.Audience) })
	return pageOf(all, func(p *Prompt) string { return p.Name }, cursor, c.Settings.Limits.PageSize)
}

// View identifies what p may see: principals of the same view see the same
// lists.
func (c *Catalog) View(p Principal) string {
	if !c.Private() {
		return ""
	}
	return strings.Join(p.Groups, "\x00") + "\x01" + p.ComplianceLevel
}

// pageOf returns the page of items, which are sorted by key, that begins after
// cursor, and the cursor of the next page.
func pageOf[T any](items []T, key func(T) string, cursor string, size int) (page []T, next string, err error) {
	if cursor != "" {
		decoded, err := base64.RawURLEncoding.DecodeString(cursor)
		last, ours := strings.CutPrefix(string(decoded), cursorMark)
		if err != nil || !ours {
			return nil, "", &Error{Code: CodeInvalidParams, Message: "the cursor is not one that this list gave", Err: err, Hint: "Ask for the list without a cursor."}
		}
		items = items[sort.Search(len(items), func(i int) bool { return key(items[i]) > last }):]
	}
	if size <= 0 || len(items) <= size {
		return items, "", nil
	}
	return items[:size], base64.RawURLEncoding.EncodeToString([]byte(cursorMark + key(items[size-1]))), nil
}

// cursorMark is what cursors begin with, so that others are not taken for one.
const cursorMark = "after:"
