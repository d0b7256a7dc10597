package shell

import (
	"context"
	"strings"

	"toolserver/domain"
	"toolserver/sandbox"
)

// explain says what the policy makes of a command, without running it.
func (t tool) explain(_ context.Context, args domain.Arguments) (domain.Explanation, error) {
	text := func(name string) string { s, _ := args[name].(string); return s }
	v, _, err := t.commands.Decide(sandbox.CommandRequest{Command: text("command"), Dir: text("working_dir")})
	if err != nil {
		return domain.Explanation{}, err
	}
	listed, err := t.commands.Listed()
	if err != nil {
		return domain.Explanation{}, err
	}
	layers := domain.SandboxLayers(t.commands.Layers())
	e := domain.Explanation{Layers: &layers, Allowed: v.Allowed, Rule: v.Rule, Reason: v.Reason, Reads: v.Reads, Writes: v.Writes}
	for _, argv := range v.Argv {
		e.Argv = append(e.Argv, strings.Join(argv, " "))
	}
	switch {
	case v.Allowed && e.Reason == "" && !listed:
		e.Reason = "there is no list of commands, so only the files that the command spells out are judged beforehand"
		if t.commands.Confined() {
			e.Reason += "; the kernel holds it to what may be read, written and reached while it runs"
		}
	case v.Allowed && e.Reason == "":
		e.Reason = "nothing in the command is refused by a rule"
	case v.Hint != "":
		e.Reason += "; " + v.Hint
	}
	return e, nil
}
