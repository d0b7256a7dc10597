//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExplainAs explains calls as they are decided on for people over HTTP, without making anything for them.
func TestExplainAs(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	work := t.TempDir()
	o.file("c.yaml", fmt.Sprintf(`working_directory: .
state_directory: %s
server: {tokens: [{name: ann, groups: [eng], hash: "sha256:%064d"}, %s], public_url: https://tools.example.com}
auth: {issuers: [{issuer: https://id.example.com}]}
users: {dan: {groups: [ops]}}
tools: {echo: {groups: [ops]}}
profiles:
  - {name: eng, groups: [eng], working_directory: '%s/{principal}', tools: {bash: {denied_commands: [rm]}}}
  - {name: ops, groups: [ops], shared: true}
`, t.TempDir(), 1, tokenEntry("dan", "dans"), work))
	must(t, os.Mkdir(filepath.Join(work, "ann-tmanrfbops23g32mldcoiitntg"), 0o700)) // commands start in a directory that is there
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"bash", "rm x"}, 0, "verdict:  allowed"},
		{[]string{"--as", "ann", "bash", "rm x"}, 1, "denied: rm"},
		{[]string{"--as", "ann", "write_file", "x", "y"}, 0, work + "/ann-tmanrfbops23g32mldcoiitntg/x"},
		{[]string{"--as", "ann", "write_file", o.dir + "/x", "y"}, 1, "outside the allowed paths"},
		{[]string{"--as", "ann", "echo", "hi"}, 1, "ann may not use the tool"},
		{[]string{"--as", "ann", "--groups", "ops", "echo", "hi"}, 0, "verdict:  allowed"},
		{[]string{"--as", "dan", "write_file", "x", "y"}, 0, o.dir + "/x"},
		{[]string{"--as", "https://id.example.com#248289", "--groups", "eng", "write_file", "x", "y"}, 0, work + "/248289-"},
		{[]string{"--as", "https://id.example.com#1", "bash", "ls"}, 2, "is in no profile"},
		{[]string{"--as", "nobody", "bash", "ls"}, 2, "no token is named nobody"},
		{[]string{"--as", "https://other.example.com#1", "bash", "ls"}, 2, "none of auth.issuers"},
		{[]string{"--groups", "ops", "bash", "ls"}, 2, "--groups says which groups --as is in"},
	} {
		out, said, code := o.run(append([]string{"explain", "-c", "c.yaml"}, test.args...)...)
		if code != test.code || !strings.Contains(out+said, test.want) {
			t.Errorf("%q: %d %s%s, want %d %s", test.args, code, out, said, test.code, test.want)
		}
	}
	if made, err := os.ReadDir(work); err != nil || len(made) != 1 {
		t.Errorf("explaining has made %v: %v", made, err)
	}
}

// TestRefusalsInProfiles has the record name the line of the profile that decides, and says who answers for the call today.
func TestRefusalsInProfiles(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	work := t.TempDir()
	file := o.file("c.yaml", fmt.Sprintf("working_directory: .\nstate_directory: %s\n%sprofiles:\n- name: all\n  working_directory: '%s/{principal}'\n  tools:\n    bash: {denied_commands: [rm]}\n",
		filepath.Join(t.TempDir(), "state"), withTokens("ann", "anns"), work))
	s := launchHTTP(t, nil, binary(), "--config", file)
	if said, err := s.tool(t.Context(), "anns", "bash", `{"command":"rm x"}`); err != nil || !strings.Contains(said, "rm x is denied") {
		t.Fatal(said, err)
	}
	var id []string
	eventually(t, "the record has it", func() bool {
		out, _, _ := o.run("log", "-c", file, "--denied", "--json")
		id = regexp.MustCompile(`"id":\s*"([^"]+)"`).FindStringSubmatch(out)
		return id != nil && strings.Contains(out, file+":8")
	})
	if out, said, code := o.run("log", "-c", file, "explain", id[1]); code != 0 || !strings.Contains(out, "toolserver explain --as 'token:ann'") {
		t.Errorf("%d %s%s", code, out, said)
	}
	if out, said, _ := o.run("explain", "-c", file, "--as", "token:ann", "write_file", "x", "y"); !strings.Contains(out, "verdict:  allowed") {
		t.Errorf("%s%s", out, said)
	}
}
