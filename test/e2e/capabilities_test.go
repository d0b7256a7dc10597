package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	anthropic "github.com/toolserver/toolserver/test/fakes/anthropic"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// names returns those of the tools a client has.
func (c *toolClient) names() (list []string) {
	c.t.Helper()
	return toolNames(c.t, c.request("tools/list", nil))
}

func toolNames(t *testing.T, result []byte) (list []string) {
	t.Helper()
	var r struct{ Tools []struct{ Name string } }
	must(t, json.Unmarshal(result, &r))
	for _, tool := range r.Tools {
		list = append(list, tool.Name)
	}
	if len(list) == 0 {
		t.Fatalf("there are no tools: %.300s", result)
	}
	return list
}

// refresh refreshes the summary, which must work.
func (c *toolClient) refresh(more ...any) answer {
	c.t.Helper()
	a := c.call("capabilities_refresh", arguments(more...))
	if a.failed() {
		c.t.Fatalf("%+v %s", a.Error, a.text())
	}
	return a
}

// nameless reports names of tools in a text.
func nameless(t *testing.T, what, text string, names []string) {
	t.Helper()
	for _, name := range names {
		if regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(name) + `\b`).MatchString(text) {
			t.Errorf("%s names %s:\n%s", what, name, text)
		}
	}
}

const newMatter = "---\nloading: always\nagent-modification: true\n---\n\n"

// TestCapabilities summarizes the catalog in a file, the same way every time.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	more := []string{"BRAVE_API_KEY=a-key-of-brave", "ANTHROPIC_ADMIN_API_KEY=" + anthropic.AdminKey} // for more tools
	c, dir := openTools(t, "", more...)
	file := filepath.Join(dir, "capabilities.md")
	a := c.refresh()
	text, names := read(t, file), c.names()
	result := a.Result.StructuredContent
	if !strings.HasPrefix(text, newMatter+"# Capabilities\n") || !strings.HasSuffix(text,
		"\n## External capabilities (MCP servers)\n\n_No MCP servers are configured, or they offer no tools._\n") {
		t.Errorf("the file is\n%s", text)
	}
	if result["capabilities"] != strings.TrimPrefix(text, newMatter) || result["internal_tool_count"] != float64(len(names)) ||
		result["mcp_tool_count"] != 0.0 ||
		result["created_file"] != true || result["wording"] != "static" || !strings.HasSuffix(a.text(),
		"\n\n"+strings.TrimPrefix(text, newMatter)) ||
		!strings.HasPrefix(a.text(), fmt.Sprintf("Summarized %d tool(s) in capabilities.md.", len(names))) {
		t.Errorf("%d tools; the result is %v\n%s", len(names), result, a.text())
	}
	if !slices.Contains(names, "web_search") || !slices.Contains(names, "anthropic_usage") {
		t.Errorf("tools are %v", names)
	}
	nameless(t, "the file", text, names)
	before, err := os.Stat(file)
	must(t, err)
	if again := c.refresh().Result.StructuredContent; again["created_file"] != false || read(t, file) != text {
		t.Errorf("the second time it is\n%s", read(t, file))
	}
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() {
		t.Errorf("a file that stays as it is was written: %v, %v", after, err)
	}
	other, elsewhere := openTools(t, "capabilities_file: deep/in/here.md\n", more...)
	other.refresh()
	if got := read(t, filepath.Join(elsewhere, "deep/in/here.md")); got != text {
		t.Errorf("in another directory it is\n%s", got)
	}
	c.refresh("include_mcp", false)
	if got := read(t, file); strings.Contains(got, "External") || !strings.HasPrefix(text, got[:strings.Index(got, "*Generated")]) {
		t.Errorf("without other servers it is\n%s", got)
	}

	fewer, where := openTools(t, "tools: {bash: {enabled: false}, execute_command: {enabled: false}, web_fetch: {groups: [others]}, echo: {groups: [mine]}}\n"+
		"server: {user: ann}\nusers: {ann: {groups: [mine]}}\n", more...)
	result = fewer.refresh().Result.StructuredContent
	got := read(t, filepath.Join(where, "capabilities.md"))
	if n := len(fewer.names()); n != len(names)-4 || result["internal_tool_count"] != float64(n) || strings.Contains(got, "**Commands**") ||
		strings.Contains(got, "read web pages") || !strings.Contains(got, "**Utility**") {
		t.Errorf("%d tools of %d; the result is %v", n, len(names), result)
	}
	fewer.ping()
}

