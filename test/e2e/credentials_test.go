//go:build linux

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/search"
)

// credential is a key that a service takes, and the tool that is there with it.
type credential struct {
	variable, setting, tool string
	mention                 string // of who lacks it, in the configuration
	value                   string
}

var credentials = []credential{
	{"BRAVE_API_KEY", "web: {search: {brave: {api_key: %s}}}", "web_search", "web.search.searxng.base_url", braveKey},
	{"TAVILY_API_KEY", "web: {search: {tavily: {api_key: %s}}}", "web_search", "duckduckgo among web.search.providers", tavilyKey},
	{"TOOLSERVER_ANTHROPIC_API_KEY", "anthropic: {api_key: %s}", "claude_conversation", "anthropic.api_key", "sk-ant-api03-0123456789abcdef"},
	{"ANTHROPIC_ADMIN_API_KEY", "anthropic: {admin_api_key: %s}", "anthropic_usage", "anthropic.admin_api_key", "sk-ant-admin01-0123456789abcdef"},
}

// conditionalTools are those that are there only with credentials.
var conditionalTools = []string{"anthropic_usage", "claude_conversation", "web_search"}

// wouldTake are arguments that the tools would take.
var wouldTake = map[string]map[string]any{
	"web_search": {"query": "few"}, "claude_conversation": {"message": "hello"}, "anthropic_usage": {"action": "usage", "starting_at": "2026-01-01T00:00:00Z"},
}

// there checks which of the tools are listed, can be called and are reported.
func (g *ground) there(s setup, want ...string) {
	g.t.Helper()
	b := g.open(s)
	listed := slices.DeleteFunc(slices.Sorted(maps.Keys(b.listed())), func(name string) bool { return !slices.Contains(conditionalTools, name) })
	if !slices.Equal(listed, want) {
		g.t.Errorf("listed are %v; want %v", listed, want)
	}
	for _, tool := range conditionalTools {
		if slices.Contains(want, tool) {
			continue
		}
		if o := b.call(tool, wouldTake[tool]); o.errorType != "-32001" || !strings.Contains(o.text, tool) {
			g.t.Errorf("%s is not there, and a call gives %v", tool, o)
		}
	}
	b.stop()
	for _, command := range [][]string{{"check"}, {"tools", "--all"}} {
		s.command = command
		text, _ := g.run(s)
		for _, c := range credentials {
			var told []string
			for _, line := range lines(text, c.tool) {
				if strings.Contains(line, c.variable) && strings.Contains(line, c.mention) {
					told = append(told, line)
				}
			}
			if lacks := !slices.Contains(want, c.tool); lacks != (len(told) == 1) {
				g.t.Errorf("%v says of %s: %q in\n%s", command, c.variable, told, text)
			}
			if strings.Contains(text, c.value) {
				g.t.Errorf("%v says the key %s", command, c.variable)
			}
		}
	}
}

// TestCredentials has each key given in each way there is.
func TestCredentials(t *testing.T) {
	t.Parallel()
	all := []string{}
	for _, c := range credentials {
		all = append(all, c.variable+"="+c.value)
	}
	blank := []string{"BRAVE_API_KEY= ", "TAVILY_API_KEY=", "TOOLSERVER_ANTHROPIC_API_KEY=\n", "ANTHROPIC_ADMIN_API_KEY="}
	clients := []string{"ANTHROPIC_API_KEY=sk-ant-api03-0123456789abcdef"} // which Claude Code passes on
	for name, s := range map[string]setup{"none": {}, "blank": {env: blank}, "of the client": {env: clients}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newGround(t, account{"own", os.Geteuid()}).there(s)
		})
	}
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		newGround(t, account{"own", os.Geteuid()}).there(setup{env: all}, conditionalTools...)
	})
	for _, c := range credentials {
		t.Run(c.variable, func(t *testing.T) {
			t.Parallel()
			g := newGround(t, account{"own", os.Geteuid()})
			key := g.file(filepath.Join(g.dir, "keys", c.variable), c.value+"\n", 0o600)
			reference := func(text string) string { return fmt.Sprintf(c.setting, "'"+text+"'") + "\n" }
			for _, s := range []setup{
				{env: []string{c.variable + "=" + c.value}},
				{config: reference("${MY_KEY}"), env: []string{"MY_KEY=" + c.value}},
				{config: reference("${file:" + key + "}")},
				{config: reference(c.value)},
			} {
				g.there(s, c.tool)
				s.command = []string{"config", "show"}
				if text, code := g.run(s); code != 0 || strings.Contains(text, c.value) {
					t.Errorf("config show ends with %d and says\n%s", code, text)
				}
			}
		})
	}
}

