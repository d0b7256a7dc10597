//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A wayRound is a line of ways_round.txt.
type wayRound struct{ policy, layers, command string }

func waysRound(t *testing.T) (ways []wayRound) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "corpus", "ways_round.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		head, command, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
		policy, layers, ok := strings.Cut(head, " ")
		if !ok {
			t.Fatalf("line %q", line)
		}
		ways = append(ways, wayRound{policy, layers, strings.ReplaceAll(command, "⏎", "\n")})
	}
	return ways
}

// furnished is what the directory has in it that these commands use.
var furnished = []string{
	"file ${WS}/a.txt a", "file ${WS}/args x", "file ${WS}/.env S=1", "file ${WS}/evil.sh 'rm x'", "script ${WS}/ls 'rm x'",
	"file ${WS}/Makefile all:\n\t-echo made\n", `file ${WS}/package.json {"name": "e", "version": "1.0.0", "scripts": {"test": "true"}}`,
}

// TestWaysRound tries each under both layers, and under each alone as far as it
// is that layer's business. Without lists there would be damage.
func TestWaysRound(t *testing.T) {
	t.Parallel()
	policies, _ := commandRows(t)
	refused := map[string][]wayRound{}
	for _, way := range waysRound(t) {
		tools, programs := policies[way.policy], map[string]string{"kernel": undecided(t)}
		if strings.Contains(way.layers, "p") {
			refused[way.policy] = append(refused[way.policy], way)
		} else {
			programs["both"] = binary()
		}
		if strings.Contains(way.layers, "k") {
			for mode, program := range programs {
				t.Run(mode, func(t *testing.T) {
					t.Parallel()
					w := newAttacked(t, furnished)
					a := w.serve(t, program, tools, "required").execute(way.command, 10)
					if did := w.damage(a); did != "" {
						t.Errorf("%s: %q: %s\n%.600s", way.policy, way.command, did, a.text())
					}
				})
			}
		}
		t.Run("unlisted", func(t *testing.T) {
			t.Parallel()
			way.unlisted(t)
		})
	}
	for policy, ways := range refused {
		for _, enforcement := range []string{"best_effort", "parse_only"} {
			t.Run(enforcement, func(t *testing.T) {
				t.Parallel()
				w := newAttacked(t, furnished)
				s := w.serve(t, binary(), policies[policy], enforcement)
				for _, way := range ways {
					a := s.execute(way.command, 10)
					if !a.refused() {
						t.Errorf("%s: %q is not refused: %.400s", policy, way.command, a.text())
					}
					if did := w.damage(a); did != "" {
						t.Fatalf("%s: %q: %s\n%.600s", policy, way.command, did, a.text())
					}
				}
			})
		}
	}
}

// unlisted shows that a way would do damage.
func (way wayRound) unlisted(t *testing.T) {
	for word := range strings.FieldsSeq(way.command) {
		if missing(word) {
			t.Skipf("%s is not installed", word)
		}
	}
	if strings.Contains(way.command, "/etc") || strings.Contains(way.command, "/root") || strings.Contains(way.command, "/environ") {
		return // which nobody may write or read
	}
	w := newAttacked(t, furnished)
	if a := w.unlisted(t, way.command); w.damage(a) == "" {
		t.Errorf("%q does no damage: %v", way.command, a.Result.StructuredContent)
	}
}
