package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"toolserver/sandbox/pathguard"
)

// Explanation says what policy makes of a call, without making it.
type Explanation struct {
	Allowed bool     `json:"allowed"`
	Rule    string   `json:"rule"`             // the entry that decides; empty if there is none for it
	Reason  string   `json:"reason"`           // one sentence
	Path    string   `json:"path,omitempty"`   // what a path leads to
	Argv    []string `json:"argv,omitempty"`   // the commands that were found, as they would run
	Reads   []string `json:"reads,omitempty"`  // paths a command names for reading
	Writes  []string `json:"writes,omitempty"` // and for writing
	Layers  *Layers  `json:"layers,omitempty"` // what holds a command to policy while it runs
}

// ErrNothingToExplain is returned of a tool that touches neither files nor
// commands nor hosts of its caller's choice.
var ErrNothingToExplain = errors.New("no list of paths, commands or hosts is about this tool")

// Explain says what policy makes of a call of tool with these arguments.
func Explain(files *Files, commands *Commands, network *Network, tool string, args map[string]any) (Explanation, error) {
	text := func(name string) string { s, _ := args[name].(string); return s }
	switch {
	case HasCommands(tool):
		return explainCommand(commands, tool, text("command"), text("working_dir"))
	case HasHosts(tool):
		return network.explain(tool, text("url"))
	case !HasPaths(tool):
		return Explanation{}, fmt.Errorf("%s: %w", tool, ErrNothingToExplain)
	}
	path := text("path")
	if path == "" {
		path = "."
	}
	guard := files.Reader(tool)
	if _, writes := files.writers[tool]; writes {
		guard = files.Writer(tool)
	}
	return explainPath(guard, path)
}

func explainPath(g *pathguard.Guard, path string) (Explanation, error) {
	d, err := g.Check(path)
	if err != nil {
		return Explanation{}, err
	}
	return Explanation{Allowed: d.Allowed, Rule: d.Rule, Reason: d.Reason, Path: d.Resolved}, nil
}

func explainCommand(c *Commands, tool, text, dir string) (Explanation, error) {
	v, _, err := c.Decide(CommandRequest{Tool: tool, Command: text, Dir: dir})
	if err != nil {
		return Explanation{}, err
	}
	layers := c.Layers(tool)
	e := Explanation{Layers: &layers, Allowed: v.Allowed, Rule: v.Rule, Reason: v.Reason, Reads: v.Reads, Writes: v.Writes}
	for _, argv := range v.Argv {
		e.Argv = append(e.Argv, strings.Join(argv, " "))
	}
	switch listed, err := c.listed(tool); {
	case err != nil:
		return Explanation{}, err
	case v.Allowed && e.Reason == "" && !listed:
		e.Reason = "there is no list of commands, so only the files that the command spells out are judged beforehand"
		if c.confinements[tool] != nil && c.kernel.confines() {
			e.Reason += "; the kernel holds it to what may be read, written and reached while it runs"
		}
	case v.Allowed && e.Reason == "":
		e.Reason = "nothing in the command is refused by a rule"
	case v.Hint != "":
		e.Reason += "; " + v.Hint
	}
	return e, nil
}
