package server

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// encoder writes results as one client gets them. The zero value writes those of protocol
// versions with sessions, with both halves.
type encoder struct {
	modern  bool
	claude  bool            // the client is Claude Code
	info    json.RawMessage // of this server, for a modern client
	catalog *domain.Catalog
}

func (in *incoming) encoder() encoder {
	info := in.server.info
	if in.method == mcp.MethodServerDiscover {
		info = in.server.about
	}
	return encoder{in.meta.modern, in.domain().ClaudeCode(), info, in.server.exec.CatalogOf(in.domain().Principal)}
}

// result appends a CallToolResult. Text goes to the wire from where the
// tool put it, without being copied or read again.
func (e encoder) result(b []byte, r *domain.ToolResult) []byte {
	blocks, structured := e.halves(r)
	b = slices.Grow(b, r.TextLen()+r.TextLen()/8+512)
	b = append(b, `{"content":[`...)
	for i := range blocks {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendBlock(b, &blocks[i])
	}
	b = append(b, ']')
	if structured != nil {
		b = jsonrpc.AppendValue(append(b, `,"structuredContent":`...), structured)
	}
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	return e.end(appendMembers(b, r.Extra), r.Meta)
}

// end appends the end of a result: its _meta, and what protocol version
// 2026-07-28 requires of every result.
func (e encoder) end(b []byte, meta any) []byte {
	if e.modern {
		b = append(b, `,"resultType":"complete"`...)
	}
	return e.meta(b, meta)
}

// meta appends the _meta of a result, and the result's end.
func (e encoder) meta(b []byte, meta any) []byte {
	raw, ok := meta.(json.RawMessage)
	if !ok && meta != nil {
		raw = jsonrpc.AppendValue(nil, meta)
	}
	if !e.modern {
		if len(raw) > 0 {
			b = jsonrpc.AppendValue(append(b, `,"_meta":`...), raw)
		}
		return append(b, '}')
	}
	b = append(b, `,"_meta":{`...)
	if raw = rawjson.Without(raw, mcp.MetaKeyServerInfo); len(raw) > len("{}") { // what another server says of itself
		b = jsonrpc.AppendValue(b[:len(b)-1], raw)
		b[len(b)-1] = ','
	}
	b = append(b, `"`+mcp.MetaKeyServerInfo+`":`...)
	return append(append(b, e.info...), "}}"...)
}

func appendBlock(b []byte, c *domain.Content) []byte {
	if c.Raw != nil {
		return jsonrpc.AppendValue(b, c.Raw)
	}
	b = append(append(append(b, `{"type":"`...), c.Type...), '"')
	switch c.Type {
	case domain.TextContent:
		b = rawjson.AppendString(append(b, `,"text":`...), c.Text)
	case domain.ImageContent, domain.AudioContent:
		b = base64.StdEncoding.AppendEncode(append(b, `,"data":"`...), c.Data)
		b = appendMember(append(b, '"'), "mimeType", c.MIMEType)
	case domain.LinkContent:
		b = appendMember(b, "uri", c.URI)
		b = appendMember(b, "name", c.Name)
		b = appendOptional(b, "mimeType", c.MIMEType)
	case domain.ResourceContent:
		b = appendContents(append(b, `,"resource":`...), c)
	}
	return append(b, '}')
}

// appendContents appends a document, as a block or resources/read has it.
func appendContents(b []byte, c *domain.Content) []byte {
	if c.Raw != nil {
		return jsonrpc.AppendValue(b, c.Raw)
	}
	b = rawjson.AppendString(append(b, `{"uri":`...), c.URI)
	b = appendOptional(b, "mimeType", c.MIMEType)
	if c.Data != nil {
		b = append(base64.StdEncoding.AppendEncode(append(b, `,"blob":"`...), c.Data), '"')
	} else {
		b = appendMember(b, "text", c.Text)
	}
	return append(b, '}')
}

func appendMember(b []byte, name, value string) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return rawjson.AppendString(b, value)
}

