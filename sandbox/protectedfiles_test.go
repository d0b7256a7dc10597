package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestTrackedOf has repositories with the index of git, as far as it matters here.
func TestTrackedOf(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for name, index := range map[string]string{"a": "DIRC .env\x00\x00sub/.env\x00", "b": "DIRC .env.example\x00", "none": ""} {
		if index != "" {
			if err := os.MkdirAll(filepath.Join(dir, name, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name, ".git/index"), []byte(index), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		files = append(files, filepath.Join(dir, name, ".env"), filepath.Join(dir, name, "sub/.env"))
	}
	got := trackedOf(files)
	slices.Sort(got)
	if want := []string{filepath.Join(dir, "a/.env"), filepath.Join(dir, "a/sub/.env")}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
