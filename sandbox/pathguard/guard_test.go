//go:build unix

package pathguard_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

func TestOpen(t *testing.T) {
	setup := []string{
		"file w/a.txt ok", "file w/.env S", "file w/secret/k K", "dir w/sub", "file out/o OUT", "file w-evil/x EVIL",
		"symlink w/in a.txt", "symlink w/absin $/w/a.txt", "symlink w/toout $/out/o", "symlink w/gone $/out/none",
		"symlink w/sec secret", "symlink w/loop loop", "symlink w/up ..", "symlink elsewhere $/w/sub/..",
		"symlink w/dangling none", "symlink w/root /proc/self/root", "symlink w/cwd /proc/self/cwd",
		"fifo w/fifo", "hardlink w/hard out/o", "symlink w/env .env", "symlink w/denylink a2.txt", "file w/a2.txt X",
	}
	cases := []struct {
		path string
		kind pathguard.Kind // "" = opened
	}{
		{"a.txt", ""}, {"./a.txt", ""}, {"sub/../a.txt", ""}, {"$/w//a.txt", ""}, {"$/w/sub/./../a.txt", ""},
		{"in", ""}, {"absin", ""}, {"up/w/a.txt", ""}, {"$/elsewhere/a.txt", ""}, {"$/w/../w/a.txt", ""},
		{"$/out/../w/a.txt", ""}, {"hard", ""},
		{"$/out/o", "denied"}, {"$/out/none", "denied"}, {"../out/o", "denied"}, {"toout", "denied"}, {"gone", "denied"},
		{"$/w-evil/x", "denied"}, {"up/out/o", "denied"}, {"/etc/passwd", "denied"}, {"/etc/none/x", "denied"},
		{".env", "denied"}, {"env", "denied"}, {"sub/../.env", "denied"}, {"secret/k", "denied"}, {"secret/none", "denied"},
		{"secret", "denied"}, {"sec/k", "denied"}, {"sec/none", "denied"}, {"a2.txt", "denied"}, {"denylink", "denied"},
		{"root/etc/passwd", "denied"}, {"root$/out/o", "denied"}, {"none/../../out/o", "denied"},
		{"/proc/self/environ", "denied"}, {"/dev/zero", "denied"}, {"/dev/stdin", "denied"},
		{"none", "not_found"}, {"none/x", "not_found"}, {"dangling", "not_found"}, {"~/x", "denied"}, {"$HOME/x", "invalid_path"},
		{"file:///etc/passwd", "invalid_path"}, {"none/../a.txt", "not_found"},
		{"sub", "not_a_file"}, {".", "not_a_file"}, {"fifo", "not_a_file"},
		{"a.txt/x", "not_a_directory"}, {"a.txt/", "not_a_directory"}, {"a.txt/../a.txt", "not_a_directory"},
		{"", "invalid_path"}, {"a\x00.txt", "invalid_path"}, {"loop", "invalid_path"},
		{strings.Repeat("a/", 2100), "invalid_path"}, {strings.Repeat("n", 300), "invalid_path"},
	}
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, setup...)
		g := guard(t, build, root, []string{"w"}, []string{"w/.env", "w/secret", "w/denylink"})
		for _, c := range cases {
			path := strings.ReplaceAll(c.path, "$/", root+"/")
			content, err := read(g, path)
			if kindOf(err) != c.kind {
				t.Errorf("%.60q: got %q (%v), want kind %q", c.path, content, err, c.kind)
			}
			if content == "EVIL" || content == "K" || content == "S" || content == "X" {
				t.Errorf("%q leaked %q", c.path, content)
			}
		}
	})
}

