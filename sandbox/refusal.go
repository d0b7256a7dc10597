package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/sandbox/broker"
	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/process"
)

// What programs print when the kernel refuses them what it keeps no record of; see [containsAny].
var (
	fileRefusals = []string{
		"permission denied", "EACCES", "operation not permitted", "EPERM", "read-only file system", "EROFS", "device or resource busy", "EBUSY",
		"can only add regular files", // by git, of what is hidden
	}
	// networkRefusals are for machines without a broker.
	networkRefusals = []string{
		"resolve host", "urlopen error", "failed to connect", "could not connect", "couldn't connect", "unable to connect",
		"name resolution", "name or service not known", "getaddrinfo", "network is unreachable", "uv_interface_addresses", "netlink",
		"dial tcp", "dial udp", "/dev/tcp/", "/dev/udp/", "socket", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN", "connect EACCES", "connect EPERM",
	}
	fileSizeRefusals  = []string{"file size limit exceeded", "file too large", "EFBIG"}
	openFilesRefusals = []string{"too many open files", "EMFILE"}
	// writingWords are in messages about what was to be changed, which a broker records
	// if it is opened, made or renamed, and not if it is removed, say.
	writingWords = []string{
		"read-only", "EROFS", "resource busy", "EBUSY", "creat", "writ", "touch", "remove", "unlink", "rename", "move", "mkdir", "truncate", "open failed",
	}
)

