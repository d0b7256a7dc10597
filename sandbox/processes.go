package sandbox

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"

	"toolserver/sandbox/process"
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
	s := process.Spec{Argv: req.Argv, Dir: cmp.Or(req.Dir, c.policy.WorkingDirectory), Bounds: c.bounds()}
	s.Bounds.Disk = 0 // what it writes adds up as long as it runs
	if req.Unconfined {
		s.Env = process.MinimalEnv(req.Env)
		return c.kernel.children.Start(ctx, s, req.Stderr)
	}
	if filepath.IsAbs(req.Argv[0]) {
		c = new(*c)
		c.programs = []string{filepath.Dir(req.Argv[0])}
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