func TestMessages(t *testing.T) {
	root := tree(t, "file w/.env S", "file w/ok x", "dir w/d", "fifo w/p")
	g := guard(t, pathguard.New, root, []string{"w"}, []string{"w/.env"})
	for path, want := range map[string]string{
		"/etc/passwd": "/etc/passwd is outside the allowed paths (allowed: " + root + "/w)",
		"/etc/none":   "/etc/none is outside the allowed paths (allowed: " + root + "/w)",
		".env":        ".env is denied by the rule " + root + "/w/.env",
		"none":        "none does not exist",
		"~/none":      "~/none is outside the allowed paths (allowed: " + root + "/w)",
		"$HOME/none":  "$HOME/none begins with a variable, which is not expanded: give ~/none",
		"d":           "d is a directory, not a regular file",
		"p":           "p is a FIFO (named pipe), not a regular file",
		"a\nb":        `"a\nb" has a control character in a name: leave it out`,
		"nub ":        "nub  has a name that begins or ends with white space: give nub",
		"":            `"" is empty: give the path of a file`,
	} {
		if _, err := g.Open(path); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", path, err, want)
		}
	}
	if _, err := g.OpenDir("ok"); err == nil || err.Error() != "ok is a regular file, not a directory" {
		t.Errorf("list of a file: %v", err)
	}
	_, err := g.Open("none")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	none := guard(t, pathguard.New, root, nil, nil)
	if _, err := none.Open("ok"); err == nil || err.Error() != "ok is outside the allowed paths (nothing is allowed)" {
		t.Errorf("empty allow list: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct{ dir, allow, want string }{
		{"rel", "/x", `working directory "rel" is not absolute`},
		{"/d", "", "allowed path: the path is empty"},
		{"/d", "/a\x00", "NUL"},
		{"/d", "/" + strings.Repeat("a", 5000), "longer than"},
	} {
		_, err := pathguard.New(c.dir, pathguard.Rules{Allow: []string{c.allow}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%q, %.20q): %v", c.dir, c.allow, err)
		}
	}
}

func TestNestedAllowDoesNotWin(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/private/open/x X")
		g := guard(t, build, root, []string{"w", "w/private/open"}, []string{"w/private"})
		if _, err := g.Open("private/open/x"); kindOf(err) != pathguard.KindDenied {
			t.Error(err)
		}
	})
}

func TestHardlinks(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a A", "file out/o OUT", "hardlink w/h out/o")
		g, err := build(root, pathguard.Rules{Allow: []string{root + "/w"}, DenyHardlinks: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Open("w/h")
		if kindOf(err) != pathguard.KindDenied || err.Error() != "w/h has 2 names (hard links), and hard links are denied" {
			t.Errorf("open: %v", err)
		}
		if err := g.Append("w/h", []byte("x")); kindOf(err) != pathguard.KindDenied {
			t.Errorf("append: %v", err)
		}
		if _, err := write(g, "w/h", "x", pathguard.ReplaceOptions{}); kindOf(err) != pathguard.KindDenied {
			t.Errorf("replace: %v", err)
		}
		if _, err := g.Open("w/a"); err != nil {
			t.Error(err)
		}
	})
}

func TestStatAndAppend(t *testing.T) {
	everyWay(t, func(t *testing.T, build constructor) {
		root := tree(t, "file w/a one", "symlink w/l a", "dir w/d", "fifo w/p")
		g := guard(t, build, root, []string{"w"}, nil)
		info, err := g.Stat("l")
		if err != nil || info.Real != root+"/w/a" || info.Size != 3 || !info.Mode.IsRegular() || info.Links != 1 {
			t.Errorf("stat: %+v %v", info, err)
		}
		if info, err = g.Stat("p"); err != nil || info.Mode.Type() != os.ModeNamedPipe {
			t.Errorf("stat of a FIFO: %+v %v", info, err)
		}
		err = g.Append("l", []byte("+two"))
		if err != nil {
			t.Errorf("append: %v", err)
		}
		if s, _ := read(g, "a"); s != "one+two" {
			t.Errorf("after append: %q", s)
		}
		for path, kind := range map[string]pathguard.Kind{"none": "not_found", "d": "not_a_file", "p": "not_a_file"} {
			if err := g.Append(path, []byte("x")); kindOf(err) != kind {
				t.Errorf("append to %s: %v", path, err)
			}
		}
	})
}
