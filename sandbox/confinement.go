package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// A confinement is what policy allows the commands of a tool, in the terms of the kernel.
type confinement struct {
	kernel *Kernel
	owner  Owner
	path   func() []string     // where commands find programs
	spec   func() confine.Spec // without protected names
	denied func() []string     // files of programs that are denied altogether
	globs  []confine.Gap       // what of the lists of paths the kernel is not told
	files  func() *protectedFiles
	// references are those of the policy.
	references func() []pathguard.ProtectedFile
	listed     *programFinder // of spec, which is called first

	mu    sync.Mutex
	plans map[string][]byte // by what of the spec is not always the same
}

// newConfinement prepares what policy says of the commands of a tool. Nothing is
// looked up before it is needed.
func (c *Commands) newConfinement(p Policy, lists ToolPolicy, files func() *protectedFiles) *confinement {
	k := c.kernel
	made := &confinement{kernel: k, owner: c.owner, path: func() []string { return c.around().path() }, files: files, references: p.references()}
	programs := func() []string { return union(k.programs(), realDirs(made.path())) }
	find := func() *programFinder {
		around := c.around()
		cache := cmp.Or(around.lookup("XDG_CACHE_HOME"), around.atHome("~/.cache"))
		return &programFinder{path: around.path(), dirs: programs(), work: p.WorkingDirectory, temp: around.lookup("TMPDIR"), cache: cache}
	}
	made.globs = globGaps(c.reads)
	made.denied = sync.OnceValue(func() []string {
		if len(lists.DeniedCommands) == 0 {
			return nil
		}
		return find().deniedPrograms(lists)
	})
	made.spec = sync.OnceValue(func() confine.Spec {
		k.ready()
		s := c.spec(p)
		if s.Lock != "" {
			if f, err := pathguard.OpenLock(s.Lock); err == nil { // which makes it
				f.Close()
			}
		}
		if lists.AllowedCommands != nil {
			made.listed = find()
			s.Exec, s.ExecDirs = made.listed.programsOf(lists)
			s.ProgramDirs = programs()
		}
		if s.Exec == nil {
			s.Deny = union(s.Deny, made.denied())
		}
		return s
	})
	return made
}

// spec turns policy into what the kernel enforces of it, except programs.
func (c *Commands) spec(p Policy) confine.Spec {
	around := c.around()
	s := confine.Spec{
		Read:        append(c.reads.AllowedBelow(), c.readable()...),
		Write:       union(c.writes.AllowedBelow(), []string{c.kernel.scratch.path(), around.caches}),
		Deny:        c.reads.DeniedPaths(),
		ReadOnly:    c.writes.DeniedPaths(),
		Network:     p.Settings.Network.kind(),
		UnixSockets: p.Settings.UnixSockets,
		Limits:      confine.Limits{OpenFiles: uint64(p.Settings.Limits.OpenFiles), FileSize: uint64(p.Settings.Limits.FileSize), Processes: uint64(p.Settings.Limits.Processes)},
		BestEffort:  p.Settings.Enforcement != EnforceRequired,
		// Where the one way to protect the metadata of other files is to refuse
		// all changes, much ordinary work would fail.
		AllowMetadata: p.Settings.Enforcement != EnforceRequired,
		Protect:       p.brokered(c.writes, c.kernel.scratch.path(), around.caches),
		WithoutBroker: !c.kernel.support.Broker,
		Lock:          p.repositoryLock(),
		Temp:          c.kernel.scratch.private(),
		WithoutMounts: !c.kernel.support.MountNamespace, WithoutLandlock: c.kernel.support.LandlockABI == 0,
	}
	for _, dir := range slices.Concat([]string{p.WorkingDirectory, around.lookup("HOME")}, p.Roots, around.path()) {
		s.Keep = append(s.Keep, realOr(dir))
	}
	if p.Tools[c.owner.Reads].AllowedPaths == nil {
		s.Read, s.List = append(s.Read, c.unlisted()...), true
	}
	return s
}

