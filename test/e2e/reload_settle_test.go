package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// savedFile is a configuration, in the ways that programs save one.
type savedFile struct {
	t       *testing.T
	s       *httpServer
	path    string // that the server reads
	dir     string
	version int
}

// next returns another version of the configuration. What it disables is at its
// end, and its middle is one long line, in which disks are full.
func (f *savedFile) next() string {
	f.version++
	return fmt.Sprintf("working_directory: %s\nlogging: {format: json}\n# %s\ntools:\n  read_file:\n    description: Version %d.\n  echo:\n    enabled: false\n",
		f.dir, strings.Repeat("x", 3000), f.version)
}

func (f *savedFile) put(path, text string) {
	f.t.Helper()
	must(f.t, os.WriteFile(path, []byte(text), 0o600))
}

// inPlace writes the file in parts, with a pause before each but the first.
func (f *savedFile) inPlace(pause time.Duration, parts ...string) {
	f.t.Helper()
	w, err := os.OpenFile(f.path, os.O_WRONLY|os.O_TRUNC, 0)
	must(f.t, err)
	defer w.Close()
	for i, part := range parts {
		if i > 0 {
			time.Sleep(pause) // it is the pause that is tested
		}
		_, err := w.WriteString(part)
		must(f.t, err)
	}
}

// refused waits until the server has refused the file once more.
func (f *savedFile) refused(because string, change func()) {
	f.t.Helper()
	count := func() int { return strings.Count(f.s.log(), because) }
	before := count()
	change()
	eventually(f.t, "the server refuses the file: "+because, func() bool { return count() > before })
}

// TestReloadNeverOpens saves the configuration in every way there is, while a
// client calls a disabled tool all the time: none of the calls may run.
func TestReloadNeverOpens(t *testing.T) {
	t.Parallel()
	for _, hangup := range []bool{false, true} {
		t.Run(fmt.Sprintf("hangup %t", hangup), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			f := &savedFile{t: t, path: filepath.Join(folder, "toolserver.yaml"), dir: t.TempDir()}
			f.put(f.path, f.next())
			f.s = launchHTTP(t, nil, binary(), "--insecure-no-auth", "--config", f.path)
			p := f.s.newPeer(t, modernVersion, "")
			stop, calls := make(chan struct{}), make(chan int, 1)
			go func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						calls <- n
						return
					default:
					}
					if r := <-p.send(t.Context(), p.callMessage("1", "echo", map[string]any{"message": "x"}, "")); !strings.Contains(r.body, "-32004") {
						t.Errorf("a disabled tool: %d %s", r.status, r.body)
						calls <- n
						return
					}
				}
			}()
			hang := func() {
				if hangup {
					must(t, f.s.cmd.Process.Signal(syscall.SIGHUP))
				}
			}
			var whole string
			start := func() []string { // the parts of the next version
				whole = f.next()
				return []string{"", whole[:100], whole[100:3100], whole[3100:]}
			}
			const wrong = "the old one stays in force"
			for _, way := range []struct {
				name string
				save func()
			}{
				{"rename", func() { f.put(f.path+".new", f.next()); must(t, os.Rename(f.path+".new", f.path)) }},
				{"at once", func() { f.put(f.path, f.next()) }},
				{"truncate, 60 ms, write", func() { hang(); f.inPlace(60*time.Millisecond, "", f.next()) }},
				{"truncate, 400 ms, write", func() { f.inPlace(400*time.Millisecond, "", f.next()) }},
				{"truncate, refuse, write", func() {
					f.refused("the file is empty", func() { f.put(f.path, ""); hang() })
					f.put(f.path, f.next())
				}},
				{"comments first", func() {
					f.refused("the file is empty", func() { f.put(f.path, "# saving\n---\n"); hang() })
					f.put(f.path, f.next())
				}},
				{"in parts", func() { f.inPlace(10*time.Millisecond, start()...) }},
				{"half, refuse, rest", func() {
					parts := start()
					f.refused("half-written", func() { f.put(f.path, parts[1]+parts[2][:2000]); hang() })
					f.put(f.path, whole)
				}},
				{"full disk, nothing fits", func() {
					f.refused("the file is empty", func() { f.limited(f.next(), 0); hang() })
					f.put(f.path, f.next())
				}},
				{"full disk, 2 KiB fit", func() {
					f.refused("half-written", func() { f.limited(f.next(), 2); hang() })
					f.put(f.path, f.next())
				}},
				{"garbage", func() {
					f.refused(wrong, func() { f.put(f.path, "\x00\xff{]"); hang() })
					f.put(f.path, f.next())
				}},
				{"not YAML", func() {
					f.refused(wrong, func() { f.put(f.path, "tools: [\n"); hang() })
					f.put(f.path, f.next())
				}},
				{"unknown key", func() {
					f.refused(wrong, func() { f.put(f.path, f.next()+"tolls: {}\n"); hang() })
					f.put(f.path, f.next())
				}},
				{"removed", func() {
					f.refused(wrong, func() { must(t, os.Remove(f.path)); hang() })
					f.put(f.path, f.next())
				}},
				{"a directory", func() {
					f.refused(wrong, func() { must(t, os.Remove(f.path)); must(t, os.Mkdir(f.path, 0o700)); hang() })
					must(t, os.Remove(f.path))
					f.put(f.path, f.next())
				}},
				{"symbolic links", func() {
					one, two := filepath.Join(folder, "one.yaml"), filepath.Join(folder, "two.yaml")
					f.put(one, f.next())
					f.put(two, "")
					must(t, os.Symlink(one, f.path+".new"))
					must(t, os.Rename(f.path+".new", f.path))
					f.inForce()
					must(t, os.Symlink(two, f.path+".new"))
					f.refused("the file is empty", func() { must(t, os.Rename(f.path+".new", f.path)); hang() })
					f.put(two, f.next())
				}},
			} {
				way.save()
				hang()
				f.inForce()
				if t.Failed() {
					t.Fatalf("after %q", way.name)
				}
			}
			close(stop)
			if n := <-calls; n == 0 {
				t.Error("nothing was called")
			}
		})
	}
}

// inForce waits until the last version is.
func (f *savedFile) inForce() {
	f.t.Helper()
	p := f.s.newPeer(f.t, modernVersion, "")
	want := fmt.Sprintf("Version %d.", f.version)
	eventually(f.t, want+" is in force", func() bool {
		return strings.Contains(p.post(f.t, p.message("1", "tools/list", "", ""), nil).body, want)
	})
}

// limited saves the file where only so many KiB fit.
func (f *savedFile) limited(text string, kib int) {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "bash", "-c", `trap "" XFSZ; ulimit -f "$1"; exec cat >"$2"`, "bash", fmt.Sprint(kib), f.path)
	cmd.Stdin = strings.NewReader(text)
	_ = cmd.Run() // it fails, as it must
	if info, err := os.Stat(f.path); err != nil || info.Size() != int64(kib)<<10 {
		f.t.Fatalf("the file is not %d KiB: %v %v", kib, info, err)
	}
}
