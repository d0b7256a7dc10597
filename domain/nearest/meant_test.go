package nearest_test

import (
	"strings"
	"testing"

	"toolserver/domain/nearest"
)

func TestArgument(t *testing.T) {
	grep := strings.Fields("pattern path glob ignore_case fixed_string context mode max_results gitignore include_hidden")
	read := strings.Fields("path encoding offset limit line_numbers")
	bash := strings.Fields("command timeout working_dir background")
	for _, test := range []struct {
		word       string
		candidates []string
		want       string
	}{
		{"file_path", read, "path"},
		{"filePath", read, "path"},
		{"filename", read, "path"},
		{"-n", read, "line_numbers"},
		{"start_line", read, "offset"},
		{"-i", grep, "ignore_case"},
		{"-A", grep, "context"},
		{"-n", grep, ""}, // its lines have numbers in any case
		{"output_mode", grep, "mode"},
		{"head_limit", grep, "max_results"},
		{"include", grep, "glob"},
		{"query", grep, "pattern"},
		{"ignoreCase", grep, "ignore_case"},
		{"patern", grep, "pattern"}, // a slip
		{"content", grep, ""},       // no slip of context
		{"cmd", bash, "command"},
		{"script", bash, "command"},
		{"cwd", bash, "working_dir"},
		{"run_in_background", bash, "background"},
		{"q", []string{"query", "count"}, "query"},
		{"q", []string{"keyword", "limit"}, "keyword"},
		{"old_string", []string{"old_text", "new_text"}, "old_text"},
		{"oldText", []string{"old_text", "new_text"}, "old_text"},
		{"nothing_like_it", read, ""},
		{"", read, ""},
		{strings.Repeat("p", 1<<20), read, ""},
	} {
		if got, ok := nearest.Argument(test.word, test.candidates); got != test.want || ok != (test.want != "") {
			t.Errorf("%.30q: got %q, %v; want %q", test.word, got, ok, test.want)
		}
	}
}

func TestTool(t *testing.T) {
	few := strings.Fields("bash bash_jobs edit_file execute_command grep list_directory read_file search_files web_fetch write_file")
	for word, want := range map[string]string{
		"read_text_file": "read_file", "Read": "read_file", "ReadFile": "read_file", "readFile": "read_file", "Bash": "bash", "run_command": "bash",
		"str_replace_editor": "edit_file", "write": "write_file", "ls": "list_directory", "Glob": "search_files", "Grep": "grep", "rg": "grep",
		"BashOutput": "bash_jobs", "KillShell": "bash_jobs", "WebFetch": "web_fetch", "raed_file": "read_file",
		"web_search": "", // is no slip of web_fetch
		"TodoWrite":  "",
		"nope":       "",
	} {
		if got, ok := nearest.Tool(word, few); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", word, got, ok, want)
		}
	}
	for _, word := range []string{"bash", "run_command"} {
		if got, _ := nearest.Tool(word, []string{"execute_command"}); got != "execute_command" {
			t.Errorf("%s without bash: got %q", word, got)
		}
	}
}
