// Package sandbox is the only way tools touch the world. It compiles one policy
// into what each tool is handed: files it may open (package pathguard),
// commands it may run (packages command, confine and runner), hosts it may
// reach (package netguard), and a private directory for its state. A tool gets what
// it declares in an [Owner], and nothing else; the package knows no tool by name.
package sandbox

import (
	"slices"
	"sync"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// A Sandbox is made once for each policy and hands owners what that lets them have.
// Calls in flight go on with the Sandbox they began with.
type Sandbox struct {
	policy   Policy
	kernel   *Kernel
	guards   map[guardKey]*pathguard.Guard
	nothing  *pathguard.Guard       // allows no path
	commands map[string]*Commands   // of owners that run commands or hold processes
	fetches  map[string]*hostPolicy // of fetchers, once the policy is in force

	recipients map[string]*Recipients // of owners that mail
}

// New returns the sandbox of a policy, whose commands k holds to it. The lists are
// checked at once. The error also says what the policy requires of the kernel and
// cannot have.
func New(p Policy, k *Kernel) (*Sandbox, error) {
	s := &Sandbox{policy: p, kernel: k, commands: map[string]*Commands{}}
	var err error
	if s.guards, err = newGuards(p, k.Left); err != nil {
		return nil, err
	}
	if s.nothing, err = pathguard.New(p.WorkingDirectory, pathguard.Rules{}); err != nil {
		return nil, err
	}
	files := sync.OnceValue(func() *protectedFiles { return newProtectedFiles(p, s.readers()...) })
	for _, o := range p.Owners {
		if o.Runs == "" && !o.Holds {
			continue
		}
		if s.commands[o.Tool], err = s.newCommands(o, files); err != nil {
			return nil, err
		}
	}
	if s.recipients, err = newRecipients(p); err != nil {
		return nil, err
	}
	if s.fetches, err = newHostPolicies(p); err != nil {
		return nil, err
	}
	k.network.CompareAndSwap(nil, &s.fetches)
	return s, nil
}

// readers returns the guards of what commands read.
func (s *Sandbox) readers() (all []*pathguard.Guard) {
	for _, o := range s.policy.Owners {
		if g := s.guards[guardKey{reading, o.Tool}]; g != nil && (o.Runs != "" || o.Holds) && !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// TakeEffect applies this policy to the HTTP clients that tools keep. The first
// sandbox of a [Kernel] is in effect at once.
func (s *Sandbox) TakeEffect() { s.kernel.network.apply(&s.fetches) }

// WorkingDirectory is where relative paths start.
func (s *Sandbox) WorkingDirectory() string { return s.policy.WorkingDirectory }

// Layers says what holds commands to the policy on this machine.
func (s *Sandbox) Layers() domain.SandboxLayers {
	for _, o := range s.policy.Owners {
		if c := s.commands[o.Tool]; c != nil {
			return c.Layers()
		}
	}
	return domain.SandboxLayers{Enforcement: s.policy.enforcement()}
}

// For returns the capabilities of a tool.
func (s *Sandbox) For(tool string) Capabilities { return Capabilities{s, s.policy.owner(tool)} }

// Capabilities hand a tool what it declares. What it does not declare allows nothing:
// no file, no commands, no hosts, no state.
type Capabilities struct {
	sandbox *Sandbox
	owner   Owner
}

// Tool returns the name of the owner.
func (c Capabilities) Tool() string { return c.owner.Tool }

// Asks reports whether a person is asked about what no list of a kind has.
func (c Capabilities) Asks(kind string) bool {
	return slices.Contains(c.sandbox.policy.Settings.Ask, kind)
}

// Policy identifies the policy: it is the same for all owners.
func (c Capabilities) Policy() any { return c.sandbox }

// InForce reports whether no other policy has taken effect since.
func (c Capabilities) InForce() bool { return c.sandbox.kernel.network.Load() == &c.sandbox.fetches }

// guard returns the owner's guard for u.
func (c Capabilities) guard(u use) *pathguard.Guard {
	if g := c.sandbox.guards[guardKey{u, c.owner.Tool}]; g != nil {
		return g
	}
	return c.sandbox.nothing
}

// Reader returns the files that the owner may read.
func (c Capabilities) Reader() *Reader {
	p, k, g := &c.sandbox.policy, c.sandbox.kernel, c.guard(reading)
	i := slices.IndexFunc(p.Owners, func(o Owner) bool { return o.Runs != "" })
	if !p.TemporaryFiles || i < 0 || g == c.sandbox.nothing {
		return &Reader{g}
	}
	return &Reader{&temporaryReader{g, c.sandbox.commands[p.Owners[i].Tool].files, sync.OnceValue(func() *pathguard.Guard {
		_, deny := p.pathLists(reading, c.owner)
		rules := pathguard.Rules{Allow: []string{k.scratch.Private(), k.scratch.Temporary()}, Deny: deny, DenyHardlinks: true, Protect: p.protected(reading)}
		files, err := pathguard.New(p.WorkingDirectory, rules)
		if err != nil {
			return c.sandbox.nothing
		}
		return files
	})}}
}

// ReaderIn returns the files in directories, which configuration names for something else than tools, except those that the
// owner is denied.
func (c Capabilities) ReaderIn(dirs []string) (*Reader, error) {
	p := c.sandbox.policy
	_, deny := p.pathLists(reading, c.owner)
	g, err := pathguard.New(p.WorkingDirectory, pathguard.Rules{
		Allow: dirs, Deny: deny, Roots: p.Roots, DenyHardlinks: p.denyHardlinks(reading, c.owner.head(reading)), Protect: p.protected(reading),
	})
	return &Reader{g}, err
}

// Writer returns the files that the owner may write.
func (c Capabilities) Writer() *Writer {
	return &Writer{c.guard(writing)}
}

// Commands returns the commands that the owner may run.
func (c Capabilities) Commands() *Commands {
	if c.owner.Runs == "" {
		return &Commands{kernel: c.sandbox.kernel, owner: c.owner}
	}
	return c.sandbox.commands[c.owner.Tool]
}

// Jobs returns the background jobs that the owner may watch.
func (c Capabilities) Jobs() *Jobs {
	if !c.owner.Watches {
		return new(Jobs)
	}
	return &Jobs{c.sandbox.kernel.runner}
}

// Processes returns the long-lived processes that the owner may hold.
func (c Capabilities) Processes() *Processes {
	if !c.owner.Holds {
		return new(Processes)
	}
	return &Processes{c.sandbox.commands[c.owner.Tool]}
}

// Fetcher returns what the owner sends HTTP requests with.
func (c Capabilities) Fetcher() *Fetcher {
	if c.owner.Fetches == "" {
		return &Fetcher{new(network), c.owner.Tool}
	}
	return &Fetcher{c.sandbox.kernel.network, c.owner.Tool}
}
