package tooltest

import (
	"os"
	"strings"
	"testing"
)

// Golden compares a text with the file that says what it must be. With update the
// file is written instead, for a look at what changed.
func Golden(t testing.TB, file, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(string(b), "\r\n", "\n"); got != want {
		t.Errorf("%s is out of date; if the change is meant, run this package's tests with -update\n got %.20000s\nwant %.20000s", file, got, want)
	}
}
