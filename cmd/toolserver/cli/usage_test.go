package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
)

// TestHelpOfCommands has help.txt describe each command once, and nothing else.
func TestHelpOfCommands(t *testing.T) {
	described := map[string]bool{}
	for line := range strings.Lines(help) {
		if path, ok := strings.CutPrefix(line, "# "); ok {
			if path = strings.TrimSpace(path); described[path] {
				t.Errorf("%s is described twice", path)
			}
			described[path] = true
		}
	}
	g := newGlobals(app.Streams{}, app.Program{})
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Short == "" {
			t.Errorf("%s is not described", cmd.CommandPath())
		}
		delete(described, cmd.CommandPath())
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(newRoot(g))
	for path := range described {
		t.Errorf("there is no command %s", path)
	}
}
