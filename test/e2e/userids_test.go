//go:build linux

package e2e

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// TestUserIDs gives each principal a user ID of their own, for good, by which commands and servers run and files are made. It takes root;
// without, such a configuration is refused.
func TestUserIDs(t *testing.T) {
	t.Parallel()
	work, state, name := t.TempDir(), t.TempDir(), rand.Text()
	must(t, errors.Join(os.Chmod(filepath.Dir(work), 0o755), os.Chmod(state, 0o700)))
	text := withTokens("ann", "anns", "bob", "bobs", "eve", "eves") +
		fmt.Sprintf("state_directory: %s\nprofiles: [{name: each, working_directory: '%s/{principal}/project', uid_range: 300100-300101}]\n", state, work) +
		gateway(entry("own", ", instance: principal", upstreamBinary(t), "--name", name), entry("loose", ", instance: principal, sandbox: false", upstreamBinary(t), "--name", name))
	file, dir := configured(t, text)
	check := exec.Command(binary(), "check", "--config", file)
	if os.Geteuid() == 0 {
		must(t, os.Chmod(filepath.Dir(dir), 0o755))
		check.Dir, check.SysProcAttr = dir, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if said, err := check.CombinedOutput(); err == nil || !strings.Contains(string(said), "uid_range: cannot be used: the server has to run as root") {
		t.Errorf("without root: %v\n%s", err, said)
	}
	if os.Geteuid() != 0 {
		return
	}
	if said, _ := exec.Command(binary(), "check", "--config", file).CombinedOutput(); strings.Contains(string(said), "uid_range: cannot be used") {
		t.Skipf("this machine does not let root give others IDs: %s", said)
	}
	connected := func(s *httpServer, token string) *mcpclient.Client {
		c, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, s.url, http.Header{"Authorization": {"Bearer " + token}},
			mcpclient.Options{Name: "t", Version: "1", Protocol: modernVersion, ConnectTimeout: patience})
		must(t, err)
		t.Cleanup(c.Close)
		return c
	}
	call := func(c *mcpclient.Client, tool, arguments string) string {
		return comesTo(c, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	}
	bash := func(c *mcpclient.Client, command string) string {
		return call(c, "bash", fmt.Sprintf(`{"command":%q}`, command))
	}
	s := launchHTTP(t, nil, binary(), "--config", file)
	bob, ann, eve := connected(s, "bobs"), connected(s, "anns"), connected(s, "eves")
	for _, p := range []struct {
		c    *mcpclient.Client
		user string
	}{{bob, "300100"}, {ann, "300101"}} {
		if said := bash(p.c, "id -u; id -g; id -G; umask; echo $HOME; touch $HOME/x"); !regexp.MustCompile(p.user + `\\n` + p.user + `\\n` + p.user + `\\n0022\\n` + work + `/\w+-\w+/project"`).MatchString(said) {
			t.Errorf("the user %s is %s", p.user, said)
		}
		for _, step := range [][2]string{
			{"write_file", `{"path":"made/deep/file","content":"x","create_dirs":true}`}, {"write_file", `{"path":"made/deep/file","content":"y"}`},
			{"create_directory", `{"path":"made/directory"}`}, {"copy_file", `{"source":"made","destination":"copied"}`},
			{"move_file", `{"source":"copied/deep","destination":"moved"}`}, {"edit_file", `{"path":"moved/file","edits":[{"old_text":"y","new_text":"z"}]}`},
		} {
			if said := call(p.c, step[0], step[1]); strings.Contains(said, `"isError":true`) || !strings.HasSuffix(said, "<nil>") {
				t.Errorf("%s %s: %s", step[0], step[1], said)
			}
		}
		// Git sees beside what is hidden no change, and may not open it.
		bash(p.c, "git init -q .")
		found, err := filepath.Glob(filepath.Join(work, "*", "project", "moved", "file"))
		must(t, err)
		for _, home := range found {
			if home = filepath.Dir(filepath.Dir(home)); !strings.Contains(bash(p.c, "pwd"), home) {
				continue
			}
			secret, old := filepath.Join(home, ".env"), time.Now().Add(-time.Hour)
			must(t, errors.Join(os.WriteFile(secret, []byte("secret\n"), 0o644), os.Chtimes(secret, old, old)))
			git := exec.Command("git", "-C", home, "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "add", "-f", ".env")
			said, err := git.CombinedOutput()
			if err != nil {
				t.Fatalf("git: %s", said)
			}
			git = exec.Command("chown", "-R", p.user+":"+p.user, home)
			must(t, git.Run())
			if said := bash(p.c, `git status --porcelain; cat $(ls -a | grep env)`); strings.Contains(said, "secret") || !strings.Contains(said, `A  .env\n`) {
				t.Errorf("what is hidden: %s", said)
			}
		}
		if said := bash(p.c, `echo x > /dev/stdout; sh -c 'echo x > /dev/stderr'`); !strings.Contains(said, `x\nx`) {
			t.Errorf("its output cannot be opened: %s", said)
		}
		if said := bash(p.c, `find . ! -name '.e*' \( ! -user `+p.user+` -o ! -group `+p.user+` \); for i in made copied moved; do touch $i/own && rm -r $i; done; cat made 2>&1 | head -1`); !strings.Contains(said, "No such file") || strings.Contains(said, "./") {
			t.Errorf("files of others: %s", said)
		}
		for _, tool := range []string{"own__env", "loose__env"} {
			said := ""
			eventually(t, tool+" answers", func() bool {
				said = call(p.c, tool, "{}")
				return strings.HasSuffix(said, "<nil>")
			})
			if !regexp.MustCompile(`HOME=`+work+`/\w+-\w+/project\b`).MatchString(said) || !strings.Contains(said, "USER="+p.user) {
				t.Errorf("the environment of %s is %s", tool, said)
			}
		}
	}
	users := map[string]int{}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if info, err := os.Stat(file); err == nil && strings.Contains(string(line), name) {
			users[fmt.Sprint(info.Sys().(*syscall.Stat_t).Uid)]++
		}
	}
	if users["300100"] != 2 || users["300101"] != 2 || users["0"] != 2 { // of the user of the configuration
		t.Errorf("servers run as %v", users)
	}
	if said := bash(eve, "id -u"); !strings.Contains(said, "your workspace cannot be made") || !strings.Contains(s.log(), "300100-300101, has none left") {
		t.Errorf("one too many: %s\n%s", said, s.log())
	}
	must(t, s.cmd.Process.Kill())
	<-s.exited
	// The IDs stay, and a directory that is somebody else's is not used.
	homes, err := filepath.Glob(filepath.Join(work, "bob-*"))
	must(t, err)
	must(t, os.Lchown(homes[0], 0, 0))
	homes, err = filepath.Glob(filepath.Join(work, "ann-*"))
	must(t, err)
	must(t, errors.Join(os.Rename(homes[0], homes[0]+".kept"), os.Mkdir(homes[0], 0o700))) // as a server leaves it that is killed while it makes it
	s = launchHTTP(t, nil, binary(), "--config", file)
	ann, bob = connected(s, "anns"), connected(s, "bobs")
	if said := bash(ann, "id -u; touch y; ls"); !strings.Contains(said, `300101\ny`) {
		t.Errorf("after a restart: %s", said)
	}
	if said := bash(bob, "id -u"); !strings.Contains(said, "your workspace cannot be made") || !strings.Contains(s.log(), "user with the ID 300100") {
		t.Errorf("a directory of root: %s\n%s", said, s.log())
	}
}
