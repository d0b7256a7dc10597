package files

import (
	"context"
	"slices"

	"toolserver/domain"
	"toolserver/sandbox/glob"
	"toolserver/sandbox/walk"
)

type searchInput struct {
	Path          string `json:"path" default:"." min:"1" max:"4096" doc:"Directory to search recursively; a relative path starts at the working directory."`
	Pattern       string `json:"pattern" default:"*" min:"1" max:"4096" doc:"Glob for the name or, if it contains a slash, for the path below the directory: * ? [a-z] {a,b} and ** for any directories, such as *.{ts,tsx} or src/**/*_test.go."`
	IncludeHidden bool   `json:"include_hidden" default:"false" doc:"Include names that start with a dot, and what is below them; a pattern that contains such a name always does."`
	Gitignore     bool   `json:"gitignore" default:"false" doc:"Skip what .gitignore files exclude."`
	Type          string `json:"type" default:"any" enum:"any|file|directory" doc:"Kind of entries to find."`
	MaxResults    int    `json:"max_results" default:"1000" min:"1" max:"10000" doc:"Maximum number of paths to return."`
}

// searchResult is the result of search_files.
type searchResult struct {
	Matches   []string `json:"matches" doc:"Paths to use in other calls, sorted."`
	Count     int      `json:"count" doc:"How many paths there are here."`
	Truncated bool     `json:"truncated" doc:"Whether there may be more."`
}

func searchFiles(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "Search files by name",
		Description: "Find files and directories by a glob for their name or path, in a directory and all below it. " +
			"Use grep to find files by what is in them.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Output:      domain.OutputOf[searchResult](),
		Uses:        domain.Reads,
		Ability:     "find files by name",
	}, fileTool.search)
}

func (t fileTool) search(ctx context.Context, in searchInput) (domain.ToolResult, error) {
	pattern, err := glob.Compile(in.Pattern)
	if err != nil {
		return invalidGlob(err), nil
	}
	matches, truncated, notes, err := collect(ctx, t.reads, query[string]{
		path: in.Path, hidden: in.IncludeHidden || namesHidden(in.Pattern), gitignore: in.Gitignore,
		pick: func(tree *tree, e *walk.Entry) (string, bool) {
			if in.Type == "file" && !e.IsRegular() || in.Type == "directory" && !e.IsDir() || !pattern.MatchEntry(e.Name(), e.Rel) {
				return "", false
			}
			return tree.rel(e), true
		},
		most: in.MaxResults, more: "the first %d matches; there are more: narrow pattern or path, or raise max_results",
	})
	if err != nil {
		return domain.ToolResult{}, err
	}
	slices.Sort(matches)
	return listing(searchResult{matches, len(matches), truncated}, matches, notes)
}

func invalidGlob(err error) domain.ToolResult {
	return domain.Failure("invalid_pattern", err.Error(), "Correct the pattern: * ? [a-z] {a,b} and ** for any directories.")
}
