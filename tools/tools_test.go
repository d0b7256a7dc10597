package tools_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools"
	"github.com/toolserver/toolserver/tools/anthropic"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/google"
	"github.com/toolserver/toolserver/tools/google/api"
	"github.com/toolserver/toolserver/tools/google/calendar"
	"github.com/toolserver/toolserver/tools/google/gmail"
	"github.com/toolserver/toolserver/tools/linkedin"
	"github.com/toolserver/toolserver/tools/resources"
	"github.com/toolserver/toolserver/tools/system"
	"github.com/toolserver/toolserver/tools/websearch"
)

var update = flag.Bool("update", false, "rewrite testdata/tools.json, tools-bytes.txt and docs/tools.md")

func deps(t *testing.T) tools.Deps {
	t.Helper()
	results := call.NewResultStore(domain.PageBytes(0))
	t.Cleanup(results.Close)
	return tools.Deps{
		Sandbox: &tools.Sandbox{Sandbox: tooltest.Sandbox(t, sandbox.Policy{}, tools.Declared())}, Server: tools.Server{Results: results},
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

// all returns the tools that there are with every credential, those of every tier.
func all(t *testing.T) []domain.Tool {
	t.Helper()
	var list []domain.Tool
	d := deps(t)
	d.Callable = func(domain.Principal) []*domain.Tool { return pointers(list) }
	list, missing, _ := offered(t, &tools.Families{}, d)
	without := len(list)
	d.Sandbox = deps(t).Sandbox
	d.Search.Brave.APIKey, d.Anthropic.APIKey, d.Anthropic.AdminAPIKey = "brave-key", "anthropic-key", "admin-key"
	d.Meta.Model = d.Anthropic
	d.Discovery.Servers, d.Google.ClientID, d.Google.ClientSecret = true, "id", "google-secret"
	d.Settings = declare.Settings{google.Section: &google.Tier{Tier: google.Full}}
	list, none, _ := offered(t, &tools.Families{}, d)
	if len(list) != without+len(missing) || none != nil {
		t.Errorf("%d tools without keys, %d with; missing: %v", without, len(list), missing)
	}
	return list
}

// TestFamiliesStay checks that only those families are made anew that are made
// from something else than before.
func TestFamiliesStay(t *testing.T) {
	d := deps(t)
	var f tools.Families
	if _, _, changed := offered(t, &f, d); len(changed) != 14 {
		t.Errorf("at first: %v", changed)
	}
	for _, step := range []struct {
		change func()
		want   []string
	}{
		{func() {}, nil},
		{func() { d.Anthropic.APIKey = "a-key"; d.Meta.Model = d.Anthropic }, []string{"anthropic", "meta"}},
		{func() { d.LinkedIn.BaseURL = "https://linkedin.example" }, []string{"linkedin"}},
		{func() { d.Settings = declare.Settings{"write_file": &files.WriteSettings{CreateDirs: new(false)}} }, []string{"files"}},
		{func() { d.Sandbox = deps(t).Sandbox }, []string{"files", "shell", "system", "web", "google", "meta", "resources"}},
	} {
		step.change()
		if _, _, changed := offered(t, &f, d); !slices.Equal(changed, step.want) {
			t.Errorf("changed %v; want %v", changed, step.want)
		}
	}
	d.Settings["disk_info"] = &system.Settings{Mask: []string{"hostnme"}}
	if _, err := f.Prepare(d); err == nil || !strings.Contains(err.Error(), "hostname") {
		t.Errorf("a wrong option: %v", err)
	}
	delete(d.Settings, "disk_info")
	if _, _, changed := offered(t, &f, d); changed != nil {
		t.Errorf("after an update that was refused: %v", changed)
	}
}

// TestNoShell offers no tool that needs a shell where there is none, and says why.
func TestNoShell(t *testing.T) {
	needsShell := func(name string) bool { return slices.Contains([]string{"bash", "bash_jobs", "execute_command"}, name) }
	for _, none := range []bool{false, true} {
		d := deps(t)
		d.Shell.NoShell = none
		list, missing, _ := offered(t, new(tools.Families), d)
		listed := len(slices.DeleteFunc(list, func(t domain.Tool) bool { return !needsShell(t.Name) }))
		unavailable := domain.Joined(slices.DeleteFunc(missing, func(m domain.Missing) bool { return !needsShell(m.Name) }))
		switch {
		case !none && (listed != 3 || len(unavailable) > 0):
			t.Errorf("with a shell %d are offered, and unavailable are %v", listed, unavailable)
		case none && (listed != 0 || len(unavailable) != 1 || !strings.Contains(unavailable[0].Reason, "this machine has none")):
			t.Errorf("without a shell %d are offered, and unavailable are %v", listed, unavailable)
		}
	}
}

func pointers(list []domain.Tool) []*domain.Tool {
	all := make([]*domain.Tool, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

// TestLint checks all tools, and those that options change.
func TestLint(t *testing.T) {
	lint(t, all(t)...)
	d := deps(t)
	d.Settings = declare.Settings{
		"write_file": &files.WriteSettings{CreateDirs: new(false)}, "disk_info": &system.Settings{Mask: []string{"user", "used_percent", "mac", "cwd", "memory"}},
	}
	list, _, _ := offered(t, &tools.Families{}, d)
	lint(t, list...)
}

// TestViews has each view belong to the tool that names it.
func TestViews(t *testing.T) {
	views := map[string]string{}
	for _, v := range resources.Views() {
		views[v.Audience.Tool] = strings.TrimPrefix(v.URI, domain.ViewBase)
	}
	for _, tool := range all(t) {
		if views[tool.Name] != tool.View {
			t.Errorf("%s names the view %q; the one for it is %q", tool.Name, tool.View, views[tool.Name])
		}
		delete(views, tool.Name)
	}
	if len(views) > 0 {
		t.Errorf("no tools: %v", views)
	}
}

// TestCatalog keeps testdata/tools.json, what a model is told about every tool,
// in step with the code, so that a change to it is seen in review.
func TestCatalog(t *testing.T) {
	registry, err := domain.NewRegistry(all(t)...)
	if err != nil {
		t.Fatal(err)
	}
	var catalog []entry
	for _, tool := range registry.List("") {
		catalog = append(catalog, entry{tool.Name, tool.Title, tool.Category, tool.Description, tool.Annotations, tool.Final, tool.Input, tool.Output})
	}
	tooltest.Golden(t, "../testdata/tools.json", encoded(t, catalog, "  "), *update)
}

// entry is a tool as a model is told about it, and its category.
type entry struct {
	Name        string             `json:"name"`
	Title       string             `json:"title"`
	Category    string             `json:"category,omitempty"`
	Description string             `json:"description"`
	Annotations domain.Annotations `json:"annotations"`
	Final       bool               `json:"final,omitempty"` // clients are told to ask about each call
	Input       *schema.Input      `json:"inputSchema"`
	Output      *schema.Output     `json:"outputSchema,omitempty"`
}

func encoded(t *testing.T, v any, indent string) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// maxToolBytes bounds what one tool takes in tools/list. CONTRIBUTING.md names it.
const maxToolBytes = 2200

// TestCatalogSize keeps testdata/tools-bytes.txt, what each tool that needs no
// credentials and is enabled takes in tools/list, so that the list only grows on purpose, and
// bounds each tool: every client pays for all of them in each conversation.
func TestCatalogSize(t *testing.T) {
	list, _, _ := offered(t, &tools.Families{}, deps(t))
	registry, err := domain.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	total := 0
	listed := slices.DeleteFunc(registry.List(""), func(t *domain.Tool) bool { return t.Disabled })
	for _, tool := range listed {
		n := len(encoded(t, entry{tool.Name, tool.Title, "", tool.Description, tool.Annotations, false, tool.Input, tool.Output}, "")) // with a comma
		fmt.Fprintf(&lines, "%5d %s\n", n, tool.Name)
		if total += n; n > maxToolBytes {
			t.Errorf("%s takes %d bytes of tools/list; want at most %d", tool.Name, n, maxToolBytes)
		}
	}
	fmt.Fprintf(&lines, "%5d all %d\n", total, len(listed))
	tooltest.Golden(t, "../testdata/tools-bytes.txt", lines.String(), *update)
}

// TestTable keeps the table of docs/tools.md in step with the catalog; -update
// rewrites it.
func TestTable(t *testing.T) {
	const file, head = "../docs/tools.md", "| tool | category | what it does |\n|---|---|---|\n"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list := slices.DeleteFunc(all(t), func(tool domain.Tool) bool { // docs/google.md has them
		return tool.Category == "google" || slices.ContainsFunc(slices.Concat(gmail.Family(nil).Tools, calendar.Family(nil, calendar.Options{}).Tools),
			func(e api.Tool) bool { return e.Full && e.Tool == tool.Name })
	})
	registry, err := domain.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(b), head)
	if !ok {
		t.Fatalf("%s has no table of tools", file)
	}
	for strings.HasPrefix(after, "|") {
		_, after, _ = strings.Cut(after, "\n")
	}
	want := before + head
	for _, tool := range registry.List("") {
		want += "| " + tool.Name + " | " + tool.Category + " | " + tool.Title + " |\n"
	}
	tooltest.Golden(t, file, want+after, *update)
}

// TestDeclarations holds what tools say of themselves to what they declare before
// they are built, which is what the sandbox hands them.
func TestDeclarations(t *testing.T) {
	list := all(t)
	categories := map[string]string{}
	for _, tool := range tools.Declared() {
		if categories[tool.Tool] != "" {
			t.Errorf("%s is declared twice", tool.Tool)
		}
		categories[tool.Tool] = tool.Category.Name
	}
	for _, tool := range list {
		if tool.Category != categories[tool.Name] {
			t.Errorf("%s is of the category %s, and declared in %q", tool.Name, tool.Category, categories[tool.Name])
		}
		delete(categories, tool.Name)
		if strings.TrimSpace(tool.Ability) == "" {
			t.Errorf("%s does not say what it is good for", tool.Name)
		}
	}
	for name := range categories {
		t.Errorf("%s is declared, and is no tool", name)
	}
}

// TestSummaryIsComplete holds the summary of capabilities to the catalog: each
// tool has its part in it, and none its name.
func TestSummaryIsComplete(t *testing.T) {
	list := all(t)
	i := slices.IndexFunc(list, func(t domain.Tool) bool { return t.Name == "capabilities_refresh" })
	if i < 0 {
		t.Fatal("there is no such tool")
	}
	text := tooltest.Call(t, list[i], `{"include_mcp":false}`).Content[0].Text
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

// TestSkills holds the skills of the program to the tools that there are: whatever looks like the name of one is one.
func TestSkills(t *testing.T) {
	known := []string{"error_type", "next_action_hint", "next_offset", "git_push", "create_issue", "tracker__create_issue"}
	for _, tool := range all(t) {
		known = append(known, tool.Name)
	}
	texts, err := filepath.Glob("skills/own/*/SKILL.md")
	if err != nil || len(texts) != 3 {
		t.Fatal(texts, err)
	}
	for _, file := range texts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\b[a-z]+(_+[a-z]+)+\b`).FindAllString(string(text), -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: there is no %s", file, name)
			}
		}
	}
}
