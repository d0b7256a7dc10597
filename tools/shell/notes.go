package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/broker"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
)

// notes are sentences about refusals, in order, with the paths that they are about.
type notes []note

type note struct {
	text  string // with [sandbox.ThePath]
	paths []string
}

// severally makes a sentence about one path one about several.
var severally = strings.NewReplacer(
	sandbox.ThePath+", which ", sandbox.ThePath+", each of which ", sandbox.ThePath+" is ", sandbox.ThePath+" are ")

func (n *notes) add(text, path string) {
	if text == "" {
		return
	}
	i := slices.IndexFunc(*n, func(n note) bool { return n.text == text })
	if i < 0 {
		i = len(*n)
		*n = append(*n, note{text: text})
	}
	if of := &(*n)[i]; !slices.Contains(of.paths, path) {
		of.paths = append(of.paths, path)
	}
}

func (n notes) texts() (texts []string) {
	for _, n := range n {
		if len(n.paths) > 1 {
			n.text = severally.Replace(n.text)
		}
		texts = append(texts, strings.ReplaceAll(n.text, sandbox.ThePath, strings.Join(n.paths, ", ")))
	}
	return texts
}

func (n notes) String() string { return strings.Join(n.texts(), "; ") }

// searched is how much of the end of a command's output is searched.
const searched = 4096

// An ended is a command that was run, for what is to be told of it.
type ended struct {
	runner.Result
	said string     // the end of its output
	text string     // its own and that
	argv [][]string // of the programs in it, if anything went wrong
}

// refusals says which rules a command violated, and what would be allowed: what is on
// record, in order, and then what only the output shows. The record has also what is not told.
func (t tool) refusals(req sandbox.CommandRequest, res runner.Result, output *runner.Output) (told string, recorded []domain.Refusal) {
	if !t.commands.Confined() {
		return "", nil
	}
	head, _, tail := output.Parts(2 * searched)
	e := ended{Result: res, said: head + tail}
	e.said = e.said[max(0, len(e.said)-searched):]
	e.text = req.Command + "\n" + e.said
	if e.failed() || len(res.Refused) > 0 {
		v, dir, _ := t.commands.Decide(req)
		e.argv, req.Dir = v.Argv, dir
	}
	var all notes
	for _, r := range res.Refused {
		if e.tells(r) {
			all.add(t.commands.Refusals().Recorded(r), r.Path)
		}
	}
	for _, r := range res.RefusedHosts {
		all.add(r.Error(), "")
	}
	if disconnected(res) && len(all) > 0 && slices.ContainsFunc(e.argv, func(argv []string) bool { return sandbox.Local(sandbox.Connects(argv)) }) {
		all.add("with sandbox.network: loopback a command reaches servers that it has started itself, and no others of this machine", "")
	}
	for line := range strings.Lines(e.said) {
		if text, path := t.commands.Refusals().Said(line, req.Dir); !e.recorded(path) {
			all.add(text, path)
		}
	}
	if len(all) == 0 {
		for _, argv := range e.argv {
			all.add(e.nested(argv), "")
		}
	}
	if len(all) == 0 && e.failed() {
		for _, r := range res.Refused {
			if isDatagram(r) { // of the system's log, or a lookup, as a rule
				all.add(t.commands.Refusals().Recorded(r), "")
			}
		}
	}
	told = all.String()
	for _, r := range res.Refused {
		if !isDatagram(r) {
			all.add(t.commands.Refusals().Recorded(r), r.Path)
		}
	}
	for _, text := range all.texts() {
		recorded = append(recorded, domain.Refusal{Reason: text})
	}
	return told, recorded
}

func (e *ended) failed() bool { return e.Code != 0 && !e.Canceled || e.TimedOut }

// hindered reports whether a command failed, and does not say otherwise than because of the sandbox.
func (e *ended) hindered() bool {
	said := strings.ToLower(e.said)
	return e.failed() && (said == "" && !e.TimedOut || slices.ContainsFunc(refusalWords, func(word string) bool { return strings.Contains(said, word) }))
}

// refusalWords are what programs say that are refused namespaces, or the interfaces of the machine.
var refusalWords = []string{"permi", "eacces", "eperm", "namespace", "sandbox", "netlink", "interface"}

