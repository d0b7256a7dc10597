//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOwnSockets makes and connects sockets with names, and gets what the kernel answers
// without the sandbox.
func TestOwnSockets(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile("testdata/connections.py")
	must(t, err)
	eachAccount(t, func(t *testing.T, who account) {
		eachMachine(t, func(t *testing.T, without string) {
			for _, network := range []string{"none", "loopback"} {
				if without != "" && network != "none" {
					continue // is none there
				}
				t.Run(network, func(t *testing.T) {
					t.Parallel()
					g := newGround(t, who)
					g.temp = freshDir(t, "/var/tmp") // addresses are short
					must(t, os.Chown(g.temp, who.id, who.id))
					command := "python3 " + g.file("connections.py", string(program), 0o644)
					if network != "none" {
						command = "INET=1 " + command
					}
					want, complaints, _ := g.plain(g.out, command)
					b := g.open(setup{config: "sandbox: {network: " + network + "}\n", without: without})
					defer b.stop()
					got := b.bash(command)
					if !strings.HasPrefix(got.text, strings.TrimSpace(want)) || complaints != "" {
						t.Errorf("gives\n%s\nand without the sandbox\n%s%s", got, want, complaints)
					}
				})
			}
		})
	})
}

// connect is a program that says whether it reaches each socket.
const connectTo = `python3 -c '
import socket, sys
for name in sys.argv[1:]:
    for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM:
        try:
            s = socket.socket(socket.AF_UNIX, kind)
            s.connect(name)
            print("reached", name)
        except OSError as e:
            print(e.errno)
' `

// rename is a function that never copies.
const rename = `re() { python3 -c 'import os, sys; os.rename(*sys.argv[1:])' "$@"; }; `

// TestSocketsOfOthers tries to reach sockets that commands did not make.
func TestSocketsOfOthers(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		eachMachine(t, func(t *testing.T, without string) {
			t.Parallel()
			g := newGround(t, who)
			served := func(path string) string {
				l, err := net.Listen("unix", path)
				must(t, err)
				t.Cleanup(func() { l.Close() })
				must(t, os.Chown(path, who.id, who.id))
				return path
			}
			for name, config := range map[string]string{"none": "", "loopback": "sandbox: {network: loopback}\n", "all": "sandbox: {network: all}\n"} {
				inside, outside := served(filepath.Join(g.work, name+".sock")), served(filepath.Join(g.dir, name+".sock"))
				packages := filepath.Join(g.work, "node_modules", name)
				b := g.open(setup{config: config, without: without})
				refused := b.bash(connectTo + inside)
				if !strings.Contains(refused.text, inside+" is none (rule: sandbox.unix_sockets)") {
					t.Errorf("%s: it is not said why: %v", name, refused)
				}
				ways := []string{
					connectTo + inside + " " + outside,
					"cd " + g.dir + " && " + connectTo + name + ".sock ./" + name + ".sock",
					"ln -s " + outside + " sl && " + connectTo + "sl",
					"ln " + inside + " hl; " + connectTo + "hl",
					"ln " + inside + " $TMPDIR/hl; ln " + inside + " /tmp/hl; " + connectTo + "$TMPDIR/hl /tmp/hl",
					rename + "mkdir -p " + packages + "; re " + inside + " " + packages + "/s && re " + packages + "/s $TMPDIR/s; re " + packages + " $TMPDIR/p; " +
						connectTo + "$TMPDIR/s $TMPDIR/p/s " + packages + "/s",
					rename + "mkdir -p d; re " + packages + "/s d/s && re d $TMPDIR/d; " + connectTo + "$TMPDIR/d/s d/s; re d/s " + inside,
					"exec 3<" + g.dir + "; " + connectTo + "/proc/self/fd/3/" + name + ".sock /proc/$$/cwd/" + name + ".sock /proc/1/root" + outside,
					`python3 -c 'import os, socket
s = socket.socket(socket.AF_UNIX); s.bind("mine"); s.listen(); os.rename("mine", "gone"); os.unlink("gone"); os.rename("` + filepath.Base(inside) + `", "mine")'; ` +
						connectTo + "mine; mv mine " + inside,
				}
				if name != "none" {
					ways = ways[:2] // the rest does not depend on the network
				}
				for _, command := range ways {
					if o := b.bash(command); strings.Contains(o.text, "reached") {
						t.Errorf("%s: %.300q reaches it: %v", name, command, o)
					}
				}
				o := b.bash(`mkdir -p sub; for name in .envrc .mcp.json sub/.vscode; do
					python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' $name; test -e $name && echo made $name; done`)
				if strings.Contains(o.text, "made") {
					t.Errorf("%s: sockets with protected names are made: %v", name, o)
				}
				if c, err := net.Dial("unix", inside); err != nil {
					t.Errorf("%s: the socket is gone: %v", name, err)
				} else {
					c.Close()
				}
				b.stop()
			}
		})
	})
}

