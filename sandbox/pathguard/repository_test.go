package pathguard_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// Nothing written makes a repository of git, whatever it is called, that runs a program: not
// its configuration and hooks where it is one, and not what makes it one beside those.
func TestRepositories(t *testing.T) {
	const evil, harmless = "[core]\n\tfsmonitor = touch x\n", "[user]\n\tname = a\n"
	for name, tt := range map[string]struct {
		there   map[string]string // files, or directories that end with a slash
		path    string            // is written, or made if it ends with a slash
		content string
		allowed bool
	}{
		"configuration":              {map[string]string{"r/HEAD": "", "r/objects/": "", "r/refs/": ""}, "r/config", harmless, false},
		"by two marks":               {map[string]string{"r/objects/": "", "r/refs/": ""}, "r/config.worktree", harmless, false},
		"by commondir":               {map[string]string{"r/commondir": ".."}, "r/config", harmless, false},
		"hook":                       {map[string]string{"r/HEAD": ""}, "r/hooks/pre-commit", "", false},
		"below a hook":               {map[string]string{"r/HEAD": "", "r/hooks/": ""}, "r/hooks/d/x", "", false},
		"attributes":                 {map[string]string{"r/HEAD": "", "r/info/": ""}, "r/info/attributes", "", false},
		"alternates":                 {map[string]string{"r/HEAD": "", "r/objects/info/": ""}, "r/objects/info/alternates", "", false},
		"head":                       {map[string]string{"r/config": evil}, "r/HEAD", "ref: x", false},
		"head beside hooks":          {map[string]string{"r/hooks/post-index-change": ""}, "r/HEAD", "ref: x", false},
		"head beside samples":        {map[string]string{"r/hooks/x.sample": "", "r/config": harmless}, "r/HEAD", "ref: x", true},
		"refs":                       {map[string]string{"r/objects/": "", "r/config": evil}, "r/refs/", "", false},
		"refs on the way":            {map[string]string{"r/objects/": "", "r/config": evil}, "r/refs/heads/x", "", false},
		"refs alone":                 {map[string]string{"r/config": evil}, "r/refs/", "", true},
		"directory of that name":     {map[string]string{"r/config/x.yaml": "", "r/objects/": ""}, "r/refs/a", "", true},
		"configuration of a program": {map[string]string{"r/x": ""}, "r/config", "a: b", true},
		"objects of a program":       {map[string]string{"src/x": ""}, "src/objects/a", "", true},
		"an object":                  {map[string]string{"r/HEAD": "", "r/objects/": "", "r/refs/": ""}, "r/objects/aa/bb", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range tt.there {
				path := filepath.Join(dir, file)
				err := os.MkdirAll(filepath.Dir(path), 0o755)
				if filepath.Base(file)+"/" == file[len(file)-len(filepath.Base(file))-1:] {
					err = errors.Join(err, os.MkdirAll(path, 0o755))
				} else {
					err = errors.Join(err, os.WriteFile(path, []byte(text), 0o644))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			var names []pathguard.Name
			for _, n := range []string{".git/config", ".git/hooks", ".git/info/attributes", ".git/objects/info/alternates"} {
				names = append(names, pathguard.Name{Pattern: n})
			}
			g, err := pathguard.New(dir, pathguard.Rules{Allow: []string{dir}, Protect: pathguard.Protection{
				Names: names, Workspaces: []string{dir}, Repositories: true, Lock: filepath.Join(t.TempDir(), "state/lock"),
			}})
			if err != nil {
				t.Fatal(err)
			}
			write := func(path string) error {
				_, err := g.Replace(path, []byte(tt.content), pathguard.ReplaceOptions{CreateDirs: true})
				return err
			}
			if tt.path[len(tt.path)-1] == '/' {
				write = func(path string) error { _, err := g.MakeDir(path); return err }
			}
			wrong, denied := errors.AsType[*pathguard.Error](write(tt.path))
			if denied == tt.allowed || denied && wrong.Kind != pathguard.KindDenied {
				t.Errorf("writing %s: %v", tt.path, wrong)
			}
			if _, err := os.Lstat(filepath.Join(dir, tt.path)); (err == nil) != tt.allowed {
				t.Errorf("%s is there: %t", tt.path, err == nil)
			}
		})
	}
}
