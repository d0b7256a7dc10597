package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// surroundings are what a process says of where it runs.
type surroundings struct {
	Env, Argv, FD []string
	CWD           string
}

func (s *gatewayServer) surroundings(upstream string) (all surroundings) {
	s.t.Helper()
	s.awaits(upstream + "__env")
	must(s.t, json.Unmarshal([]byte(s.call(upstream+"__env", nil).text()), &all))
	return all
}

// TestUpstreamsEnvironment shows that an upstream sees only the variables it is given,
// and no descriptor of the server.
func TestUpstreamsEnvironment(t *testing.T) {
	t.Parallel()
	config := gateway(
		entry("plain", "", upstreamBinary(t)),
		entry("given", `, cwd: sub, env: {X: "1", LANG: C, "Y": "${GIVEN}"}, inherit_env: [HOME2, "MY_*"]`, upstreamBinary(t), "--name", "a b"),
		entry("boxed", `, sandbox: true, env: {X: "1"}`, own(t, upstreamBinary(t))))
	file, dir := configured(t, config)
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	s := reopenGateway(t, &gatewayServer{config: file, dir: dir, state: t.TempDir()},
		"API_SECRET=sesame", "AWS_SECRET_ACCESS_KEY=sesame", "SSH_AUTH_SOCK=/sesame", "LD_PRELOAD=", "GIVEN=gift", "HOME2=here", "MY_A=1", "MY_B=2", "XMY_C=sesame")
	for _, name := range []string{"plain", "given", "boxed"} {
		got := s.surroundings(name)
		env := strings.Join(got.Env, "\n")
		if strings.Contains(env, "sesame") || strings.Contains(env, "API_SECRET") || strings.Contains(env, "TOOLSERVER") {
			t.Errorf("%s has secrets: %s", name, env)
		}
		if !strings.Contains(env, "PATH=") {
			t.Errorf("%s has no PATH: %s", name, env)
		}
		if name != "given" && (strings.Contains(env, "HOME2") || strings.Contains(env, "MY_A") || strings.Contains(env, "gift")) {
			t.Errorf("%s has what it is not given: %s", name, env)
		}
		for _, fd := range got.FD {
			if target := strings.Fields(fd)[1]; !slices.Contains([]string{"0", "1", "2"}, strings.Fields(fd)[0]) && !strings.Contains(target, "/proc/") && !strings.HasPrefix(target, "/sys/") && !strings.HasPrefix(target, "anon_inode:") {
				t.Errorf("%s has a descriptor of another: %s", name, fd)
			}
		}
	}
	given := s.surroundings("given")
	for _, want := range []string{"X=1", "LANG=C", "Y=gift", "HOME2=here", "MY_A=1", "MY_B=2"} {
		if !slices.Contains(given.Env, want) {
			t.Errorf("no %s in %q", want, given.Env)
		}
	}
	if filepath.Base(given.CWD) != "sub" || !slices.Equal(given.Argv[1:], []string{"--name", "a b"}) {
		t.Errorf("it runs in %s as %q", given.CWD, given.Argv)
	}
}

// TestUpstreamsSandboxed shows that an upstream in the sandbox reads what commands
// may, and one outside of it what the server may.
func TestUpstreamsSandboxed(t *testing.T) {
	t.Parallel()
	program := own(t, upstreamBinary(t))
	config := fmt.Sprintf("tools: {read_file: {allowed_paths: [., %q], denied_paths: [hidden.txt]}}\n", filepath.Dir(program)) +
		gateway(entry("free", "", upstreamBinary(t)), entry("boxed", ", sandbox: true", program))
	file, dir := configured(t, config)
	outside := filepath.Join(t.TempDir(), "outside.txt")
	for path, text := range map[string]string{outside: "outside", filepath.Join(dir, "inside.txt"): "inside", filepath.Join(dir, "hidden.txt"): "hidden"} {
		must(t, os.WriteFile(path, []byte(text), 0o600)) // before the program starts, or what is denied is not there to be hidden
	}
	s := reopenGateway(t, &gatewayServer{config: file, dir: dir, state: t.TempDir()})
	for _, name := range []string{"free", "boxed"} {
		s.awaits(name + "__open_file")
		s.says(name+"__open_file", map[string]any{"path": filepath.Join(s.dir, "inside.txt")}, "inside")
	}
	s.says("free__open_file", map[string]any{"path": outside}, "outside")
	for _, path := range []string{outside, filepath.Join(s.dir, "hidden.txt")} {
		if a := s.call("boxed__open_file", map[string]any{"path": path}); !a.failed() {
			t.Errorf("it reads %s: %s", path, a.text())
		}
	}
}
