package clients_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolserver/toolserver/clients"
	"github.com/toolserver/toolserver/clients/edit"
	"github.com/toolserver/toolserver/osfile"
)

// machine is one of a system, with a fresh home directory and no programs.
func machine(t *testing.T, system string) clients.Machine {
	t.Helper()
	home := t.TempDir()
	return clients.Machine{
		OS: system, Home: home, Project: filepath.Join(home, "project"), Getenv: func(string) string { return "" },
		LookPath: func(string) (string, error) { return "", fs.ErrNotExist },
	}
}

func server(command string) clients.Server {
	return clients.Server{Name: "toolserver", Command: command, Args: []string{"serve", "--stdio", "/a b/$/é\""}}
}

// site returns the file of a client, with a text in it.
func site(c clients.Client, m clients.Machine, project bool, text string) (*clients.Site, error) {
	s, err := c.Site(m, project)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(s.File), 0o700); err != nil {
		return nil, err
	}
	return s, errors.Join(os.WriteFile(s.File, []byte(text), 0o640), os.Chmod(s.File, 0o640))
}

func mustSite(t *testing.T, c clients.Client, text string) *clients.Site {
	t.Helper()
	s, err := site(c, machine(t, "linux"), false, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func install(ctx context.Context, s *clients.Site, server clients.Server) (*clients.Change, error) {
	c, err := s.Plan(server)
	if err == nil {
		_, err = c.Apply(ctx)
	}
	return c, err
}

func mustInstall(t *testing.T, s *clients.Site, server clients.Server) {
	t.Helper()
	if _, err := install(t.Context(), s, server); err != nil {
		t.Fatalf("%s: %v", s.Client.Name, err)
	}
}

func uninstall(ctx context.Context, s *clients.Site) error {
	c, err := s.Removal("toolserver")
	if err == nil {
		_, err = c.Apply(ctx)
	}
	return err
}

// formatOf returns the format of a client's files.
func formatOf(c clients.Client) edit.Format { return edit.FormatOf(strings.Join(c.Files, " ")) }

// writable are the clients that have a file.
func writable() []clients.Client {
	return slices.DeleteFunc(clients.All(), func(c clients.Client) bool { return c.Files == nil })
}

// texts are files of people, with the section in the place of SECTION.
func texts(c clients.Client) map[string]string {
	key := c.Keys[len(c.Keys)-1][0]
	other := "\t\t\"other\": {\"command\": \"x\"}"
	switch {
	case formatOf(c) == edit.TOML:
		return map[string]string{
			"empty": "", "comments": "# a\nn = 9007199254740993 # b\nd = 2024-01-01\n", "CRLF": "a = 1\r\n[b]\r\nc = 'd'\r\n", "BOM": "\ufeffa = 1\n", "tabs": "[a]\n\tb = 1\n",
			"other servers": "[" + key + ".other]\ncommand = \"x\" # y\n\n# end\n", "ours older": "[" + key + ".toolserver]\ncommand = \"old\"\n\n[z]\n", "no newline": "a = 1",
		}
	case formatOf(c) == edit.YAML:
		return map[string]string{
			"empty": "", "comments": "# a\nversion: 1.10 # b\non: yes\nn: 9007199254740993\n", "CRLF": "a: 1\r\nb:\r\n  c: d\r\n", "BOM": "\ufeffa: 1\n", "no newline": "a: 1",
			"empty section": key + ":\n", "section in braces": key + ": " + map[bool]string{true: "[]", false: "{}"}[c.ID != ""] + " # x\nz: 1\n",
		}
	}
	return map[string]string{
		"empty": "", "object": "{}", "comments": "// a\n{\n  /* b */ \"c\": 1 // d\n}\n", "trailing commas": "{\n\t\"" + key + "\": {\n" + other + ",\n\t},\n}\n",
		"CRLF": "{\r\n  \"a\": 1\r\n}\r\n", "BOM": "\ufeff{\"a\": 1}", "tabs": "{\n\t\"a\": 1\n}", "big numbers": "{\"n\": 9007199254740993, \"f\": 1.10}",
		"other servers": "{\n\t\"" + key + "\": {\n" + other + "\n\t}\n}\n", "ours older": "{\n  \"" + key + "\": {\n    \"toolserver\": {\"command\": \"old\"},\n    \"z\": {}\n  }\n}\n",
	}
}

// TestEveryClient installs into files of each client, and takes the entry out again.
func TestEveryClient(t *testing.T) {
	var all sync.WaitGroup // which wait for the disk
	for _, c := range writable() {
		for _, project := range []bool{false, true} {
			if !project || c.Project != nil {
				m := machine(t, "linux")
				all.Go(func() {
					for name, text := range texts(c) {
						thereAndBack(t, c, m, project, name, text)
					}
				})
			}
		}
	}
	all.Wait()
}

func thereAndBack(t *testing.T, c clients.Client, m clients.Machine, project bool, name, text string) {
	s, err := site(c, m, project, text)
	if err != nil {
		t.Error(err)
		return
	}
	one := server("/opt/tool server/$ \"é")
	plan, err := install(t.Context(), s, one)
	if err != nil {
		t.Errorf("%s, %s: %v", c.Name, name, err)
		return
	}
	if older := name == "ours older"; older != plan.Differs {
		t.Errorf("%s, %s: differs is %v", c.Name, name, plan.Differs)
	}
	got, err := os.ReadFile(s.File)
	if err != nil || !plan.Differs && !within(strings.TrimPrefix(text, "\ufeff"), string(got)) && name != "section in braces" {
		t.Errorf("%s, %s: %v, or more than added:\n%s", c.Name, name, err, plan.Diff())
	}
	if info, err := os.Stat(s.File); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("%s, %s: %v, %v", c.Name, name, info.Mode(), err)
	}
	if again, err := s.Plan(one); err != nil || !again.None() || again.Differs {
		t.Errorf("%s, %s: installing again would change: %v\n%s", c.Name, name, err, again.Diff())
	}
	if err := uninstall(t.Context(), s); err != nil {
		t.Errorf("%s, %s: %v", c.Name, name, err)
	}
	backups, _ := filepath.Glob(s.File + ".toolserver-*")
	left, err := os.ReadFile(s.File)
	switch {
	case name == "ours older": // has no entry in what was there before
		if err != nil || bytes.Contains(left, []byte("old")) || len(backups) != 1 {
			t.Errorf("%s, %s: %v, %q, %v", c.Name, name, err, left, backups)
		}
		for _, backup := range backups {
			_ = os.Remove(backup)
		}
	case err != nil || string(left) != text || len(backups) > 0:
		t.Errorf("%s, %s: %v, %q became %q, left %v", c.Name, name, err, text, left, backups)
	}
}

// within reports whether all bytes of a text are in another, in their order.
func within(part, whole string) bool {
	for i := range len(whole) {
		if part != "" && part[0] == whole[i] {
			part = part[1:]
		}
	}
	return part == ""
}

// TestNoFile installs where there is neither a file nor its directory, and leaves no file.
func TestNoFile(t *testing.T) {
	for _, c := range writable() {
		for _, system := range []string{"linux", "darwin", "windows"} {
			s, err := c.Site(machine(t, system), false)
			if err != nil {
				t.Fatal(err)
			}
			mustInstall(t, s, server("/x"))
			if info, err := os.Stat(s.File); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Fatalf("%s: %v", c.Name, err)
			}
			if !s.Has("toolserver") || s.Has("other") {
				t.Errorf("%s: the entry is not there", c.Name)
			}
			if err := uninstall(t.Context(), s); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			if _, err := os.Stat(s.File); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: the file is left: %v", c.Name, err)
			}
		}
	}
}