// TestCredentialsOfFile prefers the key of the configuration to that of the
// environment, and sends nothing that a file ends with.
func TestCredentialsOfFile(t *testing.T) {
	t.Parallel()
	service := newService("brave", fake.Options{}, fake.None)
	at := newStandIn(t, service)
	g := newGround(t, account{"own", os.Geteuid()})
	g.file(filepath.Join(g.dir, "brave.key"), braveKey+"\r\n", 0o600)
	b := g.open(setup{
		config: opened(at) + fmt.Sprintf("web: {search: {brave: {base_url: '%s', api_key: '${file:brave.key}'}}}\n", at.url), // relative to the configuration
		env:    []string{"BRAVE_API_KEY=another-key-0123456789"},
	})
	if o := b.checked("web_search", map[string]any{"query": "few"}); o.text != dated("brave", few) {
		t.Errorf("got %v", o)
	}
	for _, r := range service.Requests() {
		if key := r.Header.Get("X-Subscription-Token"); key != braveKey {
			t.Errorf("the service gets the key %q", key)
		}
	}
	b.stop()
}

// TestCredentialsSettings takes settings of tools that are not there for want of a
// key, and still no others.
func TestCredentialsSettings(t *testing.T) {
	t.Parallel()
	g := newGround(t, account{"own", os.Geteuid()})
	g.there(setup{config: `
tools:
  web_search: {timeout: 20s, confirm: true}
  claude_conversation: {groups: [staff]}
  anthropic_usage: {enabled: false}
`})
	text, code := g.run(setup{config: "tools:\n  web_serch: {timeout: 20s}\n", command: []string{"check"}})
	if code != 1 || !strings.Contains(text, "config.yaml:3:3: ") || !strings.Contains(text, `there is no tool "web_serch"; did you mean web_search?`) {
		t.Errorf("a tool that is misspelt: %d\n%s", code, text)
	}
}

// TestCredentialsProviders leaves services out that lack their key, and says so in the
// log and in check.
func TestCredentialsProviders(t *testing.T) {
	t.Parallel()
	at := map[string]*standIn{}
	for _, name := range []string{"tavily", "brave"} {
		at[name] = newStandIn(t, newService(name, fake.Options{}, fake.None))
	}
	g := newGround(t, account{"own", os.Geteuid()})
	s := setup{
		config: opened(at["brave"], at["tavily"]) + searchConfig(at, "tavily", "searxng", "brave"),
		env:    []string{"BRAVE_API_KEY=" + braveKey},
	}
	b := g.open(s)
	if o := b.checked("web_search", map[string]any{"query": "few"}); o.text != dated("brave", few) || o.structure["provider"] != "brave" {
		t.Errorf("got %v", o)
	}
	b.stop()
	at["tavily"].untouched(t)
	left := map[string]string{
		"web.search.providers[0]": "tavily is left out: it needs a key, in web.search.tavily.api_key or in the environment variable TAVILY_API_KEY",
		"web.search.providers[1]": "searxng is left out: it needs the address of an instance, in web.search.searxng.base_url",
	}
	s.command = []string{"check"}
	text, code := g.run(s)
	if code != 1 {
		t.Errorf("check ends with %d", code)
	}
	for key, why := range left {
		if found := lines(b.log(), key); len(found) != 1 || !strings.Contains(found[0], "warn") || !strings.Contains(found[0], why) {
			t.Errorf("of %s the log says %q", key, found)
		}
		if found := lines(text, key); len(found) != 1 || !strings.HasPrefix(found[0], "fail ") || !strings.Contains(found[0], why) {
			t.Errorf("of %s check says %q", key, found)
		}
	}
	for _, found := range [][]string{lines(b.log(), "left out"), lines(text, "left out")} {
		if len(found) != len(left) {
			t.Errorf("left out are %q", found)
		}
	}
	newGround(t, account{"own", os.Geteuid()}).there(setup{config: "web: {search: {providers: []}}\n", env: []string{"BRAVE_API_KEY=" + braveKey}})
}

