package server

import (
	"encoding/json"
	"errors"
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

// listTools serves tools/list.
func (x *exchange) listTools() {
	var cursor string
	if x.msg.params != nil && x.msg.params[0] == '{' {
		err := rawjson.Object(x.msg.params, func(name, value []byte) (err error) {
			if string(name) == "cursor" {
				cursor, err = rawjson.String(value)
			}
			return err
		})
		if err != nil {
			x.fail(invalidParams(`"cursor" must be a string`))
			return
		}
	}
	body, err := x.server.toolsPage(x.session.principal, x.meta.modern, cursor)
	if err != nil {
		e, _ := errors.AsType[*domain.Error](err)
		x.fail(&wireError{int(e.Code), e.Message, e.Envelope()})
		return
	}
	x.answer(func(b []byte) []byte { return append(b, body...) })
}

// toolsPage returns a page of tools as the JSON of its result.
func (s *Server) toolsPage(p domain.Principal, modern bool, cursor string) (json.RawMessage, error) {
	settings := s.settings.Load()
	key := listKey{view: viewOf(p), cursor: cursor, modern: modern, private: settings.PrivateLists}
	generation := s.exec.Registry.Generation()
	if body, ok := s.lists.get(generation, key); ok {
		return body, nil
	}
	page, err := s.exec.List(domain.ListToolsQuery{Session: domain.Session{Principal: p}, Cursor: cursor})
	if err != nil {
		return nil, err
	}
	b := []byte(`{"tools":[`)
	for i, t := range page.Tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTool(b, t)
	}
	b = append(b, ']')
	if page.Next != "" {
		b = appendMember(b, "nextCursor", page.Next)
	}
	if modern {
		scope := mcp.CacheScopePublic
		if settings.PrivateLists {
			scope = mcp.CacheScopePrivate
		}
		b = append(b, `,"ttlMs":`+strconv.Itoa(listTTL)+`,"cacheScope":"`+string(scope)+`"`...)
	}
	x := exchange{server: s, meta: requestMeta{modern: modern}}
	b = x.appendMeta(b, nil)
	s.lists.put(generation, key, b)
	return b, nil
}

// appendTool appends a tool as tools/list shows it.
func appendTool(b []byte, t *domain.Tool) []byte {
	b = rawjson.AppendString(append(b, `{"name":`...), t.Name)
	if t.Title != "" {
		b = appendMember(b, "title", t.Title)
	}
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

// viewOf names what decides which tools p may see.
func viewOf(p domain.Principal) string {
	return strings.Join(p.Groups, "\x00") + "\x01" + p.ComplianceLevel
}

type listKey struct {
	view, cursor    string
	modern, private bool
}

// maxCachedLists bounds the cache: views times pages times eras.
const maxCachedLists = 256

// listCache holds pages of one generation of the registry, ready to send.
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
