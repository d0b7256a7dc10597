package upstream

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// proxy calls one tool of a server.
type proxy struct {
	calls      *calls
	name       string            // as clients have it
	quotedName []byte            // as the server has it, as JSON
	schema     json.RawMessage   // of its arguments
	arguments  map[string]string // those that clients know by another name than the server
	headers    bool              // the schema has arguments that are sent as headers
}

// run calls the tool.
func (p *proxy) run(ctx context.Context, args json.RawMessage) (domain.ToolResult, error) {
	c := p.calls
	for offered, own := range p.arguments {
		if value := rawjson.Member(args, offered); value != nil {
			args = rawjson.With(rawjson.Without(args, offered), own, value)
		}
	}
	args, err := identity(c.settings.Identity).write(call.SessionOf(ctx).Principal, p.schema, args)
	if err != nil {
		return domain.ToolResult{}, err
	}
	params := make([]byte, 0, len(args)+len(p.quotedName)+32)
	params = append(append(params, `{"name":`...), p.quotedName...)
	if len(args) > 0 {
		params = append(append(params, `,"arguments":`...), args...)
	}
	req := mcpclient.Request{Method: string(mcp.MethodToolsCall), Params: withMeta(ctx, append(params, '}')), Tasks: true}
	req.Tasks = c.deps.place == nil // or this server makes a task of it, if any
	if p.headers {
		req.InputSchema = p.schema
	}
	result, err := c.do(ctx, req)
	if err != nil {
		return domain.ToolResult{}, c.failure(ctx, p.name, err)
	}
	r, err := toolResult(result)
	if err != nil {
		return domain.ToolResult{}, domain.Errorf(domain.CodeExecutionFailed, "%s: server %s returned no valid result: %w", p.name, c.name, err)
	}
	c.noteLinks(ctx, r.Content)
	return r, nil
}

// identity says which arguments have who calls, and what of that.
type identity map[string]string

// write writes who calls into the arguments that configuration names, whatever the
// model has put there.
func (id identity) write(p domain.Principal, schema, args json.RawMessage) (json.RawMessage, error) {
	if len(id) == 0 {
		return args, nil
	}
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	properties := rawjson.Member(schema, "properties")
	for argument, field := range id {
		forged := rawjson.Member(args, argument) != nil
		for _, name := range folded(args, argument) { // which servers that ignore case take for it
			if forged = true; rawjson.Member(properties, name) == nil {
				args = rawjson.Without(args, name)
			}
		}
		if rawjson.Member(properties, argument) == nil && !forged {
			continue
		}
		var value any
		switch field {
		case "name":
			value = p.Name
		case "id":
			value = p.ID
		case "compliance_level":
			value = p.ComplianceLevel
		default:
			value = p.Groups
			if p.Groups == nil {
				value = []string{}
			}
			if t := rawjson.Member(rawjson.Member(properties, argument), "type"); string(t) == `"string"` {
				value = strings.Join(p.Groups, ",")
			}
		}
		b, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		args = rawjson.With(rawjson.Without(args, argument), argument, b) // last, where it counts
	}
	return args, nil
}

// folded returns the names of members of an object that differ from name in case only.
func folded(object json.RawMessage, name string) (names []string) {
	_ = rawjson.Object(object, func(member, _ []byte) error {
		if string(member) != name && strings.EqualFold(string(member), name) {
			names = append(names, string(member))
		}
		return nil
	})
	return names
}

// hide returns a schema as models see it: what the server writes is not asked
// for.
func (id identity) hide(schema json.RawMessage) json.RawMessage {
	for argument := range id {
		if properties := rawjson.Member(schema, "properties"); rawjson.Member(properties, argument) != nil {
			schema = rawjson.With(schema, "properties", rawjson.With(properties, argument, []byte(identitySchema)))
		}
		required := json.RawMessage("[")
		_ = rawjson.Array(rawjson.Member(schema, "required"), func(name []byte) error {
			if text, _ := rawjson.String(name); text != argument {
				if len(required) > 1 {
					required = append(required, ',')
				}
				required = append(required, name...)
			}
			return nil
		})
		if len(required) > 1 {
			schema = rawjson.With(schema, "required", append(required, ']'))
		} else {
			schema = rawjson.Without(schema, "required")
		}
	}
	return schema
}

// identitySchema takes anything, and says that it makes no difference.
const identitySchema = `{"description":"Filled in by the server with who calls. Leave it out."}`
