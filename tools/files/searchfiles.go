package files

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox/glob"
	"github.com/toolserver/toolserver/sandbox/walk"
)

type searchInput struct {
	Pattern       string `json:"pattern" default:"*" min:"1" max:"4096"`
	Path          string `json:"path" default:"." min:"1" max:"4096"`
	IncludeHidden bool   `json:"include_hidden" default:"false"`
	Gitignore     bool   `json:"gitignore" default:"false"`
	Type          string `json:"type" default:"any" enum:"any|file|directory"`
	Offset        int    `json:"offset" default:"0" min:"0" max:"200000"`
	MaxResults    int    `json:"max_results" default:"1000" min:"1" max:"10000"`
}

func (searchInput) Words() string { return arguments }

// searchResult is the result of search_files.
type searchResult struct {
	Matches    []string `json:"matches"`
	Count      int      `json:"count"`
	NextOffset int      `json:"next_offset,omitempty" doc:"Absent at the end."`
	Truncated  bool     `json:"truncated"`
}

func searchFiles(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "Search files by name", Target: []string{"path", "pattern"},
		Description: "Find files and directories by name or path, in a directory and all below it. Use grep to search what is in files.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Output:      schema.OutputOf[searchResult](),
		Ability:     "find files by name",
	}, fileTool.search)
}

func (t fileTool) search(ctx context.Context, in searchInput) (domain.ToolResult, error) {
	pattern, err := glob.Compile(in.Pattern)
	if err != nil {
		return invalidGlob(err), nil
	}
	found, err := collect(ctx, t.reads, query[string]{
		path: in.Path, hidden: in.IncludeHidden || namesHidden(in.Pattern), gitignore: in.Gitignore, skip: in.Offset,
		most: min(in.MaxResults, call.ListRoom(ctx)/len(`"n",`)),
		pick: func(tree *tree, e *walk.Entry) (string, bool) {
			if in.Type == "file" && !e.IsRegular() || in.Type == "directory" && !e.IsDir() || !pattern.MatchEntry(e.Name(), e.Rel) {
				return "", false
			}
			return tree.rel(e), true
		},
	})
	if err != nil {
		return domain.ToolResult{}, err
	}
	found.None = "no matches" + globInstead(in.Pattern)
	found.Text = func(paths []string) string {
		if len(paths) == 0 {
			return ""
		}
		text, _ := json.Marshal(paths) // never fails
		return string(text)
	}
	found.Results = func(paths []string, next int) any {
		return searchResult{paths, len(paths), next, next > 0 || found.incomplete}
	}
	return found.Result(ctx)
}

// globbed replaces what regular expressions, lists and names with brackets have.
var globbed = strings.NewReplacer(".*", "*", ".+", "*", `\.`, ".", `\d`, "[0-9]", "(?:", "{", "(", "{", ")", "}", "|", ",", ";", ",", "^", "", "$", "", "!", "",
	" ", "", "[", "[[]")

// globInstead says what a glob that matches nothing was perhaps meant as.
func globInstead(p string) string {
	if dir, name := path.Split(p); filepath.IsAbs(p) {
		return fmt.Sprintf("; a glob is below path: try path=%q and pattern=%q", path.Clean(dir), name)
	}
	meant := globbed.Replace(p)
	switch {
	case strings.Contains(meant, ",") && !strings.Contains(meant, "{"):
		meant = "{" + meant + "}"
	case !strings.ContainsAny(meant, "*?{["):
		meant = "*" + meant + "*"
	}
	if meant == p {
		return ""
	}
	return fmt.Sprintf("; it is a glob of whole names, no regular expression, list or exclusion: try pattern=%q", meant)
}

func invalidGlob(err error) domain.ToolResult {
	return domain.Failure("invalid_pattern", err.Error(), "Correct the pattern: * ? [a-z] {a,b} and ** for any directories.")
}
