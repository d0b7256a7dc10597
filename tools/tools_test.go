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
	"toolserver/tools/resources"
	"toolserver/tools/tooltest"
	"toolserver/tools/websearch"
)

var update = flag.Bool("update", false, "rewrite testdata/tools.json")

func deps(t *testing.T, policy sandbox.Policy) tools.Deps {
	t.Helper()
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
	return tools.Deps{
		Sandbox: &tools.Sandbox{Policy: policy, Files: fileSystem, Commands: commands}, Network: network, Results: results,
		FileOptions: files.Options{CreateDirs: true}, Resources: resources.Deps{WorkingDirectory: policy.WorkingDirectory},
		LinkedIn: linkedin.DefaultOptions(), Search: websearch.DefaultOptions(), Anthropic: anthropic.DefaultOptions(),
	}
}

// offered returns what families offer together.
func offered(t *testing.T, f *tools.Families, d tools.Deps) (list []domain.Tool, missing []domain.Missing, changed []string) {
	t.Helper()
	u, err := f.Prepare(d)
	if err != nil {
		t.Fatal(err)
	}
	u.Commit()
	for _, o := range u.Offers() {
		list = append(list, o.Tools...)
		missing = append(missing, o.Missing...)
	}
	for _, s := range u.Changed {
		changed = append(changed, s.Name())
	}
	return list, missing, changed
}

func all(t *testing.T) []domain.Tool {
	t.Helper()
	var list []domain.Tool
	d := deps(t, sandbox.Policy{WorkingDirectory: t.TempDir()})
	d.Catalog = func(domain.Principal) []*domain.Tool { return pointers(list) }
	list, missing, _ := offered(t, &tools.Families{}, d)
	without := len(list)
	d.Search.Brave.APIKey, d.Anthropic.APIKey, d.Anthropic.AdminAPIKey = "brave-key", "anthropic-key", "admin-key"
	list, none, _ := offered(t, &tools.Families{}, d)
	if len(list) != without+len(missing) || none != nil {
		t.Errorf("%d tools without keys, %d with; missing: %v", without, len(list), missing)
	}
	return list
}

// TestFamiliesStay checks that only those families are made anew that are made
// from something else than before.
func TestFamiliesStay(t *testing.T) {
	policy := sandbox.Policy{WorkingDirectory: t.TempDir()}
	d := deps(t, policy)
	var f tools.Families
	if _, _, changed := offered(t, &f, d); len(changed) != 11 {
		t.Errorf("at first: %v", changed)
	}
	for _, step := range []struct {
		change func()
		want   []string
	}{
		{func() {}, nil},
		{func() { d.Anthropic.APIKey = "a-key" }, []string{"anthropic", "meta"}},
		{func() { d.LinkedIn.BaseURL = "https://linkedin.example" }, []string{"linkedin"}},
		{func() { d.FileOptions.CreateDirs = false }, []string{"files"}},
		{func() { d.Sandbox = deps(t, policy).Sandbox }, []string{"files", "shell", "meta", "resources"}},
	} {
		step.change()
		if _, _, changed := offered(t, &f, d); !slices.Equal(changed, step.want) {
			t.Errorf("changed %v; want %v", changed, step.want)
		}
	}
	d.System.Mask = []string{"hostnme"}
	if _, err := f.Prepare(d); err == nil || !strings.Contains(err.Error(), "hostname") {
		t.Errorf("a wrong option: %v", err)
	}
	d.System.Mask = nil
	if _, _, changed := offered(t, &f, d); changed != nil {
		t.Errorf("after an update that was refused: %v", changed)
	}
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
