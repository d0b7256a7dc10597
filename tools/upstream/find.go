package upstream

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"toolserver/domain"
	"toolserver/tools/upstream/search"
)

// searcher keeps the index of the catalog that was searched last.
type searcher struct {
	mu    sync.Mutex
	of    *domain.Catalog
	index *search.Index
	all   []found // what the index counts
}

// in returns the index of a catalog, which holds all tools that anybody can find.
func (x *searcher) in(catalog *domain.Catalog, f Finder) (*search.Index, []found) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of == catalog {
		return x.index, x.all
	}
	x.of, x.all = catalog, f.all(catalog)
	tools := make([]search.Tool, len(x.all))
	for i, t := range x.all {
		schema, _ := t.tool.Input.MarshalJSON() // never fails
		tools[i] = search.Tool{Server: t.server, Name: t.name, Title: t.tool.Title, Description: t.tool.Description, Schema: schema, Tags: t.tool.Tags}
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

type searchOutput struct {
	Tools []described `json:"tools" doc:"The tools that fit best, the best first."`
	Weak  bool        `json:"weak,omitempty" doc:"No tool fits most of the query; these are near misses."`
	Hint  string      `json:"hint,omitempty" doc:"What would narrow the search."`
}

func (f Finder) search(ctx context.Context, in searchInput) (domain.ToolResult, error) {
	if strings.TrimSpace(in.Query) == "" && len(in.Files) == 0 {
		return domain.ToolResult{}, domain.InvalidArgument(SearchName, "query", "says nothing; say what the tool should do, or name files")
	}
	catalog, p := f.Catalog(), domain.SessionOf(ctx).Principal
	index, all := f.searcher.in(catalog, f)
	r := index.Search(in.Query, search.Options{
		Limit: in.Limit, Server: in.Server, Files: in.Files, Keep: func(i int) bool { return catalog.Why(p, all[i].tool.Name) == "" },
	})
	out, mostSchema := searchOutput{Weak: r.Weak, Hint: hint(r)}, domain.ListRoom(ctx)/2
	return domain.List[search.Hit]{
		Entries: r.Hits,
		Text: func(hits []search.Hit) string {
			var b strings.Builder
			if len(hits) == 0 {
				b.WriteString("No tool fits. mcp_list_tools lists all.")
			} else if r.Weak {
				b.WriteString("No tool fits most of the query. These come near:\n")
			}
			for _, h := range hits {
				t := all[h.Tool]
				_, arguments := t.described().within(mostSchema)
				fmt.Fprintf(&b, "server %s, tool %s: %s\n  arguments: %s\n", t.server, t.name, Summary(t.tool.Description), arguments)
			}
			if out.Hint != "" {
				b.WriteString("\n" + out.Hint)
			}
			return strings.TrimRight(b.String(), "\n")
		},
		Results: func(hits []search.Hit, _ int) any {
			out := out
			out.Tools = []described{}
			for _, h := range hits {
				short, _ := all[h.Tool].described().within(mostSchema)
				out.Tools = append(out.Tools, short)
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