// TestCapabilitiesFrontMatter keeps what precedes a summary, byte for byte.
func TestCapabilitiesFrontMatter(t *testing.T) {
	t.Parallel()
	c, dir := openTools(t, "")
	file := filepath.Join(dir, "capabilities.md")
	for _, matter := range []string{
		"---\nloading: never # mine\nx: [1,\n 2]\n---\n", "---\r\na: \"é\"\r\n---\r\n\r\n", "---\na: |\n  # Capabilities\n  b  \n...\n\n\n",
		"\ufeff---\na: 1\n---\n",
		"---\nbinary: \xff\xfe\x01\n---\n", "---  \n\ttabs\t\n\n---  \n", "---\n---\n", "---\na: " + strings.Repeat("long ", 20_000) +
			"\n---\n\n",
	} {
		for _, old := range []string{"", "# Capabilities\n\nold\n", "what somebody wrote\n", strings.Repeat("old ", 50_000)} {
			must(t, os.WriteFile(file, []byte(matter+old), 0o640))
			c.refresh()
			got := read(t, file)
			rest, ok := strings.CutPrefix(got, matter)
			if !ok || !strings.HasPrefix(rest, "# Capabilities\n") || strings.Contains(rest, "old") || strings.Contains(rest, "somebody") {
				t.Errorf("%.60q before %.20q: %.200q", matter, old, got)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("the mode is %v, %v", info.Mode(), err)
			}
		}
	}
	must(t, os.WriteFile(file, []byte("my notes\n"), 0o644))
	wantFailure(t, "a file of somebody", c.call("capabilities_refresh", nil), "already_exists", "nothing was written")
	if got := read(t, file); got != "my notes\n" {
		t.Errorf("somebody's file is now %.100q", got)
	}
	c.ping()
}

// TestCapabilitiesOutside has a file that the tools may not write.
func TestCapabilitiesOutside(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for _, file := range []string{filepath.Join(outside, "c.md"), "../c.md", "link/c.md", "link.md", "config.yaml"} {
		config, dir := configured(t, "logging: {level: warn}\ncapabilities_file: "+file+"\n")
		must(t, os.Symlink(outside, filepath.Join(dir, "link")))
		must(t, os.Symlink(filepath.Join(outside, "c.md"), filepath.Join(dir, "link.md")))
		before := read(t, config)
		c := serveTools(t, config)
		wantFailure(t, file, c.call("capabilities_refresh", nil), "denied", "")
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Errorf("%s: outside there is %v, %v", file, left, err)
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(dir), "c.md")); err == nil || read(t, config) != before {
			t.Errorf("%s: something was written", file)
		}
		c.ping()
	}
}

