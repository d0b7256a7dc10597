package confine

import (
	"fmt"
	"slices"
	"strings"
)

// profile returns the spec in the language of sandbox-exec(1), the last rule of
// which that matches an operation decides. It allows what it does not name: a
// profile that denied by default would have to name the services of each release of
// the system, and fail programs where it did not. Paths have no links.
func (s Spec) profile() string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n")
	rule := func(verdict, operations string, filters ...string) {
		if len(filters) > 0 {
			fmt.Fprintf(&b, "(%s %s %s)\n", verdict, operations, strings.Join(filters, " "))
		}
	}
	b.WriteString("(deny file-write*)\n")
	rule("allow", "file-write*", append(beneathAll(s.Write), literals(seatbeltDevices)...)...)
	rule("deny", "file-write*", beneathAll(s.ReadOnly)...)
	if !slices.Contains(s.Read, "/") {
		b.WriteString("(deny file-read-data)\n")
		rule("allow", "file-read-data", append(beneathAll(seatbeltSystem), `(literal "/")`)...) // which every program opens
		rule("deny", "file-read-data", beneathAll(seatbeltSecrets)...)
		if s.List {
			rule("allow", "file-read-data", "(vnode-type DIRECTORY)")
		}
		rule("allow", "file-read-data", append(beneathAll(s.Read), beneathAll(s.Write)...)...)
	}
	rule("deny", "file-read* file-write*", beneathAll(s.Deny)...)
	if s.Exec != nil {
		b.WriteString("(deny process-exec*)\n")
		rule("allow", "process-exec*", append(literals(s.Exec), beneathAll(s.ExecDirs)...)...)
	}
	switch s.Network {
	case None, Proxied:
		b.WriteString("(deny network*)\n")
	case Loopback:
		b.WriteString("(deny network*)\n")
		rule("allow", "network*", `(local ip "localhost:*")`, `(remote ip "localhost:*")`)
	}
	if s.Network != None && !s.UnixSockets {
		rule("deny", "network-outbound", `(remote unix-socket)`)
	}
	if s.Network == All {
		rule("allow", "network-outbound", literals([]string{"/private/var/run/mDNSResponder"})...) // which resolves names
	}
	return b.String()
}

// seatbeltDevices are written by ordinary programs.
var seatbeltDevices = []string{"/dev/null", "/dev/zero", "/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/dtracehelper"}

// seatbeltSystem is what programs read of the system.
var seatbeltSystem = []string{"/bin", "/sbin", "/usr", "/System", "/Library", "/opt/homebrew", "/opt/local", "/dev",
	"/private/etc", "/private/var/db", "/private/var/select", "/Applications/Xcode.app"}

// seatbeltSecrets are what only root may read of that.
var seatbeltSecrets = []string{
	"/private/etc/master.passwd", "/private/etc/sudoers", "/private/etc/sudoers.d", "/private/etc/krb5.keytab", "/private/var/db/dslocal",
}

func beneathAll(paths []string) []string { return seatbeltFilters("subpath", paths) }
func literals(paths []string) []string   { return seatbeltFilters("literal", paths) }

func seatbeltFilters(kind string, paths []string) (filters []string) {
	for _, path := range paths {
		filters = append(filters, "("+kind+" "+quoteSeatbelt(path)+")")
	}
	return filters
}

// quoteSeatbelt writes a string of the language, which is a dialect of Scheme.
func quoteSeatbelt(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
