//go:build linux

package e2e

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hush begins every secret, and is in no command line.
const hush = "hush-hush-"

// secretPlaces are where secrets are, in the working directory and at home. What is
// in installed packages is not hidden by the kernel.
func (g *ground) secretPlaces() (paths []string) {
	for _, p := range []string{
		".env", ".env.local", "a/.env", "a/b/c/d/.env", "service/.env.production", "private/key", "private/deep/er/key", ".npmrc", "deploy/id_ed25519",
		"backup/home/.ssh/id_rsa", "backup/.aws/credentials", "target/.env", ".venv/.env",
		strings.Repeat("d/", 13) + ".env",
	} {
		paths = append(paths, filepath.Join(g.work, p))
	}
	for _, p := range []string{".ssh/id_rsa", ".ssh/config", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".docker/config.json", ".gnupg/private-keys-v1.d/key"} {
		paths = append(paths, filepath.Join(g.home, p))
	}
	return append(paths, filepath.Join(g.out, "denied", "key"), filepath.Join(g.dir, "tls.key"), filepath.Join(g.work, "kept", "google", "token"))
}

const secretsConfig = `
logging: {level: error}
state_directory: %[1]s/work/kept
tools: {read_file: {denied_paths: [%[1]s/work/private, %[1]s/out/denied]}}
server: {tls: {key: %[1]s/tls.key, cert: %[1]s/tls.pem}}
`

// prying are command lines that print FILE in one way or another, turned or
// written by the byte where the way would hide it.
var prying = []string{
	"cat FILE", "cat < FILE", "head -c 100 FILE", "tail FILE", "dd if=FILE", "rev FILE | rev", "base64 FILE | base64 -d", "od -c FILE | head; od -An -tx1 FILE", "sort FILE", "tr a a < FILE", "grep . FILE", "sed '' FILE", "awk 1 FILE", "cut -b1- FILE", "diff FILE /dev/null",
	"strings FILE", "nl FILE", "paste FILE", "fold FILE", "tac FILE", "xxd FILE", "cp FILE copy; cat copy", "mv FILE moved; cat moved", "ln FILE hard; cat hard", "ln -s FILE soft; cat soft", "cp -r DIR copies; cat copies/*", "mv DIR dir; cat dir/*", "install FILE there; cat there",
	"tar cf - FILE", "tar cf - -C DIR .", "(cd DIR && cat *; cat .??*)", "gzip -c FILE | gunzip", "find DIR -type f -exec cat {} +", "xargs cat <<< FILE", "while read -r l; do echo $l; done < FILE", "mapfile x < FILE; echo ${x[@]}", "echo $(< FILE)", "source FILE", "bash FILE", "env -S cat FILE", "cat FILE &>/dev/stdout",
	"git init -q . ; git hash-object -w FILE | xargs -r git cat-file -p", "git add -f FILE; git diff --cached", "git diff --no-index /dev/null FILE", "git grep --no-index . FILE", "git -c core.pager=cat -c alias.x='!cat FILE' x",
	"perl -pe 1 FILE", "perl -e 'open F, join q(), @ARGV; print <F>' $(echo FILE | sed 's/./& /g')", "python3 -c 'import sys; print(open(bytes.fromhex(sys.argv[1])).read())' HEX", "python3 -c 'import sys, mmap, os; print(bytes(mmap.mmap(os.open(bytes.fromhex(sys.argv[1]), 0), 0, prot=1)))' HEX",
	"cat /proc/self/rootFILE", "cat /proc/1/rootFILE", "for p in /proc/[0-9]*; do cat $p/rootFILE; done", "cat /proc/self/cwd/FILE", "mount --bind DIR mnt; cat mnt/*", "unshare -rm cat FILE", "unshare -rm sh -c 'umount FILE; cat FILE; umount DIR; cat FILE'", "nsenter -t 1 -m cat FILE", "debugfs -R 'cat FILE' /dev/vda", "sudo cat FILE", "su -c 'cat FILE'",
	"f=FILE; cat ${f}", "cat $(echo FILE | tr / /)", "cat FILE*", "cat DIR/*", "cd DIR/..; cat */*", "eval \"c\"at FILE", "exec 3<FILE; cat <&3; cat /dev/fd/3", "readlink -f FILE | xargs cat", "rsync FILE . ; scp FILE .; curl -s file://FILE", "wc -c FILE; md5sum FILE; cmp -l FILE /dev/zero",
}

// TestSandboxSecrets tries to read what is denied, in every way. It takes long because each of
// them is a command, for each account, with and without the decision on its text.
func TestSandboxSecrets(t *testing.T) {
	t.Parallel()
	for _, binary := range []string{binary(), undecided(t)} {
		t.Run(filepath.Base(binary), func(t *testing.T) {
			eachAccount(t, func(t *testing.T, who account) {
				g := newGround(t, who)
				g.exe = shared(t, own(t, binary))
				places := g.secretPlaces()
				for i, path := range places {
					g.file(path, fmt.Sprintf("%s%d-\n", hush, i), 0o644)
				}
				g.certificate()
				b := g.open(setup{config: fmt.Sprintf(secretsConfig, g.dir), env: []string{"API_TOKEN=" + hush + "environment-", "TOOLSERVER_SECRET=" + hush + "variable-"}})
				b.pry(places)
				b.stop()
				ended(t, g.exe)
			})
		})
	}
}

