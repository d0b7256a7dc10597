package deploy

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const unitFile = "../../deploy/systemd/toolserver.service"

// TestExposure has systemd-analyze look at the unit.
func TestExposure(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is missing")
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", unitFile).CombinedOutput()
	must(t, err)
	level := regexp.MustCompile(`Overall exposure level for \S+: ([\d.]+)`).FindSubmatch(out)
	if level == nil {
		t.Fatalf("%s", out)
	}
	if got, err := strconv.ParseFloat(string(level[1]), 64); err != nil || got > 2.5 {
		t.Errorf("exposure level %s: %s", level[1], out)
	}
}

// TestUnit has systemd start the unit, as the first process of namespaces, and calls its server: all layers are required, the key of
// the audit comes as a credential, and commands see nothing of either.
func TestUnit(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a systemd for services")
	}
	if _, err := os.Stat("/lib/systemd/systemd"); err != nil {
		t.Skip("systemd is missing")
	}
	program, dir := toolserver(t), t.TempDir()
	unit, err := os.ReadFile(unitFile)
	must(t, err)
	binary, err := os.ReadFile(program)
	must(t, err)
	ann, entry := token(t, program, "ann")
	address := freePort(t)
	config := fmt.Sprintf(`working_directory: /srv/work
state_directory: /var/lib/toolserver/state
server:
  http: %s
  drain_delay: 10s
  grace: 30s
  tokens:
%saudit: {file: /var/log/toolserver/audit.jsonl, key_file: /run/credentials/toolserver.service/audit.key}
sandbox: {enforcement: required}
`, address, entry)
	for name, content := range map[string]string{
		"toolserver": string(binary), "config.yaml": config,
		"toolserver.service": strings.NewReplacer("User=toolserver", "User=nobody", "\n[Install]", "StandardOutput=append:/run/given/log\nStandardError=append:/run/given/log\n\n[Install]").Replace(string(unit)),
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755))
	}
	system := start(t, dir, "unshare", "--kill-child", "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "bash", "testdata/boot.sh", dir)
	t.Cleanup(func() { _ = system.Process.Kill() }) // systemd takes a signal for something else
	deadline := time.After(20 * time.Second)
	for tick := time.Tick(50 * time.Millisecond); ; {
		resp, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			resp.Body.Close()
			break
		}
		select {
		case <-tick:
			continue
		case <-system.ended:
		case <-deadline:
		}
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		boot, _ := os.ReadFile(system.log)
		if len(log) > 0 {
			t.Fatalf("the unit does not start: %s", log)
		}
		t.Skipf("no systemd here: %s", boot)
	}
	s := &endpoint{url: "http://" + address + "/mcp", transport: http.DefaultTransport}
	session, err := s.connect(ann, modern)
	must(t, err)
	defer session.Close()
	bash := func(command string) string { return call(session, "bash", map[string]any{"command": command}) }
	if got := bash("echo written >file && cat file; ls /proc | head -1; echo socket:$NOTIFY_SOCKET."); !strings.HasPrefix(got, "written\n1\nsocket:.") || strings.Contains(got, "not enforced") {
		t.Errorf("a command: %s", got)
	}
	for _, attempt := range []string{
		`python3 -c "print(open('/run/credentials/toolserver.service/aud' + 'it.key').read())"`, `python3 -c "print(open('/var/log/toolserver/aud' + 'it.jsonl').read())"`,
		"ls /var/lib/toolserver/state", "touch /srv/x", "unshare -Ur true", "echo >/dev/tcp/" + strings.Replace(address, ":", "/", 1),
	} {
		if got := bash("(" + attempt + ") 2>&1 && echo done"); strings.Contains(got, "done\n") || !regexp.MustCompile(`(?i)denied|not permitted|no such file|read-only`).MatchString(got) {
			t.Errorf("%s: %s", attempt, got)
		}
	}
}
