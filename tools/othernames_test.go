package tools_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/tools"
)

func TestOtherNames(t *testing.T) {
	few := strings.Fields("bash bash_jobs edit_file execute_command grep list_directory read_file search_files web_fetch write_file")
	for word, want := range map[string]string{
		"read_text_file": "read_file", "Read": "read_file", "ReadFile": "read_file", "readFile": "read_file", "Bash": "bash", "run_command": "bash execute_command",
		"str_replace_editor": "read_file write_file edit_file", "create_file": "write_file", "write": "write_file", "ls": "list_directory", "Glob": "search_files", "Grep": "grep", "rg": "grep",
		"BashOutput": "bash_jobs", "KillShell": "bash_jobs", "WebFetch": "web_fetch", "raed_file": "read_file",
		"web_search":    "", // is no slip of web_fetch
		"get_file_info": "list_directory", "TodoWrite": "",
		"nope": "",
	} {
		if got, _ := nearest.Tool(word, few, tools.OtherNames()); strings.Join(got, " ") != want {
			t.Errorf("%s: got %q; want %q", word, got, want)
		}
	}
	for _, word := range []string{"bash", "run_command"} {
		if got, _ := nearest.Tool(word, []string{"execute_command"}, tools.OtherNames()); !slices.Equal(got, []string{"execute_command"}) {
			t.Errorf("%s without bash: got %q", word, got)
		}
	}
}
