//go:build linux

package e2e

import (
	"os"
	"slices"
	"testing"
)

// TestToolsEnable disables and enables tools in the configuration file, which a server applies, and lists tools by category.
func TestToolsEnable(t *testing.T) {
	t.Parallel()
	const before = "# mine\ntools:\n  # why\n  bash: {timeout: 5s, enabled: true} # b\n\n  echo:\n    # nobody else\n    groups: [staff]\n"
	s := newShell(t, before)
	client := start(t, "--config", s.config)
	offered := func(name string) bool { return slices.Contains(client.names(), name) }
	if !offered("bash") {
		t.Fatal("bash is not offered")
	}
	s.prints("tools disable bash", 0, "disabled bash: tools.bash.enabled is false in "+s.config+":5\n", "applies it")
	s.prints("tools disable echo", 0, "tools.echo.enabled is false in "+s.config+":8\n")
	s.prints("tools enable read_file", 0, "enabled read_file", s.config+":12\n")
	eventually(t, "the server applies it", func() bool { return !offered("bash") })
	text, err := os.ReadFile(s.config)
	must(t, err)
	want := "working_directory: .\n# mine\ntools:\n  # why\n  bash: {timeout: 5s, enabled: false} # b\n\n  echo:\n    enabled: false\n    # nobody else\n    groups: [staff]\n  read_file:\n    enabled: true\n"
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	s.prints("tools enable bassh", 2, `there is no tool "bassh"; did you mean bash?`)
	s.prints("tools --category shell", 0, "execute_command", "!bash ", "!read_file")
	s.prints("tools enable bash", 0, ":5\n")
	s.prints("tools --category shell", 0, "bash", "!read_file")
	s.prints("tools --category shel", 2, `there is no category "shel"; known: ai, `)
}
