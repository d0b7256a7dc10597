package sandbox

import (
	"reflect"
	"slices"
)

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
