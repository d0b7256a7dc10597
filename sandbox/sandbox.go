package sandbox

import (
	"sync"

	"toolserver/sandbox/pathguard"
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

	mu     sync.Mutex
	handed map[string]Handed
}

// New returns the sandbox of a policy, whose commands k holds to it. The lists are
// checked at once. The error also says what the policy requires of the kernel and
// cannot have.
func New(p Policy, k *Kernel) (*Sandbox, error) {
	s := &Sandbox{policy: p, kernel: k, commands: map[string]*Commands{}, handed: map[string]Handed{}}
	var err error
	if s.guards, err = newGuards(p); err != nil {
		return nil, err
	}
	if s.nothing, err = pathguard.New(p.WorkingDirectory, pathguard.Rules{}); err != nil {
		return nil, err
	}
	scanner := sync.OnceValue(func() *secretScanner { return newSecretScanner(p) })
	for _, o := range p.Owners {
		if o.Runs == "" && !o.Holds {
			continue
		}
		if s.commands[o.Tool], err = s.newCommands(o, scanner); err != nil {
			return nil, err
		}
	}
	if s.fetches, err = newHostPolicies(p); err != nil {
		return nil, err
	}
	k.network.begin(s.fetches)
	return s, nil
}

// TakeEffect applies this policy to the HTTP clients that tools keep. The first
// sandbox of a [Kernel] is in effect at once.
func (s *Sandbox) TakeEffect() { s.kernel.network.apply(s.fetches) }

// Close releases the descriptors of directories. Calls in flight are not disturbed,
// and later ones work, only slower.
func (s *Sandbox) Close() {
	for _, guard := range s.guards {
		_ = guard.Close() // it has only directories open
	}
}

// WorkingDirectory is where relative paths start.
func (s *Sandbox) WorkingDirectory() string { return s.policy.WorkingDirectory }

// Handed returns what a tool has been handed so far.
func (s *Sandbox) Handed(tool string) Handed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handed[tool]
}

// Layers says what holds commands to the policy on this machine.
func (s *Sandbox) Layers() Layers {
	for _, o := range s.policy.Owners {
		if c := s.commands[o.Tool]; c != nil {
			return c.Layers()
		}
	}
	return Layers{Enforcement: s.policy.enforcement()}
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

// note records that the owner was handed something.
func (c Capabilities) note(add func(*Handed)) {
	c.sandbox.mu.Lock()
	defer c.sandbox.mu.Unlock()
	h := c.sandbox.handed[c.owner.Tool]
	add(&h)
	c.sandbox.handed[c.owner.Tool] = h
}

// guard returns the owner's guard for u.
func (c Capabilities) guard(u use) *pathguard.Guard {
	if g := c.sandbox.guards[guardKey{u, c.owner.Tool}]; g != nil {
		return g
	}
	return c.sandbox.nothing
}

// Reader returns the files that the owner may read.
func (c Capabilities) Reader() *Reader {
	if c.owner.Reads != "" {
		c.note(func(h *Handed) { h.Reads = true })
	}
	return &Reader{c.guard(reading)}
}

// Writer returns the files that the owner may write.
func (c Capabilities) Writer() *Writer {
	if c.owner.Writes != "" {
		c.note(func(h *Handed) { h.Writes = true })
	}
	return &Writer{Reader{c.guard(writing)}}
}

// Commands returns the commands that the owner may run. They read and write files,
// so these are handed out with them.
func (c Capabilities) Commands() *Commands {
	made := c.sandbox.commands[c.owner.Tool]
	if made == nil || c.owner.Runs == "" {
		return &Commands{kernel: c.sandbox.kernel, owner: c.owner}
	}
	c.note(func(h *Handed) { h.Runs, h.Reads, h.Writes = true, c.owner.Reads != "", c.owner.Writes != "" })
	return made
}

// Processes returns the long-lived processes that the owner may hold.
func (c Capabilities) Processes() *Processes {
	if !c.owner.Holds {
		return new(Processes)
	}
	c.note(func(h *Handed) { h.Holds, h.Reads, h.Writes = true, c.owner.Reads != "", c.owner.Writes != "" })
	return &Processes{c.sandbox.commands[c.owner.Tool]}
}

// Fetcher returns what the owner sends HTTP requests with.
func (c Capabilities) Fetcher() *Fetcher {
	if c.owner.Fetches == "" {
		return newFetcher(policyOf(nil, c.owner.Tool))
	}
	c.note(func(h *Handed) { h.Fetches = true })
	return c.sandbox.kernel.network.fetcher(c.owner.Tool)
}
