//go:build linux

package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// snapshot is what there is below a directory, by path: kind, mode, owner, links,
// times but for that of the last read, attributes, content. The time of change is
// the kernel's own, so it tells also of what was undone.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		var st syscall.Stat_t
		must(t, syscall.Lstat(path, &st))
		found[path] = fmt.Sprintf("%o %d:%d %d links %d bytes %d.%d %d.%d %q", st.Mode, st.Uid, st.Gid, st.Nlink, st.Size,
			st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec, attributes(path))
		if e.Type().IsRegular() {
			b, err := os.ReadFile(path)
			must(t, err)
			found[path] += fmt.Sprintf(" %x", sha256.Sum256(b))
		}
		return nil
	}))
	return found
}

func attributes(path string) (all []string) {
	b := make([]byte, 4096)
	n, _ := unix.Llistxattr(path, b) // some file systems have none
	for name := range strings.SplitSeq(string(b[:max(n, 0)]), "\x00") {
		if value := make([]byte, 4096); name != "" {
			n, _ := unix.Lgetxattr(path, name, value)
			all = append(all, name+"="+string(value[:max(n, 0)]))
		}
	}
	return all
}

// same compares two snapshots.
func same(t *testing.T, what string, before, after map[string]string) {
	t.Helper()
	paths := slices.Sorted(maps.Keys(before))
	for path := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s made %s: %s", what, path, after[path])
		}
	}
	for _, path := range paths {
		if now, ok := after[path]; !ok {
			t.Errorf("%s removed %s", what, path)
		} else if now != before[path] {
			t.Errorf("%s changed %s\nfrom %s\nto   %s", what, path, before[path], now)
		}
	}
}

// canaries fills a directory with files of all kinds.
func (g *ground) canaries() {
	g.t.Helper()
	old := time.Unix(1_000_000_000, 7)
	for _, mode := range []os.FileMode{0, 0o400, 0o600, 0o644, 0o666, 0o777, 0o755 | os.ModeSetuid, 0o755 | os.ModeSetgid} {
		path := g.file(filepath.Join(g.out, fmt.Sprintf("mode%o", uint32(mode.Perm())|uint32(mode>>12&0o7000))), fmt.Sprintf("canary %v\n", mode), mode)
		_ = unix.Setxattr(path, "user.canary", []byte("yellow"), 0) // where the file system has attributes
		must(g.t, os.Chtimes(path, old, old))
	}
	g.file(filepath.Join(g.out, "open", "file"), "canary\n", 0o666)
	g.file(filepath.Join(g.out, "closed", "file"), "canary\n", 0o400)
	must(g.t, os.Chmod(filepath.Join(g.out, "open"), 0o777))
	must(g.t, os.Chmod(filepath.Join(g.out, "closed"), 0o500))
	must(g.t, os.Symlink("open/file", filepath.Join(g.out, "link")))
	must(g.t, os.Link(filepath.Join(g.out, "open", "file"), filepath.Join(g.out, "second")))
	must(g.t, mkfifo(filepath.Join(g.out, "fifo")))
	if os.Geteuid() == 0 {
		for name, id := range map[string]int{"of root": 0, "of nobody": 65534, "of another": 4242} {
			path := g.file(filepath.Join(g.out, name), "canary\n", 0o666)
			must(g.t, os.Chown(path, id, id))
		}
	}
}

