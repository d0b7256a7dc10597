//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// laxPolicy is a policy that lets everything pass, and quietPolicy is one of which no result
// says anything.
const (
	laxPolicy   = "sandbox: {enforcement: parse_only, network: all, protect_default: false}\ntools: {write_file: {allowed_paths: [/]}}\n"
	quietPolicy = "sandbox: {network: all, unix_sockets: true, protect_default: false}\ntools: {write_file: {allowed_paths: [/]}}\n"
)

// plain returns what starts the program in a directory, with no configuration named.
func (g *ground) unconfigured(dir, without string, env []string, args ...string) []string {
	g.t.Helper()
	argv := []string{"env", "-C", dir, built(g.t, "launcher"), "-without", without}
	if g.who.id != os.Geteuid() {
		argv = append(argv, "-user", strconv.Itoa(g.who.id))
	}
	for _, v := range append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "TMPDIR=" + g.temp}, env...) {
		argv = append(argv, "-env", v)
	}
	return append(append(argv, g.exe), args...)
}

// says runs the program to its end in a directory and returns what it says.
func (g *ground) says(dir, without string, args ...string) string {
	g.t.Helper()
	argv := g.unconfigured(dir, without, nil, args...)
	out, _ := exec.Command(argv[0], argv[1:]...).CombinedOutput() // whatever the code
	return string(out)
}

// escapes reports whether a command of a server that is started in a directory
// writes outside of it.
func (g *ground) escapes(dir, without string, flags ...string) bool {
	g.t.Helper()
	mark := filepath.Join(g.out, "escaped")
	g.says(dir, without, append(flags, "call", "bash", "echo 1 > "+mark)...)
	return os.Remove(mark) == nil
}

// TestTrustComputed has a command make a configuration by a name that it computes,
// for the next server.
func TestTrustComputed(t *testing.T) {
	t.Parallel()
	for _, without := range []string{"", "namespaces"} {
		eachAccount(t, func(t *testing.T, who account) {
			for _, policy := range []string{laxPolicy, quietPolicy} {
				g := newGround(t, who)
				g.file("t", policy, 0o644)
				file := filepath.Join(g.work, "toolserver.yaml")
				for _, line := range []string{
					"echo lmay.revresloot | rev | xargs cp t", "cp t $(printf tool)server.y$(echo aml)", "x=tool; cp t ${x}server.yaml", `python3 -c "open('tool' + 'server.yaml', 'w').write(open('t').read())"`,
					"mkdir d; cp t d/$(echo toolserver).yaml; mv d/* .", "ln -s t $(echo TOOLSERVER.YAML | tr A-Z a-z)", "tar cf a.tar --transform s/t/$(echo toolserver).yaml/ t; tar xf a.tar",
				} {
					g.says(g.work, without, "call", "bash", line)
					if g.escapes(g.work, without) {
						t.Errorf("%s\nopens the next server", line)
					}
					_ = os.Remove(file)
				}
				must(t, os.Rename(filepath.Join(g.work, "t"), file))
				if g.escapes(g.work, without) {
					t.Error("a file that is simply there opens the server")
				}
			}
		})
	}
}

