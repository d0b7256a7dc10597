package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"toolserver/sandbox/command"
	"toolserver/sandbox/confine"
	"toolserver/sandbox/pathguard"
)

// Foreseen says what the kernel will stop of a command that its text allows, as far
// as the text tells: what it reads or writes elsewhere, and hosts it names. It is empty if
// nothing is known to be stopped.
func (c *Commands) Foreseen(v command.Verdict) string {
	if !v.Allowed || !c.Confined() {
		return ""
	}
	spec := c.confinement.spec()
	looks := func(argv []string) bool { return strings.Contains(looking, " "+filepath.Base(argv[0])+" ") }
	for _, path := range v.Reads {
		if text := c.unreadable(path); text != "" && !slices.ContainsFunc(v.Argv, looks) && isRegular(path) {
			return strings.ReplaceAll(text, ThePath, path)
		}
	}
	for _, path := range v.Writes {
		if strings.ContainsAny(path, "*?…") || slices.ContainsFunc(spec.Write, func(dir string) bool { return pathguard.Within(dir, path) }) {
			continue
		}
		if d, err := c.writes.Check(path); err == nil && !d.Allowed {
			return fmt.Sprintf("it writes %s, which %s (rule: tools.%s.allowed_paths)", path, strings.TrimPrefix(d.Reason, path+" "), c.owner.Writes)
		}
	}
	if spec.Network == confine.All {
		return ""
	}
	for _, argv := range v.Argv {
		if host := Connects(argv); host != "" && (spec.Network == confine.None || !local(host)) {
			return fmt.Sprintf("it connects to %s, and commands may reach %s (rule: sandbox.network: %s)", host, reachable[spec.Network], spec.Network)
		}
	}
	return ""
}

// looking are programs that look at what a file is, and not into it.
const looking = " ls stat du readlink realpath find "

// connecting are programs of which an operand is a host or a URL.
const connecting = " curl wget wget2 ssh slogin ping dig nslookup host telnet nc ncat netcat ftp sftp http https xh aria2c "

// Connects returns what a program that is run like this connects to, or "".
func Connects(argv []string) string {
	name := filepath.Base(argv[0])
	if strings.Contains(" echo printf grep rg sed awk test [ ", " "+name+" ") {
		return ""
	}
	for i, a := range argv[1:] {
		scheme, rest, url := strings.Cut(a, "://")
		switch {
		case url && strings.Contains(" http https ftp ftps ssh git sftp ws wss ", " "+scheme+" "):
			host, _, _ := strings.Cut(rest, "/")
			return host[strings.LastIndexByte(host, '@')+1:]
		case url || strings.HasPrefix(a, "-") || i > 0 && strings.HasPrefix(argv[i], "-"):
		case strings.Contains(connecting, " "+name+" ") && !strings.ContainsAny(a, " …*+"):
			return a
		}
	}
	return ""
}

// local reports whether the host, perhaps with a port, is the machine itself.
func local(host string) bool {
	return strings.HasPrefix(host, "localhost") || strings.HasPrefix(host, "127.") || strings.HasPrefix(host, "[::1]")
}
