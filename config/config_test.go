package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/tools/files"
)

func load(t *testing.T, yaml string) (*config.Loaded, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "toolserver.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(config.Overrides{File: file})
}

func TestLoad(t *testing.T) {
	t.Setenv("A_TOKEN_NAME", "carol-the-third")
	l, err := load(t, `
working_directory: .
roots: [..]
server:
  tokens:
    - {name: "${A_TOKEN_NAME}", hash: "sha256:`+strings.Repeat("ab", 32)+`", groups: [x]}
users:
  carol-the-third: {groups: [staff], compliance_level: internal}
compliance:
  level: public
  levels: {public: {}, internal: {aliases: [soc2], allowed_with: [public]}}
tools:
  write_file: {allowed_paths: [/tmp, ./output], create_dirs: false}
  bash: {timeout: 30, compliance_level: SOC2}
`)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(l.File)
	if l.WorkingDirectory != dir || !slices.Equal(l.Roots, []string{filepath.Dir(dir)}) {
		t.Errorf("working directory %s, roots %v", l.WorkingDirectory, l.Roots)
	}
	if got := l.Policy().Tools["write_file"].AllowedPaths; !slices.Equal(got, []string{"/tmp", "./output"}) {
		t.Errorf("paths %v", got)
	}
	if p := l.Principal("carol-the-third"); !slices.Equal(p.Groups, []string{"staff"}) || p.ComplianceLevel != "internal" {
		t.Errorf("principal %+v", p)
	}
	if p := l.Principal("nobody"); p.Groups != nil || p.ComplianceLevel != "public" {
		t.Errorf("stranger %+v", p)
	}
	if !slices.Contains(l.Secrets, "carol-the-third") || strings.Contains(string(l.Show()), "carol-the-third\n") {
		t.Errorf("secrets %v, shown:\n%s", l.Secrets, l.Show())
	}
}

func TestTemplateAndSchema(t *testing.T) {
	if _, err := load(t, string(config.Template())); err != nil {
		t.Error("the template is refused:", err)
	}
	if !strings.Contains(string(config.Schema()), `"allowed_commands"`) {
		t.Error("the schema lacks keys")
	}
}

