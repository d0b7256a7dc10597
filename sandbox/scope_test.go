//go:build unix

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// TestPublic finds what every user may read, and as few paths for that as there can be.
func TestPublic(t *testing.T) {
	home, _ := newHomes(t, map[string]string{
		"etc/a": "", "etc/closed": "", "etc/whole/x": "", "etc/whole/more/x": "", "etc/part/x": "", "etc/part/closed": "", "etc/part/all/x": "",
		"etc/private/x": "", "etc/group": "",
	})
	etc := filepath.Join(home, "etc")
	for name, mode := range map[string]os.FileMode{"closed": 0o600, "part/closed": 0o640, "private": 0o700, "group": 0o640} {
		if err := os.Chmod(filepath.Join(etc, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("closed", filepath.Join(etc, "link")); err != nil {
		t.Fatal(err)
	}
	paths, whole := public(etc, []string{"/before"}, readables("secret"))
	var want []string
	for _, name := range []string{"a", "part/all", "part/x", "whole"} {
		want = append(want, filepath.Join(etc, name))
	}
	if slices.Sort(paths); whole || !slices.Equal(paths, append([]string{"/before"}, want...)) {
		t.Errorf("got %q, %v; want %q", paths, whole, want)
	}
	if paths, whole := public(filepath.Join(etc, "whole"), nil, readables("secret")); !whole || len(paths) != 1 {
		t.Errorf("whole: %q, %v", paths, whole)
	}
	if paths, _ := public("/etc", nil, readables("secret")); slices.ContainsFunc(paths, func(path string) bool {
		return path == "/etc" && os.Geteuid() == 0 || strings.HasPrefix(path, "/etc/shadow") || path == "/etc/ssl"
	}) && os.Geteuid() == 0 {
		t.Errorf("/etc: %q", paths)
	}
}

// TestReadWithoutList says what commands of a policy without a list for reading read, and
// that a list replaces it.
func TestReadWithoutList(t *testing.T) {
	home, work := newHomes(t, map[string]string{".vimrc": "", "letter": "", "tool/bin/x": "#!/bin/sh\n", "tool/lib/y": "", "bin/z": "#!WORK/planted\n"})
	for _, file := range []string{"tool/bin/x", "bin/z"} {
		if err := os.Chmod(filepath.Join(home, file), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", strings.Join([]string{filepath.Join(home, "tool/bin"), filepath.Join(home, "bin"), work, "/usr/bin"}, ":"))
	spec := func(p ToolPolicy, presets []string) (read []string, list bool) {
		policy := Policy{WorkingDirectory: work, Tools: map[string]ToolPolicy{"read_file": p}, Settings: Settings{Presets: presets}, Owners: []Owner{
			{Tool: "bash", Runs: "bash", Reads: "read_file", Writes: "write_file"}, {Tool: "read_file", Reads: "read_file"}, {Tool: "write_file", Writes: "write_file"},
		}}
		s, err := New(policy, NewKernel(nil))
		if err != nil {
			t.Fatal(err)
		}
		got := s.commands["bash"].confinement.filesSpec()
		return got.Read, got.List
	}
	for _, test := range []struct {
		policy  ToolPolicy
		presets []string
		want    map[string]bool // below home
		list    bool
	}{
		{ToolPolicy{}, nil, map[string]bool{".vimrc": true, "tool": true, "bin": true, "letter": false, "": false, ".gitconfig": true}, true},
		{ToolPolicy{}, []string{}, map[string]bool{".vimrc": false, "tool": true, ".gitconfig": false}, true},
		{ToolPolicy{AllowedPaths: []string{"."}}, nil, map[string]bool{".vimrc": false, "tool": false, "bin": false, ".gitconfig": true}, false},
	} {
		read, list := spec(test.policy, test.presets)
		for name, want := range test.want {
			if slices.Contains(read, filepath.Join(home, name)) != want {
				t.Errorf("%+v: %q: want %v in %q", test.policy, name, want, read)
			}
		}
		if list != test.list || slices.Contains(read, "/") || !slices.Contains(read, work) {
			t.Errorf("%+v: %v, %q", test.policy, list, read)
		}
	}
	if read, _ := spec(ToolPolicy{AllowedPaths: []string{"/"}}, nil); !slices.Contains(read, "/") {
		t.Errorf("with a list of everything: %q", read)
	}
}

// TestPlantedLinks has links on the way to what commands read that commands could have
// made: they open nothing.
func TestPlantedLinks(t *testing.T) {
	home, work := newHomes(t, map[string]string{"private/letter": "", "bin/x": "", "git/HEAD": "", ".local/bin/x": ""})
	for link, target := range map[string]string{
		home + "/.vimrc": work + "/vimrc", work + "/vimrc": home + "/private/letter",
		home + "/.gitconfig": work + "/gitconfig", work + "/gitconfig": home + "/private/letter",
		home + "/bin/y": work + "/y", work + "/y": home + "/private/letter",
		home + "/linked": work + "/bin", work + "/bin": home + "/private",
		work + "/.git": home + "/git", home + "/.tmux.conf": home + "/loop", home + "/loop": home + "/.tmux.conf",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", strings.Join([]string{home + "/bin", home + "/linked", work + "/bin", home + "/.local/bin", "/usr/bin"}, ":"))
	policy := Policy{WorkingDirectory: work, Owners: []Owner{
		{Tool: "bash", Runs: "bash", Reads: "read_file", Writes: "write_file"}, {Tool: "read_file", Reads: "read_file"}, {Tool: "write_file", Writes: "write_file"},
	}}
	s, err := New(policy, NewKernel(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range s.commands["bash"].confinement.filesSpec().Read {
		for real, what := range map[string]string{home + "/private": "a directory", home + "/private/letter": "a file", home + "/git": "a repository", home: "the home directory"} {
			if pathguard.Real(path) == real {
				t.Errorf("%s opens %s", path, what)
			}
		}
	}
}
