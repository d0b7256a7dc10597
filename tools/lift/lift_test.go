package lift_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/lift"
	"github.com/toolserver/toolserver/tools/shell"
	"github.com/toolserver/toolserver/tools/web"
)

// fixture returns a sandbox that asks, with its working directory, and a directory that
// no list has.
func fixture(t *testing.T, ask ...string) (s *sandbox.Sandbox, work, out string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs here are those of other systems")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, out = filepath.Join(dir, "work"), filepath.Join(dir, "out")
	for _, d := range []string{work, out, filepath.Join(out, "denied"), filepath.Join(out, "deep")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return tooltest.Sandbox(t, sandbox.Policy{
		WorkingDirectory: work,
		Settings:         sandbox.Settings{Enforcement: sandbox.EnforceParseOnly, Ask: ask},
		Tools: map[string]sandbox.ToolPolicy{
			"bash":          {AllowedCommands: command.Rules("echo", "cat"), DeniedCommands: command.Rules("uname", "git push")},
			files.WriteFile: {DeniedPaths: []string{filepath.Join(out, "denied")}},
			web.Name:        {AllowedHosts: []string{"listed.example"}, DeniedHosts: []string{"denied.example"}},
		},
	}, shell.Family(nil).Declared(), files.Family().Declared(), web.Family().Declared()), work, out
}

// TestCommands checks what of a command a person is asked about.
func TestCommands(t *testing.T) {
	all, _, out := fixture(t, "commands", "writes", "network")
	for text, want := range map[string]string{
		"echo a":                              "",
		"sort x":                              "command sort",
		"sort x | tr a b; sort y":             "command sort, command tr",
		"env A=1 sort x":                      "command env, command sort",
		"git -C . log -p":                     "command git log",
		"echo a > OUT/f":                      "writing in OUT",
		"echo a > ../out/deep/new/f":          "writing in OUT/deep",
		"sort x > OUT/f; echo > OUT/deep/f":   "writing in OUT, command sort",
		"uname -a":                            "",
		"sort x; uname":                       "",
		"git push":                            "",
		"echo a > OUT/denied/f":               "",
		"echo a > OUT/f; echo b > OUT/.env":   "",
		"echo a > OUT/.git/hooks/pre-commit":  "",
		"echo a > /f":                         "",
		"echo a > /usr/bin/f":                 "",
		"echo a > /proc/sys/f":                "",
		"echo a > ~/f":                        "",
		"echo a > $X/f":                       "",
		"$X a":                                "",
		"./sort x":                            "",
		"nosuchprogram":                       "",
		"bash x.sh":                           "",
		"sort '":                              "",
		"git '*'":                             "",
		strings.Repeat("sort x; ", 30) + "tr": "command sort, command tr",
	} {
		text, want := strings.ReplaceAll(text, "OUT", out), strings.ReplaceAll(want, "OUT", out)
		got := lift.Hint(t.Context(), all.For("bash"), sandbox.CommandRequest{Command: text})
		_, err := exec.LookPath("git")
		if _, asked, _ := strings.Cut(got, "whether to allow "); asked != want && (err == nil || !strings.HasPrefix(text, "git")) {
			t.Errorf("%.100s: %q; want %q", text, asked, want)
		}
	}
	for ask, want := range map[string]string{"commands": "command sort", "network": ""} {
		s, _, _ := fixture(t, ask)
		if got := lift.Hint(t.Context(), s.For("execute_command"), sandbox.CommandRequest{Command: "sort x"}); !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Errorf("with %s: %q", ask, got)
		}
	}
}

// TestFiles checks the same of files, and what an answer opens.
func TestFiles(t *testing.T) {
	s, work, out := fixture(t, "writes")
	held := s.For(files.WriteFile)
	if err := os.Symlink(out, filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"OUT/f": out, "../out/new/f": out, "link/f": out, "f": "", "OUT/denied/f": "", "OUT/.env": "", "link/.ssh/id": "", "": "", "a\x00": "",
	} {
		path := strings.ReplaceAll(path, "OUT", out)
		got := lift.FileHint(held, held.Writer(), path)
		if _, asked, _ := strings.Cut(got, "whether to allow "); asked != want && asked != "writing in "+want {
			t.Errorf("%s: %q; want %q", path, asked, want)
		}
	}

	_, err := held.Writer().Stat(out + "/deep/f")
	refused, ok := errors.AsType[*lift.Error](lift.Refused(held, held.Writer(), err))
	if !ok {
		t.Fatal(err)
	}
	ctx, err := refused.Lift(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, opened := lift.Files(ctx, held.Reader(), held.Writer())
	for path, allowed := range map[string]bool{"/deep/f": true, "/deep/.env": false, "/f": false, "/denied/f": false} {
		if d, err := opened.Check(out + path); err != nil || d.Allowed != allowed {
			t.Errorf("%s: %v, %v", path, d, err)
		}
	}
	// A link in the place of what was agreed to leads nowhere.
	if err := errors.Join(os.Remove(out+"/deep"), os.Symlink("/etc", out+"/deep")); err != nil {
		t.Fatal(err)
	}
	if _, later := lift.Files(ctx, held.Reader(), held.Writer()); later != nil {
		if d, _ := later.Check(out + "/deep/f"); d.Allowed {
			t.Errorf("a link that came later is followed: %v", d)
		}
	}
	next, _, _ := fixture(t, "writes")
	if !held.InForce() || next.For(files.WriteFile).Policy() == held.Policy() {
		t.Error("the policy is not the one in force")
	}
}

// TestHosts checks the same of hosts.
func TestHosts(t *testing.T) {
	for _, ask := range []string{"network", "writes"} {
		s, _, _ := fixture(t, ask)
		f := s.For(web.Name).Fetcher()
		for text, want := range map[string]string{
			"https://listed.example/": "", "https://a.example:8443/": "host a.example:8443", "http://a.example": "host a.example:80",
			"https://denied.example/": "", "http://127.0.0.1/": "",
		} {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			e, ok := errors.AsType[*lift.Error](lift.Host(f.CheckURL(t.Context(), u)))
			if ok != (want != "" && ask == "network") {
				t.Errorf("%s: %v", text, e)
			}
			if !ok {
				continue
			}
			ctx, err := e.Lift(t.Context())
			if err != nil || e.Lifts()[0] != want || f.CheckURL(ctx, u) != nil {
				t.Errorf("%s: %v, %v, %v", text, e.Lifts(), err, f.CheckURL(ctx, u))
			}
			u.Host = "b.example"
			if f.CheckURL(ctx, u) == nil {
				t.Errorf("%s opens another host", text)
			}
		}
	}
}

// TestConnections asks about the hosts of a command, outside of a call.
func TestConnections(t *testing.T) {
	all, _, _ := fixture(t, "network")
	h := lift.NewHosts(t.Context(), all.For("bash"))
	var connections sync.WaitGroup
	for i := range 20 {
		connections.Go(func() {
			if err := h.Ask(fmt.Sprint("a.example:", i)); err == nil || !strings.Contains(err.Error(), "nobody to ask") && !strings.Contains(err.Error(), "more than 8 hosts") {
				t.Errorf("without a call: %v", err)
			}
		})
	}
	connections.Wait()
	h.End()
	if err := h.Ask("b.example:1"); err == nil || !strings.Contains(err.Error(), "the end of the call") {
		t.Errorf("after the end: %v", err)
	}
	if w := h.Waited(); w > time.Second {
		t.Errorf("waited %v", w)
	}
}
