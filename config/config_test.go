package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"toolserver/config"
	"toolserver/sandbox/command"
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
	if got := l.Policy().Tools["write_file"].AllowedPaths; !slices.Equal(got, []string{"/tmp", filepath.Join(dir, "output")}) {
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

// TestFind checks the order in which files are looked for.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv("TOOLSERVER_CONFIG", "")
	name := func() string {
		t.Helper()
		l, err := config.Load(config.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		return l.Server.Name
	}
	write := func(path, name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("server: {name: "+name+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := name(); got != "toolserver" {
		t.Errorf("no file: %s", got)
	}
	user, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ path, name string }{{filepath.Join(user, "toolserver", "config.yaml"), "user"}, {"toolserver.yaml", "here"}, {"env.yaml", "env"}} {
		write(step.path, step.name)
		if step.name == "env" {
			t.Setenv("TOOLSERVER_CONFIG", step.path)
		}
		if got := name(); got != step.name {
			t.Errorf("with %s: %s", step.path, got)
		}
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
		"sandbox: {enforcement: strict}\n":         `1:24: sandbox.enforcement must be required, best_effort or parse_only`,
		"sandbox: {network: off}\n":                "1:20: sandbox.network",
		"sandbox: {limits: {memory: 10M}}\n":       "1:28: sandbox.limits.memory",
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
