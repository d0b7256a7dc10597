package upstream

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/upstream/mcpshape"
	"github.com/toolserver/toolserver/upstream/skills"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// item is an item of a list as far as it is read: a tool, resource, template or prompt.
type item struct {
	Name        string             `json:"name"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Input       json.RawMessage    `json:"inputSchema"`
	Output      json.RawMessage    `json:"outputSchema"`
	Annotations domain.Annotations `json:"annotations"`
	URI         string             `json:"uri"`
	Template    string             `json:"uriTemplate"`
	MIMEType    string             `json:"mimeType"`
	Arguments   []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Required    bool   `json:"required"`
	} `json:"arguments"`
}

// offer returns what the catalog of a server makes of it, and what had to be repaired for
// clients to accept it. The tools that have changed are kept back if pins say so.
func (s *offers) offer(c *catalog, changed map[string]Difference) (domain.Offer, []string) {
	o := domain.Offer{Open: true}
	var repairs []string
	repaired := func(kind domain.Kind, name string, notes []string) {
		if len(notes) > 0 {
			repairs = append(repairs, fmt.Sprintf("%s %s: %s", kind, brief.Name(name), strings.Join(notes, "; ")))
		}
	}
	missing := func(kind domain.Kind, name, reason string, mistake bool) {
		left := domain.Missing{Kind: kind, Name: brief.Name(name), Reason: reason, Mistake: mistake}
		if kind == domain.KindTool {
			left.Category = s.name
		}
		o.Missing = append(o.Missing, left)
	}
	taken, names := map[string]bool{}, map[string]bool{}
	for _, raw := range inOrder(c.Tools) {
		t, original, notes, err := s.tool(c, raw)
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
			repaired(domain.KindTool, name, notes)
		}
		taken[original], names[t.Name] = true, true
	}
	named := map[string]bool{}
	for i, raw := range slices.Concat(c.Resources, c.Templates) {
		kind := mcpshape.Resource
		if i >= len(c.Resources) {
			kind = mcpshape.Template
		}
		raw, notes, err := mcpshape.Item(kind, raw)
		r := s.resource(raw)
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
			repaired(domain.KindResource, r.Name, notes)
		}
		named[r.Name] = true
	}
	if s.deps.place != nil && c.empty() {
		o.Unknown = "the workspace starts"
	} else if s.deps.place == nil && !c.empty() {
		o.Resources = append(o.Resources, s.unlisted())
	}
	for _, raw := range c.Prompts {
		raw, notes, err := mcpshape.Item(mcpshape.Prompt, raw)
		p := s.prompt(raw)
		if err == nil && p.Name == s.named(OfferedName(s.name, ""), "") {
			err = errors.New("it has no name")
		}
		if err != nil {
			missing(domain.KindPrompt, p.Name, "is left out: "+err.Error(), true)
			continue
		}
		o.Prompts = append(o.Prompts, p)
		repaired(domain.KindPrompt, p.Name, notes)
	}
	for _, raw := range c.Skills {
		e, err := skills.Read(s.name, raw)
		setting, ok := s.settings.Skills.offers(strings.TrimPrefix(e.Path, s.name+"/"))
		_, differs := changed[e.URI]
		switch {
		case err != nil:
			missing(domain.KindSkill, e.Path, "is left out: "+err.Error(), true)
		case !ok:
			missing(domain.KindSkill, e.Path, "is left out by mcp_servers."+s.name+".skills"+strings.TrimPrefix(setting, "tools"), false)
		case differs && s.settings.Pin == pinQuarantine:
			missing(domain.KindSkill, e.Path, "has changed since it was pinned: see toolserver upstream approve "+s.name, false)
		default:
			o.Skills = append(o.Skills, s.skill(e, c.Directories))
		}
	}
	return o, repairs
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

// tool returns a tool of the server, the name that it has there, and what was repaired.
func (s *offers) tool(c *catalog, raw json.RawMessage) (t domain.Tool, name string, notes []string, err error) {
	it := item{Annotations: domain.Annotations{Destructive: true, OpenWorld: true}} // of a tool that does not say
	fitting, err := mcpshape.NewTool(raw)
	if err == nil {
		err = json.Unmarshal(fitting.Raw, &it)
	}
	if err == nil && it.Name == "" {
		err = errors.New("it has no name")
	}
	if err == nil && s.settings.transport() == transportHTTP && mcp.IsModernProtocol(c.Protocol) {
		err = mcpclient.CheckHeaders(raw)
	}
	if err != nil {
		name, _ := rawjson.String(rawjson.Member(raw, "name"))
		return t, name, nil, err
	}
	for _, member := range append(pinned[:], "name") {
		if twice := folded(raw, member); twice != nil { // which decoding takes for it, and pins do not
			return t, it.Name, nil, fmt.Errorf("it has the member %.50q instead of %s", twice[0], member)
		}
	}
	t = domain.Tool{
		Name: s.named(OfferedName(s.name, it.Name), it.Name), Alias: alias(s.name, it.Name), Title: it.Title, Category: s.name, Listing: domain.ListedIfFew,
		Origin:      domain.Origin{Server: s.name, Tool: it.Name, Says: c.Instructions},
		Description: cmp.Or(strings.TrimSpace(it.Description), it.Title, it.Name), Annotations: it.Annotations,
		Groups: s.settings.Groups, Scopes: s.settings.Scopes, ComplianceLevel: s.settings.ComplianceLevel,
		Timeout: s.settings.CallTimeout, Structured: s.settings.Structured,
		Listed: fitting.Raw,
	}
	if strings.TrimSpace(it.Description) != "" {
		t.Description = it.Description
	}
	if s.deps.place != nil { // it is one of this program
		t.Alias, t.Category, t.Origin, t.Listing = "", "", domain.Origin{}, domain.ListedByDefault
	}
	if t.Input, err = schema.Parse(identity(s.settings.Identity).hide(it.Input)); err != nil {
		return t, it.Name, nil, err
	}
	notes = fitting.Notes
	properties := rawjson.Member(it.Output, "properties")
	inContract := rawjson.Member(properties, "artifacts") != nil || rawjson.Member(properties, "returned_file_contents") != nil // its files are taken out
	if it.Output != nil && !inContract {
		if t.Output, err = schema.ParseOutput(it.Output); err != nil {
			notes = append(notes, "outputSchema is left out: "+err.Error())
		}
	}
	p := &proxy{
		calls: s.calls, name: t.Name, quotedName: rawjson.AppendString(nil, it.Name), schema: rawjson.Member(raw, "inputSchema"), arguments: fitting.Arguments,
		headers: bytes.Contains(raw, []byte(`"x-mcp-header"`)),
	}
	t.RunRaw = p.run
	return t, it.Name, notes, nil
}

// resource returns a resource or template of the server, under an address of ours.
func (s *offers) resource(raw json.RawMessage) domain.Resource {
	var it item
	_ = json.Unmarshal(raw, &it) // it was checked
	r := domain.Resource{
		Name: s.named(s.name+separator, "") + cmp.Or(it.Name, it.Template, it.URI), Title: it.Title, Description: it.Description, MIMEType: it.MIMEType,
		Audience: s.settings.audience(), Listed: raw, Watch: s.calls.watches.watch,
		ReadRaw: func(ctx context.Context, at domain.Location) (domain.ToolResult, error) {
			return s.calls.read(ctx, cmp.Or(it.URI, s.original(at.URI)), at.URI)
		},
	}
	if it.Template != "" {
		it.URI, r.Template, r.Alias = "", s.address(it.Template), it.Template
		r.Complete = s.calls.completer("ref/resource", "uri", it.Template)
	} else {
		r.URI, r.Alias = s.address(it.URI), it.URI
	}
	return r
}

// named returns the name that clients see of an item: at a place, its own.
func (s *offers) named(full, own string) string {
	if s.deps.place != nil {
		return own
	}
	return full
}

// prompt returns a prompt of the server.
func (s *offers) prompt(raw json.RawMessage) domain.Prompt {
	var it item
	_ = json.Unmarshal(raw, &it) // it was checked
	p := domain.Prompt{
		Name: s.named(OfferedName(s.name, it.Name), it.Name), Title: it.Title, Description: it.Description, Audience: s.settings.audience(), Unchecked: true,
		Listed: raw,
		Get: func(ctx context.Context, args map[string]string) (domain.PromptResult, error) {
			return s.calls.get(ctx, it.Name, args)
		},
		Complete: s.calls.completer("ref/prompt", "name", it.Name),
	}
	for _, a := range it.Arguments {
		p.Arguments = append(p.Arguments, domain.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
	}
	return p
}

// unlisted is the resource that has the documents of the server that are in no list.
func (s *offers) unlisted() domain.Resource {
	return domain.Resource{
		URI: s.address(""), Name: s.name + separator + "*", Audience: s.settings.audience(), Watch: s.calls.watches.watch,
		Linked: func(principal, uri string) bool {
			_, ok := s.calls.linked.Get(principal, uri)
			return ok
		},
		ReadRaw: func(ctx context.Context, at domain.Location) (domain.ToolResult, error) {
			return s.calls.read(ctx, s.original(at.URI), at.URI)
		},
	}
}

// maxName is how long the name of a tool may be that all model providers accept.
const maxName = 64

// hashLength is how much of a hash tells names apart that were cut.
const hashLength = 8

// separator stands between the name of a server and that of its tool or prompt.
const separator = "__"

// OfferedName returns the name that clients see of an item of a server, which has
// letters, digits, dashes and underscores only. What would be too long is cut, and ends
// in a hash of the whole.
func OfferedName(server, name string) string {
	full := clean(server) + separator + clean(name)
	if len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(server + "\x00" + name))
	return full[:maxName-hashLength-1] + "_" + hex.EncodeToString(sum[:hashLength/2])
}

// alias returns the other name of the same item, as seed systems have it.
func alias(server, name string) string { return clean(server) + "_" + clean(name) }

// clean replaces what a name may not have.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// MayOffer reports whether a tool of that name can be one of a server: it begins as the
// names of its tools do, or their aliases.
func MayOffer(server, name string) bool {
	prefix := clean(server) + "_"
	return strings.HasPrefix(name, prefix[:min(len(prefix), maxName-hashLength-1)])
}
