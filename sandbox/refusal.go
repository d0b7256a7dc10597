package sandbox

import (
	"fmt"
	"path/filepath"
	"strings"

	"toolserver/sandbox/confine"
	"toolserver/sandbox/pathguard"
	"toolserver/sandbox/runner"
)

// What programs say when the kernel refused them something: the texts of EACCES,
// EPERM, EROFS and EXDEV, and for networks those of resolvers and runtimes.
var (
	fileRefusals    = []string{"Permission denied", "permission denied", "Operation not permitted", "operation not permitted", "Read-only file system", "read-only file system", "EACCES", "EPERM", "EROFS"}
	networkRefusals = []string{"resolve host", "Failed to connect", "Could not connect", "Couldn't connect", "unable to connect", "name resolution", "Name or service not known", "getaddrinfo", "Network is unreachable", "network is unreachable", "dial tcp", "dial udp", "/dev/tcp/", "/dev/udp/", "socket:", "Socket:", "socket("}
)

// refusalTail is how much of the end of a command's output is looked at.
const refusalTail = 4096

// Refusal says which rule a command of tool, started in dir, ran into, as far as its output tells
// that the kernel refused it something, and what would be allowed. It is empty if
// the output tells nothing of the kind. A rule is named only where policy does
// refuse the path that the output names; else it says what holds.
func (c *Commands) Refusal(tool, output, dir string) string {
	confinement := c.confinements[tool]
	if confinement == nil || !c.kernel.confines() {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.files.WorkingDirectory(), dir)
	}
	for line := range strings.Lines(output[max(0, len(output)-refusalTail):]) {
		if spec := confinement.spec(); spec.Network != confine.All && containsAny(line, networkRefusals) {
			return fmt.Sprintf("the sandbox refused a network connection (rule: sandbox.network: %s); commands may reach %s", spec.Network, reachable[spec.Network])
		}
		if !containsAny(line, fileRefusals) {
			continue
		}
		if text := c.refusalOf(confinement, line, dir); text != "" {
			return text
		}
	}
	return ""
}

var reachable = map[confine.Network]string{confine.None: "nothing", confine.Loopback: "a loopback interface of their own"}

// refusalOf explains a line that tells of a refusal, by the paths that it names.
func (c *Commands) refusalOf(confinement *confinement, line, dir string) string {
	spec := confinement.spec()
	var notWritable string
	for _, path := range pathsIn(line) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if spec.Exec != nil && isExecutable(path) && !confinement.starts(path) {
			return fmt.Sprintf("the sandbox let no program but the listed ones start or be read, and %s is none of them (rule: tools.bash.allowed_commands, exec_paths)", path)
		}
		if rule, reason := refusing(c.files.Reader(readers[0]), path); rule != "" {
			return fmt.Sprintf("the sandbox refused %s, which %s (rule: %s)", path, reason, rule)
		}
		if rule, reason := refusing(c.files.Writer(writers[0]), path); rule != "" {
			return fmt.Sprintf("the sandbox refused to write %s, which %s (rule: %s)", path, reason, rule)
		}
		if d, err := c.files.Writer(writers[0]).Check(path); err == nil && !d.Allowed && !c.temporary(path) {
			notWritable = path
		}
	}
	if notWritable != "" {
		return fmt.Sprintf("the sandbox lets commands write only in %s (rule: tools.write_file.allowed_paths), and %s is not there", strings.Join(confinement.spec().Write, ", "), notWritable)
	}
	return ""
}

// refusing returns the rule that denies or protects path, if one does.
func refusing(g *pathguard.Guard, path string) (rule, reason string) {
	if rule, denied := g.Denied(path); denied {
		return rule, g.Reason(rule)
	}
	if rule, protected := g.Protected(path); protected {
		return rule, g.Reason(rule)
	}
	return "", ""
}

// starts reports whether the confinement lets the program at path start.
func (c *confinement) starts(path string) bool {
	spec, real := c.spec(), realOr(path)
	for _, file := range spec.Exec {
		if realOr(file) == real {
			return true
		}
	}
	for _, dir := range spec.ExecDirs {
		if strings.HasPrefix(real, realOr(dir)+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// pathsIn returns what may be paths in a message: what is quoted, and the words
// and the parts between colons.
func pathsIn(line string) (paths []string) {
	add := func(text string) {
		text = strings.Trim(text, " \t\r\n\"'`‘’“”,;:()[]")
		if text != "" && len(text) < 4096 && !strings.ContainsAny(text, "\x00\n") {
			paths = append(paths, text)
		}
	}
	for _, quotes := range []string{"'", "\"", "‘", "`"} {
		if _, rest, ok := strings.Cut(line, quotes); ok {
			end := quotes
			if quotes == "‘" || quotes == "`" {
				end = map[string]string{"‘": "’", "`": "'"}[quotes]
			}
			if inside, _, ok := strings.Cut(rest, end); ok {
				add(inside)
			}
		}
	}
	for word := range strings.FieldsSeq(line) {
		if strings.Contains(word, "/") {
			add(word)
		}
	}
	for part := range strings.SplitSeq(line, ": ") {
		add(part)
	}
	return paths[:min(len(paths), 32)]
}

// Exceeded says which limit a command passed.
func (c *Commands) Exceeded(which string) string {
	b := c.bounds()
	if which == runner.ExceededMemory {
		return fmt.Sprintf("the command was ended: it used more than %d MiB of memory (rule: sandbox.limits.memory)", b.Memory>>20)
	}
	return fmt.Sprintf("the command was ended: it had more than %d processes and threads (rule: sandbox.limits.processes)", b.Processes)
}
