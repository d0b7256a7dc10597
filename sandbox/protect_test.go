package sandbox

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// workspace returns a fresh directory, free of links.
func workspace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func allowed(t *testing.T, g interface {
	Check(path string) (pathguard.Decision, error)
}, path string) bool {
	t.Helper()
	d, err := g.Check(path)
	if err != nil {
		t.Fatal(err)
	}
	return d.Allowed
}

// TestProtectDefault holds what the specification names to what may be done
// with it, under lists that allow everything.
func TestProtectDefault(t *testing.T) {
	dir := workspace(t)
	lists := ToolPolicy{AllowedPaths: []string{dir, filepath.Join(dir, ".env"), filepath.Join(dir, ".git", "hooks")}}
	p := Policy{WorkingDirectory: dir, Tools: map[string]ToolPolicy{"read_file": lists, "write_file": lists}}
	files := newSandbox(t, p)
	off := false
	p.Settings.ProtectDefault = &off
	open := newSandbox(t, p)
	p.Settings = Settings{Unprotected: []string{".vscode", ".env", ".git"}}
	less := newSandbox(t, p)
	const secret, control, ordinary = "", "r", "rw"
	for what, paths := range map[string]string{
		secret: `.env .env.production sub/.env .envrc .ssh .ssh/config .ssh/id_rsa id_ed25519 .gnupg/x .aws/credentials .netrc _netrc .npmrc sub/.npmrc .pypirc .git-credentials
			.docker/config.json .kube/config .config/gh/hosts.yml .cargo/credentials.toml .cache/toolserver/tokens .config/gcloud/x .pgpass`,
		control: `.git .git/hooks .git/hooks/pre-commit sub/.git/hooks/x .git/config .git/modules/a/b/hooks/x .git/modules/a/config .git/worktrees/w/commondir bare.git/hooks/x bare.git/config .gitconfig .husky/pre-commit
			.mcp.json .claude/settings.json .cursor/mcp.json .vscode/tasks.json .idea/workspace.xml .bashrc .bash_profile .profile .zshrc .zshenv .zprofile .inputrc .config/fish/config.fish
			.yarnrc.yml .pnpmfile.cjs .cargo/config.toml toolserver.yaml sub/toolserver.yaml .tmux.conf
			hk.pkl .trunk/trunk.yaml .lintstagedrc .lintstagedrc.mjs lint-staged.config.js captainhook.json grumphp.yml .rusty-hook.toml mise/config.toml
			.theia/settings.json app.sublime-project .externalToolBuilders/x.launch hie.yaml omnisharp.json .continuerc.json .qoder/x .serena/project.yml .agents/mcp_config.json
			.pdbrc .ipython/profile_default/startup/x.py .jupyter/x jupyter_server_config.py sub/jupyter_notebook_config.json .rdbgrc`,
		ordinary: `rust-toolchain.toml rust-toolchain .rspec Directory.Build.props Directory.Build.targets pnpm-workspace.yaml mcp.json .agents/skills/x/SKILL.md .serena/memories/x.md
			toolserver.yml .trunk/out/x app.sublime-project.md src/jupyter_config.py main.go .gitignore .gitattributes .github/workflows/ci.yml .git/info/exclude .env.example .env.local.sample .env.template .env.dist env .envfile package.json Makefile
			hooks/pre-commit config .editorconfig .prettierrc .eslintrc.json docs/.nojekyll src/.profile.go bashrc ssh/config .git/COMMIT_EDITMSG .dockerignore .docker/Dockerfile .env/bin/activate`,
	} {
		for path := range strings.FieldsSeq(paths) {
			if got := allowed(t, files.For("read_file").Reader(), path); got != strings.Contains(what, "r") {
				t.Errorf("reading %s is allowed: %v", path, got)
			}
			for _, tool := range writers {
				if got := allowed(t, files.For(tool).Writer(), path); got != strings.Contains(what, "w") {
					t.Errorf("%s of %s is allowed: %v", tool, path, got)
				}
			}
			if !allowed(t, open.For("grep").Reader(), path) || !allowed(t, open.For("edit_file").Writer(), path) {
				t.Errorf("%s is protected by nothing", path)
			}
			name := strings.Split(path, "/")[0]
			if slices.Contains([]string{".vscode", ".env"}, name) && !allowed(t, less.For("write_file").Writer(), path) {
				t.Errorf("%s is protected although it is left out", path)
			}
		}
	}
	if allowed(t, less.For("write_file").Writer(), ".git/hooks/x") || allowed(t, less.For("read_file").Reader(), ".env.local") {
		t.Error("leaving out one name leaves out others")
	}
	d, err := files.For("write_file").Writer().Check(".git/hooks/pre-commit")
	want := `.git/hooks/pre-commit is protected: .git/hooks (the operator can allow it with sandbox.unprotected: [".git/hooks"])`
	if err != nil || d.Reason != want || d.Rule != "protected: .git/hooks" {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestProtectOwn(t *testing.T) {
	dir := workspace(t)
	files := newSandbox(t, Policy{WorkingDirectory: dir, Own: []OwnFile{
		{Path: filepath.Join(dir, "conf.yaml"), What: "the configuration file"}, {Path: filepath.Join(dir, "tls.key"), What: "the TLS key", Secret: true},
	}})
	read, write := files.For("read_file").Reader(), files.For("append_file").Writer()
	if !allowed(t, read, "conf.yaml") || allowed(t, write, "conf.yaml") || allowed(t, read, "tls.key") || allowed(t, write, "tls.key") {
		t.Error("the program's own files")
	}
	d, err := write.Check("conf.yaml")
	if want := "conf.yaml is protected: the configuration file (the operator can allow it with sandbox.protect_default: false)"; err != nil || d.Reason != want {
		t.Errorf("got %q, %v", d.Reason, err)
	}
}

// TestProtectedTable keeps the table in order.
func TestProtectedTable(t *testing.T) {
	names := ProtectedNames()
	slices.Sort(names)
	for i, name := range names {
		if i > 0 && names[i-1] == name {
			t.Errorf("%s is there twice", name)
		}
		if strings.Trim(name, "/") != name || strings.HasPrefix(name, "**") || strings.HasSuffix(name, "**") {
			t.Errorf("%s is no pattern", name)
		}
	}
}

func TestProtectedCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of commands are those of a POSIX shell")
	}
	dir := workspace(t)
	for name, content := range map[string]string{".env": "S", ".env.example": "E", "a.txt": "A", "sub/id_ed25519": "K", "conf.yaml": "C"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../.env", filepath.Join(dir, "sub", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "conf.yaml"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	lists := ToolPolicy{AllowedPaths: []string{dir}}
	commanding := ToolPolicy{DeniedCommands: command.Rules("rm")}
	for name, tools := range map[string]map[string]ToolPolicy{
		"no list of paths": {"bash": commanding},
		"lists of paths":   {"bash": commanding, "read_file": lists, "write_file": lists},
		"denied paths":     {"bash": commanding, "read_file": {DeniedPaths: []string{filepath.Join(dir, ".no")}}},
	} {
		p := Policy{WorkingDirectory: dir, Tools: tools, Own: []OwnFile{{Path: filepath.Join(dir, "conf.yaml"), What: "the configuration file"}}}
		sandbox := newSandbox(t, p)
		for text, rule := range map[string]string{
			"cat .env": ".env", "cat < .env": ".env", "cat sub/link": ".env", "cat sub/l*": ".env", "grep x sub/../.env": ".env", "cat .en?": ".env", "head .e*": ".env.*", "cp .env x": ".env",
			"echo x > .env": ".env", "echo x >> .git/hooks/pre-commit": ".git/hooks", "cp a.txt .git/hooks/pre-commit": ".git/hooks", "mv .git x": ".git", "mv .vscode x": ".vscode",
			"tee .bashrc < a.txt": ".bashrc", "cd .git && echo x > hooks/y": ".git/hooks", "echo x > .bash[r]c": ".bashrc", "touch .bashr?": ".bashrc", "sed -i s/a/b/ .git/config": ".git/config",
			"cat a.txt": "", "cat .bashrc": "", "cat .git/config": "", "cat .env.example": "", "ls -la": "", "grep -r x .": "", "echo x > b.txt": "", "cat *.txt": "", "git status": "", "cat *": "", "sed -i s/a/b/ *.txt": "", "cat a*": "", "cat k*/a.txt": "",
			"cat sub/id_*": "id_ed25519", "head sub/i?_ed25519": "id_ed25519", "cat sub/*": "id_ed25519", "echo x >> hard": "the configuration file",
		} {
			v, _, err := sandbox.For("bash").Commands().Decide(CommandRequest{Command: text})
			switch {
			case err != nil:
				t.Fatal(err)
			case rule == "" && !v.Allowed, rule != "" && v.Allowed:
				t.Errorf("%s: %s: %+v", name, text, v)
			case rule != "" && !strings.Contains(v.Rule+v.Reason, "protected: "):
				t.Errorf("%s: %s is refused by %q: %s", name, text, v.Rule, v.Reason)
			}
		}
		many := "cat"
		for range 300 {
			many += " a.txt"
		}
		if v, _, _ := sandbox.For("bash").Commands().Decide(CommandRequest{Command: many + " .env"}); v.Allowed {
			t.Errorf("%s: the last of many files is not judged", name)
		}
	}
}

// TestProtectionRefusesNoWork runs the ordinary commands of the corpus under
// their policies.
func TestProtectionRefusesNoWork(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a POSIX shell")
	}
	f, err := os.Open(filepath.Join("command", "testdata", "commands.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	policies := map[string]map[string]struct {
		Allowed      []string `json:"allowed_commands"`
		Denied       []string `json:"denied_commands"`
		AllowedPaths []string `json:"allowed_paths"`
		DeniedPaths  []string `json:"denied_paths"`
	}{}
	seen := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct {
			Kind, ID, Policy, Command string
			Adversarial               bool
			Tools                     json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == "policy" {
			tools := policies[r.ID]
			if err := json.Unmarshal(r.Tools, &tools); err != nil {
				t.Fatal(err)
			}
			policies[r.ID] = tools
			continue
		}
		if r.Adversarial {
			continue
		}
		dir := workspace(t)
		p := Policy{WorkingDirectory: dir, Tools: map[string]ToolPolicy{}}
		absolute := func(list []string) (abs []string) {
			for _, path := range list {
				if !filepath.IsAbs(path) {
					path = filepath.Join(dir, path)
				}
				abs = append(abs, path)
			}
			return abs
		}
		for name, tool := range policies[r.Policy] {
			p.Tools[name] = ToolPolicy{
				AllowedCommands: rules(tool.Allowed), DeniedCommands: rules(tool.Denied), AllowedPaths: absolute(tool.AllowedPaths), DeniedPaths: absolute(tool.DeniedPaths),
			}
		}
		sandbox := newSandbox(t, p)
		v, _, err := sandbox.For("execute_command").Commands().Decide(CommandRequest{Command: r.Command})
		if err != nil || strings.Contains(v.Rule+v.Reason, "protected") {
			t.Errorf("%s %s: %+v, %v", r.ID, r.Command, v, err)
		}
		seen++
	}
	if seen < 50 {
		t.Errorf("only %d commands", seen)
	}
}

func TestHardlinkSettings(t *testing.T) {
	dir := workspace(t)
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("A"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Skip(err)
	}
	listed := []string{dir}
	for _, test := range []struct {
		tools       map[string]ToolPolicy
		read, write bool
	}{
		{nil, true, false},
		{map[string]ToolPolicy{"write_file": {AllowedPaths: listed}}, true, false},
		{map[string]ToolPolicy{"read_file": {AllowedPaths: listed}}, false, false},
		{map[string]ToolPolicy{"grep": {DeniedPaths: listed}}, false, false},
		{map[string]ToolPolicy{"read_file": {AllowedPaths: listed, Hardlinks: "allow"}, "write_file": {Hardlinks: "allow"}}, true, true},
		{map[string]ToolPolicy{"read_file": {Hardlinks: "deny"}}, false, false},
	} {
		files := newSandbox(t, Policy{WorkingDirectory: dir, Tools: test.tools})
		for _, tool := range []string{"read_file", "edit_file"} {
			f, err := files.For(tool).Reader().Open("b")
			if (err == nil) != test.read {
				t.Errorf("%+v: %s: %v", test.tools, tool, err)
			}
			if err == nil {
				f.Close()
			}
		}
		if got := files.For("grep").Reader().DeniesHardlinks(); got == test.read {
			t.Errorf("%+v: grep denies: %v", test.tools, got)
		}
		for _, tool := range writers {
			if err := files.For(tool).Writer().Append("b", nil); (err == nil) != test.write {
				t.Errorf("%+v: %s: %v", test.tools, tool, err)
			}
		}
	}
}

// rules keeps the difference between no list and an empty one.
func rules(names []string) []command.Rule {
	if names == nil {
		return nil
	}
	return command.Rules(names...)
}