// TestTrustRepository serves a repository that brings a configuration, over both
// transports, to clients of both protocol versions.
func TestTrustRepository(t *testing.T) {
	t.Parallel()
	g := newGround(t, account{"own", os.Geteuid()})
	repository := filepath.Join(g.dir, "evil")
	file := g.file(filepath.Join(repository, "toolserver.yaml"), laxPolicy, 0o644)
	clone := filepath.Join(g.work, "clone")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"}, {"clone", "-q", repository, clone}} {
		if out, err := exec.Command("git", append([]string{"-C", filepath.Dir(file)}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	file = filepath.Join(clone, "toolserver.yaml")
	mark := filepath.Join(g.out, "escaped")
	check := func(what, log, health string) {
		t.Helper()
		if _, err := os.Stat(mark); err == nil {
			t.Error(what, "writes outside")
		}
		contain(t, what+", log", log, "configuration: "+file+" is not used", "toolserver trust "+file, "--config "+file, "defaults")
		contain(t, what+", status://health", health, "the defaults apply", file+" is not used")
	}
	b := &box{toolClient: connect(t, g.unconfigured(clone, "", nil, "serve", "--stdio", ".")...), ground: g}
	b.bash("echo 1 > " + mark)
	health := b.resource("status://health")
	b.stop()
	check("stdio", b.log(), health)

	s := launchHTTP(t, []string{"-C", clone, "-u", "TOOLSERVER_CONFIG", "-u", "XDG_CONFIG_HOME", "-u", "XDG_STATE_HOME", "HOME=" + g.home}, g.exe, "--insecure-no-auth")
	for _, version := range []string{modernVersion, "2025-11-25"} {
		p := s.newPeer(t, version, "")
		<-p.send(t.Context(), p.callMessage("1", "bash", map[string]any{"command": "echo 1 > " + mark}, ""))
		r := <-p.send(t.Context(), p.message("2", "resources/read", `"uri":"status://health"`, ""))
		check("HTTP", s.log(), r.body)
	}
	text := g.says(clone, "", "check")
	contain(t, "check", text, "ok   configuration  no file; the defaults apply", "fail not used       "+file)
}

// TestTrustNamed has a person name the file, or trust it.
func TestTrustNamed(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		file := g.file("toolserver.yaml", "tools: {write_file: {allowed_paths: [/]}}\n", 0o644)
		for _, flags := range [][]string{{"--config", "toolserver.yaml"}, {"-c", file}, {"-c", "none.yaml", "-c", "./toolserver.yaml"}} {
			if !g.escapes(g.work, "", flags...) {
				t.Errorf("%v names nothing", flags)
			}
		}
		argv := g.unconfigured(g.work, "", []string{"TOOLSERVER_CONFIG=toolserver.yaml"}, "check")
		out, _ := exec.Command(argv[0], argv[1:]...).Output()
		contain(t, "check", string(out), "ok   configuration  "+file+" (named by $TOOLSERVER_CONFIG)")
		if g.escapes(g.work, "") {
			t.Error("it is used although nobody has named it")
		}

		contain(t, "trust", g.says(g.work, "", "trust"), "trusted "+file+" (sha256 ", "tools.write_file.allowed_paths: [/]")
		if !g.escapes(g.work, "") {
			t.Error("it is trusted and not used")
		}
		contain(t, "check", g.says(g.work, "", "check"), "ok   configuration  "+file+" (trusted, sha256 ")
		contain(t, "config show", g.says(g.work, "", "config", "show"), "# from "+file+" (trusted, sha256 ")
		g.file("toolserver.yaml", "tools: {write_file: {allowed_paths: [/]}} # changed\n", 0o644)
		if g.escapes(g.work, "") {
			t.Error("another content is used")
		}
		contain(t, "check", g.says(g.work, "", "check"), "its content is not what was trusted")
		g.file("toolserver.yaml", "tools: {write_file: {allowed_paths: [/]}}\n", 0o644)
		if !g.escapes(g.work, "") {
			t.Error("the content is what was trusted")
		}
		g.says(g.work, "", "untrust")
		if g.escapes(g.work, "") || g.says(g.work, "", "trust", "--list") != "" {
			t.Error("trust is not taken back")
		}
	})
}

// TestTrustFromInside has commands trust a file, and a link lead elsewhere.
func TestTrustFromInside(t *testing.T) {
	t.Parallel()
	for _, without := range []string{"", "namespaces"} {
		eachAccount(t, func(t *testing.T, who account) {
			g := newGround(t, who)
			file := g.file("toolserver.yaml", laxPolicy, 0o644)
			for _, line := range []string{
				g.exe + " trust", g.exe + " trust " + file, "XDG_STATE_HOME=$PWD " + g.exe + " trust", "HOME=$PWD " + g.exe + " trust",
				"d=$(echo ~/.local/st)ate/toolserver/trust; mkdir -p -m 700 $d; sum=$(sha256sum $(echo tool)server.yaml | cut -c1-64); " +
					`echo "{\"trusted\":[{\"file\":\"$PWD/$(echo tool)server.yaml\",\"sha256\":\"$sum\"}]}" > $d/trusted.json`,
			} {
				g.says(g.work, without, "call", "bash", line)
				if g.escapes(g.work, without) {
					t.Errorf("%s\nis obeyed", line)
				}
			}
			// The policy that is trusted may not be exchanged for another.
			must(t, os.Remove(file))
			g.file("conf/real.yaml", "{}\n", 0o644)
			must(t, os.Symlink("conf/real.yaml", file))
			g.says(g.work, without, "trust")
			contain(t, "check", g.says(g.work, without, "check"), "(trusted, sha256 ")
			g.file("evil", laxPolicy, 0o644)
			g.says(g.work, without, "call", "bash", "ln -sf evil $(echo tool)server.yaml; cp evil $(echo co)nf/real.yaml; mv evil $(echo tool)server.yaml")
			if g.escapes(g.work, without) {
				t.Error("another content behind the link is obeyed")
			}
		})
	}
}

// planting is a script that plants configurations, and trust in them, by names that it
// computes.
const planting = `
import os, sys, json, hashlib, subprocess
home, exe, policy = os.environ["HOME"], sys.argv[1], open("policy").read()
join = lambda *parts: home + "".join(parts)
user, here, deep = join("/.con", "fig/tool", "server/con", "fig.yaml"), join("/tool", "server.yaml"), join("/project/tool", "server.yaml")
store = join("/.lo", "cal/st", "ate/tool", "server/tr", "ust/trus", "ted.json")
def attempt(f, *args):
    try: f(*args)
    except Exception as e: print(e)
def write(path, text):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    open(path, "w").write(text)
for path in user, here, deep:
    attempt(write, path, policy)
digest = hashlib.sha256(policy.encode()).hexdigest()
forged = json.dumps({"trusted": [{"file": p, "sha256": digest} for p in (user, here, deep)]})
for end in range(4): # 0 is .local, 3 is trust
    part = join("/.lo", "cal") if end == 0 else os.path.dirname(store)
    for _ in range(3 - end if end else 0): part = os.path.dirname(part)
    attempt(os.rename, part, home + "/moved" + str(end))
attempt(write, store, forged)
attempt(os.unlink, store)
attempt(write, store, forged)
for path in user, here, deep:
    attempt(subprocess.run, [exe, "trust", path])
print("all was tried")
`

