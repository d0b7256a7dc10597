package sandbox

import (
	"slices"
	"testing"
)

func TestPathsIn(t *testing.T) {
	for line, want := range map[string]string{
		"cat: .env: Permission denied":                                            ".env",
		"bash: line 1: .git/hooks/a: Read-only file system":                       ".git/hooks/a",
		"sh: 1: cannot create .git/hooks/a: Read-only file system":                ".git/hooks/a",
		"touch: cannot touch '/etc/a b': Permission denied":                       "/etc/a b",
		"PermissionError: [Errno 13] Permission denied: '/root/.ssh/id'":          "/root/.ssh/id",
		"open .env: permission denied":                                            ".env",
		"open /etc/shadow: permission denied":                                     "/etc/shadow",
		"Error: EACCES: permission denied, open '/srv/x'":                         "/srv/x",
		"cp: cannot create regular file ‘/usr/x’: Permission denied":              "/usr/x",
		"error: could not lock config file /w/.git/config: Read-only file system": "/w/.git/config",
		"fatal: could not create work tree dir \"x y\": Permission denied":        "x y",
		"./gradlew: line 3: /opt/java/bin/java: Permission denied\n":              "/opt/java/bin/java",
		"ls: cannot open directory '/root/.gnupg': Permission denied":             "/root/.gnupg",
	} {
		if got := pathsIn(line); !slices.Contains(got, want) {
			t.Errorf("%s: %q not in %q", line, want, got)
		}
	}
	for line, want := range map[string]string{
		"/bin/sh: 1: cannot create migrations/001.sql: Read-only file system": "migrations/001.sql",
		"urllib.error.URLError: <urlopen error [Errno 13] Permission denied>": "",
	} {
		if got := append(pathsIn(line), ""); got[0] != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}
