//go:build unix

package pathguard_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// row is a case of testdata/paths.jsonl; ${ROOT} is a fresh directory.
type row struct {
	ID, Policy, Op, Path, Expected, Technique string
	Setup                                     []string
}

var common = []string{
	"dir allowed/sub", "file allowed/a.txt ok", "file allowed/.env S=1", "file allowed/secret/k.txt K",
	"file outside.txt OUT", "file allowed-evil/x.txt EVIL", "file out/o.txt OUT",
}

func TestCorpus(t *testing.T) {
	f, err := os.Open("testdata/paths.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []row
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if len(rows) < 70 {
		t.Fatalf("only %d rows", len(rows))
	}
	everyWay(t, func(t *testing.T, build constructor) {
		for _, r := range rows {
			t.Run(r.ID, func(t *testing.T) { r.run(t, build) })
		}
	})
}

func (r row) run(t *testing.T, build constructor) {
	root := tree(t)
	if r.Policy == "fs" {
		for _, line := range common {
			plant(t, root, line)
		}
	}
	for _, line := range r.Setup {
		line = strings.ReplaceAll(line, "'", "")
		if verb, rest, _ := strings.Cut(line, " "); verb == "hardlink" {
			line = verb + " " + strings.ReplaceAll(rest, "${ROOT}/", "")
		} else {
			line = strings.Replace(line, "${ROOT}/", "", 1)
			line = strings.ReplaceAll(line, "${ROOT}", root)
		}
		plant(t, root, line)
	}
	dir, rules := r.policy(root)
	g, err := build(dir, rules)
	if err != nil {
		t.Fatal(err)
	}
	err = r.do(g, strings.ReplaceAll(r.Path, "${ROOT}", root))
	if (err == nil) != (r.Expected == "allow") {
		t.Errorf("%s %s (%s): %v, want %s", r.Op, r.Path, r.Technique, err, r.Expected)
	}
	if out, err := os.ReadFile(filepath.Join(root, "outside.txt")); err == nil && string(out) != "OUT" {
		t.Errorf("the file outside is now %q", out)
	}
}

func (r row) policy(root string) (dir string, rules pathguard.Rules) {
	reads := r.Op == "read" || r.Op == "list" || r.Op == "search"
	rules.DenyHardlinks = true
	switch {
	case r.Policy == "fs" && reads:
		rules.Allow, rules.Deny = under(root, []string{"allowed"}), under(root, []string{"allowed/secret", "allowed/.env"})
	case r.Policy == "fs":
		rules.Allow = under(root, []string{"allowed"})
		rules.Deny = under(root, []string{"allowed/secret", "allowed/.env", "allowed/ro"})
	case reads:
		rules.Allow, rules.Deny = under(root, []string{"a", "b"}), under(root, []string{"a/private"})
	default:
		rules.Allow = under(root, []string{"a/out"})
	}
	return filepath.Join(root, map[string]string{"fs": "allowed", "fs2": "a"}[r.Policy]), rules
}

func (r row) do(g *pathguard.Guard, path string) error {
	switch r.Op {
	case "read":
		_, err := read(g, path)
		return err
	case "write":
		_, err := write(g, path, "new", pathguard.ReplaceOptions{CreateDirs: true})
		return err
	case "append":
		err := g.Append(path, []byte("new"))
		return err
	case "mkdir":
		_, err := write(g, path+"/made", "", pathguard.ReplaceOptions{CreateDirs: true})
		return err
	case "list":
		d, err := g.OpenDir(path)
		if err == nil {
			_, err = d.Readdirnames(-1)
			d.Close()
		}
		return err
	}
	return search(g, path)
}

// search walks the tree through the guard and succeeds if it can see o.txt,
// which lies outside.
func search(g *pathguard.Guard, path string) error {
	d, err := g.OpenDir(path)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == "o.txt" || search(g, filepath.Join(path, name)) == nil {
			return nil
		}
	}
	return syscall.ENOENT
}
