package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/netproxy"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/programs"
	"github.com/toolserver/toolserver/sandbox/runner"
)

// Commands are the commands that their owner may run. Like files they are of one
// policy; the runner behind them, which knows what is running, stays.
type Commands struct {
	kernel    *Kernel
	owner     Owner
	policy    *Policy
	lists     ToolPolicy
	access    access
	around    func() *surroundings
	scope     func() *scope
	protected func() *protectedFiles
	reachable netproxy.Rules // of proxies

	// What follows from these; see complete.
	confinement *confinement // nil if the kernel layer is off
	files       *commandFiles
	compiled    func() (*command.Policy, error)
	summary     func() *Summary
}

// CommandRequest asks for one command, as a tool got it.
type CommandRequest struct {
	Command string // text for the shell
	Dir     string // where it starts; empty means the working directory
	Env     map[string]string
	Asker   netproxy.Asker // of hosts that are not in sandbox.network.allow; nil for nobody
	Run     runner.Request // the rest; what this struct says is filled in
}

// DeniedError says that policy refuses a command.
type DeniedError struct{ Verdict command.Verdict }

func (e *DeniedError) Error() string {
	v := e.Verdict
	if v.Rule == "syntax" { // which no policy makes
		return v.Reason + "; " + v.Hint
	}
	text := "denied by policy: " + v.Reason
	if v.Rule != "" && !strings.Contains(v.Reason, v.Rule) {
		text += " (rule: " + v.Rule + ")"
	}
	if v.Hint != "" {
		text += "; " + v.Hint
	}
	return text
}

// newCommands returns the commands of an owner. Lists are checked at once; without
// any, what checks commands is made when the first one comes. The error
// says also what the policy requires of the kernel and cannot have.
func (s *Sandbox) newCommands(o Owner, files func() *protectedFiles) (*Commands, error) {
	held, p := Capabilities{s, o}, &s.policy
	c := &Commands{
		kernel: s.kernel, owner: o, policy: p, lists: p.commandLists(o), protected: files,
		access: access{held.guard(reading), held.guard(writing), s.kernel.scratch},
	}
	c.around = sync.OnceValue(func() *surroundings { return newSurroundings(*p, o, c.programLists(), c.access) })
	c.scope = sync.OnceValue(func() *scope { return &scope{policy: p, files: c.access, around: c.around()} })
	var err error
	if c.reachable, err = p.reachable(); err != nil {
		return nil, err
	}
	return c, c.complete()
}

// programLists are the lists of programs.
func (c *Commands) programLists() programs.Lists {
	return programs.Lists{Allowed: c.lists.AllowedCommands, Denied: c.lists.DeniedCommands, ExecPaths: c.lists.ExecPaths}
}

// complete makes what follows from the lists and paths.
func (c *Commands) complete() error {
	if c.policy.Settings.Enforcement != EnforceParseOnly {
		c.confinement = c.newConfinement()
	}
	if c.policy.Settings.Enforcement == EnforceRequired {
		if err := c.confinement.check(); err != nil {
			return err
		}
	}
	c.files = &commandFiles{c.access, c.kernel, c.around, c.confinement}
	c.summary = sync.OnceValue(func() *Summary {
		if l := c.Layers(); l.Notice != "" {
			return &Summary{l.Enforcement, l.Notice}
		}
		return nil
	})
	c.compiled = sync.OnceValues(c.compile)
	if c.lists.AllowedCommands == nil && c.lists.DeniedCommands == nil {
		return nil
	}
	_, err := c.compiled()
	return err
}

// With returns the commands of a policy that also lists programs, and directories to
// write in. What is denied or protected stays so.
func (c *Commands) With(programs, dirs []string) (*Commands, error) {
	more := new(*c)
	more.lists.AllowedCommands = slices.Concat(c.lists.AllowedCommands, command.Rules(programs...))
	more.access.writes = c.access.writes.With(dirs...)
	more.scope = sync.OnceValue(func() *scope { return &scope{policy: c.policy, files: more.access, around: c.around()} })
	if len(dirs) > 0 {
		p := *c.policy
		p.Roots = union(p.Roots, dirs) // where protected files are looked for
		more.protected = sync.OnceValue(func() *protectedFiles { return newProtectedFiles(p, c.access.reads) })
	}
	return more, more.complete()
}

