//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

func (c *client) echo() error {
	text := anyText(c.rng, c.soak.number())
	res, err := c.call("echo", map[string]any{"message": text})
	if err != nil {
		return err
	}
	return difference(res.text(), "Echo: "+text)
}

func (c *client) ping() error {
	if !c.link.modern() {
		a, err := c.ask(&request{method: "ping"})
		if err == nil && string(a.Result) != "{}" {
			err = fmt.Errorf("ping was answered with %s", a)
		}
		return err
	}
	if c.rng.IntN(2) == 0 {
		return c.fails(&request{method: "ping"}, -32601)
	}
	a, err := c.ask(&request{method: "server/discover"})
	if err != nil {
		return err
	}
	var r struct{ SupportedVersions []string }
	if a.Error != nil || json.Unmarshal(a.Result, &r) != nil || !slices.Contains(r.SupportedVersions, modernVersion) {
		return fmt.Errorf("server/discover was answered with %s", a)
	}
	return nil
}

func (c *client) list() error {
	names, err := listTools(c.ctx, c.link)
	if err != nil {
		return err
	}
	without := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return name == switched })
	}
	if got, want := without(names), without(c.soak.tools); !slices.Equal(got, want) {
		return fmt.Errorf("the tools are %q instead of %q", got, want)
	}
	return nil
}

// listTools returns the names of the tools, all of which are on one page.
func listTools(ctx context.Context, l link) (names []string, err error) {
	a, err := l.ask(ctx, &request{method: "tools/list"})
	if err != nil {
		return nil, err
	}
	var r struct{ Tools []struct{ Name string } }
	if a.Error != nil || json.Unmarshal(a.Result, &r) != nil || len(r.Tools) == 0 {
		return nil, fmt.Errorf("tools/list was answered with %s", a)
	}
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	if !slices.IsSorted(names) {
		return nil, fmt.Errorf("the tools are not sorted: %q", names)
	}
	return names, nil
}

// wrongArguments are arguments that tools refuse.
var wrongArguments = []struct {
	tool string
	args map[string]any
}{
	{"echo", map[string]any{"massage": "x"}},
	{"echo", map[string]any{"message": 3}},
	{"read_file", map[string]any{}},
	{"read_file", map[string]any{"path": "x", "lmit": 2}},
	{"read_file", map[string]any{"path": []any{"x"}}},
	{"grep", map[string]any{"pattern": "x", "max_results": -1}},
	{"grep", map[string]any{"pattern": "x", "mode": "loud"}},
	{"edit_file", map[string]any{"path": "x", "edits": "y"}},
	{"bash", map[string]any{"command": ""}},
	{"bash", map[string]any{"command": "true", "timeout": 0}},
}

func (c *client) badArguments() error {
	wrong := wrongArguments[c.rng.IntN(len(wrongArguments))]
	return c.fails(callOf(wrong.tool, wrong.args), -32602)
}

func (c *client) unknownTool() error {
	return c.fails(callOf(fmt.Sprintf("no_such_tool_%d", c.soak.number()), map[string]any{"a": 1}), -32001)
}

func (c *client) refusedPath() error {
	path := []string{"../outside", "/etc/passwd", c.path + "/none.txt", c.path + "/../../x"}[c.rng.IntN(4)]
	res, a, err := c.result(callOf("read_file", map[string]any{"path": path}))
	if err == nil && !res.IsError {
		err = fmt.Errorf("reading %s was answered with %s", path, a)
	}
	return err
}

func (c *client) bash() error {
	text, status := strings.ReplaceAll(line(c.rng, c.soak.number()), "'", ""), c.rng.IntN(3)
	want := text
	if status != 0 {
		want = fmt.Sprintf("%s\n[exit code %d]", text, status)
	}
	command := fmt.Sprintf("printf '%%s\\n' '%s'; exit %d", text, status)
	res, a, err := c.result(callOf("bash", map[string]any{"command": command, "working_dir": c.path}))
	if err != nil {
		return err
	}
	if res.IsError != (status != 0) {
		return fmt.Errorf("exit status %d was answered with %s", status, a)
	}
	return difference(res.text(), want)
}

func (c *client) executeCommand() error {
	n := 1 + c.rng.IntN(100_000)
	res, err := c.call("execute_command", map[string]any{"command": fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo %d >&2", n, n)})
	if err != nil {
		return err
	}
	var got struct {
		ExitCode       int `json:"exit_code"`
		Stdout, Stderr string
	}
	if err := json.Unmarshal(res.StructuredContent, &got); err != nil {
		return err
	}
	if got.ExitCode != 0 || got.Stderr != fmt.Sprintln(n) {
		return fmt.Errorf("got exit status %d and %q", got.ExitCode, got.Stderr)
	}
	return difference(got.Stdout, strings.Repeat("x", n))
}

// reportedProgress runs a command that says something now and then.
func (c *client) reportedProgress() error {
	r := callOf("bash", map[string]any{"command": "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done"})
	r.progress = true
	res, a, err := c.result(r)
	if err != nil {
		return err
	}
	if a.progress == 0 {
		return errors.New("a command of 2 s reported no progress")
	}
	c.soak.tally.sum("notifications", "progress", a.progress)
	return difference(res.text(), "1\n2\n3\n4\n5\n6")
}
