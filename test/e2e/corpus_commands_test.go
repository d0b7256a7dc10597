//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// commandRow is a case of a corpus: what a policy makes of a command.
type commandRow struct {
	ID, Kind, Policy, Command, Expected, Technique, Layer, Platform string
	Setup, Contain                                                  []string
	Runs                                                            string          // the denied program that bash would start
	Tools                                                           json.RawMessage // of a policy
}

// commandRows reads the corpus that CORPUS names, or the one that the tests of
// the analysis keep.
func commandRows(t *testing.T) (policies map[string]json.RawMessage, rows []commandRow) {
	t.Helper()
	name := os.Getenv("CORPUS")
	if name == "" {
		name = filepath.Join("..", "..", "sandbox", "command", "testdata", "commands.jsonl")
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	policies = map[string]json.RawMessage{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r commandRow
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		switch {
		case r.Kind == "policy":
			policies[r.ID] = r.Tools
		case r.Kind == "command" && (r.Platform == "" || r.Platform == "posix" || r.Platform == "linux"):
			rows = append(rows, r)
		}
	}
	if err := lines.Err(); err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	return policies, rows
}

// withinReach says whether the kernel layer can tell what the row does from what
// is allowed: a program that is denied, or a path. It does not know arguments.
func (r commandRow) withinReach() bool { return r.Runs != "" || strings.Contains(r.Layer, "kernel") }

// TestCorpusCommandsDenied sends what is to be denied to a server with both
// layers, and to one with the analysis alone. Neither runs any of it, so that
// rows with the same policy and setup can do with one server.
func TestCorpusCommandsDenied(t *testing.T) {
	policies, rows := commandRows(t)
	groups := map[string][]commandRow{}
	for _, r := range rows {
		if r.Expected == "deny" {
			key := r.Policy + " " + strings.Join(r.Setup, "\n")
			groups[key] = append(groups[key], r)
		}
	}
	for _, enforcement := range []string{"best_effort", "parse_only"} {
		for _, group := range groups {
			t.Run(enforcement, func(t *testing.T) {
				t.Parallel()
				w := newAttacked(t, group[0].Setup)
				s := w.serve(t, binary(), policies[group[0].Policy], enforcement)
				for _, r := range group {
					a := s.execute(r.Command, 20)
					if !a.refused() {
						t.Errorf("%s: %s: %.200q (%s) is not refused: %.300s", r.ID, r.Policy, r.Command, r.Technique, a.text())
					}
					if did := w.damage(a); did != "" {
						t.Fatalf("%s: %s: %.200q (%s): %s", r.ID, r.Policy, r.Command, r.Technique, did)
					}
				}
			})
		}
	}
}

// TestCorpusCommandsUndecided runs what is to be denied under the kernel layer
// alone, which lets none of it have its effect that it can tell from what is
// allowed. It takes long because each row has a server and files that no other has spoiled.
func TestCorpusCommandsUndecided(t *testing.T) {
	t.Parallel()
	policies, rows := commandRows(t)
	var counts tally
	t.Cleanup(func() { counts.report(t) })
	for _, r := range rows {
		if r.Expected != "deny" || strings.ContainsRune(r.Command, 0) {
			continue // no program can be given a NUL
		}
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			w := newAttacked(t, r.Setup)
			s := w.serve(t, undecided(t), policies[r.Policy], "required")
			a := s.execute(r.Command, 5)
			did := w.damage(a)
			counts.add(r.withinReach(), did == "")
			if did == "" {
				return
			}
			if r.withinReach() {
				t.Errorf("%s: %.200q (%s): %s\n%.600s", r.Policy, r.Command, r.Technique, did, a.text())
			} else {
				t.Logf("out of reach: %s: %.200q (%s): %s", r.Policy, r.Command, r.Technique, did)
			}
		})
	}
}

// TestCorpusCommandsHarm shows that damage is seen: without lists, each row does
// what it says that it runs.
func TestCorpusCommandsHarm(t *testing.T) {
	t.Parallel()
	_, rows := commandRows(t)
	for _, r := range rows {
		if r.Runs == "" {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			if name := strings.Fields(r.Command)[0]; missing(name) {
				t.Skipf("%s is not installed", name)
			}
			w := newAttacked(t, r.Setup)
			out := w.unlisted(t, r.Command)
			if did := w.damage(out); did == "" {
				t.Errorf("%.200q (%s) does no harm that is seen: %v", r.Command, r.Technique, out.Result.StructuredContent)
			}
		})
	}
}

// missing says whether a program is one that not every machine has, and not here.
func missing(name string) bool {
	switch name {
	case "busybox", "strace", "gdb", "sqlite3", "ed", "rg", "zip":
		_, err := exec.LookPath(name)
		return err != nil
	}
	return false
}

// corpusAllowed does ordinary work under the lists of the corpus, and compares it
// with what bash does. Work whose files are hostile does no harm.
func corpusAllowed(t *testing.T, home string) {
	policies, rows := commandRows(t)
	for _, r := range rows {
		switch {
		case r.Expected != "allow":
		case len(r.Contain) > 0:
			t.Run("contained/"+r.ID, func(t *testing.T) {
				t.Parallel()
				r.contained(t, home, policies[r.Policy])
			})
			t.Run("uncontained/"+r.ID, func(t *testing.T) {
				t.Parallel()
				r.uncontained(t, home)
			})
		default:
			t.Run(r.ID, func(t *testing.T) {
				t.Parallel()
				sameAsBash(t, home, r.Command, policies[r.Policy])
			})
		}
	}
}
