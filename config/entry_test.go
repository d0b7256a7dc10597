package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config/yamledit"
	"github.com/toolserver/toolserver/upstream"
)

func TestEditEntries(t *testing.T) {
	n := Entry{"n", upstream.Settings{Command: []string{"prog"}, Args: []string{"a b", "-x"}}}
	const added = "  n:\n    command: prog\n    args: [a b, -x]\n"
	for _, test := range []struct {
		name, text string
		remove     string // instead of adding n
		replace    bool
		want       string // or, with !, a part of the error
	}{
		{name: "nothing", want: "mcp_servers:\n" + added},
		{name: "only comments", text: "# mine\n", want: "# mine\n\nmcp_servers:\n" + added},
		{name: "no section", text: "limits: {}  # l", want: "limits: {}  # l\n\nmcp_servers:\n" + added},
		{name: "empty section", text: "mcp_servers: # s\n  # off: {}\nlimits: {}\n", want: "mcp_servers: # s\n" + added + "  # off: {}\nlimits: {}\n"},
		{name: "braces", text: "mcp_servers: {}\n  # off\n\n# l\nlimits: {}\n", want: "mcp_servers:\n" + added + "  # off\n\n# l\nlimits: {}\n"},
		{name: "braces with entries", text: "mcp_servers: {a: {url: \"http://x.example\"}} # s\n", want: "mcp_servers: # s\n  a: {url: \"http://x.example\"}\n" + added},
		{
			name: "section", text: "mcp_servers:\n  a: {command: x} # a\n\n  # b is off\n\n# l\nlimits: {}\n",
			want: "mcp_servers:\n  a: {command: x} # a\n" + added + "\n  # b is off\n\n# l\nlimits: {}\n",
		},
		{
			name: "other indentation", text: "a: &x 1\nmcp_servers:\n    a:\n        env:\n            T: |\n                # no comment\n        # of a\n",
			want: "a: &x 1\nmcp_servers:\n    a:\n        env:\n            T: |\n                # no comment\n        # of a\n    n:\n      command: prog\n      args: [a b, -x]\n",
		},
		{name: "lines of windows", text: "limits: {}\r\nmcp_servers:\r\n  a: {}\r\n", want: strings.ReplaceAll("limits: {}\nmcp_servers:\n  a: {}\n"+added, "\n", "\r\n")},
		{name: "exists", text: "mcp_servers: {n: {}}\n", want: "!exists already"},
		{name: "replace", replace: true, text: "mcp_servers:\n  # n\n  n:\n    url: x\n    # more\n  # z\n  z: {}\n", want: "mcp_servers:\n  # n\n" + added + "  # z\n  z: {}\n"},
		{name: "replace in braces", replace: true, text: "mcp_servers: {n: {}, z: {}}\n", want: "mcp_servers:\n" + added + "  z: {}\n"},
		{name: "file in braces", text: "{mcp_servers: {}}\n", want: "!braces"},
		{name: "alias", text: "a: &a {}\nmcp_servers: *a\n", want: "!not a mapping"},
		{name: "list", text: "mcp_servers: [1]\n", want: "!not a mapping"},
		{name: "remove one", remove: "a", text: "mcp_servers:\n  # a\n  a:\n    command: x\n\n  b: {}\n", want: "mcp_servers:\n  # a\n\n  b: {}\n"},
		{name: "remove the last", remove: "b", text: "mcp_servers:\n  a: {}\n  b:\n    command: [x,\n  y]\n# l\nlimits: {}\n", want: "mcp_servers:\n  a: {}\n# l\nlimits: {}\n"},
		{name: "remove the only", remove: "a", text: "mcp_servers: # s\n  a: {}\nlimits: {}\n", want: "mcp_servers: {} # s\nlimits: {}\n"},
		{name: "remove in braces", remove: "a", text: "mcp_servers: {a: {}, b: {}}\n", want: "mcp_servers:\n  b: {}\n"},
		{name: "remove none", remove: "x", text: "mcp_servers: {}\n", want: "!there is no mcp_servers.x"},
		{name: "remove from nothing", remove: "x", want: "!there is no mcp_servers.x"},
	} {
		got, err := []byte(nil), error(nil)
		changed := test.remove
		if changed == "" {
			changed = "n"
			got, err = setEntry([]byte(test.text), n, test.replace)
		} else {
			got, err = yamledit.Remove([]byte(test.text), section, test.remove)
		}
		if err == nil {
			err = onlyEntries([]byte(test.text), got, section, []string{changed})
		}
		if part, wrong := strings.CutPrefix(test.want, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v; want an error with %q", test.name, err, part)
			}
		} else if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", test.name, err, got, test.want)
		}
	}
	if onlyEntries([]byte("limits: {queue_wait: 1s}\nmcp_servers: {n: {}}\n"), []byte("mcp_servers: {n: {}}\n"), section, []string{"n"}) == nil {
		t.Error("the loss of another setting is not noticed")
	}
}

func TestEditedFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "none"))
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("TOOLSERVER_CONFIG", "")
	entry := func(name, url string) []Entry { return []Entry{{name, upstream.Settings{URL: url}}} }
	text := func(file string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	// A new file is used at once, and stays so.
	for _, name := range []string{"a", "b"} {
		done, err := AddServers(Overrides{}, entry(name, "https://example.com/mcp"), false)
		if err != nil || !done.Trusted || done.Created != (name == "a") {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	l, err := Load(Overrides{})
	if err != nil || len(l.Servers) != 2 {
		t.Fatalf("%v, %v", l, err)
	}
	// What is wrong changes nothing.
	before := text("toolserver.yaml")
	for _, wrong := range []Entry{
		{"c", upstream.Settings{URL: "nowhere"}}, {"c", upstream.Settings{}}, {"c/d", upstream.Settings{URL: "https://example.com"}},
		{"c", upstream.Settings{URL: "https://example.com", Headers: map[string]string{"X": "${NO_SUCH_VARIABLE}"}}},
	} {
		if _, err := AddServers(Overrides{}, []Entry{entry("ok", "https://example.com")[0], wrong}, false); err == nil || text("toolserver.yaml") != before {
			t.Errorf("%v is added: %v", wrong, err)
		}
	}
	// A file that nobody trusts is not edited.
	if err := os.WriteFile("toolserver.yaml", []byte(before+"# x\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod("toolserver.yaml", 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := RemoveServer(Overrides{}, "a"); err == nil || !strings.Contains(err.Error(), "toolserver trust") {
		t.Errorf("an untrusted file is edited: %v", err)
	}
	// A link stays one, and a file keeps its mode.
	if err := os.Symlink("toolserver.yaml", "link.yaml"); err != nil {
		t.Skip(err)
	}
	if _, err := RemoveServer(Overrides{File: "link.yaml"}, "a"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat("toolserver.yaml")
	if link, _ := os.Readlink("link.yaml"); err != nil || link == "" || info.Mode().Perm() != 0o640 || strings.Contains(text("toolserver.yaml"), "  a:") {
		t.Errorf("%q, %v, %v\n%s", link, info.Mode(), err, text("toolserver.yaml"))
	}
}
