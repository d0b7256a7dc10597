package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A plan is a resolved [Spec]: paths without links, and what is to be done with
// each, in this order.
type plan struct {
	settings
	grants []grant
	mounts []mount
}

// settings are all of a plan but its paths, of which they have the numbers.
type settings struct {
	Version       int
	Network       Network
	UnixSockets   bool
	AllowMetadata bool
	BestEffort    bool
	ExecList      bool // only what a grant says may be started
	WritableRoot  bool // the root directory itself is a write path
	WithoutMounts bool
	Limits        Limits
	Grants        int
	Mounts        int
}

// A grant is a Landlock rule.
type grant struct {
	rights rights
	path   string
}

// A mount is what is mounted over a path in a mount namespace.
type mount struct {
	kind mountKind
	path string
}

type mountKind uint8

const (
	mountWrite    mountKind = iota + 1 // itself, writable
	mountData                          // itself, writable, but nothing in it can be run
	mountPin                           // itself, so that it cannot be renamed
	mountExec                          // itself, and what is in it can be run
	mountReadOnly                      // itself, read-only
	mountHidden                        // nothing
	lastMountKind = mountHidden
)

// needsMounts says whether the plan asks for what only a mount namespace does.
func (p *plan) needsMounts() bool {
	return slices.ContainsFunc(p.mounts, func(m mount) bool { return m.kind == mountReadOnly || m.kind == mountHidden })
}

const (
	planVersion = 3
	maxPlan     = 1 << 20 // bytes
	maxPaths    = 8192
)

var errPlan = errors.New("the confinement is not what this version encodes")

// encode returns the settings as JSON and then, for each grant and mount, a byte and
// a path. Every part ends with a NUL, which no path holds.
func (p *plan) encode() ([]byte, error) {
	if n := len(p.grants) + len(p.mounts); n > maxPaths {
		return nil, fmt.Errorf("the policy takes %d rules for single paths, and %d is the most; allow whole directories instead", n, maxPaths)
	}
	head := p.settings
	head.Version, head.Grants, head.Mounts = planVersion, len(p.grants), len(p.mounts)
	b, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	b = append(b, 0)
	add := func(first byte, path string) { b = append(append(append(b, first+'0'), path...), 0) }
	for _, g := range p.grants {
		add(byte(g.rights), g.path)
	}
	for _, m := range p.mounts {
		add(byte(m.kind), m.path)
	}
	if len(b) > maxPlan {
		return nil, fmt.Errorf("the policy takes %d bytes for its paths, and %d is the most; allow whole directories instead", len(b), maxPlan)
	}
	return b, nil
}

func decodePlan(b []byte) (*plan, error) {
	head, rest, _ := bytes.Cut(b, []byte{0})
	p := new(plan)
	if err := json.Unmarshal(head, &p.settings); err != nil {
		return nil, errPlan
	}
	paths := strings.Split(string(rest), "\x00")
	n := len(paths) - 1 // behind the last NUL is nothing
	if p.Version != planVersion || p.Network > All || p.Grants < 0 || p.Mounts < 0 || n > maxPaths || p.Grants+p.Mounts != n || paths[n] != "" {
		return nil, errPlan
	}
	for i, entry := range paths[:n] {
		if len(entry) < 2 || entry[0] < '0' || len(entry) > maxPath+1 || checkPath(entry[1:]) != nil {
			return nil, errPlan
		}
		first, path := entry[0]-'0', entry[1:]
		switch {
		case i < p.Grants && rights(first) <= allRights:
			p.grants = append(p.grants, grant{rights(first), path})
		case i >= p.Grants && first > 0 && mountKind(first) <= lastMountKind:
			p.mounts = append(p.mounts, mount{mountKind(first), path})
		default:
			return nil, errPlan
		}
	}
	return p, nil
}
