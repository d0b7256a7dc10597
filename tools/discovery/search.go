package discovery

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/upstream/search"
)

// searcher keeps the index of the catalog that was searched last.
type searcher struct {
	mu    sync.Mutex
	of    *domain.Catalog
	index *search.Index
	all   []found // what the index counts
}

// in returns the index of a catalog, which holds all tools that anybody can find.
func (x *searcher) in(catalog *domain.Catalog, f finder) (*search.Index, []found) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of == catalog {
		return x.index, x.all
	}
	x.of, x.all = catalog, f.all(catalog)
	tools := make([]search.Tool, len(x.all))
	for i, t := range x.all {
		schema, _ := t.tool.Input.MarshalJSON() // never fails
		tools[i] = search.Tool{Server: t.server, Name: t.name, Title: t.tool.Title, Description: t.tool.Description, Schema: schema}
	}
	x.index = search.New(tools)
	return x.index, x.all
}

type searchInput struct {
	Query  string   `json:"query,omitempty" max:"2000" doc:"What the tool should do, in plain words: create an issue, read a spreadsheet."`
	Server string   `json:"server,omitempty" max:"64" doc:"Only tools of this server."`
	Files  []string `json:"files,omitempty" max:"100" doc:"Names of files that the tool is wanted for, such as report.pdf."`
	Limit  int      `json:"limit" default:"5" min:"1" max:"50" doc:"How many tools to return."`
}

// fitting is a tool that was found.
type fitting struct {
	shown
	Signature string        `json:"signature" doc:"Its arguments: ? marks one that may be left out, [] a list, {} an object."`
	Input     *schema.Input `json:"input_schema,omitempty" doc:"Of the first, unless it is very long."`
}

// maxShownSchema bounds the schema in the answer of a search.
const maxShownSchema = 4000

type searchOutput struct {
	Tools []fitting `json:"tools" doc:"The tools that fit best, the best first."`
	Weak  bool      `json:"weak,omitempty" doc:"No tool fits most of the query; these are near misses."`
	Hint  string    `json:"hint,omitempty" doc:"What would narrow the search."`
}

func (f finder) search(ctx context.Context, in searchInput) (domain.ToolResult, error) {
	if strings.TrimSpace(in.Query) == "" && len(in.Files) == 0 {
		return domain.ToolResult{}, domain.InvalidArgument(SearchName, "query", "says nothing; say what the tool should do, or name files")
	}
	catalog, p := f.catalog(), call.SessionOf(ctx).Principal
	index, all := f.searcher.in(catalog, f)
	r := index.Search(in.Query, search.Options{
		Limit: in.Limit, Server: in.Server, Files: in.Files, Keep: func(i int) bool { return catalog.Why(p, all[i].tool.Name) == "" },
	})
	out, mostSchema := searchOutput{Weak: r.Weak, Hint: hint(r)}, min(maxShownSchema, call.ListRoom(ctx)/2)
	fits := func(i int, h search.Hit) (f fitting, arguments string) {
		t := all[h.Tool]
		if f = (fitting{t.shown(), t.name + "(" + t.tool.Input.Signature() + ")", nil}); i > 0 {
			return f, ""
		}
		schema, _ := t.tool.Input.MarshalJSON() // never fails
		if len(schema) > mostSchema {
			return f, fmt.Sprintf("  arguments: a schema of %s bytes, which %s returns\n", brief.Thousands(len(schema)), InfoName)
		}
		f.Input = t.tool.Input
		return f, "  arguments: " + string(schema) + "\n"
	}
	return call.List[search.Hit]{
		Entries: r.Hits,
		Text: func(hits []search.Hit) string {
			var b strings.Builder
			if len(hits) == 0 {
				b.WriteString("No tool fits. mcp_list_tools lists all.")
			} else if r.Weak {
				b.WriteString("No tool fits most of the query. These come near:\n")
			}
			for i, h := range hits {
				f, arguments := fits(i, h)
				fmt.Fprintf(&b, "server %s, tool %s: %s\n%s", f.Server, f.Signature, f.Description, arguments)
			}
			if out.Hint != "" {
				b.WriteString("\n" + out.Hint)
			}
			return strings.TrimRight(b.String(), "\n")
		},
		Results: func(hits []search.Hit, _ int) any {
			out := out
			out.Tools = []fitting{}
			for i, h := range hits {
				f, _ := fits(i, h)
				out.Tools = append(out.Tools, f)
			}
			return out
		},
		Next: func(int) string { return "narrow the query; mcp_list_tools lists all" },
	}.Result(ctx)
}

// hint says what would narrow a search.
func hint(r search.Results) string {
	var parts []string
	for _, g := range r.Unknown {
		if g.Near != "" {
			parts = append(parts, fmt.Sprintf("No tool has %q; searched for %q.", g.Word, g.Near))
		} else {
			parts = append(parts, fmt.Sprintf("No tool has %q.", g.Word))
		}
	}
	if len(r.Narrow) > 0 {
		parts = append(parts, "To narrow it, add one of: "+strings.Join(r.Narrow, ", ")+".")
	}
	return strings.Join(parts, " ")
}
