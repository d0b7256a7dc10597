package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
)

// maxChildren is how many long-lived processes there may be, of all owners.
const maxChildren = 64

// Processes are the long-lived processes that their owner may hold, such as servers
// that it talks to over their standard streams. What is started is for configuration
// to say, not for callers: lists of commands are not consulted.
type Processes struct {
	commands *Commands // how commands of the owner would run; nil if it holds none
}

// ProcessRequest asks for one long-lived process.
type ProcessRequest struct {
	Argv []string
	Dir  string            // where it starts; empty means the working directory
	Env  map[string]string // besides a minimal environment
	// Unconfined starts it outside the kernel layers that hold commands to policy.
	// Only its environment, its bounds and its end are then as those of commands. There
	// is no bound on what it writes to disk.
	Unconfined bool
	Stderr     io.Writer // gets its standard error as it comes; may be nil, must not block
}

// Start starts a process that runs until it ends, the caller closes it, or ctx, the
// program or its [process.Launcher] ends. It takes no place of commands. The error is
// as that of [process.Children.Start].
func (p *Processes) Start(ctx context.Context, req ProcessRequest) (*process.Child, error) {
	c := p.commands
	if c == nil {
		return nil, errors.New("the tool does not declare that it holds processes")
	}
	s := process.Spec{Argv: req.Argv, Dir: cmp.Or(req.Dir, c.policy.WorkingDirectory), Bounds: c.bounds(), User: c.policy.User}
	s.Bounds.Disk = 0 // what it writes adds up as long as it runs
	if req.Unconfined {
		variables := map[string]string{}
		if maps.Copy(variables, req.Env); s.User != 0 {
			c.policy.takeHome(variables)
		}
		s.Env = process.MinimalEnv(variables)
		return c.kernel.children.Start(ctx, s, req.Stderr)
	}
	if filepath.IsAbs(req.Argv[0]) {
		c = new(*c)
		more := *c.scope()
		more.more = []string{filepath.Dir(req.Argv[0])}
		c.scope = func() *scope { return &more }
		if err := c.complete(); err != nil {
			return nil, err
		}
	}
	proxy, variables := c.throughProxy(req.Env, nil)
	if proxy != nil {
		s.Serve = proxy.Serve
	}
	var err error
	if s.Confine, _, err = c.confine([][]string{req.Argv}); err != nil {
		return nil, err
	}
	if s.Env, err = c.environment(variables); err != nil {
		return nil, err
	}
	s.Env = c.besideSecrets(s.Env)
	return c.kernel.children.Start(ctx, s, req.Stderr)
}

// Filters are programs that their owner has make text of files it has opened. They are the
// server's own means and not commands: allowlists of commands are not consulted, only
// denylists. Where the kernel confines, a filter reads what every program needs and the file
// that it is given, writes to its pipes only, and has no network.
type Filters struct {
	kernel *Kernel // nil if its owner declares none
	policy *Policy
	owner  Owner
	denied []string // paths
}

// FilterRequest asks for one run of a filter.
type FilterRequest struct {
	Argv   []string // by name, without a path
	File   *os.File // its standard input, from the beginning
	Output int      // how many bytes of its output are kept, from the beginning
	// Principal is for whom it runs: they share the places that commands have.
	Principal string
}

// Bounds of a filter, unless those of commands are lower.
const (
	filterMemory    = 1 << 30
	filterProcesses = 16
)

// MissingProgramError says that a filter is not installed.
type MissingProgramError struct{ Program string }

func (e *MissingProgramError) Error() string { return e.Program + " is not installed" }

// Filters returns the programs that the owner may filter files with.
func (c Capabilities) Filters() *Filters {
	if len(c.owner.Filters) == 0 || c.sandbox.kernel.runner == nil {
		return &Filters{owner: c.owner}
	}
	return &Filters{c.sandbox.kernel, &c.sandbox.policy, c.owner, c.guard(reading).DeniedPaths()}
}

// Run runs a filter to its end. The error is a [*MissingProgramError], a [*DeniedError] or one
// of the runner's. A filter that fails, times out or is cancelled is no error.
func (f *Filters) Run(ctx context.Context, req FilterRequest) (runner.Result, error) {
	name := req.Argv[0]
	if !slices.Contains(f.owner.Filters, name) {
		return runner.Result{}, fmt.Errorf("the tool does not declare that it filters files with %s", name)
	}
	if f.kernel == nil {
		return runner.Result{}, &MissingProgramError{name}
	}
	if err := f.decide(req.Argv); err != nil {
		return runner.Result{}, err
	}
	run := runner.Request{
		Argv: req.Argv, Dir: f.policy.WorkingDirectory, Env: process.MinimalEnv(nil), Bounds: f.bounds(), User: f.policy.User, Input: req.File,
		Owner: req.Principal, Split: true, Limits: runner.Limits{Inline: 2 * req.Output, Spill: -1},
	}
	if f.kernel.confines() {
		var err error
		if run.Confine, err = f.spec().Encode(); err != nil {
			return runner.Result{}, err
		}
	}
	if _, err := req.File.Seek(0, io.SeekStart); err != nil {
		return runner.Result{}, err
	}
	res, err := f.kernel.runner.Run(ctx, run)
	if _, notStarted := errors.AsType[*process.StartError](err); notStarted && errors.Is(err, fs.ErrNotExist) {
		err = &MissingProgramError{name}
	}
	return res, err
}

// decide asks the denylists of all commands: a program that must not run, however it is
// called, does not run here either.
func (f *Filters) decide(argv []string) error {
	var denied []command.Rule
	for _, o := range f.policy.Owners {
		if o.Runs != "" {
			denied = append(denied, f.policy.Tools[o.Tool].DeniedCommands...)
		}
	}
	if len(denied) == 0 {
		return nil
	}
	policy, err := command.Compile(command.Config{Denied: denied, Dir: f.policy.WorkingDirectory})
	if err != nil {
		return err
	}
	if v := policy.Decide(command.Request{Command: strings.Join(argv, " "), Dir: f.policy.WorkingDirectory}); !v.Allowed {
		return &DeniedError{v}
	}
	return nil
}

// spec is what the kernel lets a filter do.
func (f *Filters) spec() confine.Spec {
	k, limits := f.kernel, f.policy.Settings.Limits
	return confine.Spec{
		Deny:          f.denied,
		Limits:        confine.Limits{OpenFiles: uint64(limits.OpenFiles), FileSize: uint64(limits.FileSize)},
		BestEffort:    f.policy.Settings.Enforcement != EnforceRequired,
		WithoutBroker: true, // nothing can be written
		WithoutMounts: !k.support.MountNamespace, WithoutLandlock: k.support.LandlockABI == 0,
	}
}

func (f *Filters) bounds() process.Bounds {
	b, l := process.Bounds{Processes: filterProcesses, Memory: filterMemory, Disk: minDisk}, f.policy.Settings.Limits
	if l.Memory > 0 {
		b.Memory = min(b.Memory, l.Memory)
	}
	if l.Processes > 0 {
		b.Processes = min(b.Processes, l.Processes)
	}
	return b
}
