package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"toolserver/config"
)

// TestTemplateUncommented removes the comment sign of each key, alone and of all together:
// what the template teaches is accepted.
func TestTemplateUncommented(t *testing.T) {
	setting := regexp.MustCompile(`^( *)#([a-z_]+: )`)
	text := string(config.Template())
	lines := strings.Split(text, "\n")
	all := make([]string, len(lines))
	count := 0
	for i, line := range lines {
		all[i] = setting.ReplaceAllString(line, "$1$2")
		if all[i] == line {
			continue
		}
		count++
		one := append(append([]string{}, lines[:i]...), all[i])
		one = append(one, lines[i+1:]...)
		if _, err := load(t, strings.Join(one, "\n")); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := load(t, strings.Join(all, "\n")); err != nil {
		t.Error(err)
	}
	if count < 70 {
		t.Errorf("only %d keys in\n%s", count, text)
	}
	if n := len(lines); n > 300 {
		t.Errorf("%d lines", n)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Overrides{File: file, Directories: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("TOOLSERVER_CONFIG", "")
	t.Chdir(dir)
	if bare, err := config.Load(config.Overrides{Directories: []string{dir}}); err != nil || string(bare.Show()) != string(l.Show()) {
		t.Errorf("the template changes the defaults: %v\n%s", err, l.Show())
	}
}