// appendOptional appends members, given as names and values, that are not empty.
func appendOptional(b []byte, members ...string) []byte {
	for m := range slices.Chunk(members, 2) {
		if m[1] != "" {
			b = appendMember(b, m[0], m[1])
		}
	}
	return b
}

// MarshalResult returns r as tools/call answers it.
func MarshalResult(r domain.ToolResult) []byte {
	return encoder{}.result(nil, &r)
}

// caching says of a result how long and by whom it may be used again (SEP-2549): by nobody without asking. What is
// listed and said depends on the principal, the client, the configuration of this process and other servers, and a client
// that keeps it until its next session would go by what is no longer true. Within a session nobody has to ask more often
// than before, since notifications say when a list has changed.
const caching = `,"ttlMs":0,"cacheScope":"private"`

// list serves the lists of tools, resources, templates, prompts and skills.
func (x *exchange) list() (reply, error) {
	cursor := ""
	if x.cursor != nil {
		var err error
		if cursor, err = x.text("cursor", x.cursor); err != nil {
			return nil, err
		}
	}
	if err := x.server.exec.CountList(x.domain(), x.Method); err != nil {
		return nil, err
	}
	registry, err := x.server.exec.RegistryOf(x.domain().Principal)
	if err != nil {
		return nil, err
	}
	catalog := registry.Catalog()
	switch {
	case x.method == mcp.MethodResourcesList && catalog.Unknown() == "":
		catalog = registry.Look(x.ctx, domain.GlanceTime) // has skills, and much else, which must not wait for them
	case x.method == methodSkillsList, catalog.Unknown() != "":
		catalog = registry.Look(x.ctx, domain.LookTime)
	}
	items, next, err := x.items(catalog, cursor)
	return func(b []byte) []byte {
		b = append(append(b, '{'), items...)
		if next != "" {
			b = appendMember(b, "nextCursor", next)
		}
		if x.meta.modern {
			b = append(b, caching...)
		}
		return x.encoder().end(b, nil)
	}, err
}