func TestSandbox(t *testing.T) {
	l, err := load(t, "sandbox: {unprotected: [.vscode]}\nserver: {tls: {cert: c.pem, key: k.pem}}\ntools: {read_file: {hardlinks: deny}}\n")
	if err != nil {
		t.Fatal(err)
	}
	p := l.Policy()
	if !slices.Equal(p.Settings.Unprotected, []string{".vscode"}) || p.Tools["read_file"].Hardlinks != "deny" {
		t.Errorf("got %+v", p)
	}
	own := map[string]bool{}
	for _, file := range p.Own {
		own[file.Path] = file.Secret
	}
	dir := filepath.Dir(l.File)
	for path, secret := range map[string]bool{l.File: false, filepath.Join(dir, "c.pem"): false, filepath.Join(dir, "k.pem"): true} {
		if got, protected := own[path]; !protected || got != secret {
			t.Errorf("%s: protected %v, secret %v", path, protected, got)
		}
	}
	for yaml, want := range map[string]string{
		"sandbox: {unprotected: [.vscod]}\n":       `sandbox.unprotected[0]: nothing is protected as ".vscod"; did you mean .vscode?`,
		"tools: {edit_file: {hardlinks: allow}}\n": `unknown key "hardlinks" in tools.edit_file; known keys: enabled, timeout,`,
		"tools: {read_file: {hardlinks: maybe}}\n": "hardlinks",
		"sandbox:\n  ask: [writes, command]\n":     `2:17: sandbox.ask[1] must be one of commands, writes, network, not "command"; did you mean commands?`,
		"sandbox: {enforcement: strict}\n":         `1:24: sandbox.enforcement must be one of required, best_effort, parse_only`,
		"sandbox: {network: off}\n":                "1:20: sandbox.network",
		"sandbox: {limits: {memory: 10M}}\n":       "1:28: sandbox.limits.memory",
	} {
		if _, err := load(t, yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

// TestFormats has a text that is wrong for each tag format.
func TestFormats(t *testing.T) {
	for yaml, want := range map[string]string{
		"tools: {bash: {compliance_level: top}}\n":                                                       `1:16: tools.bash.compliance_level: there is no compliance level "top"; known: none`,
		"tools: {a__b: {compliance_level: top}}\n":                                                       `1:16: tools.a__b.compliance_level: there is no compliance level "top"`,
		"compliance: {levels: {a: {allowed_with: [b]}}}\n":                                               `1:42: compliance.levels.a.allowed_with[0]: there is no compliance level "b"; known: a`,
		"prompts: {x: {compliance_level: top}}\n":                                                        `prompts.x.compliance_level: there is no compliance level "top"`,
		"server: {tokens: [{compliance_level: top}]}\n":                                                  `server.tokens[0].compliance_level: there is no compliance level "top"`,
		"web: {proxy: \"proxy.lan:3128\"}\n":                                                             "1:7: web.proxy: must be the URL of a proxy with http, https or socks5, such as http://proxy.lan:3128",
		"web: {user_agent: \"a\\nb\"}\n":                                                                 "1:7: web.user_agent: has characters that cannot be sent in a header",
		"linkedin: {base_url: \"ftp://x\"}\n":                                                            "1:12: linkedin.base_url: ",
		"anthropic: {base_url: x}\n":                                                                     "1:13: anthropic.base_url: ",
		"tools: {web_fetch: {denied_hosts: [a.com, 'a b']}}\n":                                           "1:43: tools.web_fetch.denied_hosts[1]: ",
		"sandbox: {private_hosts: [10/8]}\n":                                                             "1:27: sandbox.private_hosts[0]: ",
		"sandbox: {network: {allow: [a.org, '*']}}\n":                                                    "1:36: sandbox.network.allow[1]: for any host, write network: all",
		"sandbox: {network: {allow: ['https://a.org']}}\n":                                               "1:29: sandbox.network.allow[0]: ",
		"sandbox: {enforcement: required}\ntools: {read_file: {allowed_paths: [docs, 'src/**/*.go']}}\n": `2:43: tools.read_file.allowed_paths[1]: "src/**/*.go" has wildcards, and sandbox.enforcement: required holds commands to files and directories; write the directory src here`,
		"sandbox: {enforcement: required}\ntools: {read_file: {allowed_paths: ['*.go']}}\n":              `2:37: tools.read_file.allowed_paths[0]: "*.go" has wildcards, and sandbox.enforcement: required holds commands to files and directories; write the directory . here`,
		"sandbox: {presets: [git, gp]}\n":                                                                `1:26: sandbox.presets[1]: there is no preset "gp"; did you mean go?`,
	} {
		if _, err := load(t, yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

// TestCommandEnvironment reads variables for commands. What a reference stands for is a
// secret, other values are not.
func TestCommandEnvironment(t *testing.T) {
	t.Setenv("A_KEY", "key-of-a-registry")
	l, err := load(t, "sandbox: {env: {NODE_ENV: production, REGISTRY_KEY: \"${A_KEY}\"}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Policy().Settings.Env; got["REGISTRY_KEY"] != "key-of-a-registry" || got["NODE_ENV"] != "production" {
		t.Errorf("got %q", got)
	}
	if !slices.Equal(l.Secrets, []string{"key-of-a-registry"}) {
		t.Errorf("secrets %q", l.Secrets)
	}
	if shown := string(l.Show()); strings.Contains(shown, "key-of-a-registry") || !strings.Contains(shown, "production") {
		t.Errorf("shown as\n%s", shown)
	}
	for yaml, want := range map[string]string{
		"sandbox: {env: {BASH_ENV: /x}}\n": "1:17: sandbox.env.BASH_ENV: it changes what the text of a command means",
		"sandbox: {env: {a b: x}}\n":       `1:11: sandbox.env.a b: "a b" cannot be the name of a variable`,
		"sandbox: {env: {HOME: x}}\n":      "sandbox.env.HOME: it must be an absolute path",
	} {
		if _, err := load(t, yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

func TestCommandRules(t *testing.T) {
	l, err := load(t, "tools: {bash: {allowed_commands: [ls, {name: go, args_deny: [-exec]}], denied_commands: [{name: find, args_deny: [-delete]}]}}\n")
	if err != nil {
		t.Fatal(err)
	}
	bash := l.Policy().Tools["bash"]
	if want := []command.Rule{{Name: "ls"}, {Name: "go", ArgsDeny: []string{"-exec"}}}; !reflect.DeepEqual(bash.AllowedCommands, want) {
		t.Errorf("got %+v", bash.AllowedCommands)
	}
	if shown := string(l.Show()); !strings.Contains(shown, "- ls\n") || !strings.Contains(shown, "- name: go\n") {
		t.Errorf("shown as\n%s", shown)
	}
	for yaml, want := range map[string]string{
		"tools:\n  bash:\n    denied_commands:\n      - {args_deny: [x]}\n":           "4:9: tools.bash.denied_commands[0]: has no name",
		"tools:\n  bash:\n    denied_commands:\n      - {name: x, args_denied: []}\n": `unknown key "args_denied"`,
		"tools: {bash: {allowed_commands: [1]}}\n":                                    "must be text",
	} {
		if _, err := load(t, yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

// TestToolSections holds what tools declare to what the file can say of them.
func TestToolSections(t *testing.T) {
	l, err := load(t, `
tools:
  read_file: {search_parents: true, denied_paths: [x], timeout: 3, rename: read, description: Reads.}
  web_search: {private_hosts: ["searx.lan:8080"]}
  files__move: {groups: [staff]}
  mine: {enabled: false, colour: red}
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := declare.Of[files.ReadSettings](l.ToolSettings(), "read_file"); !got.SearchParents {
		t.Errorf("read_file gets %+v", got)
	}
	if got := declare.Of[files.WriteSettings](l.ToolSettings(), "write_file"); got.CreateDirs != nil {
		t.Errorf("write_file gets %+v", got)
	}
	if got := l.Tools["read_file"]; got.Timeout != 3*time.Second || got.Rename != "read" || got.Description != "Reads." {
		t.Errorf("read_file has %+v", got)
	}
	p := l.Policy()
	if !slices.Equal(p.Tools["read_file"].DeniedPaths, []string{"x"}) || !slices.Equal(p.Tools["web_search"].PrivateHosts, []string{"searx.lan:8080"}) {
		t.Errorf("policy %+v", p.Tools)
	}
	if got := l.Tools["mine"]; got.Enabled == nil || *got.Enabled {
		t.Errorf("mine has %+v", got)
	}
	known := []string{"read_file", "web_search"}
	warnings, err := l.CheckNames(config.Names{Tools: known})
	if err == nil || !strings.Contains(err.Error(), `:6:3: tools.mine: there is no tool "mine"`) || strings.Contains(err.Error(), "files__move") {
		t.Errorf("%v", err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], `toolserver.yaml:5:3: tools.files__move: there is no tool "files__move"`) {
		t.Errorf("warnings %q", warnings)
	}
	warnings, err = l.CheckNames(config.Names{Tools: append(known, "mine", "files__move")})
	if err == nil || !strings.Contains(err.Error(), ":6:26: tools.mine.colour: the tool mine has no such setting") || warnings != nil {
		t.Errorf("%v, %v", err, warnings)
	}
	for yaml, want := range map[string]string{
		"tools: {grep: {search_parents: true}}\n":            `1:16: unknown key "search_parents" in tools.grep`,
		"tools: {web_search: {private_hosts: [10/8]}}\n":     "1:38: tools.web_search.private_hosts[0]",
		"tools: {read_file: {private_hosts: [a]}}\n":         `unknown key "private_hosts" in tools.read_file`,
		"tools: {web_fetch: {allowed_hosts: ['*.a.com']}}\n": "1:37: tools.web_fetch.allowed_hosts[0]",
	} {
		if _, err := load(t, yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}

// TestStateDirectory checks where state is kept, and that nothing else gets there.
func TestStateDirectory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the places are those of XDG")
	}
	home := t.TempDir()
	for _, test := range []struct{ yaml, xdg, home, want string }{
		{"", "", home, filepath.Join(home, ".local", "state", "toolserver")},
		{"", "/xdg", home, "/xdg/toolserver"},
		{"", "relative", home, filepath.Join(home, ".local", "state", "toolserver")},
		{"", "", "", ""},
		{"state_directory: kept\n", "/xdg", home, "kept"},
	} {
		t.Setenv("XDG_STATE_HOME", test.xdg)
		t.Setenv("HOME", test.home)
		l, err := load(t, test.yaml)
		if err != nil {
			t.Fatal(err)
		}
		if test.want == "kept" {
			test.want = filepath.Join(filepath.Dir(l.File), "kept")
		}
		p := l.Policy()
		secret := slices.ContainsFunc(p.Own, func(o sandbox.OwnFile) bool { return o.Path == test.want && o.Secret })
		if p.StateDirectory != test.want || secret != (test.want != "") {
			t.Errorf("%+v: %q, secret %v", test, p.StateDirectory, secret)
		}
	}
}

// TestStateDirectoryAroundWork rejects a state directory that has all that tools work in.
func TestStateDirectoryAroundWork(t *testing.T) {
	for text, wrong := range map[string]bool{
		"state_directory: .\n":                                          true,
		"working_directory: .\nstate_directory: ..\n":                   true,
		"working_directory: work\nroots: [.]\nstate_directory: .\n":     true,
		"working_directory: work\nroots: [data]\nstate_directory: data": true,
		"working_directory: .\nstate_directory: work\n":                 false,
		"working_directory: work\nstate_directory: data\n":              false,
	} {
		dir := t.TempDir()
		t.Chdir(dir)
		file := filepath.Join(dir, "c.yaml")
		if err := errors.Join(os.Mkdir("work", 0o700), os.Mkdir("data", 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(config.Overrides{File: file})
		if (err != nil) != wrong || wrong && !(strings.Contains(err.Error(), "c.yaml:") && strings.Contains(err.Error(), "leave it out")) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestAgain refuses files that look as if their writer has not finished.
func TestAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const text = "working_directory: .\ntools:\n  bash:\n    denied_commands:\n      - rm\n      - shutdown\n"
	put(text)
	first, err := config.Load(config.Overrides{File: file})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ text, problem string }{
		{"", "the file is empty"},
		{"\n# to be written\n---\n", "the file is empty"},
		{strings.TrimSuffix(text, "\n"), "half-written"},
		{strings.TrimSuffix(text, "utdown\n"), "half-written"},
		{strings.TrimSuffix(text, "      - shutdown\n"), ""},
		{text + "errors: result", ""},
		{text, ""},
	} {
		put(tt.text)
		if _, err := first.Again(nil); tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%q: %v", tt.text, err)
		}
	}
}