// tree returns what is below a directory, as paths.
func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNothingLeft installs where there is no file, and where there is an empty directory for it: no other client is
// here then, and nothing is left when it is uninstalled.
func TestNothingLeft(t *testing.T) {
	for _, c := range writable() {
		for _, project := range []bool{false, true} {
			for _, there := range []bool{false, true} {
				m := machine(t, "linux")
				s, err := c.Site(m, project)
				if project && c.Project == nil {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if there {
					if err := os.MkdirAll(filepath.Dir(s.File), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				before := tree(t, m.Home)
				var here []string
				for _, c := range clients.All() {
					if c.Found(m) {
						here = append(here, c.Name)
					}
				}
				mustInstall(t, s, server("/x"))
				for _, other := range clients.All() {
					if other.Name != c.Name && other.Found(m) && !slices.Contains(here, other.Name) {
						t.Errorf("installing %s has made %s seem to be here", c.Name, other.Name)
					}
				}
				for range 2 {
					if err := uninstall(t.Context(), s); err != nil {
						t.Errorf("%s: %v", c.Name, err)
					}
				}
				if after := tree(t, m.Home); !slices.Equal(before, after) {
					t.Errorf("%s, project %v: %q became %q", c.Name, project, before, after)
				}
			}
		}
	}
}

// TestOthers finds entries where older versions of clients had them.
func TestOthers(t *testing.T) {
	for _, tt := range []struct{ client, first, other string }{
		{"cline", ".cline/data/settings/cline_mcp_settings.json", ".config/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
		{"antigravity", ".gemini/config/mcp_config.json", ".gemini/antigravity/mcp_config.json"},
		{"opencode", ".config/opencode/opencode.jsonc", ".config/opencode/opencode.json"},
	} {
		m := machine(t, "linux")
		s, err := client(t, tt.client).Site(m, false)
		if err != nil || s.File != filepath.Join(m.Home, tt.first) {
			t.Fatalf("%s: %s, %v", tt.client, s.File, err)
		}
		if found := s.Others("toolserver"); len(found) > 0 {
			t.Errorf("%s: %v", tt.client, found)
		}
		text, err := s.Snippet(server("/x"))
		file := filepath.Join(m.Home, tt.other)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		if found := s.Others("toolserver"); len(found) != 1 || found[0].File != file {
			t.Errorf("%s: %v", tt.client, found)
		} else if err := uninstall(t.Context(), found[0]); err != nil || len(s.Others("toolserver")) > 0 {
			t.Errorf("%s: %v", tt.client, err)
		}
	}
}

// TestVariables holds what a variable says over what is there.
func TestVariables(t *testing.T) {
	for _, tt := range []struct{ variable, value, want string }{
		{"", "", "~/.cline/data/settings/cline_mcp_settings.json"},
		{"CLINE_DIR", "/d", "/d/data/settings/cline_mcp_settings.json"},
		{"CLINE_DATA_DIR", "/d", "/d/settings/cline_mcp_settings.json"},
		{"CLINE_MCP_SETTINGS_PATH", "/d/x.json", "/d/x.json"},
		{"CLINE_DATA_DIR", "d", "~/.cline/data/settings/cline_mcp_settings.json"},
	} {
		if runtime.GOOS == "windows" {
			t.Skip("the paths are of Unix")
		}
		m := machine(t, "linux")
		m.Getenv = func(name string) string { return map[string]string{tt.variable: tt.value}[name] }
		c := client(t, "cline")
		if err := os.MkdirAll(filepath.Join(m.Home, ".cline", "data", "settings"), 0o700); err != nil {
			t.Fatal(err)
		}
		s, err := c.Site(m, false)
		if want := strings.Replace(tt.want, "~", m.Home, 1); err != nil || s.File != want {
			t.Errorf("%s=%s: %s, %v; want %s", tt.variable, tt.value, s.File, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range writable() {
		key := c.Keys[len(c.Keys)-1][0]
		bad := map[edit.Format][][2]string{
			edit.JSON: {{"{\n  \"a\": ]", "line 2, column 8"}, {"{\"" + key + "\": {},\n\"" + key + "\": {}}", "line 2, column 1: duplicate key"}, {"[]", "not an object"}},
			edit.TOML: {{"a = 1\nb = ", "line 2"}, {"a = 1\na = 2\n", "line 2"}},
			edit.YAML: {{"a: b\n c: d\n", "line 2"}, {key + ": 1\n" + key + ": 2\n", "already defined"}},
		}[formatOf(c)]
		for _, b := range bad {
			s := mustSite(t, c, b[0])
			if _, err := s.Plan(server("/x")); err == nil || !strings.Contains(err.Error(), b[1]) || !strings.Contains(err.Error(), s.File) {
				t.Errorf("%s, %q: %v", c.Name, b[0], err)
			}
			if plan, err := s.Removal("toolserver"); err == nil && !plan.None() {
				t.Errorf("%s, %q: would be changed", c.Name, b[0])
			}
			if left, _ := os.ReadFile(s.File); string(left) != b[0] {
				t.Errorf("%s, %q became %q", c.Name, b[0], left)
			}
		}
		s := mustSite(t, c, "")
		if err := os.Chmod(s.File, 0o444); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Plan(server("/x")); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s: a read-only file: %v", c.Name, err)
		}
	}
}

func TestSymlink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symlinks require a privilege on Windows")
	}
	for _, there := range []bool{true, false} {
		m := machine(t, "linux")
		c := client(t, "cursor")
		s, err := c.Site(m, false)
		if err != nil {
			t.Fatal(err)
		}
		real := filepath.Join(m.Home, "dotfiles", "mcp.json")
		for _, dir := range []string{filepath.Dir(real), filepath.Dir(s.File)} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if there {
			if err := os.WriteFile(real, []byte("{}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("../dotfiles/mcp.json", s.File); err != nil {
			t.Fatal(err)
		}
		mustInstall(t, s, server("/x"))
		if link, err := os.Readlink(s.File); err != nil || link != "../dotfiles/mcp.json" {
			t.Errorf("the link became %q, %v", link, err)
		}
		if text, err := os.ReadFile(real); err != nil || !bytes.Contains(text, []byte("/x")) {
			t.Errorf("%s, %v", text, err)
		}
	}
}

func client(t *testing.T, name string) clients.Client {
	t.Helper()
	all := clients.All()
	i := slices.IndexFunc(all, func(c clients.Client) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return all[i]
}

// TestTogether installs entries of many names at the same time.
func TestTogether(t *testing.T) {
	c := client(t, "codex")
	s := mustSite(t, c, "a = 1\n")
	var all sync.WaitGroup
	const n = 8
	for i := range n {
		all.Go(func() {
			one := server("/x")
			one.Name = fmt.Sprint("server-", i)
			for {
				plan, err := s.Plan(one)
				if err == nil {
					_, err = plan.Apply(t.Context())
				}
				if err == nil {
					return
				}
				if !errors.Is(err, osfile.ErrChanging) {
					t.Error(err)
					return
				}
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	for i := range n {
		if name := fmt.Sprint("server-", i); !s.Has(name) {
			t.Errorf("%s is lost", name)
		}
	}
}

// TestOwnProgram leaves the file to the client's own program while that is there.
func TestOwnProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	m := machine(t, "linux")
	program := filepath.Join(m.Home, "claude")
	m.LookPath = func(string) (string, error) { return program, nil }
	s, err := site(client(t, "claude-code"), m, false, "{}")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ script, file, problem string }{
		{"exit 0", "{}", "did not change"},
		{"echo not signed in >&2; exit 3", "{}", "exit status 3: not signed in"},
		{`[ "$1 $2 $3 $4 $5" = "mcp add-json -s user toolserver" ] && printf '{"mcpServers": {"%s": %s}}' "$5" "$6" >"$(dirname "$0")/.claude.json"`, `{"mcpServers": {"toolserver": {"type":"stdio","command":"/x","args":["serve","--stdio","/a b/$/é\""]}}}`, ""},
	} {
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := install(t.Context(), s, server("/x"))
		if (tt.problem == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s: %v", tt.script, err)
		}
		if text, err := os.ReadFile(s.File); err != nil || string(text) != tt.file {
			t.Errorf("%s: %s, %v", tt.script, text, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	for _, c := range writable() {
		s := mustSite(t, c, "")
		one := server("/x")
		one.Env = []clients.Variable{{Name: "KEY"}}
		text, err := s.Snippet(one)
		if refers := c.Shape.Reference != "" || c.Shape.EnvNames != ""; refers != (err == nil) || refers && !bytes.Contains(text, []byte("KEY")) {
			t.Errorf("%s: %s, %v", c.Name, text, err)
		}
		one.Env[0] = clients.Variable{Name: "KEY", Value: "a$b \"q\"", Given: true}
		if _, err := s.Plan(one); (c.Shape.Reference == "$NAME") != (err != nil) || err != nil && (strings.Contains(err.Error(), "a$b") || !strings.Contains(err.Error(), "the value of KEY")) {
			t.Errorf("%s: a value with what it takes for a variable: %v", c.Name, err)
		}
		one.Env[0].Value = "a$ \"q\""
		mustInstall(t, s, one)
		if info, err := os.Stat(s.File); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", c.Name, info.Mode(), err)
		}
		one.Command = "/opt/${x}/$y/{env:z}"
		if _, err := s.Snippet(one); slices.Contains([]string{"$NAME", "${NAME}", "${NAME:-}", "{env:NAME}"}, c.Shape.Reference) != (err != nil) {
			t.Errorf("%s: a path with what it takes for a variable: %v", c.Name, err)
		}
	}
}

// TestPackagedDesktop holds the choice of the file on Windows, where the app may be a package.
func TestPackagedDesktop(t *testing.T) {
	const file = "claude_desktop_config.json"
	for _, tt := range []struct {
		name  string
		files []string // below the home directory; a directory ends with a slash
		want  string   // empty if it is an error
	}{
		{"nothing", nil, "AppData/Roaming/Claude/" + file},
		{"classic", []string{"AppData/Roaming/Claude/" + file}, "AppData/Roaming/Claude/" + file},
		{"package", []string{"AppData/Local/Packages/Claude_a/"}, "AppData/Local/Packages/Claude_a/LocalCache/Roaming/Claude/" + file},
		{"package and classic", []string{"AppData/Local/Packages/Claude_a/", "AppData/Roaming/Claude/" + file}, "AppData/Roaming/Claude/" + file},
		{"both", []string{"AppData/Local/Packages/Claude_a/LocalCache/Roaming/Claude/" + file, "AppData/Roaming/Claude/" + file}, "AppData/Local/Packages/Claude_a/LocalCache/Roaming/Claude/" + file},
		{"two packages", []string{"AppData/Local/Packages/Claude_a/", "AppData/Local/Packages/Claude_b/"}, ""},
	} {
		m := machine(t, "windows")
		for _, f := range tt.files {
			path := filepath.Join(m.Home, f)
			if strings.HasSuffix(f, "/") {
				path = filepath.Join(path, "x")
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(f, "/") {
				if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		s, err := client(t, "claude-desktop").Site(m, false)
		if tt.want == "" && err == nil || tt.want != "" && (err != nil || s.File != filepath.Join(m.Home, tt.want)) {
			t.Errorf("%s: %+v, %v", tt.name, s, err)
		}
	}
}
