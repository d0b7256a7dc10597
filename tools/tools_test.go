package tools_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/tools"
	"toolserver/tools/files"
	"toolserver/tools/system"
	"toolserver/tools/tooltest"
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
	list, err := tools.All(tools.Deps{Files: fileSystem, Commands: commands, Results: results, FileOptions: files.Options{CreateDirs: true}})
	if err != nil {
		t.Fatal(err)
	}
	return list
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
	const golden = "../testdata/tools.json"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s is out of date; if the change is meant, run go test ./tools -update", golden)
	}
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

func TestOptionError(t *testing.T) {
	if _, err := tools.All(tools.Deps{System: system.Options{Mask: []string{"hostnme"}}}); err == nil || !strings.Contains(err.Error(), "hostname") {
		t.Errorf("%v; want the field that was meant", err)
	}
}
