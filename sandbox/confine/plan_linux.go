package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolserver/toolserver/sandbox/broker"
)

// A plan is a resolved [Spec]: paths without links, and what is to be done with
// each, in this order.
type plan struct {
	Spec              // its lists of paths are resolved, and not encoded
	ExecList     bool // only what a grant says may be started
	WritableRoot bool // the root directory itself is a write path
	Grants       int  // how many there are, in what is encoded
	Mounts       int

	grants   []grant
	mounts   []mount
	byPath   map[string]rights // the grants while they are collected
	programs []string          // directories whose files are not to be read
	broker   *broker.Broker    // nil without names to protect
	nobody   func() int        // see the function

	// Of a thread that was restricted:
	separated bool  // it has mounts of its own, and with them shared memory and queues
	covered   bool  // with covers
	listener  int   // for the broker; negative if there is none
	lock      int   // that of Lock; negative if there is none
	inMemory  []int // file systems in memory that can be written to
	notes     notes
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
	mountRead                          // itself, read-only, from below a /tmp of the command's own
	mountPin                           // itself, so that it cannot be renamed
	mountExec                          // itself, and what is in it can be run
	mountReadOnly                      // itself, read-only
	mountHidden                        // nothing
	mountApart                         // nothing but what is mounted below it
)

// needsMounts says whether the plan asks for what only a mount namespace does.
func (p *plan) needsMounts() bool {
	return slices.ContainsFunc(p.mounts, func(m mount) bool { return m.kind == mountReadOnly || m.kind == mountHidden || m.kind == mountApart })
}

// services says whether the command may connect to the sockets of the machine.
func (p *plan) services() bool { return p.UnixSockets && p.Network != None }

const (
	maxPlan  = 1 << 20 // bytes
	maxPaths = 8192
)

var errPlan = errors.New("the confinement is not what this program encodes")

// encode returns the plan as JSON and then, for each grant and mount, a number and a
// path. Every part ends with a NUL, which no path holds: JSON would change paths that
// are not UTF-8.
func (p *plan) encode() ([]byte, error) {
	if n := len(p.grants) + len(p.mounts); n > maxPaths {
		return nil, fmt.Errorf("the policy takes %d rules for single paths, and %d is the most; allow whole directories instead", n, maxPaths)
	}
	p.Grants, p.Mounts = len(p.grants), len(p.mounts)
	b, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	b = append(b, 0)
	for _, g := range p.grants {
		b = fmt.Appendf(b, "%d %s\x00", g.rights, g.path)
	}
	for _, m := range p.mounts {
		b = fmt.Appendf(b, "%d %s\x00", m.kind, m.path)
	}
	if len(b) > maxPlan {
		return nil, fmt.Errorf("the policy takes %d bytes for its paths, and %d is the most; allow whole directories instead", len(b), maxPlan)
	}
	return b, nil
}

func decodePlan(b []byte) (*plan, error) {
	head, rest, _ := bytes.Cut(b, []byte{0})
	p := new(plan)
	if err := json.Unmarshal(head, p); err != nil {
		return nil, errPlan
	}
	entries := strings.Split(string(rest), "\x00")
	n := len(entries) - 1 // behind the last NUL is nothing
	if p.Network > All || p.Grants < 0 || p.Mounts < 0 || n > maxPaths || p.Grants+p.Mounts != n || entries[n] != "" {
		return nil, errPlan
	}
	for i, entry := range entries[:n] {
		number, path, _ := strings.Cut(entry, " ")
		code, err := strconv.ParseUint(number, 10, 64)
		switch {
		case err != nil || checkPath(path) != nil:
			return nil, errPlan
		case i < p.Grants:
			p.grants = append(p.grants, grant{rights(code), path})
		case code == 0 || code > uint64(mountApart):
			return nil, errPlan
		default:
			p.mounts = append(p.mounts, mount{mountKind(code), path})
		}
	}
	if p.Protect.Needed() && !p.WithoutBroker {
		broker, err := broker.New(p.Protect)
		if err != nil {
			return nil, fmt.Errorf("protect names: %w", err)
		}
		p.broker = broker
	}
	return p, nil
}
