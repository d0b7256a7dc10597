// Package discovery has the tools that find, describe and call tools of other MCP servers, which lists leave out where there
// are many.
package discovery

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/text/jq"
	"github.com/toolserver/toolserver/upstream"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// arguments say what the arguments of tools mean; package structschema reads them.
//
//go:embed arguments.txt
var arguments string

// Names of the tools that find and call tools of servers.
const (
	ListName   = "mcp_list_tools"
	SearchName = "mcp_search"
	InfoName   = "mcp_info"
	ExecName   = upstream.Owner
)

// Category is that of the tools that find and call tools of servers.
const Category = "mcp"

// Options is what the configuration says of the tools that find and call tools of servers.
type Options struct {
	Servers    bool // there are some
	Everything bool // tools of this server are found as well: lists leave them out
}

// Family returns the tools that find and call tools of servers. What servers are handed is that of mcp_exec. Catalog returns
// what is in force; results keeps what a wrong program was to select from.
func Family(catalog func() *domain.Catalog, results *call.ResultStore, selector *jq.Selector) declare.Family[Options, finder] {
	entry := func(owner sandbox.Owner, make func(finder) domain.Tool) declare.Entry[finder] {
		return declare.Entry[finder]{Owner: owner, Lacks: finder.lacks, Make: func(f finder, _ sandbox.Capabilities) domain.Tool { return make(f) }}
	}
	return declare.Family[Options, finder]{
		Name: "mcp", Category: declare.Category{Name: Category, Heading: "Other MCP servers"},
		Tools: []declare.Entry[finder]{
			entry(sandbox.Owner{Tool: ListName}, finder.listTool),
			entry(sandbox.Owner{Tool: SearchName}, finder.searchTool),
			entry(sandbox.Owner{Tool: InfoName}, finder.infoTool),
			entry(sandbox.Owner{Tool: ExecName, Holds: true, Reads: "read_file", Writes: "write_file", Keeps: "upstreams"}, finder.execTool),
		},
		Share: func(from declare.From[Options]) (finder, error) {
			return finder{from.Config, catalog, results, selector, new(searcher)}, nil
		},
	}
}

// finder is what the tools that find tools work with.
type finder struct {
	Options
	catalog  func() *domain.Catalog
	results  *call.ResultStore
	selector *jq.Selector
	searcher *searcher
}

func (f finder) lacks() string {
	if f.Servers || f.Everything {
		return ""
	}
	return "needs a server in mcp_servers of the configuration"
}

func (f finder) listTool() domain.Tool {
	return domain.Define(domain.Tool{
		Name: ListName, Title: "List tools of MCP servers", Listing: domain.ListedToSearch,
		Description: "List the tools of the connected MCP servers, with a line about each. To find a tool for a task, use mcp_search; " +
			"for its arguments, mcp_info. Shows 100 tools at a time.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true}, Ability: "list the tools of other MCP servers", Target: []string{"server"},
	}, f.list)
}

func (f finder) searchTool() domain.Tool {
	return domain.Define(domain.Tool{
		Name: SearchName, Title: "Find a tool of an MCP server", Listing: domain.ListedToSearch,
		Description: "Find tools of the connected MCP servers by what they do, in plain words. Returns the best, " +
			"with their arguments (? may be left out, [] a list, {} an object) and the schema of the first; mcp_info has the others, mcp_exec calls them. " +
			"Use it first when no listed tool fits the task.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true}, Ability: "find tools of other MCP servers by what they do",
		Target: []string{"query", "server"},
	}, f.search)
}

func (f finder) infoTool() domain.Tool {
	return domain.Define(domain.Tool{
		Name: InfoName, Title: "Describe a tool of an MCP server", Listing: domain.ListedToSearch,
		Description: "Describe a tool of a connected MCP server: what it does, and the schema of its arguments, as mcp_exec needs them.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true}, Ability: "describe the arguments of their tools", Target: []string{"server", "tool"},
	}, f.info)
}

