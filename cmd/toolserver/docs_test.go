package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/sandbox/process"
)

// pages returns the pages of documentation, by path from the top.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/clients/*.md", "docs/providers/*.md"} {
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

// Configurations load as they are, with the directories, secrets and variables they name.
func TestExampleConfigurations(t *testing.T) {
	count := 0
	for name, text := range pages(t) {
		if strings.Contains(filepath.ToSlash(name), "/clients/") {
			continue // they are of other programs
		}
		for _, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "uid_range") && process.CheckUsers() != nil {
				t.Logf("%s: the configuration with uid_range takes root", name)
				continue
			}
			count++
			dir := t.TempDir()
			yaml := regexp.MustCompile(`/(home/me|srv)/(project|notes|data|base|work)`).ReplaceAllStringFunc(m[1], func(path string) string {
				made := filepath.ToSlash(filepath.Join(dir, filepath.Base(path)))
				if err := os.MkdirAll(made, 0o700); err != nil {
					t.Fatal(err)
				}
				return made
			})
			secret := filepath.ToSlash(filepath.Join(dir, "secret"))
			if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			yaml = regexp.MustCompile(`\$\{file:[^}]*`).ReplaceAllString(yaml, "$${file:"+secret)
			for _, variable := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(yaml, -1) {
				t.Setenv(variable[1], "secret")
			}
			file := filepath.Join(dir, "toolserver.yaml")
			if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := config.Load(config.Overrides{File: file}); err != nil {
				t.Errorf("%s:\n%s\n%v", name, m[1], err)
			}
		}
	}
	if count < 30 {
		t.Errorf("only %d configurations", count)
	}
}
