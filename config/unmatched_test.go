package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config"
)

// Entries that could not match are errors with their place, and say what to write.
func TestEntriesThatCannotMatch(t *testing.T) {
	_, err := load(t, `tools:
  read_file: {allowed_paths: [""], denied_paths: ["!x", "^x", "a|b"]}
  bash:
    allowed_commands: ["git (", ok, "git:*", {name: find, args_deny: ["", "-exec rm"]}, "* x"]
    denied_commands: ["^rm", "*", ""]
    exec_paths: ["bin/*", "$HOME/bin"]
  system_info: {mask: ["(", hostname, hostnmae]}
`)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`:2:31: tools.read_file.allowed_paths[0]: "" does not work as an entry: write .`,
		`:2:51: tools.read_file.denied_paths[0]: "!x" does`, `:2:57: tools.read_file.denied_paths[1]: `, `:2:63: tools.read_file.denied_paths[2]: `,
		`:4:24: tools.bash.allowed_commands[0]: "git (" does not work as an entry: it must be plain words`, `:4:37: tools.bash.allowed_commands[2]: "git:*" does not work as an entry: write "git *"`,
		`:4:71: tools.bash.allowed_commands[3].args_deny[0]: "" does`, `:4:75: tools.bash.allowed_commands[3].args_deny[1]: `,
		`:4:89: tools.bash.allowed_commands[4]: "* x" does not work as an entry: * for any program stands alone`,
		`:5:23: tools.bash.denied_commands[0]: `, `:5:30: tools.bash.denied_commands[1]: * for any program is for allowed_commands`, `:5:35: tools.bash.denied_commands[2]: "" does`,
		`:6:18: tools.bash.exec_paths[0]: "bin/*" has wildcards`, `:6:27: tools.bash.exec_paths[1]: `,
		`:7:24: tools.system_info.mask[0]: no system tool has a field "("`, `:7:39: tools.system_info.mask[2]: no system tool has a field "hostnmae"; did you mean hostname?`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 16 {
		t.Errorf("%d mistakes in\n%v", n, err)
	}
}

func TestUnmatched(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"docs/a.md", "output/x", "bin/tool"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	file := filepath.Join(t.TempDir(), "c.yaml")
	text := `working_directory: ` + dir + `
tools:
  read_file: {allowed_paths: [., docs/*.md, "*.md", "**"], denied_paths: [dosc, "*.key", "docs/**/*.txt", ` + dir + `/none]}
  write_file: {allowed_paths: [outptu, output]}
  bash: {allowed_commands: [tool, tol, "to* x", "fr*", cd, "*", ./bin/tool, ./bin/x], exec_paths: [bni, bin]}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Overrides{File: file})
	if err != nil {
		t.Fatal(err)
	}
	got := l.Unmatched()
	for i, w := range got {
		got[i] = strings.TrimPrefix(w, file)
	}
	want := []string{
		`:3:75: tools.read_file.denied_paths[0]: "dosc" matches nothing here now; did you mean docs?`,
		`:3:81: tools.read_file.denied_paths[1]: "*.key" matches nothing here now`,
		`:3:90: tools.read_file.denied_paths[2]: "docs/**/*.txt" matches nothing here now`,
		`:3:107: tools.read_file.denied_paths[3]: "` + dir + `/none" matches nothing here now`,
		`:4:32: tools.write_file.allowed_paths[0]: "outptu" matches nothing here now; did you mean output?`,
		`:5:35: tools.bash.allowed_commands[1]: "tol" matches nothing here now; did you mean tool?`,
		`:5:49: tools.bash.allowed_commands[3]: "fr*" matches nothing here now`,
		`:5:77: tools.bash.allowed_commands[7]: "./bin/x" matches nothing here now`,
		`:5:100: tools.bash.exec_paths[0]: "bni" matches nothing here now; did you mean bin?`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
