package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"toolserver/domain"
	"toolserver/rawjson"
)

// Bounds of what one item of a server may be.
const (
	maxSchema = 256 << 10
	maxDepth  = 100
)

// item is an item of a list as far as it is read: a tool, resource, template or prompt.
type item struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	Annotations *struct {
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
		Idempotent  *bool `json:"idempotentHint"`
		OpenWorld   *bool `json:"openWorldHint"`
	} `json:"annotations"`
	URI       string `json:"uri"`
	Template  string `json:"uriTemplate"`
	MIMEType  string `json:"mimeType"`
	Arguments []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Required    bool   `json:"required"`
	} `json:"arguments"`
}

// offer returns what the catalog of a server makes of it. Held are the tools that pins
// keep back.
func (s *Server) offer(c *catalog, changed map[string]Difference) domain.Offer {
	o := domain.Offer{Open: true}
	missing := func(kind domain.Kind, name, reason string, mistake bool) {
		o.Missing = append(o.Missing, domain.Missing{Kind: kind, Name: domain.ClipName(name), Category: s.category(kind), Reason: reason, Mistake: mistake})
	}
	taken, names := map[string]bool{}, map[string]bool{}
	for _, raw := range inOrder(c.Tools) {
		t, original, err := s.tool(raw)
		name := cmp.Or(t.Name, clean(s.name)+separator+clean(original))
		setting, ok := s.settings.Tools.offers(original)
		_, differs := changed[original]
		if err == nil && !taken[original] && names[t.Name] { // its own name is not taken, but the one that clients would see
			err = errors.New("its name cannot be told from that of another tool")
		}
		switch {
		case taken[original]:
			missing(domain.KindTool, name, "is left out: the server lists it twice", true)
		case err != nil:
			missing(domain.KindTool, name, "is left out: "+err.Error(), true)
		case !ok:
			missing(domain.KindTool, name, "is left out by mcp_servers."+s.name+"."+setting, false)
		case differs && s.settings.Pin == pinQuarantine:
			missing(domain.KindTool, name, "has changed since it was pinned: see toolserver upstream approve "+s.name, false)
		default:
			o.Tools = append(o.Tools, t)
		}
		taken[original], names[t.Name] = true, true
	}
	named := map[string]bool{}
	for _, raw := range slices.Concat(c.Resources, c.Templates) {
		r, err := s.resource(raw)
		if named[r.Name] { // only addresses are unique
			r.Name = s.name + separator + r.Alias
		}
		switch {
		case err != nil:
			missing(domain.KindResource, r.Name, "is left out: "+err.Error(), true)
		case named[r.Name]:
			missing(domain.KindResource, r.Name, "is left out: the server lists it twice", true)
		default:
			o.Resources = append(o.Resources, r)
		}
		named[r.Name] = true
	}
	for _, raw := range c.Prompts {
		if p, err := s.prompt(raw); err == nil {
			o.Prompts = append(o.Prompts, p)
		} else {
			missing(domain.KindPrompt, p.Name, "is left out: "+err.Error(), true)
		}
	}
	return o
}

// category is that of the server's tools.
func (s *Server) category(kind domain.Kind) string {
	if kind == domain.KindTool {
		return s.name
	}
	return ""
}

// inOrder returns tools in the order in which they take names: those whose own name needs
// no change first. So which of two that look alike has the name does not depend on the
// server.
func inOrder(tools []json.RawMessage) []json.RawMessage {
	name := func(raw json.RawMessage) string {
		s, _ := rawjson.String(rawjson.Member(raw, "name"))
		return s
	}
	tools = slices.Clone(tools)
	slices.SortStableFunc(tools, func(a, b json.RawMessage) int {
		x, y := name(a), name(b)
		if plain := clean(x) == x; plain != (clean(y) == y) {
			return map[bool]int{true: -1, false: 1}[plain]
		}
		return cmp.Compare(x, y)
	})
	return tools
}

// tool returns a tool of the server, and the name that has there.
func (s *Server) tool(raw json.RawMessage) (t domain.Tool, name string, err error) {
	var it item
	if err := json.Unmarshal(raw, &it); err != nil {
		return t, it.Name, fmt.Errorf("its description is not valid: %w", err)
	}
	if it.Name == "" {
		return t, "", errors.New("it has no name")
	}
	for _, member := range append(pinned[:], "name") {
		if twice := folded(raw, member); twice != nil { // which decoding takes for it, and pins do not
			return t, it.Name, fmt.Errorf("it has the member %.50q instead of %s", twice[0], member)
		}
	}
	t = domain.Tool{
		Name: OfferedName(s.name, it.Name), Alias: alias(s.name, it.Name), Title: it.Title, Category: s.name, Listing: domain.ListedIfFew,
		Origin:      domain.Origin{Server: s.name, Tool: it.Name},
		Description: cmp.Or(strings.TrimSpace(it.Description), it.Title, it.Name), Annotations: domain.Annotations{Destructive: true, OpenWorld: true},
		Groups: s.settings.Groups, ComplianceLevel: s.settings.ComplianceLevel, Timeout: s.settings.CallTimeout,
		Listed: others(raw, "name", "title", "description", "inputSchema", "outputSchema"),
	}
	if strings.TrimSpace(it.Description) != "" {
		t.Description = it.Description
	}
	if a := it.Annotations; a != nil {
		for _, hint := range []struct{ from, to *bool }{
			{a.ReadOnly, &t.Annotations.ReadOnly}, {a.Destructive, &t.Annotations.Destructive},
			{a.Idempotent, &t.Annotations.Idempotent}, {a.OpenWorld, &t.Annotations.OpenWorld},
		} {
			if hint.from != nil {
				*hint.to = *hint.from
			}
		}
	}
	schema, err := repaired(it.Input)
	if err != nil {
		return t, it.Name, fmt.Errorf("its input schema %w", err)
	}
	shown := s.withoutIdentity(schema)
	if t.Input, err = domain.ParseSchema(shown); err != nil {
		return t, it.Name, err
	}
	properties := rawjson.Member(it.Output, "properties")
	inContract := rawjson.Member(properties, "artifacts") != nil || rawjson.Member(properties, "returned_file_contents") != nil // its files are taken out
	if output, err := repaired(it.Output); err == nil && it.Output != nil && !inContract {
		t.Output, _ = domain.ParseOutputSchema(output) // clients reject the whole list for one that is not valid
	}
	p := &proxy{server: s, name: t.Name, quotedName: rawjson.AppendString(nil, it.Name), schema: schema, headers: bytes.Contains(schema, []byte(`"x-mcp-header"`))}
	t.RunRaw = p.run
	return t, it.Name, nil
}