// items returns the member that holds a list.
func (x *exchange) items(c *domain.Catalog, cursor string) (_ []byte, next string, err error) {
	p := x.who.principal
	switch x.method {
	case mcp.MethodResourcesList:
		page, next, err := c.ListResources(p, false, cursor)
		return appendList(nil, "resources", page, appendResource), next, err
	case mcp.MethodResourcesTemplatesList:
		page, next, err := c.ListResources(p, true, cursor)
		return appendList(nil, "resourceTemplates", page, appendResource), next, err
	case mcp.MethodPromptsList:
		page, next, err := c.ListPrompts(p, cursor)
		return appendList(nil, "prompts", page, appendPrompt), next, err
	case methodSkillsList:
		page, next, err := c.ListSkills(p, cursor)
		return appendList(nil, "skills", page, appendSkill), next, err
	}
	page, err := c.List(domain.ListToolsQuery{Session: x.domain(), Category: x.meta.category, Cursor: cursor})
	claude := x.domain().ClaudeCode()
	h := hints{c, claude, claude && c.Hidden(x.domain()) > 0, x.shows()}
	return appendList(nil, "tools", page.Tools, func(b []byte, t *domain.Tool) []byte {
		form, start := formOf(t, c, h.claude), len(b)
		return h.append(appendTool(b, t, form, x.meta.modern), start, t, form)
	}), page.Next, err
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

// appendTool appends a tool as tools/list shows it. Clients reject results without the
// structured content that a tool has a schema of.
func appendTool(b []byte, t *domain.Tool, form string, modern bool) []byte {
	start := len(b)
	b = rawjson.AppendString(append(b, `{"name":`...), t.Name)
	b = appendOptional(b, "title", t.Title)
	b = appendMember(b, "description", t.Description)
	input, _ := t.Input.MarshalJSON()     // never fails
	if !modern && t.Origin.Server != "" { // schemas had no combinations at their root before
		input = rawjson.Without(input, "allOf")
	}
	b = append(append(b, `,"inputSchema":`...), input...)
	if t.Output != nil && form != domain.FormText {
		b = append(append(b, `,"outputSchema":`...), t.Output.Raw()...)
	}
	if t.ShowsAnnotations() && rawjson.Member(t.Listed, "annotations") == nil {
		b = jsonrpc.AppendValue(append(b, `,"annotations":`...), t.Annotations)
	}
	return placed(b, start, t.Listed, "title", "outputSchema")
}

// placed ends an entry of a list, which begins at start. That of another server has what this
// server writes of it in the places where that has written it; own is what may be missing.
func placed(b []byte, start int, listed json.RawMessage, own ...string) []byte {
	if !slices.ContainsFunc([]string{"name", "uri", "uriTemplate"}, func(name string) bool { return rawjson.Member(listed, name) != nil }) {
		return append(appendMembers(b, listed), '}')
	}
	entry := append(slices.Clone(b[start:]), '}')
	for _, name := range own {
		if rawjson.Member(entry, name) == nil {
			listed = rawjson.Without(listed, name)
		}
	}
	_ = rawjson.Object(entry, func(name, value []byte) error {
		listed = rawjson.With(listed, string(name), value)
		return nil
	})
	return jsonrpc.AppendValue(b[:start], listed)
}

// appendMembers appends the members of a JSON object to another one.
func appendMembers(b []byte, object json.RawMessage) []byte {
	if object == nil {
		return b
	}
	_ = rawjson.Object(object, func(name, value []byte) error {
		b = append(rawjson.AppendString(append(b, ','), string(name)), ':')
		b = jsonrpc.AppendValue(b, json.RawMessage(value))
		return nil
	})
	return b
}

func appendResource(b []byte, r *domain.Resource) []byte {
	start := len(b)
	b = rawjson.AppendString(append(b, `{"name":`...), r.Name)
	b = appendOptional(b, "uri", r.URI, "uriTemplate", r.Template, "title", r.Title, "description", r.Description, "mimeType", r.MIMEType)
	return placed(b, start, r.Listed, "uri", "uriTemplate", "title", "description", "mimeType")
}

func appendPrompt(b []byte, p *domain.Prompt) []byte {
	start := len(b)
	b = rawjson.AppendString(append(b, `{"name":`...), p.Name)
	b = appendOptional(b, "title", p.Title, "description", p.Description)
	if len(p.Arguments) > 0 && rawjson.Member(p.Listed, "arguments") == nil {
		b = appendList(append(b, ','), "arguments", p.Arguments, func(b []byte, a domain.PromptArgument) []byte {
			b = rawjson.AppendString(append(b, `{"name":`...), a.Name)
			b = appendOptional(b, "description", a.Description)
			return append(append(b, `,"required":`...), strconv.FormatBool(a.Required)+"}"...)
		})
	}
	return placed(b, start, p.Listed, "title", "description")
}

// MarshalTool returns t as tools/list shows it.
func MarshalTool(t *domain.Tool) json.RawMessage { return appendTool(nil, t, domain.FormBoth, false) }

// formOf returns the form of the results of a tool, for Claude Code or another client.
func formOf(t *domain.Tool, c *domain.Catalog, claude bool) string {
	return cmp.Or(t.Structured, c.Settings.StructuredContent, map[bool]string{true: domain.FormText, false: domain.FormBoth}[claude])
}

// halves returns the content and the structured content that the client gets. Nothing of
// structured content is lost where only text is sent: that of this server says all of it,
// and to that of others it is added, unless it is there. A tool execution error has both.
func (e encoder) halves(r *domain.ToolResult) (blocks []domain.Content, structured any) {
	blocks, structured = r.Told(), r.Structured()
	if structured == nil || e.catalog == nil {
		return blocks, structured
	}
	form := formOf(cmp.Or(r.From, &domain.Tool{}), e.catalog, e.claude)
	isText := func(c domain.Content) bool { return c.Type == domain.TextContent }
	raw, _ := structured.(json.RawMessage)
	switch noObject := len(raw) > 0 && raw[0] != '{'; {
	case noObject && !e.modern, form == domain.FormText && !r.IsError:
		encoded := jsonrpc.AppendValue(nil, structured)
		said := func(c domain.Content) bool { return isText(c) && says(c.Text, encoded) }
		if r.From != nil && !slices.ContainsFunc(blocks, said) {
			blocks = append(slices.Clip(blocks), domain.Content{Type: domain.TextContent, Text: string(encoded)})
		}
		return blocks, nil
	case form == domain.FormStructured && !r.IsError:
		return slices.DeleteFunc(slices.Clone(blocks), isText), structured
	}
	return blocks, structured
}

// says reports whether a text is the same as JSON, or as its one member result, where
// frameworks put what is no object.
func says(text string, encoded json.RawMessage) bool {
	value, err := rawjson.Decode(encoded)
	object, _ := value.(map[string]any)
	said, noJSON := rawjson.Decode([]byte(text))
	if noJSON != nil {
		said = text
	}
	result := object["result"]
	return err == nil && (reflect.DeepEqual(said, value) || len(object) == 1 && result != nil && (reflect.DeepEqual(said, result) || text == result))
}

// appendSkill appends the entry of a skill.
func appendSkill(b []byte, s *domain.Skill) []byte {
	b = rawjson.AppendString(append(b, `{"uri":`...), s.URI())
	b = jsonrpc.AppendValue(append(b, `,"frontmatter":`...), s.Frontmatter)
	if s.Dynamic {
		return append(b, `,"resources":"dynamic"}`...)
	}
	return append(jsonrpc.AppendValue(append(b, `,"resources":`...), s.Files), '}')
}

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
	views   bool // it shows them
}

