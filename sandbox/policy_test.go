package sandbox

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"toolserver/sandbox/command"
)

func TestPathLists(t *testing.T) {
	p := Policy{WorkingDirectory: "/w", Roots: []string{"/r"}, Tools: map[string]ToolPolicy{
		"write_file": {AllowedPaths: []string{"/out"}, DeniedPaths: []string{"/etc"}},
		"edit_file":  {AllowedPaths: []string{"/edit"}, DeniedPaths: []string{"/usr", "/etc"}},
		"read_file":  {DeniedPaths: []string{"/w/.env"}},
		"grep":       {AllowedPaths: []string{}},
	}}
	for _, test := range []struct {
		family      []string
		tool        string
		allow, deny []string
	}{
		{writers, "write_file", []string{"/out"}, []string{"/etc"}},
		{writers, "append_file", []string{"/out"}, []string{"/etc"}},
		{writers, "edit_file", []string{"/edit"}, []string{"/etc", "/usr"}},
		{readers, "read_file", []string{"/w", "/r"}, []string{"/w/.env"}},
		{readers, "search_files", []string{"/w", "/r"}, []string{"/w/.env"}},
		{readers, "grep", []string{}, []string{"/w/.env"}},
	} {
		allow, deny := p.pathLists(test.family, test.tool)
		if !slices.Equal(allow, test.allow) || !slices.Equal(deny, test.deny) {
			t.Errorf("%s: got %v, %v; want %v, %v", test.tool, allow, deny, test.allow, test.deny)
		}
	}
}

func TestCommandLists(t *testing.T) {
	p := Policy{Tools: map[string]ToolPolicy{
		"bash":            {DeniedCommands: command.Rules("sudo"), InlineCode: "allow"},
		"execute_command": {AllowedCommands: command.Rules("ls"), DeniedCommands: command.Rules("rm"), OpaqueScripts: "deny"},
	}}
	for _, tool := range commands {
		got := p.commandLists(tool)
		if !reflect.DeepEqual(got.AllowedCommands, command.Rules("ls")) || len(got.DeniedCommands) != 2 || got.InlineCode != "allow" || got.OpaqueScripts != "deny" {
			t.Errorf("%s: %+v", tool, got)
		}
	}
	own := Policy{Tools: map[string]ToolPolicy{"bash": {AllowedCommands: command.Rules()}, "execute_command": {AllowedCommands: command.Rules("ls")}}}
	if got := own.commandLists("bash"); got.AllowedCommands == nil || len(got.AllowedCommands) != 0 {
		t.Errorf("an empty list became %v", got.AllowedCommands)
	}
	if got := (Policy{}).commandLists("bash"); got.AllowedCommands != nil {
		t.Errorf("no list became %v", got.AllowedCommands)
	}
}

func TestExplain(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := Policy{WorkingDirectory: dir, Tools: map[string]ToolPolicy{
		"bash":      {DeniedCommands: command.Rules("rm")},
		"read_file": {DeniedPaths: []string{filepath.Join(dir, "secret")}},
		"web_fetch": {DeniedHosts: []string{"example.org"}},
	}}
	files, err := NewFiles(p)
	if err != nil {
		t.Fatal(err)
	}
	commands, err := NewCommands(p, files, newKernel(t))
	if err != nil {
		t.Fatal(err)
	}
	network, err := NewNetwork(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tool    string
		args    map[string]any
		allowed bool
		rule    string
	}{
		{"read_file", map[string]any{"path": "a"}, true, dir},
		{"grep", map[string]any{}, true, dir},
		{"read_file", map[string]any{"path": "secret"}, false, filepath.Join(dir, "secret")},
		{"write_file", map[string]any{"path": "new"}, true, dir},
		{"write_file", map[string]any{"path": "/etc/passwd"}, false, ""},
		{"bash", map[string]any{"command": "ls"}, true, ""},
		{"bash", map[string]any{"command": "ls && rm x"}, false, "denied: rm"},
		{"execute_command", map[string]any{"command": "rm x"}, false, "denied: rm"},
		{"web_fetch", map[string]any{"url": "https://example.com/"}, true, ""},
		{"web_fetch", map[string]any{"url": "https://a.example.org/"}, false, "tools.web_fetch.denied_hosts"},
		{"web_fetch", map[string]any{"url": "http://0x7f.1/"}, false, "network.loopback"},
	} {
		e, err := Explain(files, commands, network, test.tool, test.args)
		if err != nil || e.Allowed != test.allowed || e.Rule != test.rule || e.Reason == "" {
			t.Errorf("%s %v: %+v, %v", test.tool, test.args, e, err)
		}
	}
	if _, err := Explain(files, commands, network, "echo", nil); err == nil {
		t.Error("there is a rule about echo")
	}
}
