package sandbox

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
)

func TestPathLists(t *testing.T) {
	p := Policy{Owners: owners, WorkingDirectory: "/w", Roots: []string{"/r"}, Tools: map[string]ToolPolicy{
		"write_file": {AllowedPaths: []string{"/out"}, DeniedPaths: []string{"/etc"}},
		"edit_file":  {AllowedPaths: []string{"/edit"}, DeniedPaths: []string{"/usr", "/etc"}},
		"read_file":  {DeniedPaths: []string{"/w/.env"}},
		"grep":       {AllowedPaths: []string{}},
	}}
	for _, test := range []struct {
		use         use
		tool        string
		allow, deny []string
	}{
		{writing, "write_file", []string{"/out"}, []string{"/etc"}},
		{writing, "append_file", []string{"/out"}, []string{"/etc"}},
		{writing, "edit_file", []string{"/edit"}, []string{"/etc", "/usr"}},
		{reading, "read_file", []string{"/w", "/r"}, []string{"/w/.env"}},
		{reading, "search_files", []string{"/w", "/r"}, []string{"/w/.env"}},
		{reading, "grep", []string{}, []string{"/w/.env"}},
		{reading, "edit_file", []string{"/w", "/r"}, []string{"/w/.env"}},
		{writing, "bash", []string{"/out"}, []string{"/etc"}},
	} {
		allow, deny := p.pathLists(test.use, p.owner(test.tool))
		if !slices.Equal(allow, test.allow) || !slices.Equal(deny, test.deny) {
			t.Errorf("%s: got %v, %v; want %v, %v", test.tool, allow, deny, test.allow, test.deny)
		}
	}
}

func TestCommandLists(t *testing.T) {
	p := Policy{Owners: owners, Tools: map[string]ToolPolicy{
		"bash":            {DeniedCommands: command.Rules("sudo"), InlineCode: "allow"},
		"execute_command": {AllowedCommands: command.Rules("ls"), DeniedCommands: command.Rules("rm"), OpaqueScripts: "deny"},
	}}
	for _, tool := range []string{"bash", "execute_command"} {
		got := p.commandLists(p.owner(tool))
		if !reflect.DeepEqual(got.AllowedCommands, command.Rules("ls")) || len(got.DeniedCommands) != 2 || got.InlineCode != "allow" || got.OpaqueScripts != "deny" {
			t.Errorf("%s: %+v", tool, got)
		}
	}
	own := Policy{Owners: owners, Tools: map[string]ToolPolicy{"bash": {AllowedCommands: command.Rules()}, "execute_command": {AllowedCommands: command.Rules("ls")}}}
	if got := own.commandLists(own.owner("bash")); got.AllowedCommands == nil || len(got.AllowedCommands) != 0 {
		t.Errorf("an empty list became %v", got.AllowedCommands)
	}
	if got := (Policy{Owners: owners}).commandLists(owners[7]); got.AllowedCommands != nil {
		t.Errorf("no list became %v", got.AllowedCommands)
	}
}

// TestSettings holds which settings an owner has to what it declares.
func TestSettings(t *testing.T) {
	const paths, commands, hosts = "allowed_paths denied_paths", "allowed_commands denied_commands exec_paths inline_code opaque_scripts", "allowed_hosts denied_hosts"
	for tool, want := range map[string]string{
		"read_file": paths + " hardlinks", "grep": paths, "write_file": paths + " hardlinks", "edit_file": paths,
		"bash": commands, "execute_command": commands, "web_fetch": hosts + " private_hosts", "jobs": "private_hosts", "echo": "", "unknown": "",
	} {
		var got []string
		for _, f := range (Policy{Owners: owners}).owner(tool).Settings() {
			got = append(got, f.Tag.Get("yaml"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %v", tool, got)
		}
	}
}

// TestUndeclared asks for what a tool does not declare.
// TestWith lifts a policy for one call: for all others it stays as it is.
func TestWith(t *testing.T) {
	s := newSandbox(t, Policy{WorkingDirectory: workspace(t)})
	more, err := s.For("bash").Commands().With([]string{"true"}, []string{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if v, _, err := more.Decide(CommandRequest{Command: "true"}); err != nil || !v.Allowed {
		t.Errorf("the program: %+v, %v", v, err)
	}
	if len(s.policy.Roots) > 0 {
		t.Errorf("what was lifted for one call is in the policy of all: %q", s.policy.Roots)
	}
}

func TestUndeclared(t *testing.T) {
	dir := workspace(t)
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, Policy{WorkingDirectory: dir})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") }))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"echo", "unknown"} {
		c := s.For(tool)
		if f, err := c.Reader().Open("a"); err == nil {
			f.Close()
			t.Errorf("%s reads", tool)
		}
		if err := c.Writer().Append("a", nil); err == nil {
			t.Errorf("%s writes", tool)
		}
		if v, _, err := c.Commands().Decide(CommandRequest{Command: "true"}); err == nil || v.Allowed {
			t.Errorf("%s runs commands", tool)
		}
		if err := c.Fetcher().CheckURL(t.Context(), u); err == nil {
			t.Errorf("%s may fetch", tool)
		}
		for _, target := range []string{srv.URL, "https://example.com/"} {
			if res, err := c.Fetcher().Client().Get(target); err == nil {
				res.Body.Close()
				t.Errorf("%s fetches", tool)
			}
		}
	}
	if err := s.For("grep").Writer().Append("a", nil); err == nil {
		t.Error("a reader writes")
	}
}