// TestTrustHome works in the home directory, where the user's configuration and the
// trust are: what commands leave there opens neither the next server nor one that
// works elsewhere.
func TestTrustHome(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		for _, before := range []string{"", "working_directory: ~/project\n"} {
			g := newGround(t, who)
			g.work = g.home
			g.file("plant.py", planting, 0o644)
			g.file("policy", laxPolicy, 0o644)
			g.file("project/x", "", 0o644)
			if before != "" {
				g.file(".config/toolserver/config.yaml", before, 0o644)
			}
			project := filepath.Join(g.home, "project")
			text := g.says(g.home, "", "call", "bash", "python3 plant.py "+g.exe)
			contain(t, "the command", text, "all was tried")
			for _, dir := range []string{g.home, project} {
				if g.escapes(dir, "") {
					t.Errorf("%q, a server in %s is opened; the command said\n%s", before, dir, text)
				}
			}
			if list := g.says(g.home, "", "trust", "--list"); list != "" {
				t.Errorf("commands have trusted %s", list)
			}
			user := filepath.Join(g.home, ".config", "toolserver", "config.yaml")
			must(t, os.MkdirAll(filepath.Dir(user), 0o755))
			must(t, os.WriteFile(user, []byte("tools: {write_file: {allowed_paths: [/]}}\n"), 0o644))
			contain(t, "check", g.says(g.home, "", "check"), user+" is not used, because it lies where tools may write")
			contain(t, "check", g.says(project, "", "check"), user+" is not used, because it has changed since tools could write there")
			contain(t, "trust", g.says(g.home, "", "trust", user), "trusted "+user, "note: tools may write in the directory of "+g.home)
			contain(t, "check", g.says(project, "", "check"), user+" (trusted")
		}
	})
}

// TestTrustReload changes a trusted file while a server runs.
func TestTrustReload(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		policy := func(name string) string {
			return fmt.Sprintf("server: {user: %s}\ntools: {echo: {enabled: false}}\n", name)
		}
		file := g.file("toolserver.yaml", policy("first"), 0o644)
		g.says(g.work, "", "trust")
		b := &box{toolClient: connect(t, g.unconfigured(g.work, "", nil, "serve", "--stdio")...), ground: g}
		echoes := func() bool { return !b.call("echo", map[string]any{"message": "x"}).failed }
		count := func(what string) int { return len(lines(b.log(), what)) }
		const refused, reloaded = "not trusted as it is now; the old one stays in force", "configuration reloaded"
		if echoes() || !strings.Contains(b.resource("status://health"), "trusted, sha256") {
			t.Error("the trusted file is not in force")
		}
		g.file("next", "tools: {}\n", 0o644)
		must(t, os.Rename(filepath.Join(g.work, "next"), file))
		eventually(t, "the file is refused", func() bool { return count(refused) == 1 })
		if echoes() {
			t.Error("what nobody trusts is in force")
		}
		must(t, b.cmd.Process.Signal(syscall.SIGHUP)) // asks for it once more
		eventually(t, "the file is refused again", func() bool { return count(refused) == 2 })
		if echoes() || count(reloaded) > 0 {
			t.Error("what nobody trusts is in force after a hangup")
		}
		g.says(g.work, "", "trust")
		eventually(t, "the file is applied", func() bool { return count(reloaded) == 1 })
		if !echoes() {
			t.Error("what is trusted is not in force")
		}
		g.says(g.work, "", "untrust")
		eventually(t, "the end of trust is noticed", func() bool { return count(refused) == 3 })
		if !echoes() {
			t.Error("the policy in force has gone")
		}
		b.stop()
	})
}

// TestTrustLater has a file appear while a server runs without one, and trusted then:
// it is for the next server.
func TestTrustLater(t *testing.T) {
	t.Parallel()
	g := newGround(t, account{"own", os.Geteuid()})
	b := &box{toolClient: connect(t, g.unconfigured(g.work, "", nil, "serve", "--stdio")...), ground: g}
	g.file("toolserver.yaml", laxPolicy, 0o644)
	g.says(g.work, "", "trust")
	if o := b.bash("echo 1 > " + g.out + "/x"); !o.failed {
		t.Errorf("it is obeyed: %v", o)
	}
	b.stop()
	if !g.escapes(g.work, "") {
		t.Error("it is trusted and not used")
	}
}
