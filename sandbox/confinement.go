package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"toolserver/sandbox/confine"
	"toolserver/sandbox/pathguard"
)

// A confinement is what policy allows the commands of a tool, as the kernel is told.
type confinement struct {
	kernel  *Kernel
	path    []string            // where commands find programs
	spec    func() confine.Spec // but for protected names
	denied  func() []string     // files of programs that are denied altogether
	exposed *exposed

	mu   sync.Mutex
	of   string // the protected files that plan is about
	plan []byte
}

// newConfinement prepares what policy says of the commands of a tool. Nothing is
// looked up before it is needed.
func (k *Kernel) newConfinement(tool string, p Policy, files *Files, env []string) *confinement {
	lists := p.commandLists(tool)
	c := &confinement{kernel: k, path: filepath.SplitList(lookup(env, "PATH")), exposed: newExposed(p)}
	find := func() *programFinder {
		return &programFinder{path: c.path, dirs: k.programs(), work: p.WorkingDirectory, temp: lookup(env, "TMPDIR"), cache: cacheOf(env)}
	}
	c.denied = sync.OnceValue(func() []string {
		if len(lists.DeniedCommands) == 0 {
			return nil
		}
		return find().deniedPrograms(lists)
	})
	c.spec = sync.OnceValue(func() confine.Spec {
		k.ready()
		s := k.spec(p, files)
		if lists.AllowedCommands != nil {
			s.Exec, s.ExecDirs = find().programsOf(lists)
			s.ProgramDirs = k.programs()
		}
		if s.Exec == nil {
			s.Deny = union(s.Deny, c.denied())
		}
		return s
	})
	return c
}

var networks = map[string]confine.Network{"": confine.None, "none": confine.None, "loopback": confine.Loopback, "all": confine.All}

// spec turns policy into what the kernel enforces of it, but for programs.
func (k *Kernel) spec(p Policy, files *Files) confine.Spec {
	reading, writing := files.Reader(readers[0]), files.Writer(writers[0])
	s := confine.Spec{
		Read:        []string{"/"},
		Write:       append(writing.Allowed(), k.scratch.path),
		Deny:        reading.DeniedPaths(),
		ReadOnly:    writing.DeniedPaths(),
		Network:     networks[p.Settings.Network],
		UnixSockets: p.Settings.UnixSockets,
		Limits:      confine.Limits{OpenFiles: uint64(p.Settings.Limits.OpenFiles), FileSize: uint64(p.Settings.Limits.FileSize)},
		BestEffort:  p.Settings.Enforcement != EnforceRequired,
		// Where the one way to protect the metadata of other files is to refuse
		// all changes, much ordinary work would fail.
		AllowMetadata: p.Settings.Enforcement != EnforceRequired,
		WithoutMounts: !k.support.MountNamespace,
	}
	if p.Tools[readers[0]].AllowedPaths != nil {
		s.Read = reading.Allowed()
	}
	return s
}

// full is the spec with the protected files that there are now.
func (c *confinement) full() confine.Spec {
	s := c.spec()
	deny, readOnly := c.exposed.find()
	s.Deny, s.ReadOnly = union(s.Deny, deny), union(s.ReadOnly, readOnly)
	return s
}

// encoded returns what a request carries for its supervisor.
func (c *confinement) encoded() ([]byte, error) {
	s := c.full()
	of := strings.Join(s.Deny, "\x00") + "\x00\x00" + strings.Join(s.ReadOnly, "\x00")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plan == nil || c.of != of {
		plan, err := s.Encode()
		if err != nil {
			return nil, err
		}
		c.of, c.plan = of, plan
	}
	return c.plan, nil
}

// check reports why the policy cannot be enforced as it must be.
func (c *confinement) check() error {
	gaps := c.gaps()
	if len(gaps) == 0 {
		return nil
	}
	var b strings.Builder
	for _, g := range gaps {
		fmt.Fprintf(&b, "\n  %s", g)
	}
	return fmt.Errorf("sandbox.enforcement: required, but this machine cannot enforce the policy (best_effort would start without what is missing, and say so):%s", b.String())
}

func (c *confinement) gaps() []confine.Gap {
	c.kernel.ready()
	gaps := c.kernel.gaps(c.full())
	if c.exposed.incomplete() {
		gaps = append(gaps, confine.Gap{
			What: "that secrets below the working directory are hidden at any depth",
			Why:  fmt.Sprintf("there are more than %d files to look through", maxExposedEntries),
			Help: "work in a smaller directory, or name the secrets in tools.read_file.denied_paths",
		})
	}
	return gaps
}

// An exposed finds the protected names there are where commands work, for a layer
// that knows paths and not names.
type exposed struct {
	secrets, controls *pathguard.Finder
	top               []string // looked at before each command
	home              string
	once              sync.Once // sets what follows
	deny, readOnly    []string
	partial           bool
}

const (
	maxExposedEntries = 200_000
	maxExposedDepth   = 12
)

func newExposed(p Policy) *exposed {
	secrets, controls := p.protected(false), p.protected(true)
	home, _ := os.UserHomeDir()
	if len(controls.Names) == 0 {
		return new(exposed)
	}
	return &exposed{
		secrets: pathguard.NewFinder(secrets.Names), controls: pathguard.NewFinder(controls.Names),
		top: union([]string{p.WorkingDirectory}, p.Roots), home: home,
	}
}

// bulky are directories in which nobody keeps secrets of his own, but packages
// have files with such names.
var bulky = []string{".git", "node_modules", "vendor", ".venv", "venv", "site-packages", "target", ".cache"}

// find returns what is to be hidden and what is to stay as it is. Deep down only
// what existed when policy came into force is found, and of control files only
// those of git: a mount point can neither be moved nor removed with its directory,
// which is what commands do with directories they made.
func (e *exposed) find() (deny, readOnly []string) {
	e.once.Do(e.survey)
	deny, readOnly = slices.Clone(e.deny), slices.Clone(e.readOnly)
	for _, dir := range e.top {
		budget := maxExposedEntries
		deny = append(deny, e.secrets.Find(dir, &budget)...)
		readOnly = append(readOnly, e.controls.Find(dir, &budget)...)
	}
	return deny, readOnly
}

func (e *exposed) survey() {
	if e.secrets == nil {
		return
	}
	budget := maxExposedEntries
	skip := func(name string) bool { return slices.Contains(bulky, name) }
	repositories := pathguard.NewFinder([]pathguard.Name{{Pattern: ".git/hooks"}, {Pattern: ".git/config"}})
	for _, dir := range e.top {
		e.deny = append(e.deny, e.secrets.FindBelow(dir, maxExposedDepth, skip, &budget)...)
		e.readOnly = append(e.readOnly, repositories.FindBelow(dir, maxExposedDepth, skip, &budget)...)
	}
	e.partial = budget < 0
	if e.home != "" && !slices.Contains(e.top, e.home) {
		budget = maxExposedEntries
		e.deny = append(e.deny, e.secrets.Find(e.home, &budget)...)
		e.readOnly = append(e.readOnly, e.controls.Find(e.home, &budget)...)
	}
}

func (e *exposed) incomplete() bool {
	e.once.Do(e.survey)
	return e.partial
}