func (f finder) execTool() domain.Tool {
	return domain.Define(domain.Tool{
		Name: ExecName, Title: "Call a tool of an MCP server", Listing: domain.ListedToSearch,
		Description: "Call a tool of a connected MCP server, also one that is not in the list of tools. " +
			"Get the schema of its arguments from mcp_info or mcp_search first.",
		Annotations: domain.Annotations{Destructive: true, OpenWorld: true}, Ability: "call any of their tools", Target: []string{"server", "tool"},
	}, f.exec)
}

// found is a tool that can be found, with where it is.
type found struct {
	tool         *domain.Tool
	server, name string
}

// all returns what can be found in a catalog, by server and name.
func (f finder) all(catalog *domain.Catalog) (all []found) {
	for _, t := range catalog.Tools() {
		at := found{t, t.Origin.Server, t.Origin.Tool}
		if at.server == "" {
			at.server, at.name = upstream.BuiltIn, t.Name
		}
		if at.server != upstream.BuiltIn || f.Everything && t.Listing < domain.ListedAlways {
			all = append(all, at)
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.name, b.name)) })
	return all
}

// tools returns what a principal can call of what can be found, of one server or all.
func (f finder) tools(p domain.Principal, server string) []found {
	catalog := f.catalog()
	return slices.DeleteFunc(f.all(catalog), func(t found) bool { return server != "" && t.server != server || catalog.Why(p, t.tool.Name) != "" })
}

// find returns a tool of a server, by the name that the server or this one gives it. The error
// is that of a tool that does not exist.
func (f finder) find(p domain.Principal, server, name string) (found, error) {
	all := f.tools(p, server)
	for _, is := range []func(found) bool{
		func(t found) bool { return t.name == name }, func(t found) bool { return t.tool.Name == name }, // which may be renamed to what another is there
	} {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i], nil
		}
	}
	return found{}, &domain.Error{
		Code: domain.CodeToolNotFound, Message: fmt.Sprintf("no tool %q of a server %q", brief.Name(name), brief.Name(server)),
		Hint: "Find the tool with mcp_search, or list all with mcp_list_tools.",
	}
}

// shown is a tool in lists.
type shown struct {
	Server      string `json:"server" doc:"Name of the server."`
	Tool        string `json:"tool" doc:"Name of the tool at that server."`
	Description string `json:"description" doc:"First sentence of its description."`
}

// maxSummary bounds what lists say about a tool.
const maxSummary = 160

func (t found) shown() shown { return shown{t.server, t.name, Summary(t.tool.Description)} }

// Summary returns the first sentence of a description, on one line.
func Summary(description string) string {
	s := strings.Join(strings.Fields(description), " ")
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i+1]
	}
	if r := []rune(s); len(r) > maxSummary {
		s = string(r[:maxSummary-3]) + "..."
	}
	return s
}

type listInput struct {
	Server string `json:"server,omitempty" max:"64" doc:"Only tools of this server."`
	Offset int    `json:"offset" default:"0" min:"0" max:"1000000" doc:"How many tools to skip."`
}

type listOutput struct {
	Tools      []shown `json:"tools" doc:"The tools, by server and name."`
	Total      int     `json:"total" doc:"How many there are altogether."`
	NextOffset int     `json:"next_offset,omitempty" doc:"The offset of the next page; absent on the last."`
}

// pageSize is how many tools one answer lists.
const pageSize = 100

