package document

import (
	"strings"
	"testing"
)

// TestTables checks the tables of kinds and of remedies.
func TestTables(t *testing.T) {
	rows := 0
	for _, table := range types() {
		for _, s := range table {
			rows++
			if s.Kind <= Other || s.Kind > Binary || !strings.Contains(s.MIME, "/") || s.Name == "" || s.magic == "" && len(s.extensions) == 0 {
				t.Errorf("%+v", s)
			}
			words := strings.Fields(s.remedy)
			if len(words) > 0 && !strings.Contains(remedyTable, "\n"+words[0]+"\n\t") {
				t.Errorf("%s: there is no remedy %q", s.Name, s.remedy)
			}
			for _, installed := range []bool{true, false} {
				if advice := s.Advice("a b", func(string) bool { return installed }); advice == "" || strings.ContainsAny(advice, "%\n") && !strings.Contains(advice, "-%d") {
					t.Errorf("%s: %q", s.Name, advice)
				}
			}
		}
	}
	if want := strings.Count(kindTable, "\n0 | ") + strings.Count(kindTable, "\n4 | ") + strings.Count(kindTable, "\n257 | "); rows != want || want < 50 {
		t.Errorf("%d types of %d rows", rows, want)
	}
}