// TestCredentialsMistakes refuses configurations that cannot be obeyed, with the place
// of the mistake.
func TestCredentialsMistakes(t *testing.T) {
	t.Parallel()
	g := newGround(t, account{"own", os.Geteuid()})
	for _, tt := range []struct{ config, place, text string }{
		{"web:\n  search:\n    providers: [brave, bing]\n", "4:24",
			`web.search.providers[1]: there is no search service "bing"; known: brave, searxng, tavily, duckduckgo`},
		{"web:\n  search:\n    providers: [brave, brave]\n", "4:24", "web.search.providers[1]: brave is named twice"},
		{"web:\n  search:\n    provider: [brave]\n", "4:5", `unknown key "provider" in web.search; did you mean "providers"?`},
		{"web:\n  search:\n    brave: {base_url: 'ftp://example.com'}\n", "4:13", "web.search.brave.base_url: "},
		{"web:\n  search:\n    brave: {base_url: 'https://user:" + braveKey + "@example.com'}\n", "4:13",
			"web.search.brave.base_url: user, query and fragment do not belong in a base URL"},
		{"web:\n  search:\n    tavily: {base_url: 'https://'}\n", "4:14", "web.search.tavily.base_url: "},
		{"web:\n  search:\n    searxng: {base_url: 'searx.lan:8080'}\n", "4:15", "web.search.searxng.base_url: "},
		{"web:\n  search:\n    providers: [duckduckgo]\n    duckduckgo: {base_url: '::'}\n", "5:18", "web.search.duckduckgo.base_url: "},
		{"web:\n  search:\n    brave: {api_key: '" + braveKey + " x'}\n", "4:13", "web.search.brave.api_key: a key has no spaces"},
		{"linkedin:\n  base_url: 'file:///etc'\n", "3:3", "linkedin.base_url: "},
		{"linkedin:\n  interval: -1s\n", "3:13", "linkedin.interval"},
		{"anthropic:\n  base_url: 'gopher://x'\n", "3:3", "anthropic.base_url: "},
		{"anthropic:\n  api_key: '${NO_SUCH_VARIABLE}'\n", "3:12", "environment variable NO_SUCH_VARIABLE is not set"},
		{"anthropic:\n  api_key: '${file:no/such/file}'\n", "3:12", "no/such/file"},
	} {
		for _, command := range [][]string{{"check"}, {"serve", "--stdio"}, {"tools"}} {
			text, code := g.run(setup{config: tt.config, command: command, env: []string{"BRAVE_API_KEY=" + braveKey, "TAVILY_API_KEY=" + tavilyKey}})
			want := filepath.Join(g.dir, "config.yaml") + ":" + tt.place + ": "
			if code == 0 || !strings.Contains(text, want) || !strings.Contains(text, tt.text) {
				t.Errorf("%s%v ends with %d and says %q\nwant %s%s", tt.config, command, code, text, want, tt.text)
			}
			if strings.Contains(text, braveKey) {
				t.Errorf("%v says the key: %s", command, text)
			}
		}
	}
}

// TestCredentialsCommands looks for the keys where commands may look.
func TestCredentialsCommands(t *testing.T) {
	t.Parallel()
	g := newGround(t, account{"own", os.Geteuid()})
	g.file(filepath.Join(g.dir, "anthropic.key"), credentials[2].value+"\n", 0o600)
	s := setup{
		config: "anthropic: {api_key: '${file:anthropic.key}'}\nweb: {search: {tavily: {api_key: '${MY_KEY}'}}}\n",
		env:    []string{"MY_KEY=" + tavilyKey},
	}
	for _, c := range []credential{credentials[0], credentials[3]} {
		s.env = append(s.env, c.variable+"="+c.value)
	}
	b := g.open(s)
	// Keys would be masked in what a command says, so it says them in another form.
	for _, command := range []string{
		"env", "printenv", "export -p", "set", "declare -x", "bash -c env", "bash -lc env", "cat /proc/self/environ | tr '\\0' '\\n'",
		"cat /proc/$PPID/environ | tr '\\0' '\\n'", "ps axeww",
		"for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; tr '\\0' '\\n' < $p/cmdline; done",
	} {
		for _, tool := range []string{"bash", "execute_command"} {
			o := b.call(tool, map[string]any{"command": "{ " + command + "; } 2>/dev/null | sed 's/./&_/g'; echo done"})
			said := strings.ReplaceAll(fmt.Sprint(o.text, o.structure), "_", "")
			if !strings.Contains(said, "done") && o.errorType != "denied" {
				t.Errorf("%s %q does not end: %v", tool, command, o)
			}
			for _, c := range credentials {
				name := strings.ReplaceAll(c.variable, "_", "") + "="
				if strings.Contains(said, c.value) || strings.Contains(said, name) || strings.Contains(said, "MYKEY=") {
					t.Errorf("%s %q sees %s: %s", tool, command, c.variable, said)
				}
			}
		}
	}
	if o := b.bash("env | sed 's/./&_/g'"); !strings.Contains(strings.ReplaceAll(o.text, "_", ""), "PATH=") {
		t.Errorf("the environment is not seen at all: %v", o)
	}
	b.stop()
}