// errNoCommands is returned to a tool that does not declare to run commands.
var errNoCommands = errors.New("the tool does not declare that it runs commands")

func (c *Commands) compile() (*command.Policy, error) {
	p, lists, around := c.policy, c.lists, c.around()
	policy, err := command.Compile(command.Config{
		Allowed: lists.AllowedCommands, Denied: lists.DeniedCommands,
		InlineCode: command.Mode(lists.InlineCode), OpaqueScripts: command.Mode(lists.OpaqueScripts),
		Paths: c.files.paths(p.Tools[c.owner.Reads]), Path: around.path(),
		Home: around.lookup("HOME"), Temp: around.lookup("TMPDIR"), Dir: p.WorkingDirectory,
	})
	if err != nil {
		return nil, fmt.Errorf("tools.%s: %w", c.owner.Tool, err)
	}
	return policy, nil
}

// Decide says whether req may run, without running it, and where it would
// start.
func (c *Commands) Decide(req CommandRequest) (verdict command.Verdict, dir string, err error) {
	if c.compiled == nil {
		return command.Verdict{}, "", errNoCommands
	}
	policy, err := c.compiled()
	if err != nil {
		return command.Verdict{}, "", err
	}
	d, err := c.access.reads.OpenDir(cmp.Or(req.Dir, "."))
	if err != nil {
		return command.Verdict{}, "", fmt.Errorf("working_dir: %w", err)
	}
	defer d.Close()
	dir = d.Info.Real
	set := slices.Collect(maps.Keys(req.Env))
	for name := range c.policy.Settings.Env {
		if name != "HOME" && name != "TMPDIR" { // whose values it knows
			set = append(set, name)
		}
	}
	v := policy.Decide(command.Request{Command: req.Command, Dir: dir, Env: set})
	for _, argv := range v.Argv {
		if why := c.confinement.unusable(argv[0], dir); v.Allowed && why != "" {
			v.Allowed, v.Plain, v.Rule, v.Reason, v.Hint = false, nil, "unusable", why, "the other programs work"
		}
	}
	if runtime.GOOS == "windows" && policy.Listed() {
		v = cmdexe(v, req.Command, len(req.Env))
	}
	if !deciding {
		v.Allowed, v.Plain = true, nil
	}
	return v, dir, nil
}

// Finds reports whether there is a program where commands look for it.
func (c *Commands) Finds(program string) bool {
	if c.compiled == nil {
		return false
	}
	policy, err := c.compiled()
	if err != nil {
		return false
	}
	path, _ := policy.LookPath(program)
	return path != ""
}

// Listed reports whether a list of commands is configured.
func (c *Commands) Listed() (bool, error) {
	policy, err := c.compiled()
	return err == nil && policy.Listed(), err
}

// prepare decides on req and completes what the runner needs to know.
func (c *Commands) prepare(req *CommandRequest) error {
	verdict, dir, err := c.Decide(*req)
	if err != nil {
		return err
	}
	if !verdict.Allowed {
		return &DeniedError{verdict}
	}
	req.Run.Dir, req.Run.Bounds, req.Run.User = dir, c.bounds(), c.policy.User
	var variables map[string]string
	req.Run.Proxy, variables = c.throughProxy(req.Env, req.Asker)
	if req.Run.Env, err = c.environment(variables); err != nil {
		return err
	}
	req.Run.Shell = req.Command // whose message people know if there is no such program
	if verdict.Plain != nil {
		for file := range programs.Files(verdict.Plain[0], dir, filepath.SplitList(process.LookupEnv(req.Run.Env, "PATH"))) {
			req.Run.Argv, req.Run.Program, req.Run.Shell = verdict.Plain, file, ""
			break
		}
	}
	req.Run.Confine, req.Run.Notice, err = c.confine(verdict.Argv)
	req.Run.Env = c.besideSecrets(req.Run.Env)
	return err
}

