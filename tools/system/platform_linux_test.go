package system

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestValueIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "facts")
	facts := "# comment\nNAME=\"Debian\"\nPRETTY_NAME=\"A \\\"B\\\" = C\"\nPRETTY_NAME=late\nmodel name\t: Some CPU @ 2:1\nEMPTY=\n" + strings.Repeat("x", maxFacts) + "\nFAR=1\n"
	if err := os.WriteFile(path, []byte(facts), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ key, separator, want string }{
		{"PRETTY_NAME", "=", `"A \"B\" = C"`}, {"model name", ":", "Some CPU @ 2:1"}, {"EMPTY", "=", ""}, {"FAR", "=", ""}, {"NONE", "=", ""},
	} {
		if got := valueIn(path, test.key, test.separator); got != test.want {
			t.Errorf("%s: %q; want %q", test.key, got, test.want)
		}
	}
	if got := valueIn(path+".none", "NAME", "="); got != "" {
		t.Errorf("a file that is not there says %q", got)
	}
	for quoted, want := range map[string]string{`"A \"B\" C"`: `A "B" C`, `'A B'`: "A B", "Alpine": "Alpine", `"cut`: "cut", "": "", "`x`": "`x`"} {
		if got := shellUnquote(quoted); got != want {
			t.Errorf("%s unquoted is %q; want %q", quoted, got, want)
		}
	}
}

func FuzzUnescape(f *testing.F) {
	for escaped, want := range map[string]string{
		`plain`: "plain", `My\x20Disk`: "My Disk", `\x5cx`: `\x`, `end\x`: `end\x`, `\x2`: `\x2`, `\xzz`: `\xzz`, `\x\x20`: `\x `, ``: "",
	} {
		if got := unescape(escaped); got != want {
			f.Errorf("%q unescaped is %q; want %q", escaped, got, want)
		}
		f.Add(escaped)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := unescape(s)
		if len(got) > len(s) || !strings.Contains(s, `\`) && got != s {
			t.Errorf("%q unescaped is %q", s, got)
		}
	})
}

func TestLinkType(t *testing.T) {
	for _, test := range []struct {
		i    net.Interface
		want string
	}{
		{net.Interface{Name: "none0", Flags: net.FlagLoopback}, "loopback"},
		{net.Interface{Name: "none0", Flags: net.FlagPointToPoint}, "point_to_point"},
		{net.Interface{Name: "none0"}, ""},
	} {
		if got := linkType(&test.i); got != test.want {
			t.Errorf("%v: %q; want %q", test.i.Flags, got, test.want)
		}
	}
	if got := linkSpeed("none0"); got != 0 {
		t.Errorf("speed of no interface: %d", got)
	}
}

func TestPlatform(t *testing.T) {
	p := readPlatform()
	for _, s := range []string{p.name, p.release, p.version, p.machine, p.processor} {
		if s == "" || !utf8.ValidString(s) {
			t.Errorf("platform %+v", p)
		}
	}
}
