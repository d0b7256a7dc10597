//go:build unix

package programs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/confine"
)

// programsIn makes programs in dir: content by relative path, links as "-> target".
func programsIn(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if target, isLink := strings.CutPrefix(content, "-> "); err == nil && isLink {
			err = os.Symlink(target, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(content), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func newFinder(t *testing.T, files map[string]string) (*Finder, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	programsIn(t, dir, files)
	dirs := []string{dir + "/bin", dir + "/lib/klibc/bin"}
	return &Finder{Path: dirs[:1], Dirs: dirs, Work: dir + "/work", Temp: dir + "/tmp"}, dir
}

// relative shows paths as seen from dir, sorted.
func relative(dir string, paths []string) string {
	var list []string
	for _, path := range paths {
		list = append(list, strings.TrimPrefix(path, dir+"/"))
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

func TestProgramsOf(t *testing.T) {
	files := map[string]string{
		"bin/bash": "", "bin/sh": "-> bash", "bin/ls": "", "bin/rm": "", "bin/env": "", "bin/python3": "#!/usr/bin/nothing", "lib/klibc/bin/ls": "",
		"bin/git": "", "bin/sed": "", "opt/go/bin/go": "", "bin/go": "-> ../opt/go/bin/go", "work/build.sh": "#!/bin/none -e",
	}
	for _, test := range []struct {
		name        string
		lists       Lists
		files, dirs string
		any         bool
	}{
		{"no list", Lists{Denied: command.Rules("rm")}, "", "", true},
		{"all", Lists{Allowed: command.Rules("*", "ls")}, "", "", true},
		{"none", Lists{Allowed: command.Rules()}, "bin/bash bin/sh", "", false},
		{"a name everywhere", Lists{Allowed: command.Rules("ls -l")}, "bin/bash bin/ls bin/sh lib/klibc/bin/ls", "", false},
		{"denied wins", Lists{Allowed: command.Rules("ls", "rm"), Denied: command.Rules("rm")}, "bin/bash bin/ls bin/sh lib/klibc/bin/ls", "", false},
		{"denied with arguments", Lists{Allowed: command.Rules("rm"), Denied: command.Rules("rm -r")}, "bin/bash bin/rm bin/sh", "", false},
		{"helpers", Lists{Allowed: command.Rules("git"), ExecPaths: []string{"/x"}}, "bin/bash bin/git bin/sed bin/sh",
			"/usr/lib/git-core /usr/libexec/git-core /usr/local/libexec/git-core /x", false},
		{"script", Lists{Allowed: command.Rules("./build.sh")}, "/bin/none bin/bash bin/sh work/build.sh", "", false},
		{"any arguments", Lists{Allowed: command.Rules("ls *"), Denied: command.Rules("ls -l *")}, "bin/bash bin/ls bin/sh lib/klibc/bin/ls", "", false},
		{"any program", Lists{Allowed: command.Rules("* *", "ls")}, "", "", true},
		{"names", Lists{Allowed: command.Rules("l*", "./b*.sh", "zz*")}, "/bin/none bin/bash bin/ls bin/sh lib/klibc/bin/ls work/build.sh", "", false},
		{"names with helpers", Lists{Allowed: command.Rules("gi* log")}, "bin/bash bin/git bin/sed bin/sh",
			"/usr/lib/git-core /usr/libexec/git-core /usr/local/libexec/git-core", false},
		{"missing", Lists{Allowed: command.Rules("nope", "./nope")}, "bin/bash bin/sh", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, dir := newFinder(t, files)
			got, dirs := f.Of(test.lists)
			if relative(dir, got) != test.files || relative(dir, dirs) != test.dirs || (got == nil) != test.any {
				t.Errorf("got %q in %q", relative(dir, got), relative(dir, dirs))
			}
		})
	}
	f, dir := newFinder(t, files)
	if _, dirs := f.Of(Lists{Allowed: command.Rules("go")}); !strings.Contains(relative(dir, dirs), "opt/go/bin opt/go/pkg/tool tmp") {
		t.Errorf("go needs %q", relative(dir, dirs))
	}
}

// What cannot be examined costs that program and no other.
func TestUnusablePrograms(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may examine everything")
	}
	f, dir := newFinder(t, map[string]string{
		"bin/bash": "", "bin/sh": "-> bash", "bin/ls": "", "closed/py": "", "bin/linked": "-> ../closed/py", "bin/missing": "#!/bin/none",
	})
	programsIn(t, dir, map[string]string{"bin/script": "#!" + dir + "/closed/py\n"})
	if err := os.Chmod(dir+"/closed", 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir+"/closed", 0o700)
	files, _ := f.Of(Lists{Allowed: command.Rules("ls", "script", "linked", "missing", "none")})
	if got := relative(dir, files); got != "/bin/none bin/bash bin/ls bin/missing bin/script bin/sh" {
		t.Errorf("got %q", got)
	}
	for name, why := range map[string]string{"script": "interpreter", "linked": "permission denied", "ls": "", "missing": "", "none": ""} {
		if got := f.Unusable(name, dir); (got == "") != (why == "") || !strings.Contains(got, why) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if list := f.Unusables(); len(list) != 2 {
		t.Errorf("got %q", list)
	}
	if _, err := (confine.Spec{Exec: files, Deny: []string{dir + "/closed/x/y"}}).Encode(); err != nil {
		t.Error(err)
	}
}

func TestDeniedPrograms(t *testing.T) {
	f, dir := newFinder(t, map[string]string{
		"bin/bash": "", "bin/rm": "x", "bin/busybox": "many", "bin/dd": "-> busybox", "lib/klibc/bin/rm": "y", "bin/ls": "",
	})
	if err := os.Link(dir+"/bin/rm", dir+"/bin/remove"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		allowed, denied []string
		want            string
	}{
		{nil, nil, ""},
		{nil, []string{"rm"}, "bin/busybox bin/remove bin/rm lib/klibc/bin/rm"},
		{nil, []string{"rm *"}, "bin/busybox bin/remove bin/rm lib/klibc/bin/rm"},
		{nil, []string{"r*"}, "bin/busybox bin/remove bin/rm lib/klibc/bin/rm"},
		{nil, []string{"l*"}, "bin/busybox bin/ls"},
		{nil, []string{"r* -r", "rm -r *", "zz*"}, ""},
		{[]string{"busybox *"}, []string{"rm"}, "bin/remove bin/rm lib/klibc/bin/rm"},
		{[]string{"*", "busybox"}, []string{"rm"}, "bin/remove bin/rm lib/klibc/bin/rm"},
		{nil, []string{"dd"}, ""},               // a name of many programs
		{nil, []string{"rm -r", "nothing"}, ""}, // only with arguments
		{nil, []string{"bash"}, "bin/busybox"},  // which runs the others, and is left to the parser
	} {
		got := f.Denied(Lists{Allowed: command.Rules(test.allowed...), Denied: command.Rules(test.denied...)})
		if relative(dir, got) != test.want {
			t.Errorf("%v: got %q, want %q", test.denied, relative(dir, got), test.want)
		}
	}
}

func TestPresets(t *testing.T) {
	all := strings.Join(Presets(), " ")
	for _, test := range []struct {
		allowed []string
		want    string
	}{
		{nil, all},
		{[]string{"*"}, all},
		{[]string{}, ""},
		{[]string{"ls", "/usr/bin/git log", "rustc"}, "git rust"},
	} {
		lists := Lists{}
		if test.allowed != nil {
			lists.Allowed = append([]command.Rule{}, command.Rules(test.allowed...)...)
		}
		if got := PresetsOf(lists); strings.Join(got, " ") != test.want {
			t.Errorf("with %q: got %q, want %q", test.allowed, got, test.want)
		}
	}
	if hosts := Hosts([]string{"rust"}); !slices.Contains(hosts, "static.crates.io") || slices.Contains(hosts, "github.com") {
		t.Errorf("hosts of rust: %q", hosts)
	}
}
