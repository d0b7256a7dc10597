package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolserver/sandbox/confine"
	"toolserver/sandbox/pathguard"
	"toolserver/sandbox/process"
)

// What programs say when the kernel refused them something: the texts of EACCES,
// EPERM, EROFS and EXDEV, and for networks those of resolvers and runtimes.
var (
	fileRefusals = []string{
		"Permission denied", "permission denied", "EACCES", "Operation not permitted", "operation not permitted", "EPERM",
		"Read-only file system", "read-only file system", "EROFS", "Device or resource busy", "device or resource busy", "EBUSY",
	}
	networkRefusals = []string{
		"resolve host", "urlopen error", "Failed to connect", "Could not connect", "Couldn't connect", "unable to connect",
		"name resolution", "Name or service not known", "getaddrinfo", "Network is unreachable", "network is unreachable",
		"dial tcp", "dial udp", "/dev/tcp/", "/dev/udp/", "socket:", "Socket:", "socket(",
		"ENETUNREACH", "ENOTFOUND", "EAI_AGAIN", "connect EACCES", "connect EPERM",
	}
)

// refusalTail is how much of the end of a command's output is looked at.
const refusalTail = 4096

// Refusal says which rule a command that was started in dir ran into, as far as
// its output tells that the kernel refused it something, and what would be allowed.
// It is empty if the output tells nothing of the kind: a rule is named only where
// policy does refuse what the output names. Of several refusals the last counts.
func (c *Commands) Refusal(output, dir string) (text string) {
	if !c.Confined() {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.policy.WorkingDirectory, dir)
	}
	for line := range strings.Lines(output[max(0, len(output)-refusalTail):]) {
		if why := c.refusalOf(c.confinement, line, dir); why != "" {
			text = why
		}
	}
	return text
}

var reachable = map[confine.Network]string{confine.None: "nothing", confine.Loopback: "a loopback interface of their own"}

// refusalOf explains a line of output, by what it names.
func (c *Commands) refusalOf(confinement *confinement, line, dir string) string {
	spec := confinement.spec()
	if spec.Network != confine.All && containsAny(line, networkRefusals) {
		return fmt.Sprintf("the sandbox refused a network connection: commands may reach %s (rule: sandbox.network: %s)", reachable[spec.Network], spec.Network)
	}
	if text := c.limitIn(line); text != "" {
		return text
	}
	if !containsAny(line, fileRefusals) {
		return ""
	}
	for _, name := range pathsIn(line) {
		if text := confinement.refusesProgram(name, dir); text != "" {
			return text
		}
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if !exists(path) && !exists(filepath.Dir(path)) {
			continue
		}
		if text := c.refusesPath(spec, line, path); text != "" {
			return text
		}
	}
	return ""
}