// append adds to the entry of a tool, from start on, what it has in _meta: beside what its server says, which stays, except
// that this cannot say that nobody has to agree to a call.
func (h hints) append(b []byte, start int, t *domain.Tool, form string) []byte {
	if meta := rawjson.Member(t.Listed, "_meta"); meta != nil {
		if meta[0] != '{' {
			meta = []byte("{}")
		}
		h.each(t, form, func(key string, value []byte) {
			if key == askHint || rawjson.Member(meta, key) == nil {
				meta = rawjson.With(meta, key, value)
				b = append(b[:start], rawjson.With(b[start:], "_meta", meta)...)
			}
		})
		return b
	}
	before := `,"_meta":{`
	h.each(t, form, func(key string, value []byte) {
		if before != "," {
			b = b[:len(b)-1]
		}
		b = append(append(append(append(append(b, before...), '"'), key...), `":`...), value...)
		before = ","
	})
	if before != "," {
		return b
	}
	return append(b, "}}"...)
}

// each calls add with the hints of a tool, as JSON.
func (h hints) each(t *domain.Tool, form string, add func(key string, value []byte)) {
	if t.Category != "" && t.Origin.Server == "" && t.Listed == nil { // other servers say all of theirs themselves
		add(categoryKey, rawjson.AppendString(nil, t.Category))
	}
	if h.views && t.View != "" && (t.Output == nil || form != domain.FormText) { // views show structured content, if the tool has any
		address := rawjson.AppendString(nil, domain.ViewBase+t.View)
		add("ui", slices.Concat([]byte(`{"resourceUri":`), address, []byte(`,"visibility":["model","app"]}`)))
		add("ui/resourceUri", address) // deprecated, but hosts look at it
	}
	if !h.claude {
		return
	}
	if t.Confirm || t.Final {
		add(askHint, []byte("true"))
	}
	length := h.catalog.Settings.Limits.ResultChars(t.MaxResultChars)
	if t.Output != nil && form != domain.FormText {
		length *= call.StructuredShare
	}
	if length > usualLength {
		add(lengthHint, strconv.AppendInt(nil, int64(length), 10))
	}
	if t.Ability != "" {
		add(searchHint, rawjson.AppendString(nil, t.Ability))
	}
	if t.Listing == domain.ListedAlways || t.Listing == domain.ListedToSearch && h.hidden {
		add(loadHint, []byte("true"))
	}
}