func (f finder) list(ctx context.Context, in listInput) (domain.ToolResult, error) {
	all := f.tools(call.SessionOf(ctx).Principal, in.Server)
	if len(all) == 0 && in.Server != "" {
		return domain.Failure("not_found", fmt.Sprintf("no server %q with tools for you", brief.Name(in.Server)),
			"Call mcp_list_tools without a server for those there are."), nil
	}
	list := call.ListFrom(all, in.Offset)
	list.Entries = list.Entries[:min(pageSize, len(list.Entries))]
	list.None = "no tools of other servers"
	list.Text = func(tools []found) string {
		var b strings.Builder
		last := ""
		for _, t := range tools {
			if t.server != last {
				last = t.server
				fmt.Fprintf(&b, "%s:\n", t.server)
			}
			fmt.Fprintf(&b, "  %s: %s\n", t.name, Summary(t.tool.Description))
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	list.Results = func(tools []found, next int) any {
		out := listOutput{Tools: []shown{}, Total: len(all), NextOffset: next}
		for _, t := range tools {
			out.Tools = append(out.Tools, t.shown())
		}
		return out
	}
	return list.Result(ctx)
}

type infoInput struct {
	Server string `json:"server" min:"1" max:"64" doc:"Name of the server."`
	Tool   string `json:"tool" min:"1" max:"256" doc:"Name of the tool at that server."`
}

func (f finder) info(ctx context.Context, in infoInput) (domain.ToolResult, error) {
	t, err := f.find(call.SessionOf(ctx).Principal, in.Server, in.Tool)
	if err != nil {
		return domain.ToolResult{}, err
	}
	return domain.JSON(described{t.server, t.name, t.tool.Title, t.tool.Description, t.tool.Input, t.tool.Output, t.tool.Annotations, t.tool.Origin.Says})
}

// described is a tool with all that a call of it takes.
type described struct {
	Server      string             `json:"server"`
	Tool        string             `json:"tool"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description"`
	Input       *schema.Input      `json:"input_schema,omitempty"`
	Output      *schema.Output     `json:"output_schema,omitempty"`
	Annotations domain.Annotations `json:"annotations"`
	Says        string             `json:"server_instructions,omitempty" doc:"What the server tells models."`
}

type execInput struct {
	Server string         `json:"server" min:"1" max:"64"`
	Tool   string         `json:"tool" min:"1" max:"256"`
	Args   map[string]any `json:"args,omitempty"`
	Select string         `json:"select,omitempty"`
}

func (execInput) Words() string { return arguments }

func (f finder) exec(ctx context.Context, in execInput) (domain.ToolResult, error) {
	t, err := f.find(call.SessionOf(ctx).Principal, in.Server, in.Tool)
	if err != nil {
		return domain.ToolResult{}, err
	}
	if err := jq.Check(in.Select); in.Select != "" && err != nil {
		return domain.ToolResult{}, domain.InvalidArgument(ExecName, "select", err.Error())
	}
	args, err := domain.Arguments(in.Args).JSON()
	if err != nil {
		return domain.ToolResult{}, err
	}
	r, err := call.CallTool(ctx, t.tool.Name, args)
	if e, ok := err.(*domain.Error); ok && e.Verbatim {
		return upstreamFailure(t, e), nil
	}
	if e, ok := err.(*domain.Error); ok && e.Code == domain.CodeInvalidParams {
		e.Hint = "Correct the arguments named in the message; mcp_info has the schema."
	}
	if in.Select == "" || err != nil || r.IsError {
		return r, err
	}
	value := call.WithoutSecrets(ctx, valueOf(r))
	return f.selector.Select(ctx, ExecName, in.Select, value, func() string {
		return "The call was made. All of its result: " + f.results.Keep(call.SessionOf(ctx).Principal, string(value)).Call(1)
	})
}

// valueOf returns what can be selected from: the structured content or, without it, the first
// text that is JSON; or else what there is of text.
func valueOf(r domain.ToolResult) (value json.RawMessage) {
	if structured := r.Structured(); structured != nil {
		if b, err := json.Marshal(structured); err == nil {
			return b
		}
	}
	for _, c := range r.Content {
		if rawjson.Valid([]byte(c.Text)) == nil {
			return json.RawMessage(c.Text)
		}
		value = append(value, c.Text...)
	}
	return value
}

// upstreamFailure returns the error of a server as a result with an error type.
func upstreamFailure(t found, e *domain.Error) domain.ToolResult {
	kind, failure, hint := "upstream_error", "permanent", "The server "+t.server+" reports this; do not repeat the call as it is."
	if e.Code == domain.CodeInvalidParams {
		kind, failure, hint = "invalid_arguments", "input", "Correct the arguments; mcp_info has the schema."
	}
	r := domain.Failure(kind, e.Message, hint)
	r.Meta = map[string]any{"upstream_error": struct {
		Code    domain.Code     `json:"code"`
		Failure string          `json:"failure"`
		Data    json.RawMessage `json:"data,omitempty"`
	}{e.Code, failure, e.RawData}}
	return r
}