// hostile are command lines that would change FILE in OUT if they could. Some
// spell the paths out, and some so that nobody can judge them before.
var hostile = []string{
	"chmod 777 FILE", "chmod -R a+rwx OUT", "chown 1:1 FILE", "chown -R 1 OUT", "chgrp 1 FILE", "touch FILE", "touch -d 2001-01-01 FILE", "touch OUT/new",
	"echo x > FILE", "echo x >> FILE", ": > FILE", "exec 3<>FILE; echo x >&3", "set -C; echo x >| FILE", "tee FILE < /dev/null", "truncate -s 0 FILE", "dd if=/dev/zero of=FILE bs=1 count=1",
	"cp /etc/passwd FILE", "cp -p /etc/passwd OUT/new", "install -m 777 /etc/passwd FILE", "mv FILE here", "mv OUT elsewhere", "echo x > here; mv here FILE", "rm -f FILE", "rm -rf OUT", "unlink FILE", "rmdir OUT/open",
	"ln FILE hard; chmod 777 hard", "ln FILE hard2; echo x > hard2", "ln -s FILE soft; echo x > soft; chmod 777 soft; touch soft", "ln -s OUT dir; echo x > dir/new; touch dir/open/file", "ln -sf /dev/null FILE", "cp -l FILE hard3",
	"mkdir OUT/new", "mkfifo OUT/new", "mknod OUT/new c 1 3", "mknod disk b 254 0", "sed -i s/a/b/ FILE", "perl -pi -e s/a/b/ FILE", "sort -o FILE FILE", "tar cf FILE .", "tar xf ball.tar -C OUT",
	"git init OUT/new", "git init .; git worktree add OUT/new", "git clone . OUT/clone", "find OUT -type f -exec touch {} +", "find OUT -delete", "ls OUT/* | xargs chmod 777", "cd OUT && touch here", "(cd OUT; : > open/file)",
	"exec 3<FILE; echo x > /proc/self/fd/3", "exec 3<FILE; echo x > /dev/fd/3", "exec 3<FILE; chmod 777 /proc/self/fd/3; touch /proc/self/fd/3; touch /dev/fd/3",
	"echo x > /proc/self/rootFILE", "echo x > /proc/1/rootFILE", "echo x > /proc/$PPID/rootFILE", "chmod 777 /proc/1/rootFILE", "chmod 777 /proc/$PPID/cwd", "mount --bind /dev/null FILE", "mount -o remount,rw /", "unshare -r chmod 777 FILE", "unshare -rm sh -c 'mount -o remount,rw / ; touch FILE'", "nsenter -t 1 -m touch FILE", "chroot / touch FILE",
	"perl -e 'chmod 0777, join(q(/), split(q(:), shift))' $(echo FILE | tr / :)",
	"perl -e '$f = pack(q(H*), shift); utime 1, 1, $f; chmod 0777, $f; chown 1, 1, $f; truncate $f, 0; rename $f, q(x); unlink $f; open(F, q(>>), $f) and print F 1; link $f, q(y) and chmod 0777, q(y)' $(echo -n FILE | od -An -tx1 | tr -d ' \\n')",
	"python3 -c 'import os, sys\nf = bytes.fromhex(sys.argv[1])\nfor try_ in (lambda: os.utime(f, (1, 1)), lambda: os.utime(f, (1, 1), follow_symlinks=False), lambda: os.chmod(f, 511), lambda: os.chown(f, 1, 1), lambda: os.setxattr(f, \"user.x\", b\"y\"), lambda: os.removexattr(f, \"user.canary\"), lambda: os.truncate(f, 0), lambda: open(f, \"r+b\").write(b\"x\"), lambda: os.link(f, \"z\"), lambda: os.chmod(os.open(f, os.O_RDONLY), 511), lambda: os.utime(os.open(f, os.O_RDONLY), (1, 1)), lambda: os.replace(\"ball.tar\", f)):\n  try: try_(); print(\"DONE\")\n  except OSError as e: print(e)\n' $(echo -n FILE | od -An -tx1 | tr -d ' \\n')",
	"x=$(echo FILE | sed s,/,/,); eval \"echo x > $x\"", "f=FILE; for c in chmod; do $c 777 $f; done", "bash -c 'echo x > $0' FILE", "env -C OUT touch new", "trap 'touch OUT/new' EXIT", "coproc touch OUT/new; wait", "setsid -f touch OUT/new; nohup chmod 777 FILE & wait",
	"chattr +i FILE", "setfattr -n user.x -v y FILE", "setfacl -m u:1:rwx FILE", "flock FILE touch FILE", "fallocate -l 1M FILE", "shred FILE", "cat > script <<X\nchmod 777 FILE\nX\nbash script; sh script", "ulimit -f unlimited; echo x > FILE", "logrotate FILE; rsync -a . OUT; cpio -p OUT < /dev/null",
}

// TestSandboxCanary tries to change files outside in every way, under the default
// configuration: with all layers, and with that of the kernel alone.
func TestSandboxCanary(t *testing.T) {
	t.Parallel()
	for _, binary := range []string{binary(), undecided(t)} {
		t.Run(filepath.Base(binary), func(t *testing.T) {
			eachAccount(t, func(t *testing.T, who account) {
				g := newGround(t, who)
				g.exe = shared(t, own(t, binary))
				g.canaries()
				g.file("ball.tar", "", 0o644)
				b := g.open(setup{config: "logging: {level: error}\n"})
				if o := b.bash("touch -d 2001-01-01 ball.tar && chmod 640 ball.tar && stat -c '%a %Y' ball.tar"); o.failed || !strings.HasPrefix(o.text, "640 ") {
					t.Errorf("ordinary work: %v", o)
				}
				b.attack()
				b.stop()
				ended(t, g.exe)
			})
		})
	}
}

// attack runs the hostile commands, and the probe, against the canaries.
func (b *box) attack() {
	t := b.t
	targets, err := filepath.Glob(filepath.Join(b.out, "mode*"))
	must(t, err)
	before := snapshot(t, b.out)
	run := func(command string) outcome {
		o := b.bash(command)
		after := snapshot(t, b.out)
		same(t, command, before, after)
		before = after
		return o
	}
	for i, line := range hostile {
		// Each with a file of its own, and all with that of the most rights.
		for _, target := range []string{targets[i%len(targets)], filepath.Join(b.out, "mode666")} {
			command := strings.NewReplacer("FILE", target, "OUT", b.out).Replace(line)
			if o := run(command); strings.Contains(o.text, "DONE") {
				t.Errorf("%s: %v", command, o)
			}
		}
	}
	for _, target := range targets {
		o := run(built(t, "probe") + " change " + target + " " + filepath.Dir(target) + " && echo over")
		if !strings.Contains(o.text, "\nover") {
			t.Errorf("the probe did not come to its end: %v", o)
		}
		if done := lines(o.text, ": done"); len(done) > 0 {
			t.Errorf("of %s the probe could do %q", target, done)
		}
	}
}
