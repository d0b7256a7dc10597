package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
)

// Commands one after the other by one supervisor: what was prepared for the one before
// holds as if it were new, whatever happened meanwhile.
func TestReuse(t *testing.T) {
	if have := Probe(); have.LandlockABI == 0 || !have.Seccomp || !have.MountNamespace {
		t.Skip("no Landlock, no seccomp or no mount namespaces here")
	}
	needs(t, "bash")
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	launcher := process.NewLauncher(process.Options{Supervisor: self, Method: process.MethodNamespace})
	defer launcher.Close()
	r := runner.New(launcher, runner.Options{})
	defer r.Close()
	if _, err := launcher.Method(); err != nil {
		t.Skip(err)
	}
	g := newGround(t)
	out, at := filepath.Dir(g.outside), func(name string) string { return filepath.Join(g.work, name) }
	lib := filepath.Join(out, "lib")
	for _, file := range []string{at("denied"), at("a/kept"), at("a/free"), lib + "/x/f", lib + "/y/f", out + "/other/f"} {
		write(t, file, "first\n")
	}
	spec := mustEncode(t, Spec{
		Read: []string{lib + "/x", lib + "/y"}, Write: []string{g.work}, Deny: []string{at("denied"), at("later")}, ReadOnly: []string{at("a/kept")},
	})
	plan := spec
	sh := func(script string) string {
		t.Helper()
		res, err := r.Run(t.Context(), runner.Request{Shell: script, Env: append(process.MinimalEnv(nil), "MARK=given"), Dir: g.work, Confine: plan, Timeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer res.Close()
		return text(res)
	}
	mounts := func() string { return sh("stat -c %z /dev/shm") } // when they were made
	// Each change is seen by the command that comes next.
	holds := func(what string) {
		t.Helper()
		got := sh("cat denied later " + out + "/other/f " + g.secret + "; echo x > a/kept; echo x > denied; ! [ -e later ] || echo x > later")
		if strings.Contains(got, "first\n") || strings.Contains(got, "secret\n") {
			t.Errorf("%s: %q", what, got)
		}
		for _, file := range []string{"denied", "later", "a/kept"} {
			if b, _ := os.ReadFile(at(file)); strings.Contains(string(b), "x") {
				t.Errorf("%s: %s was written to", what, file)
			}
		}
	}
	fresh := func(what string, change func(), readable ...string) {
		t.Helper()
		before := mounts()
		if again := mounts(); again != before {
			t.Fatalf("before %s: nothing was used again", what)
		}
		change()
		holds(what)
		if mounts() == before {
			t.Errorf("%s: the mounts are those of before", what)
		}
		if got := sh("cat " + strings.Join(readable, " ")); strings.Count(got, "first\n") != len(readable) {
			t.Errorf("%s: %q", what, got)
		}
	}
	must := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	replace := func(path string) func() {
		return func() {
			write(t, path+".new", "first\n")
			must(os.Rename(path+".new", path))
		}
	}
	holds("at first")
	fresh("a denied file is replaced", replace(at("denied")), at("a/free"))
	fresh("a kept file is replaced", replace(at("a/kept")), at("a/kept"))
	fresh("its directory is replaced", func() {
		must(os.Rename(at("a"), at("b")))
		write(t, at("a/kept"), "first\n")
		write(t, at("a/free"), "first\n")
	}, at("a/kept"), at("b/kept"))
	fresh("a denied file comes to exist", replace(at("later")), at("a/free"))
	time.Sleep(2 * settled) // from here on the directory stands for what is in it
	fresh("a readable directory is replaced", func() {
		must(os.Rename(lib+"/x", lib+"/moved"))
		write(t, lib+"/x/f", "first\n")
	}, lib+"/x/f", lib+"/y/f")
	if got := sh("cat " + lib + "/moved/f"); !strings.Contains(got, "denied") {
		t.Errorf("a directory that is not at its place any more: %q", got)
	}
	fresh("a link is in its place", func() { must(os.RemoveAll(lib+"/y"), os.Symlink(out+"/other", lib+"/y")) }, lib+"/x/f")
	must(os.Remove(lib + "/y"))
	write(t, lib+"/y/f", "first\n")
	fresh("the working directory is replaced", func() {
		must(os.Rename(g.work, g.work+".old"))
		for _, file := range []string{at("denied"), at("later"), at("a/kept"), at("a/free")} {
			write(t, file, "first\n")
		}
	}, at("a/free"))
	fresh("shared memory is left", func() { sh("echo left > /dev/shm/left") })
	if got := sh("ls -A /dev/shm"); got != "" {
		t.Errorf("in shared memory: %q", got)
	}
	fresh("the mode of shared memory is changed", func() { sh("chmod 700 /dev/shm") })
	if _, err := os.Stat("/usr/bin/ipcmk"); err == nil {
		for _, kind := range []string{"-M 64", "-S 1", "-Q"} {
			fresh("left by ipcmk "+kind, func() { sh("ipcmk " + kind) })
		}
		if got := sh("ipcs"); strings.Contains(got, "0x") {
			t.Errorf("left: %s", got)
		}
	}
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		const open = `import ctypes; print(ctypes.CDLL(None).mq_open(b"/left", 66, 0o600, None))`
		if sh("/usr/bin/python3 -c '"+open+"'") == "3\n" {
			fresh("a queue is left", func() { sh("/usr/bin/python3 -c '" + open + "'") })
		}
	}
	sh("umask 077; echo > made")
	if got := sh("umask; echo $MARK"); got != "0022\ngiven\n" {
		t.Errorf("umask and environment %q", got)
	}
	fresh("another plan came between", func() {
		plan = mustEncode(t, Spec{Write: []string{g.work}, Read: []string{out}})
		if got := sh("cat denied " + g.secret); got != "first\nsecret\n" {
			t.Errorf("under another plan: %q", got)
		}
		plan = spec
	})
}
