package sandbox

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// Policy says what tools may touch. Paths are absolute, except those in lists of tools,
// which may start at the working directory.
type Policy struct {
	Owners           []Owner               // what is handed to whom; a tool that is not here gets nothing
	WorkingDirectory string                // where relative paths and commands start
	Roots            []string              // further directories that are open by default
	Tools            map[string]ToolPolicy // by tool
	Settings         Settings
	User             int       // by whose ID, and the group of that number, commands run and files are made; zero for the user of the program
	Apart            []string  // directories of which commands see only what they may read or write: others have the rest
	Proxy            string    // of what fetches: the URL that [netguard.ParseProxy] reads; empty for none
	TemporaryFiles   bool      // everybody who may use tools may run commands, so that all that read files read the temporary ones of commands, too
	StateDirectory   string    // of [State]; empty if it is not known. It belongs into Own, too
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
// command; an empty allow list means nothing at all. Which of these settings a tool
// has follows from what it declares; see [Owner.Settings]. What each means is in
// config/settings.txt.
type ToolPolicy struct {
	AllowedPaths      []string       `of:"paths" yaml:"allowed_paths" path:"relative" format:"path"`
	DeniedPaths       []string       `of:"paths" yaml:"denied_paths" path:"relative" format:"path"`
	Hardlinks         string         `of:"hardlinks" yaml:"hardlinks" enum:"allow|deny"`
	AllowedCommands   []command.Rule `of:"commands" yaml:"allowed_commands"`
	DeniedCommands    []command.Rule `of:"commands" yaml:"denied_commands"`
	ExecPaths         []string       `of:"commands" yaml:"exec_paths" path:"relative" format:"directory"`
	InlineCode        string         `of:"commands" yaml:"inline_code" enum:"allow|deny"`
	OpaqueScripts     string         `of:"commands" yaml:"opaque_scripts" enum:"allow|deny"`
	AllowedHosts      []string       `of:"hosts" yaml:"allowed_hosts" format:"host"`
	DeniedHosts       []string       `of:"hosts" yaml:"denied_hosts" format:"host"`
	PrivateHosts      []string       `of:"private" yaml:"private_hosts" format:"private_host"`
	AllowedRecipients []string       `of:"recipients" yaml:"allowed_recipients" format:"recipient"`
	DeniedRecipients  []string       `of:"recipients" yaml:"denied_recipients" format:"recipient"`
}

// pathLists returns the lists that govern the files of an owner: denies add up, and
// an allow list of its own replaces the family's.
func (p Policy) pathLists(u use, o Owner) (allow, deny []string) {
	head, own := p.Tools[o.head(u)], ToolPolicy{}
	if o.governs(u) {
		own = p.Tools[o.Tool]
	}
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
	known := map[string]bool{} // lists
	for _, o := range p.Owners {
		allow, _ := p.pathLists(writing, o)
		if key := strings.Join(allow, "\x00"); o.Writes != "" && !known[key] {
			known[key] = true
			if g, err := pathguard.New(p.WorkingDirectory, pathguard.Rules{Allow: allow, Roots: p.Roots}); err == nil {
				all = union(all, g.AllowedBelow())
			}
		}
	}
	return all
}

// denyHardlinks reports whether a family leaves alone files that have several
// names. What is read without a list of paths may be read under any name.
func (p Policy) denyHardlinks(u use, head string) bool {
	if set := p.Tools[head].Hardlinks; set != "" {
		return set == "deny"
	}
	return u == writing || slices.ContainsFunc(p.family(u, head), func(tool string) bool {
		return p.Tools[tool].AllowedPaths != nil || p.Tools[tool].DeniedPaths != nil
	})
}

// commandLists returns the lists that govern the commands of an owner: denies of
// its family add up, and an allow list of one holds for those that have none.
func (p Policy) commandLists(o Owner) ToolPolicy {
	merged := p.Tools[o.Tool]
	for _, twin := range p.Owners {
		if twin.Runs != o.Runs {
			continue
		}
		t := p.Tools[twin.Tool]
		if merged.AllowedCommands == nil {
			merged.AllowedCommands = t.AllowedCommands
		}
		if twin.Tool != o.Tool {
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
	if b == "deny" {
		return b
	}
	return cmp.Or(a, b)
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

// An Owner declares what a tool is handed, before there is a policy: nothing that
// it does not declare. Each use names the tool whose lists hold for it, the head of
// the family: the tool itself, or another one so that no tool is a way around the
// policy of its twin.
type Owner struct {
	Tool    string
	Reads   string   // head of the family for files that it reads; empty if it reads none
	Writes  string   // the same of files that it writes
	Runs    string   // of commands, which read and write as Reads and Writes say
	Fetches string   // of HTTP requests
	Through bool     // its requests go through the client of that head, so that it has no hosts of its own
	AnyHost bool     // it fetches from hosts that its caller names, and so has lists of hosts
	Keeps   string   // directory of the state that it keeps, with others that name it; empty if it keeps none
	Mails   string   // head of the family for mail that it sends or has sent, such as invitations
	Watches bool     // it lists, reads and stops background jobs
	Filters []string // programs that it has make text of files it has opened
	Holds   bool     // it holds long-lived processes, which read and write as Reads and Writes say
}

// hasPaths reports whether the owner has lists of paths of its own. They are about
// what it writes or, if it writes nothing, about what it reads.
func (o Owner) hasPaths() bool { return o.Runs == "" && !o.Holds && (o.Reads != "" || o.Writes != "") }

// hasHosts reports whether the owner has lists of hosts.
func (o Owner) hasHosts() bool { return o.Fetches != "" && o.AnyHost }

// Settings returns the fields of [ToolPolicy] that are about the owner: only these
// can be set for it.
func (o Owner) Settings() (fields []reflect.StructField) {
	has := map[string]bool{
		"paths":      o.hasPaths(),
		"hardlinks":  o.hasPaths() && (o.Writes == o.Tool || o.Writes == "" && o.Reads == o.Tool),
		"commands":   o.Runs != "",
		"hosts":      o.hasHosts(),
		"private":    o.Fetches != "" && !o.Through,
		"recipients": o.Mails != "" && o.Mails == o.Tool,
	}
	policy := reflect.TypeFor[ToolPolicy]()
	for i := range policy.NumField() {
		if f := policy.Field(i); has[f.Tag.Get("of")] {
			fields = append(fields, f)
		}
	}
	return fields
}

// owner returns what a tool declares; of an unknown one, nothing.
func (p Policy) owner(tool string) Owner {
	if i := slices.IndexFunc(p.Owners, func(o Owner) bool { return o.Tool == tool }); i >= 0 {
		return p.Owners[i]
	}
	return Owner{Tool: tool}
}

// A use is one way to touch files.
type use int

const (
	reading use = iota
	writing
)

// head returns the head of the owner's family for files.
func (o Owner) head(u use) string {
	if u == writing {
		return o.Writes
	}
	return o.Reads
}

// governs reports whether the owner's own lists of paths are about u.
func (o Owner) governs(u use) bool { return o.hasPaths() && (u == writing) == (o.Writes != "") }

// family returns the tools whose own lists of paths are about u and whose head is
// the given one, the head among them.
func (p Policy) family(u use, head string) (tools []string) {
	for _, o := range p.Owners {
		if o.head(u) == head && o.governs(u) {
			tools = append(tools, o.Tool)
		}
	}
	return tools
}
