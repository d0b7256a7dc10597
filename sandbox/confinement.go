package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"toolserver/sandbox/confine"
	"toolserver/sandbox/pathguard"
)

// A confinement is what policy allows the commands of a tool, in the terms of the kernel.
type confinement struct {
	kernel  *Kernel
	owner   Owner
	path    []string            // where commands find programs
	spec    func() confine.Spec // without protected names
	denied  func() []string     // files of programs that are denied altogether
	scanner func() *secretScanner

	mu   sync.Mutex
	of   string // the protected files that plan is about
	plan []byte
}

// newConfinement prepares what policy says of the commands of a tool. Nothing is
// looked up before it is needed.
func (c *Commands) newConfinement(p Policy, lists ToolPolicy, scanner func() *secretScanner) *confinement {
	k, env := c.kernel, c.env
	made := &confinement{kernel: k, owner: c.owner, path: filepath.SplitList(lookup(env, "PATH")), scanner: scanner}
	find := func() *programFinder {
		return &programFinder{path: made.path, dirs: k.programs(), work: p.WorkingDirectory, temp: lookup(env, "TMPDIR"), cache: cacheOf(env)}
	}
	made.denied = sync.OnceValue(func() []string {
		if len(lists.DeniedCommands) == 0 {
			return nil
		}
		return find().deniedPrograms(lists)
	})
	made.spec = sync.OnceValue(func() confine.Spec {
		k.ready()
		s := c.spec(p)
		if lists.AllowedCommands != nil {
			s.Exec, s.ExecDirs = find().programsOf(lists)
			s.ProgramDirs = k.programs()
		}
		if s.Exec == nil {
			s.Deny = union(s.Deny, made.denied())
		}
		return s
	})
	return made
}

var networks = map[string]confine.Network{"": confine.None, "none": confine.None, "loopback": confine.Loopback, "all": confine.All}

// spec turns policy into what the kernel enforces of it, except programs.
func (c *Commands) spec(p Policy) confine.Spec {
	s := confine.Spec{
		Read:        []string{"/"},
		Write:       append(c.writes.Allowed(), c.kernel.scratch.path),
		Deny:        c.reads.DeniedPaths(),
		ReadOnly:    c.writes.DeniedPaths(),
		Network:     networks[p.Settings.Network],
		UnixSockets: p.Settings.UnixSockets,
		Limits:      confine.Limits{OpenFiles: uint64(p.Settings.Limits.OpenFiles), FileSize: uint64(p.Settings.Limits.FileSize)},
		BestEffort:  p.Settings.Enforcement != EnforceRequired,
		// Where the one way to protect the metadata of other files is to refuse
		// all changes, much ordinary work would fail.
		AllowMetadata: p.Settings.Enforcement != EnforceRequired,
		WithoutMounts: !c.kernel.support.MountNamespace,
	}
	if p.Tools[c.owner.Reads].AllowedPaths != nil {
		s.Read = c.reads.Allowed()
	}
	return s
}

// full is the spec with the protected files that there are now.
func (c *confinement) full() confine.Spec {
	s := c.spec()
	deny, readOnly := c.scanner().find()
	s.Deny, s.ReadOnly = union(s.Deny, deny), union(s.ReadOnly, readOnly)
	return s
}

// encoded returns what a request carries for its supervisor.
func (c *confinement) encoded() ([]byte, error) {
	s := c.full()
	if !c.kernel.support.StopAtStart {
		s.Limits = confine.Limits{} // a gap
	}
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
	var list string
	for _, g := range c.gaps() {
		list += "\n  " + g.String()
	}
	if list == "" {
		return nil
	}
	return fmt.Errorf("sandbox.enforcement: required, but this machine cannot enforce the policy (best_effort would start without what is missing, and say so):%s", list)
}

func (c *confinement) gaps() []confine.Gap {
	c.kernel.ready()
	gaps := c.kernel.gaps(c.full())
	for _, link := range c.links() {
		gaps = append(gaps, confine.Gap{
			What: "that " + link + " stays the link it is", Why: "the kernel can protect files where commands may write, and not links",
			Help: "put the file itself there, or keep the link out of where commands may write",
		})
	}
	if c.scanner().incomplete() {
		gaps = append(gaps, confine.Gap{
			What: "that secrets below the working directory are hidden at any depth",
			Why:  fmt.Sprintf("there are more than %d files to look through", maxScanEntries),
			Help: "work in a smaller directory, or name the secrets in tools." + c.owner.Reads + ".denied_paths",
		})
	}
	return gaps
}

