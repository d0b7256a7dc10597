package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestStrictForm holds the strict form of OpenAI's tools to its rules, and calls tools
// as a model does that is held to it: with null for what it leaves out.
func TestStrictForm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "f.txt"), []byte("hello\n"), 0o600))
	out, err := exec.CommandContext(t.Context(), binary(), "tools", "--openai").Output()
	must(t, err)
	var tools []struct {
		Function struct {
			Name       string
			Strict     bool
			Parameters schemaNode
		}
	}
	must(t, json.Unmarshal(out, &tools))
	given := map[string]any{"path": "f.txt", "pattern": "hello", "command": "echo hello", "content": "x", "id": "x", "url": "http://127.0.0.1/", "keyword": "x"}
	callable := []string{"echo", "bash", "read_file", "grep", "search_files", "write_file", "append_file", "system_info"}
	c := start(t, dir)
	for _, tool := range tools {
		f := tool.Function
		if !f.Strict {
			if f.Name != "execute_command" { // whose env has any names
				t.Errorf("%s is not strict", f.Name)
			}
			continue
		}
		f.Parameters.check(t, f.Name)
		if !slices.Contains(callable, f.Name) {
			continue
		}
		args := map[string]any{}
		for name, p := range f.Parameters.Properties {
			if args[name] = nil; !p.optional() {
				args[name] = given[name]
			}
		}
		if a := c.call(f.Name, args); a.failed() {
			t.Errorf("%s %v: %s", f.Name, args, a.text())
		}
	}
}

type schemaNode struct {
	Type                 any
	Properties           map[string]schemaNode
	Required             []string
	AdditionalProperties any
	Items                *schemaNode
	MinLength, MaxLength any
	Default              any
}

func (s schemaNode) optional() bool {
	types, several := s.Type.([]any)
	return several && slices.Contains(types, "null")
}

func (s schemaNode) check(t *testing.T, at string) {
	t.Helper()
	if s.Type == "object" && (s.AdditionalProperties != false || len(s.Required) != len(s.Properties)) || s.MinLength != nil || s.MaxLength != nil || s.Default != nil {
		t.Errorf("%s: %+v", at, s)
	}
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			t.Errorf("%s.%s is not required", at, name)
		}
		p.check(t, at+"."+name)
	}
	if s.Items != nil {
		s.Items.check(t, at+"[]")
	}
}