// containsAny reports whether text contains one of the parts, lower-case ones in any case.
func containsAny(text string, parts []string) bool {
	text += "\n" + strings.ToLower(text)
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// ThePath stands for the path in a sentence of [Refusals.Recorded] or [Refusals.Said].
const ThePath = "\x00"

// What a broker records of networks, besides hosts.
const (
	Internet, InternetV6 = "the internet", "the internet (IPv6)"
	Interfaces           = "the interfaces of the machine"
)

var reachable = map[confine.Network]string{
	confine.None: "nothing", confine.Loopback: "a loopback interface of their own", confine.Proxied: "nothing on this machine",
}

// Refusals say why the kernel, or policy, stopped something of a command.
type Refusals struct {
	*commandFiles
	policy *Policy
	owner  Owner
	bounds func() process.Bounds
}

// Refusals returns what says why commands are stopped that the kernel holds to the policy.
func (c *Commands) Refusals() *Refusals { return &Refusals{c.files, c.policy, c.owner, c.bounds} }

// Recorded says which rule a command violated that has this on record, and what would be
// allowed. It is empty if policy is not the reason.
func (c *Refusals) Recorded(r process.Refusal) string {
	rule, detail, _ := strings.Cut(r.Rule, " (")
	switch {
	case rule == "":
		return c.refusesPath(r.Path, true)
	case rule == broker.RuleNetwork:
		return c.refusesNetwork(r.Path)
	case rule == broker.RuleSockets && r.Path == "":
		return "the sandbox lets commands use no unix sockets for datagrams (rule: " + rule + ")"
	case rule == broker.RuleSockets:
		return "the sandbox lets a command connect to its own sockets and those in $TMPDIR, and " + ThePath + " is none (rule: " + rule + ")"
	case detail != "":
		detail = ": it would set " + strings.TrimSuffix(detail, ")")
	}
	return "the sandbox refused to " + r.Call + " " + ThePath + ", which " + c.writes.Reason(rule) + detail
}

// refusesNetwork says why commands have no connection to a host, or no socket for something.
func (c *Refusals) refusesNetwork(to string) string {
	n, text, instead := c.confinement.spec().Network, "the sandbox refused a connection to "+ThePath, ""
	switch {
	case strings.HasPrefix(to, Internet):
		text = "the sandbox refused a network connection"
	case strings.HasPrefix(to, "the "):
		text = "the sandbox refused a socket for " + ThePath
	case n == confine.All: // the machine does not reach it either
		return ""
	}
	switch {
	case n == confine.All:
		return text + ": commands have sockets of TCP, UDP and unix only"
	case n == confine.Proxied && c.kernel.support.NetNamespace:
		return text + ": commands reach only the hosts of " + c.policy.Settings.Network.hosts() + ", through the proxy that HTTPS_PROXY names"
	case n == confine.None && to == Interfaces:
		instead = "; with sandbox.network: loopback they have an interface of their own"
	}
	return fmt.Sprintf("%s: commands may reach %s (rule: sandbox.network: %s)%s", text, reachable[n], n, instead)
}

// Said explains a line of what a command wrote that was started in dir, and returns the path that it is about.
func (c *Refusals) Said(line, dir string) (text, path string) {
	spec, limits, dir := c.confinement.spec(), c.policy.Settings.Limits, pathguard.Absolute(dir, c.policy.WorkingDirectory)
	unrecorded := spec.WithoutBroker || !spec.Protect.Needed()
	switch {
	case unrecorded && spec.Network != confine.All && containsAny(line, networkRefusals):
		return c.refusesNetwork(Internet), ""
	case limits.FileSize > 0 && containsAny(line, fileSizeRefusals):
		return fmt.Sprintf("the sandbox lets commands write no file of more than %d MiB (rule: sandbox.limits.file_size)", limits.FileSize>>20), ""
	case limits.OpenFiles > 0 && containsAny(line, openFilesRefusals):
		return fmt.Sprintf("the sandbox lets a process have %d files open (rule: sandbox.limits.open_files)", limits.OpenFiles), ""
	case !containsAny(line, fileRefusals):
		return "", ""
	}
	for _, name := range pathsIn(line) {
		if text, path := c.confinement.refusesProgram(name, dir); text != "" {
			return text, path
		}
		path := filepath.Clean(pathguard.Absolute(ownLinks.Replace(name), dir))
		if !exists(path) && !exists(filepath.Dir(path)) {
			continue
		}
		text := c.refusesPath(path, containsAny(strings.ReplaceAll(line, name, ""), writingWords))
		if text == "" && unrecorded && (!exists(path) || readable(path)) {
			text = c.refusesPath(path, true)
		}
		if text != "" {
			return text, path
		}
	}
	return "", ""
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ownLinks takes out of paths what leads a process to itself, as far as that is known.
var ownLinks = strings.NewReplacer("/proc/self/cwd/", "", "/proc/thread-self/cwd/", "", "/proc/self/root/", "/", "/proc/thread-self/root/", "/")

// readable reports whether the server, whose user is that of commands, can read a file.
func readable(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return false
	}
	f, err := os.Open(path)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// refusesPath says why commands cannot write or read a path, which is [ThePath] there, if it is so.
func (c *Refusals) refusesPath(path string, wrote bool) string {
	spec := c.confinement.spec()
	if rule, refused := c.reads.Refused(path); refused {
		return "the sandbox refused " + ThePath + ", which " + c.reads.Reason(rule)
	}
	if !wrote {
		d, err := c.reads.Check(path)
		switch {
		case strings.HasPrefix(path, "/proc/") && path[len("/proc/")] <= '9' && (!spec.WithoutLandlock || c.kernel.support.PIDNamespace):
			return "the sandbox keeps commands from looking into processes other than their own, such as that of " + ThePath
		case (strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/sys/")) && !spec.WithoutLandlock:
			return "the sandbox gives commands only what common programs need of /dev and /sys, and " + ThePath + " is none of that"
		case err == nil && !d.Allowed:
			return c.unreadable(path)
		}
		return ""
	}
	if rule, refused := c.writes.Refused(path); refused {
		return "the sandbox refused to write " + ThePath + ", which " + c.writes.Reason(rule)
	}
	if strings.HasPrefix(path, "/proc/") {
		return "the sandbox refused to write " + ThePath + ": /proc is read-only for commands"
	}
	if d, err := c.writes.Check(path); err == nil && !d.Allowed && !c.temporary(path) && !c.inOwnTemp(path) {
		text := fmt.Sprintf("the sandbox lets commands write only in %s, so %s is not writable (rule: tools.%s.allowed_paths)",
			c.places(spec.Write), ThePath, c.owner.Writes)
		for _, git := range repositories(c.around().atHome("~/."), pathguard.Real(c.policy.WorkingDirectory)) {
			if pathguard.Within(git, path) {
				text += "; it is in the repository that the working directory is part of: the operator can open that with roots: [" + git + "]"
			}
		}
		return text
	}
	return ""
}

// unreadable says why commands do not read what the server could, which is [ThePath] there, and what would let them.
func (c *Refusals) unreadable(path string) string {
	spec, real, dir := c.confinement.spec(), pathguard.Real(path), filepath.Dir(path)
	for _, open := range slices.Concat(spec.Read, spec.Write, spec.Exec, ofSystem(), []string{"/dev", "/proc", "/sys"}) {
		if pathguard.Within(pathguard.Real(open), real) {
			return ""
		}
	}
	if spec.WithoutLandlock && !c.kernel.support.Seatbelt || c.temporary(path) || c.inOwnTemp(path) || !readable(path) {
		return ""
	}
	if pathguard.Within(dir, c.around().lookup("HOME")) || pathguard.Within("/etc", dir) {
		dir = path // and no more
	}
	return fmt.Sprintf("the sandbox lets commands read only %s and what programs need of the system, and %s is none of that; "+
		"the operator can allow it with tools.%s.allowed_paths: [%s] (rule: tools.%[3]s.allowed_paths)",
		c.places(union(c.reads.AllowedBelow(), spec.Write)), ThePath, c.owner.Reads, strings.Join(append(c.reads.Allowed(), dir), ", "))
}

// places names the first of the directories that commands may use, and that for their
// temporary files as they know it. Where caches are is no business of theirs.
func (c *Refusals) places(dirs []string) string {
	text := first(slices.DeleteFunc(slices.Clone(dirs), c.temporary))
	return strings.TrimPrefix(text+" and $TMPDIR", " and ")
}

// first returns the first entries of a list, as a text.
func first(list []string) string {
	const most = 8
	text := strings.Join(list[:min(len(list), most)], ", ")
	if len(list) > most {
		text += ", …"
	}
	return text
}

// inQuotes matches what a message quotes.
var inQuotes = lazyregexp.New("'[^']*'|\"[^\"]*\"|‘[^’]*’|`[^']*'")

// pathsIn returns what may be paths in a message: what is quoted, and the words
// and the parts between colons.
func pathsIn(line string) (paths []string) {
	// What a message begins with is mostly the program that wrote it.
	first, rest, said := strings.Cut(line, ": ")
	if !said {
		first, rest = "", line
	}
	words := slices.DeleteFunc(strings.Fields(rest+" "+first), func(word string) bool { return !strings.Contains(word, "/") })
	_, name, _ := strings.Cut(first, " ") // "open .env: permission denied"
	for _, text := range slices.Concat(inQuotes().FindAllString(line, -1), words, strings.Split(rest, ": "), []string{name}) {
		path := strings.Trim(text, " \t\r\n\"'`‘’“”,;:()[]")
		if path != "" && len(path) < 4096 && !strings.ContainsAny(path, "\x00\n") && !containsAny(text, fileRefusals) {
			paths = append(paths, path)
		}
	}
	return paths[:min(len(paths), 32)]
}

// Exceeded says which limit a command exceeded.
func (c *Refusals) Exceeded(which string) string {
	b := c.bounds()
	switch limit := c.policy.Settings.Limits.Disk; {
	case which == process.ExceededDisk:
		most, kept := "half of what was free", ""
		if limit > 0 {
			most = fmt.Sprintf("%d MiB", limit>>20)
		}
		if used := c.scratch.Size() >> 20; used > 0 {
			kept = fmt.Sprintf(", less %d MiB that commands left in %s and may remove", used, c.scratch.Path())
		}
		return fmt.Sprintf("the command was terminated: it wrote more than %s to disk, counting what it removed again "+
			"and 4 KiB for each file or name that it made%s (rule: sandbox.limits.disk)", most, kept)
	case which == process.ExceededMemory:
		return fmt.Sprintf("the command was terminated: it used more than %d MiB of memory (rule: sandbox.limits.memory)", b.Memory>>20)
	}
	return fmt.Sprintf("the command was terminated: it had more than %d processes and threads (rule: sandbox.limits.processes)", b.Processes)
}

// Foreseen says what the kernel will stop of a command that its text allows, as far
// as the text tells: what it reads or writes elsewhere, and hosts it names. It is empty if
// nothing is known to be stopped.
func (c *Refusals) Foreseen(v command.Verdict) string {
	if !v.Allowed || !c.confinement.applies() {
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
		if host := Connects(argv); host != "" && (spec.Network == confine.None || !Local(host)) {
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

// Local reports whether the host, perhaps with a port, is the machine itself.
func Local(host string) bool {
	return strings.HasPrefix(host, "localhost") || strings.HasPrefix(host, "127.") || strings.HasPrefix(host, "[::1]")
}
