package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/shell"
)

// TestWaiting has programs that wait for people at a terminal, which more time does not help.
func TestWaiting(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	f := newFixture(t, nil, shell.Options{BashTimeout: time.Second})
	if err := os.WriteFile(filepath.Join(f.dir, "vim"), []byte("#!/bin/sh\nsleep 20\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const waits = "vim is for people at a terminal, and nobody can type into a command"
	tooltest.Run(t, f.bash, []tooltest.Case{
		{Name: "vim", Args: `{"command":"./vim a.md"}`, ErrorType: "timed_out", Want: "[More time does not help: " + waits},
		{Name: "behind a wrapper", Args: `{"command":"true; env A=b ./vim"}`, ErrorType: "timed_out", Want: waits},
		{Name: "sleep", Args: `{"command":"sleep 20"}`, ErrorType: "timed_out", Want: "The operator's limit"},
		{Name: "in the background", Args: `{"command":"./vim","background":true}`, Want: waits},
		{Name: "a prompt", Args: `{"command":"sh -i","background":true}`, Want: "sh is for people at a terminal"},
		{Name: "a script", Args: `{"command":"echo true | sh","background":true}`, Check: func(t *testing.T, r domain.ToolResult) {
			if text := tooltest.Text(r); strings.Contains(text, "terminal") {
				t.Error(text)
			}
		}},
		{Name: "home directory", Args: `{"command":"true","working_dir":"~/none"}`, Want: "working_dir: ~/none is outside the allowed paths", ErrorType: "denied"},
		{Name: "line end", Args: `{"command":"true","working_dir":"sub\n"}`, Want: "give sub", ErrorType: "invalid_path"},
	})
	tooltest.Run(t, f.execute, []tooltest.Case{
		{Name: "vim", Args: `{"command":"./vim a.md","timeout":1}`, ErrorType: "timed_out", Want: "More time does not help: " + waits},
	})
}