// TestSocketsOfJobs reaches the socket of one command from another: where nothing but
// commands make files, and nowhere else.
func TestSocketsOfJobs(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		eachMachine(t, func(t *testing.T, without string) {
			t.Parallel()
			g := newGround(t, who)
			b := g.open(setup{without: without})
			defer b.stop()
			for dir, reached := range map[string]bool{"$TMPDIR": true, "/tmp": without == "", g.work: false} {
				if dir == "/tmp" && without != "" {
					continue // is not theirs
				}
				serve := fmt.Sprintf(`cd %s && exec python3 -c 'import socket, time
s = socket.socket(socket.AF_UNIX); s.bind("of-job"); s.listen(); time.sleep(60)'`, dir)
				if o := b.call("bash", map[string]any{"command": serve, "background": true}); o.failed {
					t.Fatal(o)
				}
				command := fmt.Sprintf("cd %s; for i in $(seq 100); do test -S of-job && break; sleep 0.05; done; %s of-job", dir, connectTo)
				if o := b.bash(command); strings.Contains(o.text, "reached of-job") != reached {
					t.Errorf("in %s: reached is to be %t: %v", dir, reached, o)
				}
			}
			// Another server's.
			other := g.open(setup{without: without})
			defer other.stop()
			found := b.bash("echo $TMPDIR/of-job")
			path, _, _ := strings.Cut(found.text, "\n")
			if o := other.bash(connectTo + path); strings.Contains(o.text, "reached") {
				t.Errorf("another server's commands reach %s: %v", path, o)
			}
		})
	})
}

// TestBusySocketsOfOthers tries to connect to a socket without a file whose queue is
// full now and then, so that a call may have to wait for it.
func TestBusySocketsOfOthers(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		name := "@toolserver-busy-" + filepath.Base(g.dir) + who.name
		address := &unix.SockaddrUnix{Name: name}
		socket := func() int {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			must(t, err)
			return fd
		}
		listener := socket()
		must(t, errors.Join(unix.Bind(listener, address), unix.Listen(listener, 0)))
		fill := func() (fds []int) {
			for {
				fd := socket()
				fds = append(fds, fd)
				if unix.Connect(fd, address) != nil {
					return fds
				}
			}
		}
		stop, stopped := make(chan struct{}), make(chan int)
		go func() {
			reached, kept := 0, fill()
			for {
				fd, _, err := unix.Accept(listener)
				if err == nil {
					if peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED); err != nil || int(peer.Pid) != os.Getpid() {
						reached++
					}
					kept = append(kept, fd)
				}
				kept = append(kept, fill()...)
				for len(kept) > 64 {
					unix.Close(kept[0])
					kept = kept[1:]
				}
				select {
				case <-stop:
					for _, fd := range append(kept, listener) {
						unix.Close(fd)
					}
					stopped <- reached
					return
				default:
				}
			}
		}()
		b := g.open(setup{})
		o := b.bash(`python3 -c '
import socket
for i in range(3000):
    try: socket.socket(socket.AF_UNIX).connect("\0` + name[1:] + `"); print("reached")
    except OSError as e: last = e.errno
print("tried", last)'`)
		b.stop()
		close(stop)
		if reached := <-stopped; reached > 0 || strings.Contains(o.text, "reached") || !strings.Contains(o.text, "tried") {
			t.Errorf("reached %d times: %v", reached, o)
		}
	})
}
