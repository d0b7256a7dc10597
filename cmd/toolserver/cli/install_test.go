package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clientHome is a home directory with files of two clients.
func clientHome(t *testing.T) (home string) {
	t.Helper()
	workspace(t)
	home = t.TempDir()
	for _, variable := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(variable, home)
	}
	for _, variable := range []string{"XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME", "CLINE_DIR", "CLINE_DATA_DIR", "CLINE_MCP_SETTINGS_PATH", "APPDATA", "LOCALAPPDATA"} {
		t.Setenv(variable, "")
	}
	t.Setenv("PATH", t.TempDir()) // without clients
	for name, text := range map[string]string{".cursor/mcp.json": "{}\n", ".codex/config.toml": "a = \n"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func TestInstall(t *testing.T) {
	clientHome(t)
	for _, tt := range []struct {
		args     string
		out, err string // parts of what is printed
		code     int
	}{
		{"install", "", "toolserver install codex cursor", exitUsage},
		{"install curser", "", "did you mean cursor?", exitUsage},
		{"install x", "", "known: amp, ", exitUsage},
		{"install claude", "", "did you mean claude-code or claude-desktop?", exitUsage},
		{"install jetbrains", "", "did you mean cline or jetbrains-ai or junie or kilo or windsurf-jetbrains?", exitUsage},
		{"install cline-cli", "", "did you mean cline?", exitUsage},
		{"install jetbrains-ai", "\"toolserver\": {", "", exitOK},
		{"install jetbrains-ai", "paste the entry in Settings", "", exitOK},
		{"uninstall jetbrains-ai", "", "it has no file: remove toolserver in JetBrains AI Assistant", exitFailed},
		{"install jetbrains-ai --project", "", "no file of a project", exitFailed},
		{"install cursor --name a.b", "", "--name", exitUsage},
		{"install cursor --env 1", "", "--env requires", exitUsage},
		{"install cursor --token-env A", "", "requires --url", exitUsage},
		{"install cursor --url ftp://x", "", "requires an address", exitUsage},
		{"install cursor --url https://x --dir .", "", "cannot be combined", exitUsage},
		{"install cursor --dir missing", "", "missing", exitUsage},
		{"install cursor --dry-run", "+    \"toolserver\": {", "", exitOK},
		{"install codex --dry-run", "", "config.toml was not changed: it is no TOML: line 1, column 5", exitFailed},
		{"install claude-desktop --url https://x", "", "takes no address", exitFailed},
		{"install windsurf --project", "", "no file of a project", exitFailed},
		{"install zed --env KEY --print", "", "cannot refer to a variable", exitFailed},
		{"install codex --print --env KEY", "env_vars = [\"KEY\"]", "", exitOK},
		{"install claude-code --print --url https://x/mcp --token-env T", "Bearer ${T:-}", "", exitOK},
		{"install vscode --print-link --name t", "vscode:mcp/install?%7B%22name%22:%22t%22", "", exitOK},
		{"install zed --print-link", "", "no link", exitFailed},
		{"install cursor --print --config off.yaml", "off.yaml", "", exitOK},
		{"uninstall", "", "CLIENT is required", exitUsage},
		{"uninstall cursor", "needs no change", "", exitOK},
		{"clients", "cursor", "", exitOK},
		{"serve --errors loud", "", "neither jsonrpc nor result", exitUsage},
	} {
		out, stderr, code := play(t, "", strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(stderr, tt.err) {
			t.Errorf("%s: exit code %d\n%s%s", tt.args, code, out, stderr)
		}
	}
}

// TestInstallHome installs from the home directory, which is hardly ever what is to be served.
func TestInstallHome(t *testing.T) {
	home := clientHome(t)
	if err := os.Mkdir(filepath.Join(home, "project"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(home)
	const all, meant = "all of your home directory", "say with --dir which directory is meant"
	for _, tt := range []struct {
		args, err string
		without   string // not on standard error
		code      int
	}{
		{"install cursor", meant, "", exitUsage},
		{"install cursor --json", meant, "", exitUsage},
		{"install -y", meant, "", exitUsage},
		{"install cursor -y", meant, "", exitUsage},
		{"install cursor --dry-run", all, meant, exitOK},
		{"install cursor --print", all, meant, exitOK},
		{"install cursor --print-link", all, meant, exitOK},
		{"install cursor --dry-run --dir .", all, meant, exitOK},
		{"install cursor --dry-run --dir " + filepath.Dir(home), all, meant, exitOK},
		{"install cursor --dry-run --dir project", "", all, exitOK},
		{"install cursor --url https://x --dry-run", "", all, exitOK},
		{"check", "", meant, exitOK},
	} {
		out, stderr, code := play(t, "y\n", strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stderr, tt.err) || tt.without != "" && strings.Contains(stderr, tt.without) {
			t.Errorf("%s: exit code %d\n%s%s", tt.args, code, out, stderr)
		}
		if tt.args == "check" && !strings.Contains(out, all) {
			t.Errorf("check says nothing:\n%s", out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(home, ".cursor", "mcp.json")); err != nil || string(text) != "{}\n" {
		t.Errorf("%s, %v", text, err)
	}
}

// TestUninstallOlder takes an entry out where an older version of the client had it, too.
func TestUninstallOlder(t *testing.T) {
	home := clientHome(t)
	config, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(config, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json")
	if !strings.HasPrefix(file, home) {
		t.Skip("the directory is not below the home directory")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	const left = "{\n  \"mcpServers\": {\n    \"other\": {}\n  }\n}\n"
	if err := os.WriteFile(file, []byte(strings.Replace(left, "{}", "{},\n    \"toolserver\": {\"command\": \"x\"}", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := play(t, "", "uninstall", "cline")
	if text, err := os.ReadFile(file); err != nil || string(text) != left || code != exitOK || !strings.Contains(out, "removed in "+file) {
		t.Errorf("%d, %v: %s%s%s", code, err, text, out, stderr)
	}
}

// TestInstallJSON reads what install and clients print for programs.
func TestInstallJSON(t *testing.T) {
	home := clientHome(t)
	out, _, code := play(t, "", "install", "cursor", "codex", "--dry-run", "--json")
	var reports []report
	if err := json.Unmarshal([]byte(out), &reports); err != nil || code != exitFailed || len(reports) != 2 ||
		reports[0].Status != "planned" || reports[1].Status != "failed" || reports[1].Problem == "" {
		t.Errorf("%d, %v: %s", code, err, out)
	}
	if text, err := os.ReadFile(filepath.Join(home, ".cursor", "mcp.json")); err != nil || string(text) != "{}\n" {
		t.Errorf("%s, %v", text, err)
	}
	out, _, _ = play(t, "", "clients", "--json")
	var states []clientState
	found := map[string]bool{}
	if err := json.Unmarshal([]byte(out), &states); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, s := range states {
		if found[s.Client] = s.Found; s.Client == "codex" && !strings.Contains(s.Problem, "line 1") {
			t.Errorf("%+v", s)
		}
	}
	if !found["cursor"] || !found["codex"] || found["zed"] {
		t.Errorf("%v", found)
	}
}

func TestNPX(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "package.json")
	if err := os.WriteFile(manifest, []byte(`{"_npx": {"packages": ["toolserver@1"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if argv := npxCommand(manifest); !strings.HasSuffix(strings.Join(argv, " "), "npx -y toolserver@1") {
		t.Errorf("%q", argv)
	}
	if argv := npxCommand(manifest + "x"); argv != nil {
		t.Errorf("%q", argv)
	}
}
