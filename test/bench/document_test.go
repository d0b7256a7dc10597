package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestReplaceRun(t *testing.T) {
	const document = "# A\n\n" + documentBegin + "\n| old |\n" + documentEnd + "\nB\n"
	got, err := replaceRun(document, "| new |\n")
	if want := "# A\n\n" + documentBegin + "\n| new |\n\n" + documentEnd + "\nB\n"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if again, err := replaceRun(got, "| new |\n"); err != nil || again != got {
		t.Errorf("the same run twice makes %q, %v", again, err)
	}
	for _, bad := range []string{"", documentBegin, documentEnd, documentEnd + documentBegin} {
		if got, err := replaceRun(bad, "x"); err == nil {
			t.Errorf("%q becomes %q", bad, got)
		}
	}
}

// TestWrite measures a little and writes it.
func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(file, []byte("above\n"+documentBegin+documentEnd+"below\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	l := &lab{rounds: 1, time: time.Millisecond}
	if err := l.measure(t.Context(), []string{"executor"}); err != nil {
		t.Fatal(err)
	}
	if err := l.write(file); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if !strings.HasPrefix(text, "above\n") || !strings.HasSuffix(text, "below\n") || !strings.Contains(text, "\n| executor: arguments refused | executor |") {
		t.Errorf("got %s", text)
	}
}

// TestFigures sees to it that the page of figures and README have no figure that no
// run has written.
func TestFigures(t *testing.T) {
	figure := regexp.MustCompile(`\b\d[\d,.]* ?(µs|ms|ns|MiB|kB|KiB of memory)\b|\b\d+\.\d+x\b`)
	for _, file := range []string{"../../docs/performance.md", "../../README.md"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		above, rest, _ := strings.Cut(string(b), documentBegin)
		_, below, _ := strings.Cut(rest, documentEnd)
		for _, found := range figure.FindAllString(above+below, -1) {
			t.Errorf("%s: %s is in no run", file, found)
		}
	}
}
