package tools_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/tools"
	"toolserver/tools/anthropic"
	"toolserver/tools/files"
	"toolserver/tools/linkedin"
	"toolserver/tools/meta"
	"toolserver/tools/system"
	"toolserver/tools/tooltest"
	"toolserver/tools/websearch"
)

var update = flag.Bool("update", false, "rewrite testdata/tools.json")

func all(t *testing.T) []domain.Tool {
	t.Helper()
	policy := sandbox.Policy{WorkingDirectory: t.TempDir()}
	fileSystem, err := sandbox.NewFiles(policy)
	if err != nil {
		t.Fatal(err)
	}
	commands, err := sandbox.NewCommands(policy, fileSystem, sandbox.NewKernel(nil))
	if err != nil {
		t.Fatal(err)
	}
	results := domain.NewResultStore(domain.PageBytes(0))
	t.Cleanup(results.Close)
	network, err := sandbox.NewNetwork(policy)
	if err != nil {
		t.Fatal(err)
	}
	var list []domain.Tool
	deps := tools.Deps{
		Files: fileSystem, Commands: commands, Network: network, Results: results, FileOptions: files.Options{CreateDirs: true},
		Catalog:  func(domain.Principal) []*domain.Tool { return pointers(list) },
		LinkedIn: linkedin.DefaultOptions(), Search: websearch.DefaultOptions(), Anthropic: anthropic.DefaultOptions(),
	}
	if list, err = tools.All(deps); err != nil {
		t.Fatal(err)
	}
	without := len(list)
	deps.Search.Brave.APIKey, deps.Anthropic.APIKey, deps.Anthropic.AdminAPIKey = "brave-key", "anthropic-key", "admin-key"
	missing := tools.MissingFrom(list)
	if list, err = tools.All(deps); err != nil {
		t.Fatal(err)
	}
	if len(list) != without+len(missing) || tools.MissingFrom(list) != nil {
		t.Errorf("%d tools without keys, %d with; missing: %v", without, len(list), missing)
	}
	return list
}

func pointers(list []domain.Tool) []*domain.Tool {
	all := make([]*domain.Tool, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

func TestLint(t *testing.T) { tooltest.Lint(t, all(t)...) }

// TestCatalog keeps testdata/tools.json, what a model is told about every tool,
// in step with the code, so that a change to it is seen in review.
func TestCatalog(t *testing.T) {
	registry, err := domain.NewRegistry(all(t)...)
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Name        string                   `json:"name"`
		Title       string                   `json:"title"`
		Category    string                   `json:"category"`
		Description string                   `json:"description"`
		Annotations domain.Annotations       `json:"annotations"`
		Input       *domain.ToolInputSchema  `json:"inputSchema"`
		Output      *domain.ToolOutputSchema `json:"outputSchema,omitempty"`
	}
	var catalog []entry
	for _, tool := range registry.List("") {
		catalog = append(catalog, entry{tool.Name, tool.Title, tool.Category, tool.Description, tool.Annotations, tool.Input, tool.Output})
	}
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(catalog); err != nil {
		t.Fatal(err)
	}
	tooltest.Golden(t, "../testdata/tools.json", got.String(), *update)
}

// TestReadme holds the tool table of README.md to the catalog.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	registry, err := domain.NewRegistry(all(t)...)
	if err != nil {
		t.Fatal(err)
	}
	want := "| tool | category | what it does |\n|---|---|---|\n"
	for _, tool := range registry.List("") {
		want += "| " + tool.Name + " | " + tool.Category + " | " + tool.Title + " |\n"
	}
	if !bytes.Contains(readme, []byte(want)) {
		t.Errorf("the tool table of README.md is not\n%s", want)
	}
}

// TestSummaryIsComplete holds the summary of capabilities to the catalog: each
// tool has its part in it, and none its name.
func TestSummaryIsComplete(t *testing.T) {
	list := all(t)
	i := slices.IndexFunc(list, func(t domain.Tool) bool { return t.Name == "capabilities_refresh" })
	directory := t.TempDir()
	fileSystem, err := sandbox.NewFiles(sandbox.Policy{WorkingDirectory: directory})
	if err != nil {
		t.Fatal(err)
	}
	refresh := meta.RefreshTool(meta.Capabilities{
		Catalog: func(domain.Principal) []*domain.Tool { return pointers(list) }, Files: fileSystem.Writer("write_file"),
	})
	if i < 0 || refresh.Name != list[i].Name {
		t.Fatal("there is no such tool")
	}
	text := tooltest.Call(t, refresh, `{"include_mcp":false}`).Content[0].Text
	_, lines, _ := strings.Cut(text, "## Internal capabilities")
	if strings.Contains(lines, "tool(s)") {
		t.Errorf("a tool is only counted:\n%s", lines)
	}
	for _, tool := range list {
		if regexp.MustCompile(`(?i)\b` + tool.Name + `\b`).MatchString(lines) {
			t.Errorf("%s is named:\n%s", tool.Name, lines)
		}
	}
}

func TestCategories(t *testing.T) {
	var found []string
	for _, tool := range all(t) {
		found = append(found, tool.Category)
	}
	slices.Sort(found)
	if found = slices.Compact(found); !slices.Equal(found, tools.Categories()) {
		t.Errorf("the tools are of %v", found)
	}
}

func TestOptionError(t *testing.T) {
	if _, err := tools.All(tools.Deps{System: system.Options{Mask: []string{"hostnme"}}}); err == nil || !strings.Contains(err.Error(), "hostname") {
		t.Errorf("%v; want the field that was meant", err)
	}
}