// full is the spec with the protected files that there are now, and what of those is
// not known.
func (c *confinement) full() (s confine.Spec, unknown string) {
	s = c.spec()
	deny, readOnly, unknown := c.files().find()
	s.Deny, s.ReadOnly = union(s.Deny, deny), union(s.ReadOnly, readOnly)
	s.Protect.Files = slices.Clone(s.Protect.Files)
	for _, f := range c.references() {
		s.Protect.Files = append(s.Protect.Files, realOr(f.Path))
	}
	return s, unknown
}

// maxPlans is how many are kept: for commands that start tool chains, and others.
const maxPlans = 4

// encoded returns what a request carries for its supervisor, and what is not enforced
// of the policy at this moment.
func (c *confinement) encoded(argv [][]string) (plan []byte, notice string, err error) {
	s, unknown := c.full()
	if unknown != "" {
		gap := c.surveyGap(unknown)
		if !s.BestEffort {
			return nil, "", errors.New(gap.String())
		}
		notice = "sandbox: not enforced now: " + gap.What + " (" + gap.Why + ")"
	}
	if !c.kernel.support.StopAtStart {
		s.Limits = confine.Limits{} // a gap
	}
	if c.listed != nil && len(c.listed.built) > 0 {
		without := unneeded(c.listed.built, argv)
		s.ExecDirs = slices.DeleteFunc(slices.Clone(s.ExecDirs), func(dir string) bool { return slices.Contains(without, dir) })
	}
	of := strings.Join(slices.Concat(s.Deny, []string{""}, s.ReadOnly, []string{""}, s.Protect.Files, []string{""}, s.ExecDirs), "\x00")
	c.mu.Lock()
	defer c.mu.Unlock()
	if plan = c.plans[of]; plan == nil {
		if plan, err = s.Encode(); err != nil {
			return nil, "", err
		}
		if len(c.plans) >= maxPlans || c.plans == nil {
			c.plans = map[string][]byte{}
		}
		c.plans[of] = plan
	}
	return plan, notice, nil
}

func (c *confinement) surveyGap(unknown string) confine.Gap {
	return confine.Gap{
		What: "that secrets deep below the working directory are hidden", Why: unknown,
		Help: "work in a smaller directory, or name the secrets in tools." + c.owner.Reads + ".denied_paths",
	}
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
	spec, unknown := c.full()
	gaps := slices.Concat(c.kernel.gaps(spec), c.globs)
	for _, link := range c.links() {
		gaps = append(gaps, confine.Gap{
			What: "that " + link + " stays the link it is", Why: "the kernel can protect files where commands may write, and not links",
			Help: "put the file itself there, or keep the link out of where commands may write",
		})
	}
	if unknown != "" {
		gaps = append(gaps, c.surveyGap(unknown))
	}
	for _, dir := range c.spec().Astray() {
		gaps = append(gaps, confine.Gap{
			What: "that the programs in " + dir + " start", Why: "it is a link that leads out of where commands may write, and a command may have put it there",
			Help: "name the directory it leads to in exec_paths, if it is yours",
		})
	}
	return gaps
}

// globGaps says what of globs in the list for reading the kernel, which knows files and
// directories, does not know. What is written has a broker.
func globGaps(reads *pathguard.Guard) []confine.Gap {
	allowed, _ := reads.Patterns()
	if len(allowed) == 0 {
		return nil
	}
	return []confine.Gap{{
		What: "that commands read only " + strings.Join(allowed, ", ") + " in their directories", Why: "the kernel is told of directories", Help: "allow directories",
	}}
}

// links returns the links on the way to protected files that commands could replace.
func (c *confinement) links() (found []string) {
	s, _ := c.full()
	for _, path := range union(s.Deny, s.ReadOnly) {
		for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
			info, err := os.Lstat(at)
			if errors.Is(err, syscall.ENOTDIR) {
				break // a link to a file is like that file: neither has the protected name below it
			}
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
