package files

import (
	"fmt"
	"slices"
	"testing"
)

func TestAlike(t *testing.T) {
	names := []string{"file000100.txt", "file000021.txt", "file000012.txt", "file000012.md", "notes", "File00012.md"}
	for word, want := range map[string][]string{
		"file00012.txt":  {"File00012.md", "file000012.txt", "file000021.txt", "file000100.txt"},
		"file000012.TXT": {"file000012.txt", "file000012.md", "file000021.txt", "file000100.txt"},
		"note":           {"notes"},
		"zzz":            {},
	} {
		if got := alike(word, names); !slices.Equal(got, want) {
			t.Errorf("%s: %q; want %q", word, got, want)
		}
	}
}

// BenchmarkAlike looks for a name that is missing among as many as are looked at.
func BenchmarkAlike(b *testing.B) {
	names := make([]string, maxSiblings)
	for i := range names {
		names[i] = fmt.Sprintf("file%06d.txt", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		if found := alike("file00012.txt", names); found[0] != "file000012.txt" {
			b.Fatal(found[0])
		}
	}
}
