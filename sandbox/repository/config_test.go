package repository

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddsProgram(t *testing.T) {
	const own = "[core]\n\tfsmonitor = mine\n"
	for _, tt := range []struct{ old, new, want string }{
		{"", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.org:x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", ""},
		{"", "[user] name = A B ; comment\n email=\"a@b\" # too\n[branch \"a/b\"]\n\tmerge = refs/heads/x\n\tvscode-merge-base = origin/main\n", ""},
		{own, own + "[user]\n\tname = x\n", ""},
		{own, "[core]\n\tfsmonitor = other\n", "core.fsmonitor"},
		{own, "", ""},
		{"", "[core]\n\tfsMonitor\n", "core.fsmonitor"},
		{"", "[CORE]\nhooksPath = e\n", "core.hookspath"},
		{"", "[core]bare=false\nsshCommand=x", "core.sshcommand"},
		{"", "[include]\n\tpath = ../e\n", "include.path"},
		{"", "[includeIf \"gitdir:x\"]\n\tpath = ../e\n", "includeif.gitdir:x.path"},
		{"", "[filter \"x\"]\n\tclean = e\n", "filter.x.clean"},
		{"", "[alias]\n\tst = !e\n", "alias.st"},
		{"", "[diff]\n\texternal = e\n", "diff.external"},
		{"", "[diff \"x\"]\n\talgorithm = e\n", "diff.x.algorithm"},
		{"", "[remote \"x\"]\n\turl = ext::sh -c e\n", "remote.x.url"},
		{"", "[remote \"x\"]\n\turl = \"e\\\nxt::sh\"\n", "remote.x.url"},
		{"", "[remote.x]\n\tuploadpack = e\n", "remote.x.uploadpack"},
		{"", "[url \"ext::sh\"]\n\tinsteadOf = https://\n", "url.ext::sh.insteadof"},
		{"", "[submodule \"x\"]\n\tupdate = !e\n", "submodule.x.update"},
		{"", "[submodule \"x\"]\n\tupdate = rebase\n", ""},
		{"", "[core]\n\tworktree = /home\n", "core.worktree"},
		{"", "[core]\n\tworktree = ../../../sub\n", ""},
		{"", "[core]\n\tworktree = ../../../../sub\n", "core.worktree"},
		{"", "[core]\n\tworktree = ../../../.git/hooks\n", "core.worktree"},
		{"", "[core]\n\tbare = \"fal\\\n\tfsmonitor=e\n", "syntax"},
		{"", "[core \"\n\"]\nx=y\n", "syntax"},
		{"", "core.fsmonitor = e\n", "syntax"},
		{"", "[core]\rfsmonitor=e\n", "syntax"},
	} {
		if got := AddsProgram(tt.old, tt.new, "/w/r/.git/modules/sub"); got != tt.want {
			t.Errorf("%q after %q: %q, not %q", tt.new, tt.old, got, tt.want)
		}
	}
}

// FuzzGitSettings compares what is read with what git reads: no setting that git finds
// may be missed.
func FuzzGitSettings(f *testing.F) {
	git, err := exec.LookPath("git")
	if err != nil {
		f.Skip("git is not installed")
	}
	for _, seed := range []string{"[a]\nb=c", "[a \"b\\\"c\"] d = \"e f\" ; g", "[a.b]\nc = d\\\n e", "[a]\n\tb\n#[c]\n[d]e=\\\"f", "\ufeff[a]b=c\r\n", "[a]b=\"c\\n\\t\"", "[A-b]C-d = 1", "[0]A=\\b\t0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		settings, ok := gitSettings(text)
		if !ok {
			return
		}
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "config", "-f", file, "-z", "--list")
		cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.Output()
		if err != nil {
			return // git reads nothing of it
		}
		known := map[string]bool{}
		for _, s := range settings {
			known[s.name()+"\n"+spaced(s.value)] = true
			known[s.name()] = true // without a value
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			name, value, _ := strings.Cut(line, "\n")
			if line != "" && !known[line] && !known[name+"\n"+spaced(value)] {
				t.Errorf("git reads %q of %q, which is not among %v", line, text, settings)
			}
		}
	})
}

// spaced returns a value as versions of git agree on it: some read a tab as a space.
func spaced(value string) string { return strings.TrimSpace(strings.ReplaceAll(value, "\t", " ")) }
