//go:build linux

package e2e

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// pasted is for the client that has no file.
const pasted = "toolserver install jetbrains-ai --dir /path/to/project"

// snippets has the commands of the documentation, and what each prints, among other
// things.
var snippets = map[string]struct {
	says string
	code int
}{
	"./toolserver install claude-desktop --dir ~/project": {says: "claude_desktop_config.json"},
	"./toolserver install --dir ~/project":                {says: "name the clients", code: 2},
	"toolserver install":                                  {says: "no MCP client was found", code: 2},
	"toolserver install CLIENT --dir /path/to/project":    {says: "the entry works"},
	"toolserver install cursor --dir ~/work":              {says: "the entry works"},
	pasted:                                                {says: "paste the entry"},
	"toolserver uninstall cursor":                         {says: "mcp.json"},
	"toolserver clients":                                  {says: "cursor"},
	"toolserver call grep TODO src":                       {says: "main.go"},
	"toolserver file grep TODO src":                       {says: "main.go"},
	"toolserver call bash 'go test ./...' --exit-code":    {says: "no test files"},
	"toolserver help grep":                                {says: "--glob"},
	"toolserver call execute_command 'go vet ./...' --json | jq .structuredContent.exit_code": {says: "0"},
	"toolserver log":                                            {},
	"toolserver top":                                            {says: "servers"},
	"toolserver log --denied --since 2d":                        {},
	"toolserver log --denied":                                   {},
	"toolserver call read_file notes.txt":                       {says: "notes"},
	"toolserver call grep 'func \\w+' src --glob '*.go'":        {says: "searched 1 file"},
	"toolserver call read_file report.pdf --offset 3 --limit 2": {says: "number 4 of many"},
	"toolserver serve --http 127.0.0.1:8080 ~/project":          {says: "/mcp"},
	"toolserver token new ann --groups staff":                   {says: "Added its hash"},
	"toolserver token new ann --print":                          {says: "hash"},
	"openssl rand -hex 32 >k1":                                  {},
	"toolserver audit key audit.key":                            {says: "toolserver-"},
	"toolserver approve":                                        {says: "No call waits for a person."},
	"toolserver check":                                          {says: "in force"},
	"toolserver explain bash 'npm test'":                        {says: "verdict:  allowed"},
	"toolserver explain bash 'git push'":                        {says: "verdict:  allowed"},
	"toolserver explain write_file /etc/hosts text":             {says: "verdict:  denied", code: 1},
	"toolserver upstream list":                                  {says: "ready"},
	"toolserver everything echo --message hi":                   {says: "Echo: hi"},
	"toolserver upstream add files -- npx -y @modelcontextprotocol/server-filesystem /home/me/project": {says: "files"},
	"toolserver upstream add everything -- npx -y @modelcontextprotocol/server-everything":             {says: "everything"},
	"toolserver call search_files '*.go' --json | jq -r '.structuredContent.matches[]'":                {says: "src/main.go"},
	"mkdir -p ~/.local/share/bash-completion/completions ~/.zfunc ~/.config/fish/completions":          {},
	"toolserver completion bash >~/.local/share/bash-completion/completions/toolserver":                {},
	"toolserver completion zsh >~/.zfunc/_toolserver":                                                  {},
	"toolserver completion fish >~/.config/fish/completions/toolserver.fish":                           {},
}

// elsewhere has the commands that are not run here, and why.
var elsewhere = map[*regexp.Regexp]string{
	regexp.MustCompile(`^toolserver log (explain|.*--follow)`):     "they need a call that was refused, or do not end: TestRecord runs them",
	regexp.MustCompile(`^toolserver (console$|serve .*--console)`): "they do not end: TestConsole and test/clients/console.mjs open the page",
	regexp.MustCompile(`^toolserver approve .*k3m`):                "they need a call that waits: TestApprovalLater has some",
	regexp.MustCompile(`^toolserver explain --as`):                 "they need people: TestExplainAs has some",
	regexp.MustCompile(`^toolserver audit verify`):                 "they need an audit: TestTampered of package audit has some",
	regexp.MustCompile(`^make |^node test/|^go (run|test) `):       "they build and test this program: make test runs what matters",
	regexp.MustCompile(`^(sudo |tar |npx -y @toolserver|docker )`): "they install a release: test/release tries them",
	regexp.MustCompile(`^(brew|scoop|winget|apt-get|xattr) `):      "they are other programs, of other systems in part",
	regexp.MustCompile(`^kubectl `):                                "they need a cluster: test/deploy reads the manifests, and runs their pods",
	regexp.MustCompile(`example\.com`):                             "they need the internet: test/e2e fetches pages of this machine",
	regexp.MustCompile(`GOOGLE|auth google|gmail`):                 "they need a Google account: test/e2e has a server that acts as Google's",
	regexp.MustCompile(`C:\\`):                                     "test/windows runs it",
}

