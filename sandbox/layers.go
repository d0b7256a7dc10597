package sandbox

import (
	"cmp"
	"fmt"
	"strings"

	"toolserver/sandbox/confine"
	"toolserver/sandbox/process"
)

// Layers says what holds tools to policy on this machine.
type Layers struct {
	Enforcement string   `json:"enforcement"`
	InForce     []string `json:"in_force"`               // each in a few words
	Missing     []string `json:"missing,omitempty"`      // what of the policy is not enforced, why, and what would help
	SideEffects []string `json:"side_effects,omitempty"` // ordinary work that fails because of how it is enforced
	Presets     []string `json:"presets,omitempty"`      // of tool chains that are in force
	Caches      string   `json:"caches,omitempty"`       // the directory where commands keep theirs
	Notice      string   `json:"notice,omitempty"`       // what each result says of what is missing
}

// maxNoticed is how many gaps each result names.
const maxNoticed = 5

// Layers finds out which layers are in force for the commands. It takes some
// milliseconds the first time.
func (c *Commands) Layers() Layers {
	c.kernel.ready()
	parsed := "commands: parsed and checked"
	if listed, err := c.Listed(); err == nil && !listed {
		parsed = "commands: parsed, and checked by the files they spell out (there is no list of commands)"
	}
	l := Layers{
		Enforcement: c.policy.enforcement(),
		InForce:     []string{"paths: checked on the opened file", parsed, "process tree: " + string(c.kernel.method)},
	}
	var gaps []confine.Gap
	switch b, kept := c.bounds(), c.kernel.launcher.BoundsMethod(); {
	case b == (process.Bounds{}):
	case kept == "":
		gaps = append(gaps, confine.Gap{What: "the limits of processes, memory and disk", Why: "commands have no supervisor here", Help: helpSupervisor})
	default:
		l.InForce = append(l.InForce, fmt.Sprintf("limits: %d processes and threads, %d MiB of memory (%s), %d MiB written to disk (watched by the supervisor)",
			b.Processes, b.Memory>>20, kept, b.Disk>>20))
		if !exists("/proc/self/io") {
			gaps = append(gaps, confine.Gap{What: "the limit of disk", Why: "this kernel does not count what processes write", Help: "it takes CONFIG_TASK_IO_ACCOUNTING"})
		}
	}
	if c.confinement == nil {
		l.Missing = []string{"the kernel does not confine commands, since the configuration says sandbox.enforcement: " + EnforceParseOnly +
			", so that they read and write all that the user of the server can"}
		l.Notice = "sandbox: parse_only; the kernel does not confine commands"
		return l
	}
	l.Presets, l.Caches = c.around().presets, c.around().caches
	spec := c.confinement.spec()
	gaps = append(c.confinement.gaps(), gaps...)
	if c.kernel.confines() {
		l.InForce = append(l.InForce, c.kernel.kinds(spec, c.policy.Settings.Network.inForce(c.kernel.support))...)
	}
	if hosts := PresetHosts(c.policy.Settings.Presets); len(hosts) > 0 && spec.Network == confine.Proxied {
		l.InForce = append(l.InForce, "hosts of presets: "+strings.Join(hosts, ", "))
	}
	l.SideEffects = spec.SideEffects(c.kernel.support)
	if spec.Exec != nil {
		l.SideEffects = append(l.SideEffects, c.confinement.unusables()...)
	}
	var short []string
	for _, g := range gaps {
		l.Missing = append(l.Missing, g.String())
		short = append(short, g.What)
	}
	if _, err := c.kernel.scratch.place(); err != nil {
		l.Missing = append(l.Missing, "no command can start, since there is no place for temporary files: "+
			strings.ReplaceAll(err.Error(), "\n", "; ")+"; set TMPDIR to a directory that the user of the server may write")
	}
	if more := len(short) - maxNoticed; more > 0 {
		short = append(short[:maxNoticed], fmt.Sprintf("and %d more (toolserver check lists them)", more))
	}
	if len(short) > 0 {
		l.Notice = "sandbox: " + l.Enforcement + "; not enforced by the kernel: " + strings.Join(short, "; ")
	}
	return l
}

// kinds names what the kernel offers and spec uses.
func (k *Kernel) kinds(spec confine.Spec, network string) (list []string) {
	if (spec.Network == confine.Loopback || spec.Network == confine.Proxied) && !k.support.NetNamespace && !k.support.Seatbelt {
		network = "network: " + confine.None.String()
	}
	if k.support.LandlockABI > 0 {
		list = append(list, fmt.Sprintf("files and programs: landlock (ABI %d)", k.support.LandlockABI))
	}
	if k.support.Seatbelt {
		list = append(list, "files, programs and network: sandbox-exec", network)
	}
	if k.support.Seccomp {
		list = append(list, "system calls: seccomp", network)
	}
	if k.support.MountNamespace && !spec.WithoutMounts {
		list = append(list, "protected files and metadata: mount namespace")
	}
	return list
}

func (p Policy) enforcement() string { return cmp.Or(p.Settings.Enforcement, EnforceBestEffort) }

// Summary is what each result says of the layers.
type Summary struct {
	Enforcement string `json:"enforcement"`
	Missing     string `json:"missing"`
}

// Summary returns what results say of the layers: the setting and, in one line, what
// of the policy is not enforced; nil if all of it is. It is found out once.
func (c *Commands) Summary() *Summary { return c.summary() }
