package sandbox

import (
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// What decisions and refusals say of the rule that made them.
var (
	protectedBy = lazyregexp.New(`protected: ([^\s;,)]+)`)
	deniedBy    = lazyregexp.New(`denied by the rule ([^\s;,)]+)`)
	named       = lazyregexp.New(`\b(?:tools|sandbox|limits|web|google)\.[a-z0-9_]+(?:\.[a-z0-9_]+)?`)
)

// A Setting is what decides in the configuration.
type Setting struct {
	Key   string // such as tools.write_file.denied_paths; empty if no setting opens what is refused
	Entry string // of the list; empty if it is what the list lacks
}

// Setting returns the setting behind a decision on a tool, of which the rule and the reason are known.
func (p Policy) Setting(tool, rule, reason string) Setting {
	o, text := p.owner(tool), rule+" \n"+reason
	heads, twins := slices.DeleteFunc([]string{o.Writes, o.Reads}, func(head string) bool { return head == "" }), []string{tool}
	if o.hasPaths() || len(heads) == 0 {
		heads = append([]string{tool}, heads...)
	}
	for _, twin := range p.Owners {
		if o.Runs != "" && twin.Runs == o.Runs {
			twins = append(twins, twin.Tool)
		}
	}
	// at returns the key of the first of tools that has an entry in its list or, with none, a list.
	at := func(tools []string, name, entry string, list func(ToolPolicy) []string) Setting {
		for _, t := range tools {
			for _, e := range list(p.Tools[t]) {
				if e == entry || entry != "" && pathguard.Absolute(e, p.WorkingDirectory) == entry {
					return Setting{"tools." + t + "." + name, e}
				}
			}
			if entry == "" && list(p.Tools[t]) != nil {
				return Setting{Key: "tools." + t + "." + name}
			}
		}
		return Setting{"tools." + tools[0] + "." + name, entry}
	}
	programs := func(list func(ToolPolicy) []command.Rule) func(ToolPolicy) []string {
		return func(t ToolPolicy) (names []string) {
			for _, r := range list(t) {
				names = append(names, r.Name)
			}
			return names
		}
	}
	denies := programs(func(t ToolPolicy) []command.Rule { return t.DeniedCommands })
	allows := programs(func(t ToolPolicy) []command.Rule { return t.AllowedCommands })
	protected, denied, key := protectedBy().FindStringSubmatch(text), deniedBy().FindStringSubmatch(text), named().FindString(text)
	program, isDenied := strings.CutPrefix(rule, "denied: ")
	switch {
	case isDenied:
		return at(twins, "denied_commands", program, denies)
	case rule == "inline-code" || rule == "opaque-scripts":
		return Setting{Key: "tools." + tool + "." + strings.ReplaceAll(rule, "-", "_")}
	case strings.Contains(text, "hard links"):
		return Setting{Key: "tools." + heads[len(heads)-1] + ".hardlinks"}
	case strings.HasPrefix(rule, "network.") && o.Fetches != "":
		return at([]string{tool, o.Fetches}, "private_hosts", "", func(t ToolPolicy) []string { return t.PrivateHosts })
	case protected != nil && slices.Contains(ProtectedNames(), protected[1]):
		return Setting{"sandbox.unprotected", protected[1]}
	case protected != nil: // what the program itself obeys
		return Setting{}
	case denied != nil:
		return at(heads, "denied_paths", denied[1], func(t ToolPolicy) []string { return t.DeniedPaths })
	case strings.Contains(text, "outside the allowed paths"):
		return at(heads, "allowed_paths", "", func(t ToolPolicy) []string { return t.AllowedPaths })
	case key != "" || o.Runs == "" || rule == "" || rule == "syntax" || rule == "malformed":
		return Setting{Key: key}
	}
	for _, t := range twins { // what a list of commands requires
		if p.Tools[t].AllowedCommands != nil {
			return at(twins, "allowed_commands", "", allows)
		}
	}
	return at(twins, "denied_commands", "", denies)
}
