package sandbox

import (
	"slices"

	"toolserver/sandbox/command"
)

// Policy says what tools may touch. Paths are absolute.
type Policy struct {
	WorkingDirectory string                // where relative paths and commands start
	Roots            []string              // further directories that are open by default
	Tools            map[string]ToolPolicy // by tool
	Settings         Settings
	Own              []OwnFile // what the program itself obeys and keeps
}

// OwnFile is a file that no tool may write, whatever its name.
type OwnFile struct {
	Path   string // absolute
	What   string // "the configuration file"
	Secret bool   // that no tool may read either
}

// ToolPolicy is what configuration says of one tool. An unset list (nil) is not
// an empty one: nothing set means the working directory and the roots, or any
// command; an empty allow list means nothing at all.
type ToolPolicy struct {
	AllowedPaths    []string       `yaml:"allowed_paths" path:"true" doc:"Files and directories the tool may use; unset means the working directory and roots, [] means none."`
	DeniedPaths     []string       `yaml:"denied_paths" path:"true" doc:"Files and directories the tool may not use, whatever else allows them."`
	Hardlinks       string         `yaml:"hardlinks" enum:"allow|deny" doc:"Of read_file and write_file, and the tools that read and write as these do: whether files may have several names (hard links), of which others may be outside; unset, deny for writing, and for reading if it has a list of paths."`
	AllowedCommands []command.Rule `yaml:"allowed_commands" doc:"Programs that may run: names, paths, prefixes such as \"git status\", or * for any; {name: go, args_deny: [-exec]} excludes options; unset means any, [] means none."`
	DeniedCommands  []command.Rule `yaml:"denied_commands" doc:"Programs that may not run, however they are called; {name: find, args_deny: [-delete]} denies only uses with such options."`
	ExecPaths       []string       `yaml:"exec_paths" path:"true" doc:"Directories all of whose programs may be started by the commands that may run, such as those of a compiler."`
	AllowedHosts    []string       `yaml:"allowed_hosts" doc:"Hosts web_fetch may go to, and their subdomains: names or addresses, with a port to mean only that; unset means any, [] means none."`
	DeniedHosts     []string       `yaml:"denied_hosts" doc:"Hosts web_fetch may not go to, nor to their subdomains, whatever else allows them."`
	InlineCode      string         `yaml:"inline_code" enum:"allow|deny" doc:"Whether interpreters may be given code on the command line; deny if a command list is set."`
	OpaqueScripts   string         `yaml:"opaque_scripts" enum:"allow|deny" doc:"Whether shells may be given scripts that cannot be judged; deny if a command list is set."`
}

// The families whose tools share lists, so that no tool is a way round the
// policy of its twin. The first tool of a family of files speaks for the rest.
var (
	readers  = []string{"read_file", "list_directory", "search_files", "grep"}
	writers  = []string{"write_file", "append_file", "edit_file"}
	commands = []string{"bash", "execute_command"}
)

// pathLists returns the lists that govern a tool of a family of file tools:
// denies add up, and an allow list of its own replaces the family's.
func (p Policy) pathLists(family []string, tool string) (allow, deny []string) {
	head, own := p.Tools[family[0]], p.Tools[tool]
	switch {
	case own.AllowedPaths != nil:
		allow = own.AllowedPaths
	case head.AllowedPaths != nil:
		allow = head.AllowedPaths
	default:
		allow = append([]string{p.WorkingDirectory}, p.Roots...)
	}
	return allow, union(head.DeniedPaths, own.DeniedPaths)
}

// Writable returns the directories and files that tools may write.
func (p Policy) Writable() []string {
	var all []string
	for _, tool := range writers {
		allow, _ := p.pathLists(writers, tool)
		all = union(all, allow)
	}
	return all
}

// denyHardlinks reports whether a family leaves alone files that have several
// names. What is read without a list of paths may be read under any name.
func (p Policy) denyHardlinks(family []string) bool {
	head := p.Tools[family[0]]
	if head.Hardlinks != "" {
		return head.Hardlinks == "deny"
	}
	return family[0] == writers[0] || slices.ContainsFunc(family, func(tool string) bool {
		return p.Tools[tool].AllowedPaths != nil || p.Tools[tool].DeniedPaths != nil
	})
}

// commandLists returns the lists that govern bash or execute_command: denies
// add up, and an allow list of the one holds for the other if it has none.
func (p Policy) commandLists(tool string) ToolPolicy {
	merged := p.Tools[tool]
	for _, twin := range commands {
		t := p.Tools[twin]
		if merged.AllowedCommands == nil {
			merged.AllowedCommands = t.AllowedCommands
		}
		if twin != tool {
			merged.DeniedCommands = slices.Concat(merged.DeniedCommands, t.DeniedCommands)
		}
		merged.ExecPaths = union(merged.ExecPaths, t.ExecPaths)
		merged.InlineCode = stricter(merged.InlineCode, t.InlineCode)
		merged.OpaqueScripts = stricter(merged.OpaqueScripts, t.OpaqueScripts)
	}
	return merged
}

// stricter returns the setting that denies more. Unset denies only if a list is
// configured.
func stricter(a, b string) string {
	switch {
	case a == "deny" || b == "deny":
		return "deny"
	case a == "":
		return b
	}
	return a
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// HasPaths reports whether lists of paths govern the tool.
func HasPaths(tool string) bool {
	return slices.Contains(readers, tool) || slices.Contains(writers, tool)
}

// HasHardlinks reports whether the tool has the setting hardlinks.
func HasHardlinks(tool string) bool { return tool == readers[0] || tool == writers[0] }

// HasCommands reports whether lists of commands govern the tool.
func HasCommands(tool string) bool { return slices.Contains(commands, tool) }