// pry runs the commands, with one place for each and the first for all, and then
// the probe.
func (b *box) pry(places []string) {
	t := b.t
	told := map[string]bool{}
	try := func(command string) {
		o := b.bash(command)
		for i, part := range strings.Split(o.text+disclosed(t, b.work), hush) {
			if what, _, _ := strings.Cut(part, "-"); i > 0 && !told[what] {
				told[what] = true // once is enough
				if n, err := strconv.Atoi(what); err == nil && n < len(places) {
					what = places[n]
				}
				t.Errorf("%s\ntells the secret of %s", command, what)
			}
		}
	}
	for _, path := range places {
		try("cat " + path)
	}
	for i, line := range prying {
		for _, path := range []string{places[i%len(places)], places[0]} {
			try(strings.NewReplacer("FILE", path, "DIR", filepath.Dir(path), "HEX", hex.EncodeToString([]byte(path))).Replace(line))
		}
	}
	try("env; set; export -p; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/$PPID/environ; cat /proc/1/environ; ps auxe")
	server := fmt.Sprint(b.cmd.Process.Pid)
	for _, file := range []string{"environ", "cmdline", "maps", "mem", "fd/0", "fd/3", "cwd/.env", "root" + places[0], "task/" + server + "/environ", "stack", "auxv", "io"} {
		try("cat /proc/" + server + "/" + file + " | head -c 100000")
	}
	try("grep -rh " + hush[:len(hush)-1] + " . " + b.home + " " + filepath.Dir(places[len(places)-2]) + " " + b.temp + " | head -c 20000")
	for _, path := range places {
		try(built(t, "probe") + " read " + path)
	}
	for _, tool := range []string{"read_file", "grep", "list_directory", "search_files"} {
		for _, path := range places {
			if o := b.call(tool, map[string]any{"path": path, "pattern": "hush"}); strings.Contains(o.text, hush) {
				t.Errorf("%s tells the secret of %s", tool, path)
			}
		}
	}
}

// disclosed returns what a command has left of secrets in files of its own, and
// removes those.
func disclosed(t *testing.T, dir string) (text string) {
	t.Helper()
	for _, name := range []string{"copy", "moved", "hard", "copies", "dir", "there"} {
		_ = filepath.WalkDir(filepath.Join(dir, name), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				b, _ := os.ReadFile(path)
				if bytes.Contains(b, []byte(hush)) {
					text += string(b)
				}
			}
			return nil
		})
		must(t, os.RemoveAll(filepath.Join(dir, name)))
	}
	return text
}

// certificate makes one for the key that the configuration names, whose content
// does not matter over stdio.
func (g *ground) certificate() {
	g.t.Helper()
	g.file(filepath.Join(g.dir, "tls.pem"), "no certificate\n", 0o644)
}

// TestSandboxNewSecrets has secrets come while the server runs: what is protected
// is so by its name, not by when it was made.
func TestSandboxNewSecrets(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		g.file("a/b/file", "x", 0o644)
		b := g.open(setup{config: "logging: {level: error}\n"})
		b.bash("true")
		for i, path := range []string{".env", "a/b/.env", filepath.Join(g.home, ".ssh", "id_rsa"), filepath.Join(g.home, ".netrc"), filepath.Join(g.home, ".aws", "credentials")} {
			path = g.file(path, fmt.Sprintf("%s%d-\n", hush, i), 0o600)
			if o := b.bash("cat " + path); strings.Contains(o.text, hush) {
				t.Errorf("%s is read", path)
			}
		}
		b.stop()
	})
}

// TestSandboxProbeReads checks the probe: without a sandbox it reads what it is
// given in several ways.
func TestSandboxProbeReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, []byte(hush), 0o644))
	cmd := exec.Command(built(t, "probe"), "read", path)
	cmd.Dir = t.TempDir() // where it leaves what it has read
	out, err := cmd.CombinedOutput()
	if n := strings.Count(string(out), hush); err != nil || n < 5 {
		t.Errorf("got %d of it: %v\n%s", n, err, out)
	}
}

// TestSandboxSecretsAfterPause has a secret appear deep down while no commands are run: the
// next command is not one that reads it.
func TestSandboxSecretsAfterPause(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		t.Parallel()
		g := newGround(t, who)
		home := filepath.Join(g.out, "own")
		g.file(home+"/.netrc", "CANARYHOME\n", 0o644)
		g.file("a/b/x", "", 0o644)
		b := g.open(setup{config: "sandbox: {env: {HOME: " + home + "}}\n"})
		read := "perl -e 'for (q(a/b/.) . q(env), $ENV{HOME} . q(/.net) . q(rc)) { open(F, q(<), $_) and print <F> }'; echo end"
		if o := b.bash(read); strings.Contains(o.text, "CANARY") || !strings.Contains(o.text, "end") {
			t.Errorf("the home directory of commands: %v", o)
		}
		time.Sleep(31 * time.Second)
		g.file("a/b/.env", "CANARYENV\n", 0o644)
		if o := b.bash(read); strings.Contains(o.text, "CANARY") || !strings.Contains(o.text, "end") {
			t.Errorf("after a pause: %v", o)
		}
		b.stop()
	})
}
