package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"toolserver/config"
)

// pages returns the pages of documentation, by path from the top.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/clients/*.md"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[file] = string(text)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d pages", len(all))
	}
	return all
}

// unfenced returns a page without its code blocks.
func unfenced(text string) string {
	return regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(text, "")
}

// slugs returns the anchors that a page's headings have.
func slugs(text string) map[string]bool {
	all, noSlug := map[string]bool{}, regexp.MustCompile(`[^a-z0-9 _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(unfenced(text), -1) {
		all[strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return all
}

// Links within the documentation lead to pages and headings that exist.
func TestLinks(t *testing.T) {
	all, link := pages(t), regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for file, text := range all {
		for _, m := range link.FindAllStringSubmatch(unfenced(text), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := file
			if target != "" {
				to = filepath.Join(filepath.Dir(file), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s: %v", file, m[1], err)
			} else if anchor != "" && !slugs(all[to])[anchor] {
				t.Errorf("%s: %s: no such heading", file, m[1])
			}
		}
	}
}

// Configurations that stand for themselves load as they are, in the directories they name.
func TestExampleConfigurations(t *testing.T) {
	all, configuration := pages(t), regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	count := 0
	for _, name := range []string{"README.md", "docs/recipes.md", "docs/http.md"} {
		for _, m := range configuration.FindAllStringSubmatch(all[filepath.Join("../..", name)], -1) {
			count++
			dir := t.TempDir()
			text := regexp.MustCompile(`/(home/me|srv)/(project|notes)`).ReplaceAllStringFunc(m[1], func(path string) string {
				made := filepath.ToSlash(filepath.Join(dir, filepath.Base(path)))
				if err := os.MkdirAll(made, 0o700); err != nil {
					t.Fatal(err)
				}
				return made
			})
			file := filepath.Join(dir, "toolserver.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := config.Load(config.Overrides{File: file}); err != nil {
				t.Errorf("%s:\n%s\n%v", name, m[1], err)
			}
		}
	}
	if count < 9 {
		t.Errorf("only %d configurations", count)
	}
}
