//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestAudit kills a server in the middle of 100,000 calls, and then changes what it has written in six ways.
func TestAudit(t *testing.T) {
	t.Parallel()
	const calls, callers, killed = 100_000, 8, 40_000
	o := newOperator(t)
	audit, key := filepath.Join(o.dir, "audit.jsonl"), filepath.Join(o.dir, "audit.key")
	public, said, code := o.run("audit", "key", key)
	if code != 0 {
		t.Fatal(said)
	}
	verifier := o.file("audit.pub", public)
	file := o.file("audited.yaml", withTokens("ann", "anns")+fmt.Sprintf("working_directory: .\nstate_directory: %s\nlogging: {level: error, record: false}\n"+
		"audit: {file: %s, key_file: %s, rotate: 8MiB}\nlimits: {rate_per_minute: 0}\n", t.TempDir(), audit, key))
	var made, answered atomic.Int64
	run := func(s *httpServer, until int64) {
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for made.Add(1) <= until {
					said, err := s.tool(t.Context(), "anns", "echo", `{"message":"hi"}`)
					if err != nil {
						return
					}
					if !strings.Contains(said, "Echo: hi") {
						t.Error(said)
						return
					}
					if answered.Add(1) == killed {
						_ = s.cmd.Process.Kill()
					}
				}
			})
		}
		all.Wait()
	}
	run(launchHTTP(t, nil, binary(), "--config", file), calls)
	before := answered.Load()
	if before < killed || before > killed+callers {
		t.Fatalf("killed after %d calls", before)
	}
	made.Store(before)
	s := launchHTTP(t, nil, binary(), "--config", file)
	run(s, calls)
	must(t, s.cmd.Process.Signal(os.Interrupt))
	<-s.exited
	files, err := filepath.Glob(filepath.Join(o.dir, "audit-*.jsonl"))
	must(t, err)
	slices.Sort(files)
	files = append(files, audit)
	if len(files) < 4 {
		t.Errorf("the files are %v", files)
	}
	verify := func(more ...string) string {
		out, said, code := o.run(append([]string{"audit", "verify", "--key", verifier}, append(more, files...)...)...)
		return fmt.Sprint(code, " ", out, said)
	}
	if said := verify(); !strings.HasPrefix(said, "0 ") {
		t.Error(said)
	}
	ends := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		ends += bytes.Count(text, []byte(`"type":"call.end"`))
	}
	// What was answered and not yet written when the server was killed is all that may be missing.
	if lost := calls - ends; lost < -callers || lost > 4096+callers {
		t.Errorf("%d calls, and the audit has %d", answered.Load(), ends)
	}
	t.Logf("%d calls answered, %d entries of calls in %d files", answered.Load(), ends, len(files))
	whole, err := os.ReadFile(audit)
	must(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	last := o.file("checkpoints", string(lines[len(lines)-1])+string(lines[len(lines)-2]))
	other := filepath.Join(o.dir, "other.key")
	otherPublic, said, code := o.run("audit", "key", other)
	if code != 0 {
		t.Fatal(said)
	}
	otherVerifier, middle := o.file("other.pub", otherPublic), len(lines)/2
	for _, test := range []struct {
		name    string
		content [][]byte
		more    []string
		want    string
	}{
		{"a bit", slices.Concat(lines[:middle], [][]byte{bytes.Replace(lines[middle], []byte("ann"), []byte("anm"), 1)}, lines[middle+1:]), nil, "changed"},
		{"a line less", slices.Concat(lines[:middle], lines[middle+1:]), nil, "missing"},
		{"two lines", slices.Concat(lines[:middle], [][]byte{lines[middle+1], lines[middle]}, lines[middle+2:]), nil, "missing"},
		{"a line twice", slices.Concat(lines[:middle+1], lines[middle:]), nil, "reordered"},
		{"the tail", lines[:middle], []string{"--checkpoint", last}, "cut off"},
		{"another key", lines, []string{"--key", otherVerifier}, "other key"},
	} {
		must(t, os.WriteFile(audit, bytes.Join(test.content, nil), 0o600))
		if said := verify(test.more...); !strings.HasPrefix(said, "1 ") || !strings.Contains(said, test.want) || !strings.Contains(said, "audit") {
			t.Errorf("%s: %s", test.name, said)
		}
	}
}

// TestAuditFull has the place of the audit full: what cannot be recorded is refused or counted, and the server goes on.
func TestAuditFull(t *testing.T) {
	t.Parallel()
	namespaces := "-m"
	if os.Geteuid() != 0 {
		namespaces = "-rm"
	}
	if said, err := exec.Command("unshare", namespaces, "mount", "-t", "tmpfs", "audit", t.TempDir()).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v %s", err, said)
	}
	for _, policy := range []string{"refuse", "drop"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t)
			place := filepath.Join(o.dir, "audit")
			must(t, os.Mkdir(place, 0o700))
			// The server has a small file system there; from elsewhere it is reached through its process.
			script := o.file("serve", fmt.Sprintf("#!/bin/sh\nexec unshare %s sh -c 'mount -t tmpfs -o size=64k audit %s && exec %s \"$@\"' sh \"$@\"\n", namespaces, place, binary()))
			must(t, os.Chmod(script, 0o700))
			file := o.file("audited.yaml", withTokens("ann", "anns")+fmt.Sprintf("working_directory: .\nstate_directory: %s\naudit: {file: %s/audit.jsonl, on_failure: %s}\n", t.TempDir(), place, policy))
			s := launchHTTP(t, nil, script, "--config", file)
			inside := fmt.Sprintf("/proc/%d/root%s", s.cmd.Process.Pid, place)
			wrote := func() bool {
				said, err := s.tool(t.Context(), "anns", "write_file", `{"path":"made","content":"x"}`)
				must(t, err)
				missing := os.Remove(filepath.Join(o.dir, "made"))
				if strings.Contains(said, "Successfully wrote") != (missing == nil) {
					t.Fatalf("%v, and it says %s", missing, said)
				}
				return missing == nil
			}
			if !wrote() {
				t.Fatal("before, nothing is written")
			}
			filler, err := os.Create(filepath.Join(inside, "filler"))
			must(t, err)
			for size := 64 << 10; size > 0; size /= 2 {
				for err = nil; err == nil; {
					_, err = filler.Write(make([]byte, size))
				}
			}
			filler.Close()
			if policy == "refuse" {
				eventually(t, "calls are refused", func() bool { return !wrote() })
			} else {
				eventually(t, "it is said", func() bool { return wrote() && strings.Contains(s.log(), "no space left") })
			}
			s.running(t)
			must(t, os.Remove(filepath.Join(inside, "filler")))
			eventually(t, "calls go on, and what is missing is counted", func() bool {
				text, err := os.ReadFile(filepath.Join(inside, "audit.jsonl"))
				return wrote() && err == nil && bytes.Contains(text, []byte(`"type":"dropped"`))
			})
		})
	}
}