// gitBesideSecrets has git go on beside files that it may not open: those it knows are
// unchanged while their size and time are, and it adds all others.
const gitBesideSecrets = `GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=core.checkStat GIT_CONFIG_VALUE_0=minimal
	GIT_CONFIG_KEY_1=core.trustctime GIT_CONFIG_VALUE_1=false GIT_CONFIG_KEY_2=add.ignoreErrors GIT_CONFIG_VALUE_2=true`

// besideSecrets adds to an environment what git needs beside what is hidden, after
// confine has found that.
func (c *Commands) besideSecrets(env []string) []string {
	if !c.protected().hides() || !slices.Contains(c.around().presets, "git") || process.LookupEnv(env, "GIT_CONFIG_COUNT") != "" {
		return env
	}
	return append(slices.Clip(env), strings.Fields(gitBesideSecrets)...)
}

// environment returns the minimal environment with the given variables, and makes
// the directories it names.
func (c *Commands) environment(set map[string]string) ([]string, error) {
	if c.confinable() {
		if err := errors.Join(c.kernel.scratch.Make(), c.around().makeCaches()); err != nil {
			return nil, err
		}
	}
	return c.around().with(set), nil
}

// confine returns what a process is confined by that runs these commands, and what of the policy is not enforced
// at this moment; nil means not at all.
func (c *Commands) confine(argv [][]string) (plan []byte, notice string, err error) {
	if !c.Confined() {
		return nil, "", nil
	}
	return c.confinement.encoded(argv)
}

// confinable reports whether the policy and the system let the kernel hold commands to the
// policy. Whether it can is found out later.
func (c *Commands) confinable() bool { return c.confinement != nil && runtime.GOOS != "windows" }

// Confined reports whether the kernel holds commands to the policy.
func (c *Commands) Confined() bool { return c.confinement.applies() }

// minDisk is what a command may write although those before it have used up the limit:
// it may be there to remove what they left.
const minDisk = 1 << 20

// bounds returns what a command may use as a whole.
func (c *Commands) bounds() process.Bounds {
	l, kept := c.policy.Settings.Limits, c.kernel.scratch.Size()
	if l.Memory == 0 {
		l.Memory = c.kernel.memory()
	}
	if l.Disk == 0 {
		l.Disk = (process.FreeSpace(c.policy.WorkingDirectory) + kept) / 2
	}
	if l.Disk > 0 {
		l.Disk = max(l.Disk-kept, minDisk)
	}
	return process.Bounds{Processes: l.Processes, Memory: l.Memory, Disk: l.Disk}
}

// Run runs a command to its end. The error is a [*DeniedError], a
// [*pathguard.Error] about the directory, or one of the runner's.
func (c *Commands) Run(ctx context.Context, req CommandRequest) (runner.Result, error) {
	if err := c.prepare(&req); err != nil {
		return runner.Result{}, err
	}
	return c.kernel.runner.Run(ctx, req.Run)
}

// Start starts a command that outlives its call, as a job of session.
func (c *Commands) Start(ctx context.Context, session string, req CommandRequest) (*runner.Job, error) {
	if err := c.prepare(&req); err != nil {
		return nil, err
	}
	return c.kernel.runner.Start(ctx, session, req.Run)
}

// Jobs are the background jobs of all sessions, for their owner to list, read and stop
// by session. The zero value has none.
type Jobs struct{ runner *runner.Runner }

// Jobs returns the background jobs that Start starts, with those of others.
func (c *Commands) Jobs() *Jobs { return &Jobs{c.kernel.runner} }

// Of returns the jobs of session, the oldest first.
func (j *Jobs) Of(session string) []*runner.Job {
	if j.runner == nil {
		return nil
	}
	return j.runner.Jobs(session)
}