// TestSnippets runs the commands of each page of the documentation, in their order, as
// they stand there. npx fetches servers, and is given the machine for itself: they have
// 30 s to start.
func TestSnippets(t *testing.T) {
	top := filepath.Join("..", "..")
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/clients/*.md", "docs/providers/*.md"} {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		must(t, err)
		files = append(files, found...)
	}
	unused := maps.Clone(snippets)
	block := regexp.MustCompile("(?ms)^```(?:sh|powershell)\n(.*?)^```")
	for _, file := range files {
		page, err := os.ReadFile(file)
		must(t, err)
		var lines []string
		for _, m := range block.FindAllSubmatch(page, -1) {
			for line := range strings.Lines(string(m[1])) {
				line, _, _ = strings.Cut(line, " #")
				if line = strings.TrimSpace(line); line != "" && !runElsewhere(t, line) {
					lines = append(lines, line)
					delete(unused, anyClient(line))
				}
			}
		}
		if len(lines) == 0 {
			continue
		}
		t.Run(strings.TrimPrefix(file, top+"/"), func(t *testing.T) {
			if !bytes.Contains(page, []byte("npx ")) {
				t.Parallel()
			}
			g := newNewcomer(t)
			for _, line := range lines {
				want, known := snippets[anyClient(line)]
				if !known {
					t.Errorf("nothing runs %q", line)
					continue
				}
				if out, code := g.types(line); code != want.code || !strings.Contains(out, want.says) {
					t.Errorf("%s: exit code %d, want %d, and %q in:\n%s", line, code, want.code, want.says, out)
				}
			}
		})
	}
	for line := range unused {
		t.Errorf("no page has %q", line)
	}
}

func runElsewhere(t *testing.T, line string) bool {
	for pattern, why := range elsewhere {
		if pattern.MatchString(line) {
			t.Logf("not run: %s (%s)", line, why)
			return true
		}
	}
	return false
}

// anyClient returns the line that stands for those of all pages of clients.
func anyClient(line string) string {
	if line == pasted {
		return line
	}
	return regexp.MustCompile(`^toolserver install [a-z-]+ --dir /path`).ReplaceAllString(line, "toolserver install CLIENT --dir /path")
}

// TestReadmePicture holds the picture of README.md to what the program prints.
func TestReadmePicture(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../README.md")
	must(t, err)
	picture := regexp.MustCompile("(?ms)^```console\n(.*?)^```").FindSubmatch(page)
	if picture == nil {
		t.Fatal("there is none")
	}
	g, printed := newNewcomer(t), ""
	for line := range strings.Lines(string(picture[1])) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			out, _ := g.types(strings.TrimSpace(command))
			printed += line + strings.ReplaceAll(out, g.home, "/home/me")
		}
	}
	if printed != string(picture[1]) {
		t.Errorf("README.md shows\n%s\nwhich is\n%s", picture[1], printed)
	}
}

// newcomer is somebody with a project and an empty home directory.
type newcomer struct {
	t             *testing.T
	home, project string
	env           []string
}

func newNewcomer(t *testing.T) *newcomer {
	home, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	g := &newcomer{t: t, home: home, project: filepath.Join(home, "project")}
	program := own(t, binary())
	g.env = []string{"HOME=" + home, "PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH")}
	for name, text := range map[string]string{
		"src/main.go": "package example // TODO: write it\n", "go.mod": "module example\n\ngo 1.21\n",
		".env": "TOKEN=1\n", "notes.txt": "some notes\n", "report.pdf": string(pdf(5)),
	} {
		path := filepath.Join(g.project, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	must(t, os.MkdirAll(filepath.Join(home, "work"), 0o755))
	if user, err := os.UserHomeDir(); err == nil { // where npm finds packages is not what is tested
		npmrc, _ := os.ReadFile(filepath.Join(user, ".npmrc"))
		if registry := os.Getenv("npm_config_registry"); registry != "" {
			npmrc = append(npmrc, "\nregistry="+registry+"\n"...)
		}
		must(t, os.WriteFile(filepath.Join(home, ".npmrc"), npmrc, 0o600))
	}
	must(t, os.Symlink(program, filepath.Join(g.project, "toolserver")))
	return g
}

// types has bash run a line in the project, and returns all it prints. A server is
// stopped once it serves, on a port of its own.
func (g *newcomer) types(line string) (out string, code int) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 2*patience)
	defer cancel()
	line = strings.NewReplacer("/home/me/", g.home+"/", "/path/to/project", g.project, ":8080 ", ":0 ").Replace(line)
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir, cmd.Env = g.project, g.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stop := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.Cancel = stop
	var all bytes.Buffer
	cmd.Stdout = &all
	if strings.Contains(line, " serve ") {
		cmd.Stdout = &untilServing{printed: &all, stop: stop}
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Run(); cmd.ProcessState == nil {
		g.t.Fatal(err)
	}
	return all.String(), cmd.ProcessState.ExitCode()
}

// untilServing stops a server once it has printed where it serves.
type untilServing struct {
	printed *bytes.Buffer
	stop    func() error
}

func (u *untilServing) Write(b []byte) (int, error) {
	n, err := u.printed.Write(b)
	if strings.Contains(u.printed.String(), "/mcp") && u.stop != nil {
		err, u.stop = u.stop(), nil
	}
	return n, err
}