// TestCapabilitiesWording has a model find the words.
func TestCapabilitiesWording(t *testing.T) {
	t.Parallel()
	const good = `{"internal":[{"theme":"Reading","summary":"Reads pages and files."},{"theme":"Doing","summary":"Gets things done."}],"external":{}}`
	const goodLines = "## Internal capabilities\n\n- **Reading** — Reads pages and files.\n- **Doing** — Gets things done.\n\n## External"
	for name, tt := range map[string]struct {
		answer  anthropic.Turn
		refused bool
		wording string
	}{
		"good":    {answer: anthropic.Turn{Thinking: "let me see", Text: []string{"Here: ", good}, Chunk: 11}, wording: "model"},
		"whole":   {answer: anthropic.Turn{Text: []string{"```json\n" + good + "\n```"}, Whole: true}, wording: "model"},
		"refused": {refused: true, wording: "static"},
		"names a tool": {answer: anthropic.Turn{Text: []string{strings.Replace(good, "Reads pages", "Use web_fetch for pages", 1)}},
			wording: "static"},
		"names in capital": {answer: anthropic.Turn{Text: []string{strings.Replace(good, "Doing", "BASH", 1)}}, wording: "static"},
		"more lines":       {answer: anthropic.Turn{Text: []string{strings.Replace(good, "Doing", `a\n# b`, 1)}}, wording: "static"},
		"prose":            {answer: anthropic.Turn{Text: []string{"This agent can do a lot."}}, wording: "static"},
		"breaks off":       {answer: anthropic.Turn{Text: []string{good}, Drop: true}, wording: "static"},
		"a refusal":        {answer: anthropic.Turn{Text: []string{"I will not."}, StopReason: "refusal"}, wording: "static"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := new(anthropic.Server)
			c, dir := openTools(t, usesAnthropic(serveAnthropic(t, fake)), "TOOLSERVER_ANTHROPIC_API_KEY="+anthropic.APIKey)
			file, names := filepath.Join(dir, "capabilities.md"), c.names()
			if tt.refused {
				fake.Script(anthropic.MessagesPath, anthropic.Error(400, "invalid_request_error", "no"))
			} else {
				fake.Say(tt.answer)
			}
			a := c.refresh()
			text := read(t, file)
			if a.Result.StructuredContent["wording"] != tt.wording || strings.Contains(text, goodLines) != (tt.wording == "model") {
				t.Errorf("%s\n%s", a.text(), text)
			}
			nameless(t, "the file", text, names)
			asked := fake.Requests()
			if len(asked) != 1 || !strings.Contains(string(asked[0].Body), "web_fetch") ||
				strings.Contains(string(asked[0].Body), anthropic.APIKey) {
				t.Fatalf("the model is asked %d times", len(asked))
			}
			if tt.wording == "static" {
				if !strings.Contains(a.text(), "without a model's words: ") {
					t.Errorf("nothing says why no model was heard: %s", a.text())
				}
				fake.Script(anthropic.MessagesPath, anthropic.Error(400, "invalid_request_error", "no"))
			}
			c.refresh()
			if again := read(t, file); again != text {
				t.Errorf("the second time it is\n%s", again)
			}
			if n := len(fake.Requests()); tt.wording == "model" && n != 1 {
				t.Errorf("of one catalog the model was asked %d times", n)
			}
			c.ping()
		})
	}
}

// TestCapabilitiesPrincipals summarizes for each client what all can use: the file is one for all.
func TestCapabilitiesPrincipals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startHTTP(t, binary(), httpConfig(t, dir, "tools: {web_fetch: {groups: [net]}, bash: {groups: [ops, net]}, echo: {enabled: false}}\n"+
		"users: {ann: {groups: [net]}, bob: {groups: [none]}}\n"+
		"server: {tokens: ["+tokenEntry("ann", "anns")+", "+tokenEntry("bob", "bobs")+"]}\n")...)
	counts := map[string]int{}
	for _, name := range []string{"bob", "ann"} { // bob has what is for everybody
		p := s.newPeer(t, "2025-11-25", name+"s")
		var list struct{ Result json.RawMessage }
		must(t, json.Unmarshal([]byte(p.post(t, p.message("1", "tools/list", "", ""), nil).last()), &list))
		names := toolNames(t, list.Result)
		a := p.call(t, "capabilities_refresh", arguments())
		text := read(t, filepath.Join(dir, "capabilities.md"))
		counts[name] = len(names)
		if a.failed() || a.Result.StructuredContent["internal_tool_count"] != float64(counts["bob"]) || strings.Contains(text, "read web pages") {
			t.Errorf("%s has %d tools: %s", name, len(names), a.text())
		}
		nameless(t, "the file", text, append(names, "web_fetch", "bash", "echo"))
	}
	if counts["ann"] != counts["bob"]+3 {
		t.Errorf("tools are %v", counts)
	}
	s.running(t)
}
