package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrust has every command say which file it does not use, until that is trusted.
func TestTrust(t *testing.T) {
	file := filepath.Join(workspace(t), "toolserver.yaml")
	if err := os.WriteFile(file, []byte("sandbox: {network: all}\ntools: {echo: {enabled: false}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	commands := []string{"call echo", "utility echo", "explain echo", "tools", "config show", "check"}
	hint := "toolserver trust " + file
	for _, line := range commands {
		out, stderr, _ := play(t, "", strings.Fields(line)...)
		if line == "check" {
			out, stderr = stderr, out // it has a line of its own for it
		}
		if !strings.Contains(stderr, file+" is not used") || !strings.Contains(stderr, hint) || strings.Contains(out, hint) || strings.Contains(stderr, "enabled: false") {
			t.Errorf("%s: %s%s", line, out, stderr)
		}
	}
	out, _, _ := play(t, "", "check", "--json")
	var report struct {
		Policy struct {
			Source, File, SHA256 string
			Unused               []struct{ File, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Policy.Source != "defaults" || len(report.Policy.Unused) != 1 || report.Policy.Unused[0].File != file {
		t.Errorf("%+v, %v", report, err)
	}
	out, stderr, code := play(t, "", "trust")
	for _, want := range []string{"trusted " + file + " (sha256 ", "sandbox.network: all", "tools.echo.enabled: false", filepath.Dir(file) + "\n"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("code %d, no %q in %s%s", code, want, out, stderr)
		}
	}
	for _, line := range commands {
		if out, stderr, _ := play(t, "", strings.Fields(line)...); strings.Contains(out+stderr, "not used") {
			t.Errorf("%s: %s%s", line, out, stderr)
		}
	}
	if _, stderr, code := play(t, "", "call", "echo"); code != 2 || !strings.Contains(stderr, "disabled") {
		t.Errorf("code %d, %s", code, stderr)
	}
	out, _, _ = play(t, "", "check", "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Policy.Source != "trusted" || len(report.Policy.SHA256) != 64 {
		t.Errorf("%+v, %v", report, err)
	}
	if out, _, code := play(t, "", "trust", "--list"); code != 0 || !strings.HasPrefix(out, report.Policy.SHA256+"  ") || !strings.HasSuffix(out, file+"\n") {
		t.Errorf("code %d, %s", code, out)
	}
	for _, line := range []string{"trust --revoke", "untrust toolserver.yaml"} {
		if _, stderr, code := play(t, "", strings.Fields(line)...); code != 0 {
			t.Errorf("%s: code %d, %s", line, code, stderr)
		}
	}
	if out, _, code := play(t, "", "trust", "--list", "--json"); code != 0 || strings.Join(strings.Fields(out), "") != `{"trusted":[]}` {
		t.Errorf("code %d, %s", code, out)
	}
	for line, want := range map[string]int{"trust --list x": 2, "trust --list --revoke": 2, "trust a b": 1, "trust off.yaml": 1, "trust none/toolserver.yaml": 1} {
		if _, stderr, code := play(t, "", strings.Fields(line)...); code == 0 || want == 2 && code != 2 || stderr == "" {
			t.Errorf("%s: code %d, %s", line, code, stderr)
		}
	}
}
