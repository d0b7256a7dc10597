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
	"github.com/toolserver/toolserver/sandbox/programs"
)

// A confinement is what policy allows the commands of a tool, in the terms of the kernel.
type confinement struct {
	kernel *Kernel
	policy *Policy
	owner  Owner
	lists  programs.Lists
	access access
	around func() *surroundings
	scope  func() *scope

	spec   func() confine.Spec // without protected names
	denied func() []string     // files of programs that are denied altogether
	files  func() *protectedFiles
	// references are those of the policy.
	references func() []pathguard.ProtectedFile
	listed     *programs.Finder // of spec, which is called first

	mu    sync.Mutex
	plans map[string][]byte // by what of the spec is not always the same
}

// newConfinement prepares what policy says of commands. Nothing is
// looked up before it is needed.
func (c *Commands) newConfinement() *confinement {
	made := &confinement{
		kernel: c.kernel, policy: c.policy, owner: c.owner, lists: c.programLists(), access: c.access, around: c.around, scope: c.scope,
		files: c.protected, references: c.policy.references(),
	}
	made.denied = sync.OnceValue(func() []string {
		if len(made.lists.Denied) == 0 {
			return nil
		}
		return made.finder().Denied(made.lists)
	})
	made.spec = sync.OnceValue(made.newSpec)
	return made
}

// applies reports whether the kernel holds commands to the policy.
func (c *confinement) applies() bool { return c != nil && c.kernel.confines() }

// finder returns what finds the files of programs.
func (c *confinement) finder() *programs.Finder {
	around, dirs := c.around(), c.kernel.programs()
	for _, dir := range around.path() { // without links
		if dir = pathguard.Real(dir); filepath.IsAbs(dir) && dir != "/" {
			dirs = union(dirs, []string{dir})
		}
	}
	cache := cmp.Or(around.lookup("XDG_CACHE_HOME"), around.atHome("~/.cache"))
	return &programs.Finder{Path: around.path(), Dirs: dirs, Work: c.policy.WorkingDirectory, Temp: around.lookup("TMPDIR"), Cache: cache}
}

// newSpec turns policy into what the kernel enforces of it.
func (c *confinement) newSpec() confine.Spec {
	c.kernel.ready()
	s := c.filesSpec()
	if s.Lock != "" {
		if f, err := pathguard.OpenLock(s.Lock); err == nil { // which makes it
			f.Close()
		}
	}
	if c.lists.Allowed != nil {
		c.listed = c.finder()
		s.Exec, s.ExecDirs = c.listed.Of(c.lists)
		s.ProgramDirs = c.listed.Dirs
	}
	if s.Exec == nil {
		s.Deny = union(s.Deny, c.denied())
	}
	return s
}

// filesSpec is newSpec without programs.
func (c *confinement) filesSpec() confine.Spec {
	p, around, have := c.policy, c.around(), c.kernel.support
	limits, mine := p.Settings.Limits, []string{c.access.scratch.Path(), around.caches}
	s := confine.Spec{
		Read:        append(c.access.reads.AllowedBelow(), c.scope().readable()...),
		Write:       union(c.access.writes.AllowedBelow(), mine),
		Deny:        c.access.reads.DeniedPaths(),
		ReadOnly:    c.access.writes.DeniedPaths(),
		Network:     p.Settings.Network.kind(),
		UnixSockets: p.Settings.UnixSockets,
		Limits:      confine.Limits{OpenFiles: uint64(limits.OpenFiles), FileSize: uint64(limits.FileSize), Processes: uint64(limits.Processes)},
		BestEffort:  p.Settings.Enforcement != EnforceRequired,
		// Where the one way to protect the metadata of other files is to refuse
		// all changes, much ordinary work would fail.
		AllowMetadata: p.Settings.Enforcement != EnforceRequired,
		Protect:       p.brokered(c.access.writes, mine...),
		WithoutBroker: !have.Broker,
		Lock:          p.repositoryLock(),
		Temp:          c.access.scratch.Private(),
		WithoutMounts: !have.MountNamespace, WithoutLandlock: have.LandlockABI == 0,
	}
	for _, dir := range slices.Concat([]string{p.WorkingDirectory, around.lookup("HOME")}, p.Roots, around.path()) {
		s.Keep = append(s.Keep, pathguard.Real(dir))
	}
	for _, dir := range p.Apart {
		s.Apart = append(s.Apart, pathguard.Real(dir))
	}
	if p.Tools[c.owner.Reads].AllowedPaths == nil {
		s.Read, s.List = append(s.Read, c.scope().unlisted()...), true
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
		s.Protect.Files = append(s.Protect.Files, pathguard.Real(f.Path))
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
	if c.listed != nil {
		s.ExecDirs = c.listed.Needed(s.ExecDirs, argv)
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
	return fmt.Errorf("sandbox.enforcement: required, but this machine cannot enforce the policy "+
		"(best_effort would start without what is missing, and say so):%s", list)
}

func (c *confinement) gaps() []confine.Gap {
	c.kernel.ready()
	spec, unknown := c.full()
	gaps := slices.Concat(c.kernel.gaps(spec), globGaps(c.access.reads))
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
			dir := pathguard.Real(filepath.Dir(at))
			if slices.ContainsFunc(s.Write, func(root string) bool { return pathguard.Within(pathguard.Real(root), dir) }) {
				found = append(found, at)
			}
		}
	}
	return found
}

// unusable says why a listed program cannot be started although commands may.
func (c *confinement) unusable(name, dir string) string {
	if c == nil || c.spec().Exec == nil {
		return ""
	}
	return c.listed.Unusable(name, dir)
}

// refusesProgram says why the kernel does not start the program with a name, and returns its path, which is [ThePath] there.
func (c *confinement) refusesProgram(name, dir string) (text, path string) {
	for path := range programs.Files(name, dir, c.around().path()) {
		switch spec := c.spec(); {
		case spec.Exec != nil && !c.starts(path):
			return "the sandbox starts only the programs that are listed, and lets no other be read; " + ThePath +
				" is not listed (rule: allowed_commands, exec_paths)", path
		case slices.Contains(c.denied(), pathguard.Real(path)):
			return "the sandbox does not start " + ThePath + ", which is denied (rule: denied_commands)", path
		}
		break
	}
	return "", ""
}

// starts reports whether the confinement lets the program at path start.
func (c *confinement) starts(path string) bool {
	spec, real := c.spec(), pathguard.Real(path)
	return slices.ContainsFunc(spec.Exec, func(file string) bool { return pathguard.Real(file) == real }) ||
		slices.ContainsFunc(spec.ExecDirs, func(dir string) bool { return strings.HasPrefix(real, pathguard.Real(dir)+string(filepath.Separator)) })
}
