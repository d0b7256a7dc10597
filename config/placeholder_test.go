package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config"
)

// Values that the program that started the server was to replace are unset.
func TestPlaceholders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(file, []byte("server: {user: '${WHO:-ann}'}\nanthropic: {api_key: '${KEY}'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const left = "which the program that started the server has not replaced"
	for _, test := range []struct {
		name      string
		env       map[string]string
		overrides config.Overrides
		problem   string
		named     []string // in Placeholders
		key       string   // of Brave
	}{
		{"none", map[string]string{"BRAVE_API_KEY": "k"}, config.Overrides{Directories: []string{dir}}, "", nil, "k"},
		{"a key", map[string]string{"BRAVE_API_KEY": " ${user_config.brave_api_key}\n"}, config.Overrides{Directories: []string{dir}}, "", []string{"variable BRAVE_API_KEY is ${user_config.brave_api_key}, " + left}, ""},
		{"part of a key", map[string]string{"BRAVE_API_KEY": "a${b}"}, config.Overrides{Directories: []string{dir}}, "", nil, "a${b}"},
		{"two in one", map[string]string{"BRAVE_API_KEY": "${a}${b}"}, config.Overrides{Directories: []string{dir}}, "", nil, "${a}${b}"},
		{"$TOOLSERVER_CONFIG", map[string]string{"TOOLSERVER_CONFIG": "${X}"}, config.Overrides{Directories: []string{dir}}, "", []string{"variable TOOLSERVER_CONFIG is ${X}"}, ""},
		{"--config", nil, config.Overrides{File: "${user_config.file}", Directories: []string{dir}}, "", []string{"--config is ${user_config.file}, " + left}, ""},
		{"one directory", nil, config.Overrides{Directories: []string{dir, "${user_config.more}"}}, "", []string{"a directory is ${user_config.more}, " + left}, ""},
		{"all directories", nil, config.Overrides{Directories: []string{"${user_config.dirs}"}}, "give a directory", nil, ""},
		{"in a file", map[string]string{"KEY": "${user_config.key}"}, config.Overrides{File: file, Directories: []string{dir}}, `a.yaml:2:22: anthropic.api_key: environment variable KEY is ${user_config.key}, ` + left, nil, ""},
		{"in a file, with another text", map[string]string{"KEY": "k", "WHO": "${user}"}, config.Overrides{File: file, Directories: []string{dir}}, "", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range []string{"BRAVE_API_KEY", "TOOLSERVER_CONFIG", "XDG_CONFIG_HOME"} {
				t.Setenv(name, "")
			}
			t.Setenv("HOME", dir)
			t.Chdir(dir)
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			l, err := config.Load(test.overrides)
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			again, err := l.Again(test.overrides.Directories)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range []*config.Loaded{l, again} {
				got := l.Placeholders()
				if len(got) != len(test.named) || l.Web.Search.Brave.APIKey != test.key || len(l.Roots) > 0 {
					t.Errorf("got %q, key %q, roots %q", got, l.Web.Search.Brave.APIKey, l.Roots)
				}
				for i, want := range test.named {
					if !strings.Contains(got[i], want) {
						t.Errorf("got %q", got[i])
					}
				}
				if l.Server.User != "ann" && test.overrides.File == file {
					t.Errorf("user %q", l.Server.User)
				}
			}
		})
	}
}