// limitIn says which limit of a single process a line of output tells of.
func (c *Commands) limitIn(line string) string {
	l := c.policy.Settings.Limits
	switch {
	case l.FileSize > 0 && containsAny(line, []string{"File size limit exceeded", "File too large", "EFBIG"}):
		return fmt.Sprintf("the sandbox lets commands write no file of more than %d MiB (rule: sandbox.limits.file_size)", l.FileSize>>20)
	case l.OpenFiles > 0 && containsAny(line, []string{"Too many open files", "too many open files", "EMFILE"}):
		return fmt.Sprintf("the sandbox lets a process have %d files open (rule: sandbox.limits.open_files)", l.OpenFiles)
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// refusesPath says why commands cannot use a path as a line of output tells.
func (c *Commands) refusesPath(spec confine.Spec, line, path string) string {
	if reason := refusing(c.reads, path); reason != "" {
		return fmt.Sprintf("the sandbox refused %s, which %s", path, reason)
	}
	writes := containsAny(line, writingWords)
	if d, err := c.reads.Check(path); !writes && err == nil && !d.Allowed && !slices.Contains(spec.Read, "/") {
		return fmt.Sprintf("the sandbox lets commands read only %s and what programs need of the system, and %s is none of that "+
			"(rule: tools.%s.allowed_paths)", strings.Join(union(spec.Read, spec.Write), ", "), path, c.owner.Reads)
	}
	if reason := refusing(c.writes, path); reason != "" {
		return fmt.Sprintf("the sandbox refused to write %s, which %s", path, reason)
	}
	if d, err := c.writes.Check(path); err == nil && !d.Allowed && !c.temporary(path) {
		return fmt.Sprintf("the sandbox lets commands write only in %s, and %s is not there (rule: tools.%s.allowed_paths)", strings.Join(spec.Write, ", "), path, c.owner.Writes)
	}
	return ""
}

// writingWords are in messages about what was to be written.
var writingWords = []string{"Read-only", "read-only", "EROFS", "resource busy", "EBUSY", "creat", "writ", "touch", "remove", "unlink", "rename", "move", "mkdir", "truncate", "open failed"}

// refusing says which rule denies or protects path, if one does.
func refusing(g *pathguard.Guard, path string) string {
	if rule, denied := g.Denied(path); denied {
		return g.Reason(rule)
	}
	if rule, protected := g.Protected(path); protected {
		return g.Reason(rule)
	}
	return ""
}

// refusesProgram says why the program that a line of output names does not start.
func (c *confinement) refusesProgram(name, dir string) string {
	path := name
	if !strings.Contains(name, "/") {
		path = ""
		for _, d := range c.path {
			if file := filepath.Join(d, name); path == "" && isExecutable(file) {
				path = file
			}
		}
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if path == "" || !isExecutable(path) {
		return ""
	}
	switch spec := c.spec(); {
	case spec.Exec != nil && !c.starts(path):
		return fmt.Sprintf("the sandbox starts the programs that are listed and no other, nor lets them be read, and %s is not listed (rule: allowed_commands, exec_paths)", path)
	case slices.Contains(c.denied(), realOr(path)):
		return fmt.Sprintf("the sandbox does not start %s, which is denied (rule: denied_commands)", path)
	}
	return ""
}

// starts reports whether the confinement lets the program at path start.
func (c *confinement) starts(path string) bool {
	spec, real := c.spec(), realOr(path)
	return slices.ContainsFunc(spec.Exec, func(file string) bool { return realOr(file) == real }) ||
		slices.ContainsFunc(spec.ExecDirs, func(dir string) bool { return strings.HasPrefix(real, realOr(dir)+string(filepath.Separator)) })
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// pathsIn returns what may be paths in a message: what is quoted, and the words
// and the parts between colons.
func pathsIn(line string) (paths []string) {
	add := func(text string) {
		if containsAny(text, fileRefusals) {
			return
		}
		text = strings.Trim(text, " \t\r\n\"'`‘’“”,;:()[]")
		if text != "" && len(text) < 4096 && !strings.ContainsAny(text, "\x00\n") {
			paths = append(paths, text)
		}
	}
	for _, quotes := range [][2]string{{"'", "'"}, {`"`, `"`}, {"‘", "’"}, {"`", "'"}} {
		if _, rest, ok := strings.Cut(line, quotes[0]); ok {
			if inside, _, ok := strings.Cut(rest, quotes[1]); ok {
				add(inside)
			}
		}
	}
	// What a message begins with is mostly the program that wrote it.
	first, rest, said := strings.Cut(line, ": ")
	if !said {
		first, rest = "", line
	}
	for _, text := range []string{rest, first} {
		for word := range strings.FieldsSeq(text) {
			if strings.Contains(word, "/") {
				add(word)
			}
		}
	}
	for part := range strings.SplitSeq(rest, ": ") {
		add(part)
	}
	return paths[:min(len(paths), 32)]
}

// Exceeded says which limit a command passed.
func (c *Commands) Exceeded(which string) string {
	b := c.bounds()
	if which == process.ExceededMemory {
		return fmt.Sprintf("the command was ended: it used more than %d MiB of memory (rule: sandbox.limits.memory)", b.Memory>>20)
	}
	return fmt.Sprintf("the command was ended: it had more than %d processes and threads (rule: sandbox.limits.processes)", b.Processes)
}
