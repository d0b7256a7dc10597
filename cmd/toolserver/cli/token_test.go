package cli

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestToken makes, rotates and revokes tokens in a file that has more in it.
func TestToken(t *testing.T) {
	t.Chdir(t.TempDir())
	const file = "# ours\nserver:\n  http: 127.0.0.1:0 # where\n  tokens:\n    # the first\n    - name: old\n      hash: sha256:0000000000000000000000000000000000000000000000000000000000000000\nlimits:\n  per_principal: 3\n"
	if err := os.WriteFile("c.yaml", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want int, args ...string) string {
		t.Helper()
		out, stderr, code := play(t, "", append(args, "--config", "c.yaml")...)
		if code != want {
			t.Errorf("%q: code %d, %s%s", args, code, out, stderr)
		}
		return out + stderr
	}
	secret := func(said string) string {
		t.Helper()
		token := regexp.MustCompile(`token: (toolserver_\S{43})\n`).FindStringSubmatch(said)
		text, err := os.ReadFile("c.yaml")
		if token == nil || err != nil || strings.Contains(string(text), token[1]) || !strings.Contains(string(text), "# the first") || !strings.Contains(string(text), "# where") {
			t.Fatalf("%s, %v\n%s", said, err, text)
		}
		return token[1]
	}
	first := secret(run(exitOK, "token", "new", "ann", "--groups", "staff,ops", "--scopes", "a:b", "--expires", "90d"))
	second := secret(run(exitOK, "token", "rotate", "ann", "--keep", "1h"))
	for _, token := range []string{first, second} {
		if said := run(exitOK, "auth", "check", token); !strings.Contains(said, "principal: token:ann") || !strings.Contains(said, "groups: staff ops") || !strings.Contains(said, "scopes: a:b") {
			t.Error(said)
		}
	}
	if said, _, code := play(t, "Bearer "+first+"\n", "auth", "check", "--config", "c.yaml"); code != exitOK || !strings.Contains(said, "token:ann") {
		t.Errorf("%d %s", code, said)
	}
	rows := strings.Split(strings.TrimSpace(run(exitOK, "token", "list")), "\n")
	if len(rows) != 4 || strings.Fields(rows[2])[0] != "ann" || strings.HasSuffix(rows[2], "never") || !strings.HasSuffix(rows[3], "never") {
		t.Errorf("%q", rows)
	}
	run(exitOK, "token", "revoke", "ann", strings.Fields(rows[2])[1])
	run(exitFailed, "auth", "check", first)
	run(exitOK, "auth", "check", second)
	for group, want := range map[string]string{"ops": "profile: ours", "others": "profile: none: "} {
		edited, err := os.ReadFile("c.yaml")
		profiles := fmt.Sprintf("profiles: [{name: ours, groups: [%s], shared: true}]\n", group)
		if err = cmp.Or(err, os.WriteFile("c.yaml", append(edited, profiles...), 0o600)); err != nil {
			t.Fatal(err)
		}
		if said := run(exitOK, "auth", "check", second); !strings.Contains(said, want) {
			t.Errorf("%s: %s", group, said)
		}
		if err := os.WriteFile("c.yaml", edited, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(exitOK, "token", "revoke", "ann")
	run(exitFailed, "auth", "check", second)
	if text, err := os.ReadFile("c.yaml"); err != nil || string(text) != file {
		t.Errorf("%v\n%s", err, text)
	}
	for want, args := range map[string][]string{
		"is over":                  {"token", "new", "x", "--expires", "2020-01-01"},
		"neither a duration":       {"token", "new", "x", "--expires", "soon"},
		"already":                  {"token", "new", "old"},
		"no token of the name":     {"token", "revoke", "x"},
		"no token whose ID begins": {"token", "revoke", "old", "f"},
		"is not a scope":           {"token", "new", "x", "--scopes", "ä"},
	} {
		out, stderr, code := play(t, "", append(args, "--config", "c.yaml")...)
		if code == exitOK || !strings.Contains(stderr, want) {
			t.Errorf("%q: %d, %s%s", args, code, out, stderr)
		}
	}
	if text, _ := os.ReadFile("c.yaml"); string(text) != file {
		t.Errorf("what is refused changes the file: %s", text)
	}
}
