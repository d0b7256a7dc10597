package domain

import (
	"encoding/base64"
	"sort"
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
func (e *Executor) List(q ListToolsQuery) (ToolPage, error) {
	settings := e.settings.Load()
	tools := filter(e.Registry.ListEnabled(), func(t *Tool) bool {
		return (q.Category == "" || t.Category == q.Category) && settings.Access.Allowed(q.Session.Principal, t)
	})
	if q.Cursor != "" {
		last, err := base64.RawURLEncoding.DecodeString(q.Cursor)
		if err != nil {
			return ToolPage{}, &Error{Code: CodeInvalidParams, Message: "the cursor is not one that tools/list gave", Err: err, Hint: "Call tools/list without a cursor."}
		}
		tools = tools[sort.Search(len(tools), func(i int) bool { return tools[i].Name > string(last) }):]
	}
	page := ToolPage{Tools: tools}
	if size := settings.Limits.PageSize; size > 0 && len(tools) > size {
		page.Tools = tools[:size]
		page.Next = base64.RawURLEncoding.EncodeToString([]byte(tools[size-1].Name))
	}
	return page, nil
}
