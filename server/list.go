package server

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/domain"
	"toolserver/domain/rawjson"
)

// listTTL is how long, in milliseconds, a modern client may use a list without
// asking again.
const listTTL = 60_000

// list serves the lists of tools, resources, templates and prompts.
func (x *exchange) list() {
	cursor, wrong := x.cursor()
	if wrong != nil {
		x.fail(wrong)
		return
	}
	body, err := x.server.page(x.msg.method, x.session.principal, x.params.meta.modern, cursor)
	if err != nil {
		x.fail(x.wireError(err))
		return
	}
	x.answer(func(b []byte) []byte { return append(b, body...) })
}

// page returns a page of a list as the JSON of its result.
func (s *Server) page(method string, p domain.Principal, modern bool, cursor string) (json.RawMessage, error) {
	settings := s.settings.Load()
	key := listKey{method: method, view: viewOf(p), cursor: cursor, modern: modern, private: settings.PrivateLists}
	generation := s.exec.Generation()
	if body, ok := s.lists.get(generation, key); ok {
		return body, nil
	}
	b, next, err := s.appendItems([]byte{'{'}, method, p, cursor)
	if err != nil {
		return nil, err
	}
	if next != "" {
		b = appendMember(b, "nextCursor", next)
	}
	if modern {
		b = appendCaching(b, listTTL, settings.PrivateLists)
	}
	x := exchange{server: s, params: &params{meta: requestMeta{modern: modern}}}
	b = x.appendMeta(b, nil)
	if len(cursor) <= maxCachedCursor {
		s.lists.put(generation, key, b)
	}
	return b, nil
}

// appendItems appends the member that holds a list.
func (s *Server) appendItems(b []byte, method string, p domain.Principal, cursor string) (_ []byte, next string, err error) {
	switch method {
	case methodResources, methodTemplates:
		templates := method == methodTemplates
		page, next, err := s.exec.Resources(p, templates, cursor)
		member := "resources"
		if templates {
			member = "resourceTemplates"
		}
		return appendList(b, member, page, appendResource), next, err
	case methodPrompts:
		page, next, err := s.exec.Prompts(p, cursor)
		return appendList(b, "prompts", page, appendPrompt), next, err
	}
	page, err := s.exec.List(domain.ListToolsQuery{Session: domain.Session{Principal: p}, Cursor: cursor})
	return appendList(b, "tools", page.Tools, appendTool), page.Next, err
}

func appendList[T any](b []byte, member string, items []T, appendItem func([]byte, T) []byte) []byte {
	b = append(append(append(b, '"'), member...), `":[`...)
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendItem(b, item)
	}
	return append(b, ']')
}

// appendCaching appends how long, in milliseconds, and by whom a result may be
// used again.
func appendCaching(b []byte, ttl int, private bool) []byte {
	scope := mcp.CacheScopePublic
	if private {
		scope = mcp.CacheScopePrivate
	}
	return append(b, `,"ttlMs":`+strconv.Itoa(ttl)+`,"cacheScope":"`+string(scope)+`"`...)
}

// appendTool appends a tool as tools/list shows it.
func appendTool(b []byte, t *domain.Tool) []byte {
	b = rawjson.AppendString(append(b, `{"name":`...), t.Name)
	b = appendOptional(b, "title", t.Title)
	b = appendMember(b, "description", t.Description)
	b = appendSchema(append(b, `,"inputSchema":`...), t.Input)
	if t.Output != nil {
		b = appendSchema(append(b, `,"outputSchema":`...), t.Output)
	}
	b = appendJSON(append(b, `,"annotations":`...), t.Annotations)
	return append(b, '}')
}

func appendSchema(b []byte, schema json.Marshaler) []byte {
	raw, err := schema.MarshalJSON()
	if err != nil {
		return append(b, `{"type":"object"}`...)
	}
	return append(b, raw...)
}

func appendResource(b []byte, r *domain.Resource) []byte {
	b = rawjson.AppendString(append(b, `{"name":`...), r.Name)
	b = appendOptional(b, "uri", r.URI)
	b = appendOptional(b, "uriTemplate", r.Template)
	b = appendOptional(b, "title", r.Title)
	b = appendOptional(b, "description", r.Description)
	return append(appendOptional(b, "mimeType", r.MIMEType), '}')
}

func appendPrompt(b []byte, p *domain.Prompt) []byte {
	b = rawjson.AppendString(append(b, `{"name":`...), p.Name)
	b = appendOptional(b, "title", p.Title)
	b = appendOptional(b, "description", p.Description)
	if len(p.Arguments) > 0 {
		b = appendList(append(b, ','), "arguments", p.Arguments, func(b []byte, a domain.PromptArgument) []byte {
			b = rawjson.AppendString(append(b, `{"name":`...), a.Name)
			b = appendOptional(b, "description", a.Description)
			return append(append(b, `,"required":`...), strconv.FormatBool(a.Required)+"}"...)
		})
	}
	return append(b, '}')
}

// viewOf names what decides what p may see.
func viewOf(p domain.Principal) string {
	return strings.Join(p.Groups, "\x00") + "\x01" + p.ComplianceLevel
}

type listKey struct {
	method, view, cursor string
	modern, private      bool
}

// maxCachedLists bounds the cache: lists times views times pages times eras.
const maxCachedLists = 256

// maxCachedCursor bounds what a client can have kept by asking for a page.
const maxCachedCursor = 1 << 10

// listCache holds pages of one generation, ready to send.
type listCache struct {
	mu         sync.Mutex
	generation any
	pages      map[listKey]json.RawMessage
}

func (c *listCache) get(generation any, key listKey) (json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation {
		return nil, false
	}
	body, ok := c.pages[key]
	return body, ok
}

func (c *listCache) put(generation any, key listKey, body json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation || len(c.pages) >= maxCachedLists {
		c.generation, c.pages = generation, map[listKey]json.RawMessage{}
	}
	c.pages[key] = body
}

// MarshalTool returns t as tools/list shows it.
func MarshalTool(t *domain.Tool) json.RawMessage { return appendTool(nil, t) }
