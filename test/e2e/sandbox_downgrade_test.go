//go:build linux

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

// A machine lacks layers of the sandbox.
type machine struct {
	without string
	missing []string // what is said of that, in the words of the product
	given   []string // what best_effort gives up besides, and says
	why     []string // the reason, with the remedy
	holds   []hold   // what the layers that are left refuse, or let be
}

// A hold is a command, and whether it may work.
type hold struct {
	command string
	works   bool
}

// everyday is work that must go on whatever is missing.
var everyday = []hold{
	{"git init -q repo && cd repo && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm one && git log --format=%s", true},
	{"touch a && touch -d 2001-01-01 a && chmod 600 a && chmod +x a && stat -c '%a %Y' a", true},
	{"mkdir -p d && cp -p a d && tar cf d.tar d && rm -r d && tar xpf d.tar && gzip -f a && gunzip a", true},
	{"printf '#!/bin/sh\\necho mine\\n' > s && chmod 755 s && ./s", true},
	{"f=$(mktemp) && echo x > $f && rm $f", true},
	{"python3 -c 'import multiprocessing, subprocess; print(subprocess.check_output([\"echo\", \"x\"]))' || ! command -v python3", true},
}

var (
	filesHold = []hold{
		{"echo x > $OUT/new", false}, {"echo x >> $OUT/file", false}, {"rm $OUT/file", false}, {"mv $OUT/file .", false}, {"ln $OUT/file hard", false}, {"mkdir $OUT/d", false}, {"ln -s $OUT out; echo x > out/new", false},
		{"perl -e 'open(F, q(>), $ENV{OUT} . q(/new)) or die'", false}, {"perl -e 'truncate($ENV{OUT} . q(/file), 0) or die'", false},
	}
	readingHolds  = []hold{{"cat $OUT/file", false}, {"cp $OUT/file x", false}, {"ls $OUT", true}}
	metadataHolds = []hold{{"chmod 777 $OUT/file", false}, {"touch -d 2001-01-01 $OUT/file", false}, {"chown 1 $OUT/file", false}}
	secretsHold   = []hold{{"cat .env", false}, {"cp .env x", false}, {"echo x > .git/hooks/hook", false}, {"cat $HOME/.ssh/id_rsa", false}}
	networkHolds  = []hold{{"perl -e 'socket(my $s, 2, 1, 0) or die'", false}, {"perl -e 'socket(my $s, 2, 1, 262) or die'", false}, {"perl -e 'socket(my $s, 16, 3, 0) or die'", false}, {"perl -e 'socket(my $s, 1, 2, 0) or die'", false}}
	serverHolds   = []hold{{"cat /proc/$SERVER/environ", false}, {"readlink /proc/$SERVER/fd/0", false}, {"cat /proc/$SERVER/maps", false}, {": <> /proc/$SERVER/mem", false}, {"cat /proc/$PPID/environ", false}, {": < /proc/$PPID/mem", false}}
	othersHold    = append([]hold{{"kill -0 $SERVER", false}}, serverHolds...)
)

func machines() []machine {
	const remedy, helpMounts = "it takes Linux 5.13 or later", "run the server with CAP_SYS_ADMIN, or allow user namespaces"
	join := slices.Concat[[]hold]
	return []machine{
		{"", nil, nil, nil, join(filesHold, readingHolds, metadataHolds, secretsHold, networkHolds, othersHold)},
		{"landlock", []string{"which files commands may read, write and start"}, nil, []string{"there is no Landlock", remedy}, join(filesHold, metadataHolds, secretsHold, networkHolds, othersHold, []hold{{"cat $OUT/file", true}})},
		{"namespaces", []string{".env is hidden inside a path that is allowed"}, []string{"modes, owners and times of files outside the write paths do not change"}, []string{"there are no mount namespaces", helpMounts},
			join(filesHold, readingHolds, networkHolds, othersHold, []hold{{"cat $HOME/.ssh/id_rsa", false}, {"chmod 600 a", true}})},
		{"openat2", []string{"that no file gets a protected name"}, nil, nil, join(filesHold, readingHolds, metadataHolds, secretsHold, networkHolds, othersHold)},
		{"landlock,namespaces", []string{"which files commands may read, write and start", "that commands do not signal other processes of their user, such as the server"}, []string{"modes, owners and times"}, []string{"there is no Landlock", "there are no mount namespaces"}, join(networkHolds, serverHolds)},
		{"seccomp", []string{"network: none"}, nil, []string{"there is no seccomp", "CONFIG_SECCOMP_FILTER"}, join(filesHold, readingHolds, metadataHolds, secretsHold)},
		{"ptrace", []string{"the limits"}, nil, []string{"a command cannot be stopped before it runs", "kernel.yama.ptrace_scope"}, join(filesHold, readingHolds, metadataHolds, secretsHold, networkHolds)},
		// What is spelled out is refused by the analysis of the command line, which needs no kernel.
		{"landlock,namespaces,seccomp", []string{"network: none", "which files"}, nil, nil, []hold{{"cat .env", false}, {"echo x > .git/hooks/hook", false}, {"echo x > $CONFIG", false}, {"cat sub/.env", false}}},
	}
}