// repaired returns a schema that strict clients accept: of an object, with properties.
func repaired(schema json.RawMessage) (json.RawMessage, error) {
	if text := string(schema); text == "" || text == "true" || text == "{}" || text == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	if schema[0] != '{' {
		return nil, errors.New("is no object")
	}
	if len(schema) > maxSchema {
		return nil, fmt.Errorf("has %d bytes; at most %d are accepted", len(schema), maxSchema)
	}
	if depth(schema) > maxDepth {
		return nil, fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	if rawjson.Member(schema, "type") == nil {
		schema = rawjson.With(schema, "type", []byte(`"object"`))
	}
	if t := rawjson.Member(schema, "type"); string(t) != `"object"` {
		return nil, fmt.Errorf("is of type %.50s; only an object is possible", t)
	}
	if p := rawjson.Member(schema, "properties"); len(p) == 0 || p[0] != '{' {
		schema = rawjson.With(schema, "properties", []byte("{}"))
	}
	return schema, nil
}

// depth returns how deep JSON is nested.
func depth(raw json.RawMessage) (deepest int) {
	level, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

// others returns the object in raw without some members; nil if none is left.
func others(raw json.RawMessage, without ...string) json.RawMessage {
	for _, member := range without {
		raw = rawjson.Without(raw, member)
	}
	if string(raw) == "{}" {
		return nil
	}
	return raw
}

// resource returns a resource or template of the server, under an address of ours.
func (s *Server) resource(raw json.RawMessage) (r domain.Resource, err error) {
	var it item
	if err := json.Unmarshal(raw, &it); err != nil {
		return r, fmt.Errorf("it is not valid: %w", err)
	}
	r = domain.Resource{
		Name: s.name + separator + cmp.Or(it.Name, it.Template, it.URI), Title: it.Title, Description: it.Description, MIMEType: it.MIMEType,
		Audience: s.audience(), Listed: others(raw, "name", "title", "description", "mimeType", "uri", "uriTemplate"),
		Read: func(ctx context.Context, at domain.Location) ([]domain.Content, error) {
			return s.read(ctx, s.original(at.URI), at.URI)
		},
	}
	if it.Template != "" {
		r.Template, r.Alias = s.address(it.Template), it.Template
		r.Complete = s.completer("ref/resource", "uri", it.Template)
	} else {
		r.URI, r.Alias = s.address(it.URI), it.URI
		r.Read = func(ctx context.Context, at domain.Location) ([]domain.Content, error) {
			return s.read(ctx, it.URI, at.URI)
		}
	}
	if it.URI == "" && it.Template == "" {
		return r, errors.New("it has no address")
	}
	r.Watch = func(ctx context.Context, at domain.Location, changed func()) error {
		return s.watch(ctx, at.URI, changed)
	}
	return r, nil
}

func (s *Server) audience() domain.Audience {
	return domain.Audience{Groups: s.settings.Groups, ComplianceLevel: s.settings.ComplianceLevel}
}

// address returns the address that clients have of a document of the server, or of a
// template.
func (s *Server) address(uri string) string { return "mcp://" + s.name + "/" + uri }

// original returns the server's own address of a document.
func (s *Server) original(uri string) string { return strings.TrimPrefix(uri, s.address("")) }

// prompt returns a prompt of the server.
func (s *Server) prompt(raw json.RawMessage) (p domain.Prompt, err error) {
	var it item
	if err := json.Unmarshal(raw, &it); err != nil {
		return p, fmt.Errorf("it is not valid: %w", err)
	}
	p = domain.Prompt{
		Name: OfferedName(s.name, it.Name), Title: it.Title, Description: it.Description, Audience: s.audience(),
		Listed: others(raw, "name", "title", "description"),
		Get: func(ctx context.Context, args map[string]string) (domain.PromptResult, error) {
			return s.get(ctx, it.Name, args)
		},
		Complete: s.completer("ref/prompt", "name", it.Name),
	}
	if it.Name == "" {
		return p, errors.New("it has no name")
	}
	for _, a := range it.Arguments {
		p.Arguments = append(p.Arguments, domain.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
	}
	return p, nil
}