// links returns the links on the way to protected files that commands could replace.
func (c *confinement) links() (found []string) {
	s := c.full()
	for _, path := range union(s.Deny, s.ReadOnly) {
		for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
			info, err := os.Lstat(at)
			if err != nil || info.Mode()&os.ModeSymlink == 0 || slices.Contains(found, at) {
				continue
			}
			dir := realOr(filepath.Dir(at))
			if slices.ContainsFunc(s.Write, func(root string) bool { return pathguard.Within(realOr(root), dir) }) {
				found = append(found, at)
			}
		}
	}
	return found
}

// A secretScanner finds the protected names there are where commands work, for a layer
// that knows paths and not names.
type secretScanner struct {
	secrets, controls *pathguard.Finder
	top               []string // directories that are scanned before each command
	withHome          []string // top and the home directory

	mu       sync.Mutex
	readOnly []string  // control files, found once
	scanned  time.Time // when deny was found, and how long that took
	took     time.Duration
	deny     []string
	partial  bool // there was more to scan than the budget
}

const (
	maxScanEntries = 200_000
	maxScanDepth   = 64

	// Secrets deep down are looked for again no sooner than this after the last
	// time, nor so often that it takes more than one part in scanShare.
	scanPause = 5 * time.Second
	scanShare = 50
)

func newSecretScanner(p Policy) *secretScanner {
	secrets, controls := p.protected(reading), p.protected(writing)
	if len(controls.Names) == 0 {
		return new(secretScanner)
	}
	s := &secretScanner{
		secrets: pathguard.NewFinder(secrets.Names), controls: pathguard.NewFinder(controls.Names),
		top: union([]string{p.WorkingDirectory}, p.Roots),
	}
	s.withHome = s.top
	if home, err := os.UserHomeDir(); err == nil {
		s.withHome = union(s.top, []string{home})
	}
	return s
}

// packaged are directories of installed packages, which have files with the names
// of secrets that are none, and are removed with their directories every day.
var packaged = []string{".git", "node_modules", "vendor", "site-packages"}

// find returns what is to be hidden and what is to stay as it is. Of control files
// deep down only those of git are found, and only what existed when policy came
// into force: a mount point can neither be moved nor removed with its directory,
// which is what commands do with directories they made.
func (s *secretScanner) find() (deny, readOnly []string) {
	if s.secrets == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rescan()
	deny, readOnly = slices.Clone(s.deny), slices.Clone(s.readOnly)
	for i, dir := range s.withHome {
		budget := maxScanEntries
		deny = append(deny, s.secrets.Find(dir, 0, nil, &budget)...)
		if i < len(s.top) {
			readOnly = append(readOnly, s.controls.Find(dir, 0, nil, &budget)...)
		}
	}
	return deny, readOnly
}

// rescan looks below the directories, with the lock held, if the last time was long ago.
func (s *secretScanner) rescan() {
	began, first := time.Now(), s.scanned.IsZero()
	if !first && began.Sub(s.scanned) < max(scanPause, scanShare*s.took) {
		return
	}
	below := func(f *pathguard.Finder, budget *int) (found []string) {
		for _, dir := range s.top {
			skip := func(name string) bool { return slices.Contains(packaged, name) }
			found = append(found, f.Find(dir, maxScanDepth, skip, budget)...)
		}
		return found
	}
	budget := maxScanEntries
	s.deny = below(s.secrets, &budget)
	s.partial = budget < 0
	if first {
		s.readOnly = below(pathguard.NewFinder([]pathguard.Name{{Pattern: ".git/hooks"}, {Pattern: ".git/config"}}), &budget)
		for _, home := range s.withHome[len(s.top):] {
			budget = maxScanEntries
			s.readOnly = append(s.readOnly, s.controls.Find(home, 0, nil, &budget)...)
		}
	}
	s.scanned, s.took = time.Now(), time.Since(began)
}

// incomplete reports whether there was too much to scan.
func (s *secretScanner) incomplete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partial
}