// TestSandboxDowngrade runs on machines that lack layers: nothing that is missing
// goes unsaid, and what is there holds. It takes long because each machine is three servers for
// each account.
func TestSandboxDowngrade(t *testing.T) {
	t.Parallel()
	for _, m := range machines() {
		t.Run("without "+m.without, func(t *testing.T) {
			eachAccount(t, func(t *testing.T, who account) {
				g := newGround(t, who)
				for _, path := range []string{".env", "sub/.env", ".git/hooks/hook", filepath.Join(g.home, ".ssh", "id_rsa"), filepath.Join(g.out, "file")} {
					g.file(path, "before\n", 0o644)
				}
				t.Run("required", func(t *testing.T) { m.required(t, g) })
				t.Run("best_effort", func(t *testing.T) { m.bestEffort(t, g) })
				t.Run("check", func(t *testing.T) { m.check(t, g) })
			})
		})
	}
}

// required is enforcement: required, which starts only if nothing is missing.
func (m machine) required(t *testing.T, g *ground) {
	g = g.of(t)
	config := "sandbox: {enforcement: required}\n"
	if m.missing == nil {
		b := g.open(setup{config: config, without: m.without})
		if o := b.bash("echo fine"); o.text != "fine" {
			t.Errorf("got %v", o)
		}
		b.stop()
		return
	}
	text, code := g.run(setup{config: config, without: m.without})
	if code == 0 {
		t.Errorf("it starts, and says %s", text)
	}
	contain(t, "the refusal", text, append(append([]string{"enforcement: required"}, m.missing...), m.why...)...)
}

// of returns the ground for another test on it.
func (g *ground) of(t *testing.T) *ground {
	copied := *g
	copied.t = t
	return &copied
}

// bestEffort is what holds by default.
func (m machine) bestEffort(t *testing.T, g *ground) {
	g = g.of(t)
	before := snapshot(t, g.out)
	b := g.open(setup{without: m.without})
	missing := append(m.missing[:len(m.missing):len(m.missing)], m.given...)
	health := struct {
		Missing []string `json:"sandbox_missing"`
	}{}
	must(t, json.Unmarshal([]byte(b.resource("status://health")), &health))
	contain(t, "status://health", strings.Join(health.Missing, "\n"), append(missing, m.why...)...)
	o := b.bash("echo fine")
	contain(t, "bash", o.text, append(missing, "fine")...)
	executed := b.call("execute_command", map[string]any{"command": "echo fine"})
	said, _ := executed.structure["sandbox"].(string)
	contain(t, "execute_command", said, missing...)
	if m.missing == nil && (o.text != "fine" || said != "" || len(health.Missing) > 0) {
		t.Errorf("nothing is missing, but %q %q %q", o.text, said, health.Missing)
	}
	setting := fmt.Sprintf("export OUT=%s SERVER=%d; ", g.out, b.cmd.Process.Pid)
	for _, h := range append(everyday, m.holds...) {
		if o := b.bash(setting + strings.ReplaceAll(h.command, "$CONFIG", filepath.Join(g.dir, "config.yaml"))); o.failed == h.works {
			t.Errorf("%s: %v", h.command, o)
		}
	}
	if slices.Contains(m.holds, metadataHolds[0]) {
		same(t, "commands", before, snapshot(t, g.out))
	}
	b.stop()
	ended(t, g.exe)
	contain(t, "the log", strings.ReplaceAll(b.log(), `\"`, `"`), append(missing, m.why...)...)
}

// check is the command that looks whether all is in place.
func (m machine) check(t *testing.T, g *ground) {
	g = g.of(t)
	text, code := g.run(setup{without: m.without, command: []string{"check"}})
	contain(t, "check", text, append(m.missing, m.why...)...)
	if (code == 0) != (m.missing == nil) {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// TestSandboxParseOnly has the kernel left out on purpose, which is said too.
func TestSandboxParseOnly(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		g.file(".env", "before\n", 0o644)
		b := g.open(setup{config: "sandbox: {enforcement: parse_only}\n"})
		for _, said := range []string{b.bash("echo fine").text, b.resource("status://health"), b.call("execute_command", map[string]any{"command": "true"}).text} {
			contain(t, "it", said, "parse_only")
		}
		for _, command := range []string{"cat .env", "echo x > .env", "cp .env x", "echo x > " + filepath.Join(g.dir, "config.yaml")} {
			if o := b.bash(command); o.failed == false {
				t.Errorf("%s: %v", command, o)
			}
		}
		if b, err := os.ReadFile(filepath.Join(g.work, ".env")); err != nil || string(b) != "before\n" {
			t.Errorf(".env is %q, %v", b, err)
		}
		b.stop()
	})
}
