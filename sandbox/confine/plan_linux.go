package confine

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A plan is a resolved [Spec]: paths without links, and what is to be done with
// each, in this order.
type plan struct {
	network       Network
	unixSockets   bool
	allowMetadata bool
	bestEffort    bool
	execList      bool // only what a grant says may be started
	writableRoot  bool // the root directory itself is a write path
	withoutMounts bool
	limits        Limits
	grants        []grant
	mounts        []mount
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
	for _, m := range p.mounts {
		if m.kind == mountReadOnly || m.kind == mountHidden {
			return true
		}
	}
	return false
}

const (
	planVersion = 2
	maxPlan     = 1 << 20 // bytes
	maxPaths    = 8192
)

var errPlan = errors.New("the confinement is not what this version encodes")

// flags are the settings that are on or off, one bit for each.
func (p *plan) flags() []*bool {
	return []*bool{&p.unixSockets, &p.allowMetadata, &p.bestEffort, &p.execList, &p.writableRoot, &p.withoutMounts}
}

func (p *plan) encode() ([]byte, error) {
	if n := len(p.grants) + len(p.mounts); n > maxPaths {
		return nil, fmt.Errorf("the policy takes %d rules for single paths, and %d is the most; allow whole directories instead", n, maxPaths)
	}
	flags := byte(0)
	for i, set := range p.flags() {
		if *set {
			flags |= 1 << i
		}
	}
	b := []byte{planVersion, byte(p.network), flags}
	for _, n := range p.limits.list() {
		b = binary.AppendUvarint(b, n)
	}
	b = binary.AppendUvarint(b, uint64(len(p.grants)))
	for _, g := range p.grants {
		b = appendPath(append(b, byte(g.rights)), g.path)
	}
	b = binary.AppendUvarint(b, uint64(len(p.mounts)))
	for _, m := range p.mounts {
		b = appendPath(append(b, byte(m.kind)), m.path)
	}
	if len(b) > maxPlan {
		return nil, fmt.Errorf("the policy takes %d bytes for its paths, and %d is the most; allow whole directories instead", len(b), maxPlan)
	}
	return b, nil
}

func appendPath(b []byte, path string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(path))), path...)
}

func (l Limits) list() []uint64 {
	return []uint64{l.OpenFiles, l.FileSize, l.CPUSeconds, l.Memory}
}

func decodePlan(b []byte) (*plan, error) {
	if len(b) < 3 || len(b) > maxPlan || b[0] != planVersion || b[1] > byte(All) {
		return nil, errPlan
	}
	p := &plan{network: Network(b[1])}
	if b[2]>>len(p.flags()) != 0 {
		return nil, errPlan
	}
	for i, set := range p.flags() {
		*set = b[2]&(1<<i) != 0
	}
	d := decoder{b: b[3:]}
	p.limits = Limits{OpenFiles: d.number(), FileSize: d.number(), CPUSeconds: d.number(), Memory: d.number()}
	p.grants = make([]grant, d.count())
	for i := range p.grants {
		p.grants[i] = grant{rights(d.byte()), d.path()}
	}
	p.mounts = make([]mount, d.count())
	for i := range p.mounts {
		p.mounts[i] = mount{mountKind(d.byte()), d.path()}
		if k := p.mounts[i].kind; k == 0 || k > lastMountKind {
			d.failed = true
		}
	}
	if d.failed || len(d.b) > 0 {
		return nil, errPlan
	}
	return p, nil
}

// A decoder reads from b until something is wrong, and then zero values.
type decoder struct {
	b      []byte
	failed bool
}

func (d *decoder) fail() { d.b, d.failed = nil, true }

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

// count is a number of paths, each of which takes at least three bytes.
func (d *decoder) count() int {
	n := d.number()
	if n > maxPaths || n > uint64(len(d.b)/3) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) path() string {
	n := d.number()
	if n == 0 || n > maxPath || n > uint64(len(d.b)) {
		d.fail()
		return "/"
	}
	path := string(d.b[:n])
	d.b = d.b[n:]
	if err := checkPath(path); err != nil {
		d.fail()
	}
	return path
}
