//go:build unix

package pathguard_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// FuzzPath asks for every spelling that the fuzzer finds: nothing outside or
// denied is ever read, the implementations agree, and Check says what Open
// does.
func FuzzPath(f *testing.F) {
	root := tree(f, "file w/a.txt IN", "file w/sub/b IN", "file w/secret/k CANARY", "file out/o CANARY", "file w-evil/x CANARY",
		"symlink w/up ..", "symlink w/out ../out", "symlink w/abs $/w/sub", "symlink w/self .", "symlink w/s secret",
		"symlink w/loop loop", "symlink w/p /proc/self/root", "symlink w/fd /proc/self/fd", "fifo w/fifo")
	var guards []*pathguard.Guard
	for _, build := range []constructor{pathguard.New, pathguard.NewPortable} {
		guards = append(guards, guard(f, build, root, []string{"w"}, []string{"w/secret"}))
	}
	for _, seed := range []string{
		"a.txt", "sub/../a.txt", "../out/o", "up/out/o", "out/o", "abs/b", "abs/../secret/k", "s/k", "self/self/secret/k", "loop", "p/etc/passwd",
		"p$/w/secret/k", "fd/0", "$/w/a.txt", "$/w/../out/o", "$/w-evil/x", "//a.txt", "sub/", "a.txt/", "fifo", "\x00", "~", "/proc/self/cwd/x", "sub/./.././/a.txt",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		path = strings.ReplaceAll(path, "$", root)
		var kinds []pathguard.Kind
		for _, g := range guards {
			content, err := read(g, path)
			if err != nil && !errors.As(err, new(*pathguard.Error)) {
				t.Fatalf("%q: untyped error %v", path, err)
			}
			if err == nil && content != "IN" {
				t.Fatalf("%q: read %.40q", path, content)
			}
			decision, checkErr := g.Check(path)
			denied := kindOf(err) == pathguard.KindDenied
			if checkErr == nil && decision.Allowed == denied || checkErr != nil && kindOf(err) != pathguard.KindInvalidPath {
				t.Fatalf("%q: Open says %v, Check says %+v %v", path, err, decision, checkErr)
			}
			if d, err := g.OpenDir(path); err == nil {
				if real := d.Info.Real; real != root+"/w" && !strings.HasPrefix(real, root+"/w/") || strings.HasPrefix(real, root+"/w/secret") {
					t.Fatalf("%q: listed %s", path, real)
				}
				d.Close()
			}
			kinds = append(kinds, kindOf(err))
		}
		if kinds[0] != kinds[1] {
			t.Fatalf("%q: %q here, %q portably", path, kinds[0], kinds[1])
		}
	})
}

// FuzzWithin compares the rule for components with a simple statement of it.
func FuzzWithin(f *testing.F) {
	f.Add("a", "a/b")
	f.Add("a", "ab")
	f.Add("a/b", "a")
	root := tree(f)
	f.Fuzz(func(t *testing.T, rule, name string) {
		for _, s := range []string{rule, name} {
			notation := strings.ContainsAny(s, "~$%\\\"'`:") || strings.ContainsFunc(s, unicode.IsSpace) // which has a meaning of its own
			if s == "" || notation || strings.ContainsAny(s, "\x00.") || len(s) > 100 || strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") || strings.Contains(s, "//") {
				t.Skip()
			}
		}
		g, err := pathguard.New(root, pathguard.Rules{Allow: []string{root}, Deny: []string{root + "/" + rule}})
		if err != nil || strings.ContainsAny(rule, `*?[{\`) {
			t.Skip()
		}
		want := strings.HasPrefix(name+string(os.PathSeparator), rule+string(os.PathSeparator))
		if got, err := g.Check(name); err != nil || got.Allowed == want {
			t.Errorf("deny %q, path %q: %+v %v", rule, name, got, err)
		}
	})
}