// tells reports whether a refusal on record is told: not if the command went on without what
// it was refused, as most do if they cannot write a cache or learn about the network.
func (e *ended) tells(r process.Refusal) bool {
	switch {
	case isDatagram(r):
		return false
	case r.Rule == broker.RuleNetwork && (r.Path == sandbox.Interfaces || r.Path == sandbox.InternetV6): // which many look for
		return e.hindered() && !slices.ContainsFunc(e.Refused, func(r process.Refusal) bool { return r.Path == sandbox.Internet }) ||
			r.Path == sandbox.InternetV6 && e.failed() && e.connects()
	case r.Rule == broker.RuleNetwork:
		return e.failed() || e.connects()
	case r.Rule != "" && r.Rule != broker.RuleSockets:
		return true
	}
	return e.names(r.Path) || e.failed() && !slices.ContainsFunc(unasked, func(part string) bool { return strings.Contains(r.Path, part) })
}

// unasked are in the paths of what programs write, or connect to, that nobody asked for.
var unasked = []string{"/__pycache__", "/go/telemetry/", "/proc/", "/nscd/", "/userdb/", "/sss/pipes/"}

// isDatagram reports whether a socket was refused that could send to any other.
func isDatagram(r process.Refusal) bool { return r.Rule == broker.RuleSockets && r.Path == "" }

// names reports whether a path, or its last part, is in a command or its output.
func (e *ended) names(path string) bool {
	between := func(r rune) bool { return strings.ContainsRune(" \t\n\r/'\"`‘’“”,:;()[]{}<>=|&", r) }
	return strings.Contains(e.text, path) || slices.Contains(strings.FieldsFunc(e.text, between), filepath.Base(path))
}

// recorded reports whether a refusal of a path is on record.
func (e *ended) recorded(path string) bool {
	dir, name := filepath.Split(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return slices.ContainsFunc(e.Refused, func(r process.Refusal) bool {
		itself := strings.HasPrefix(dir, "/proc/") && strings.HasPrefix(r.Path, "/proc/") && filepath.Base(r.Path) == name
		return itself || r.Path == filepath.Join(dir, name)
	})
}

// connects reports whether a command connects to other hosts if it makes sockets at all, as far as its words tell.
func (e *ended) connects() bool {
	return slices.ContainsFunc(e.argv, func(argv []string) bool { return sandbox.Connects(argv) != "" || isOf(fetching, argv) })
}

// fetching are programs that know hosts of their own.
const fetching = " apt apt-get dnf apk npm npx pnpm yarn bun pip pip3 uv poetry cargo go git gem bundle composer "

func isOf(programs string, argv []string) bool {
	return strings.Contains(programs, " "+filepath.Base(argv[0])+" ")
}

// Programs that are for people at a terminal: always, and without an operand or with -i.
const (
	interactive = " vi vim view nvim vimdiff nano pico emacs micro hx mc htop btop top watch "
	prompting   = " python python3 ipython node irb ghci bc psql mysql sqlite3 redis-cli gdb ftp sftp telnet ssh bash sh zsh "
)

// waiting says that a command is of those, or "": nobody can type into it.
func (t tool) waiting(req sandbox.CommandRequest) string {
	v, _, _ := t.commands.Decide(req)
	for _, argv := range v.Argv {
		if isOf(interactive, argv) || isOf(prompting, argv) && v.Plain != nil && req.Run.Stdin == nil && (len(argv) == 1 || slices.Contains(argv, "-i")) {
			return filepath.Base(argv[0]) + " is for people at a terminal, and nobody can type into a command: " +
				"give it all input beforehand, as options, a script or a pipe, or use the file tools."
		}
	}
	return ""
}

// disconnected reports whether a command was refused connections to other hosts.
func disconnected(res runner.Result) bool {
	return len(res.RefusedHosts) > 0 || slices.ContainsFunc(res.Refused, func(r process.Refusal) bool {
		return r.Rule == broker.RuleNetwork && r.Path != sandbox.Interfaces
	})
}

// nesting are programs that make a sandbox of their own, and the options that keep them from it.
var nesting = []struct{ programs, option string }{
	{" chromium chromium-browser google-chrome google-chrome-stable chrome headless_shell microsoft-edge brave-browser electron ", "--no-sandbox"},
	{" bazel bazelisk ", "--spawn_strategy=local"},
	{" unshare nsenter bwrap firejail nsjail srt flatpak podman buildah apptainer singularity chroot mount umount systemd-nspawn linux-sandbox ", ""},
}

// nested says that a program failed because it makes a sandbox, of which nothing is on record.
func (e *ended) nested(argv []string) string {
	for _, n := range nesting {
		if !isOf(n.programs, argv) || slices.Contains(argv, n.option) || !e.hindered() {
			continue
		}
		text := "the sandbox lets commands make no namespaces, mounts or sandboxes of their own, as " + filepath.Base(argv[0]) + " does"
		if n.option != "" {
			text += "; give it " + n.option + ", since it is confined anyway"
		}
		return text
	}
	return ""
}
