package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/netproxy"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/programs"
	"github.com/toolserver/toolserver/sandbox/runner"
	"github.com/toolserver/toolserver/sandbox/scratch"
)

// Kernel is what stays the same whatever policy is in force: what this machine has to
// hold commands to it, which is found out once, when it is needed first, and the HTTP
// clients that tools keep.
type Kernel struct {
	runner   *runner.Runner
	launcher *process.Launcher // of runner, and of children
	children *process.Children
	scratch  *scratch.Dir
	network  *network
	proxied  *share.Pool // connections of commands, through proxies
	// Left is called with each temporary file of the file tools that could not be removed.
	// It is set before the first [New], and may be nil.
	Left func(path string, err error)

	programs func() []string // directories that hold programs
	memory   func() int64    // see DefaultMemory

	parent  *Kernel   // of [Kernel.Fork]; nil for the first
	probe   sync.Once // sets what follows
	support confine.Support
	method  process.Method
	worse   error // why the best method is not used
}

// DefaultMemory is how many bytes a command may use where no limit is configured: half of
// what the machine has. Zero means no bound, because that is not known.
func DefaultMemory() int64 { return process.MachineMemory() / 2 }

// NewKernel returns the kernel layer for commands that r runs. Its caller closes
// it when none runs any more.
func NewKernel(r *runner.Runner) *Kernel {
	k := &Kernel{
		runner: r, scratch: scratch.New(0), network: new(network), proxied: netproxy.NewPlaces(osfile.Descriptors()),
		programs: sync.OnceValue(confine.ProgramDirs), memory: sync.OnceValue(DefaultMemory),
	}
	if r != nil {
		k.launcher = r.Launcher()
		k.children = process.NewChildren(k.launcher, maxChildren)
	}
	return k
}

// Fork returns a kernel layer for another policy that is in force at the same time: it has temporary files, of a user if that is not
// zero, and HTTP clients of its own, and the processes of k. Its caller closes it.
func (k *Kernel) Fork(user int) *Kernel {
	return &Kernel{
		runner: k.runner, launcher: k.launcher, children: k.children, proxied: k.proxied, programs: k.programs, memory: k.memory, Left: k.Left,
		scratch: scratch.New(user), network: new(network), parent: k,
	}
}

// Close removes the files that commands left in their temporary directory, and closes
// idle connections.
func (k *Kernel) Close() error {
	k.network.apply(nil)
	return k.scratch.Remove()
}

func (k *Kernel) ready() {
	k.probe.Do(func() {
		if k.parent != nil {
			k.parent.ready()
			k.method, k.worse, k.support = k.parent.method, k.parent.worse, k.parent.support
			return
		}
		k.method, k.worse = k.launcher.Method()
		k.support = confine.Probe()
		k.support.PIDNamespace = k.method == process.MethodNamespace
		k.support.Broker = k.support.Broker && k.launcher.OwnProc() // which finds callers there
		if k.support.LandlockABI == 0 && !k.support.UserNamespace {
			process.Hide() // which Landlock does, or a namespace; with one it would get in the way
		}
		// Mounts take a supervisor that is root, or init of its namespace.
		if k.method != process.MethodNamespace && os.Geteuid() != 0 {
			k.support.MountNamespace, k.support.NetNamespace = false, false
		}
	})
}

const helpSupervisor = "run the server on Linux, where it may start a second process of its own program and has /proc and /dev/null"

// gaps returns what of spec cannot be enforced.
func (k *Kernel) gaps(spec confine.Spec) []confine.Gap {
	if !k.confines() {
		why := fmt.Sprintf("commands are started as a %s", k.method)
		if k.worse != nil {
			why += ", since a supervisor is refused: " + k.worse.Error()
		}
		if gaps := spec.Missing(k.support); k.support.LandlockABI == 0 && len(gaps) > 0 {
			return gaps
		}
		return []confine.Gap{{What: "the confinement of commands", Why: why, Help: helpSupervisor}}
	}
	return spec.Missing(k.support)
}

// ownTemp reports whether commands have a /tmp of their own.
func (k *Kernel) ownTemp() bool {
	k.ready()
	return k.support.MountNamespace
}

// confines reports whether commands have what confines them: a supervisor, or on
// macOS a program of the system.
func (k *Kernel) confines() bool {
	k.ready()
	return k.support.Seatbelt || k.method == process.MethodNamespace || k.method == process.MethodSubreaper
}

// maxNoticed is how many gaps each result names.
const maxNoticed = 5

// Layers finds out which layers are in force for the commands. It takes some
// milliseconds the first time.
func (c *Commands) Layers() domain.SandboxLayers {
	c.kernel.ready()
	parsed := "commands: parsed and checked"
	if listed, err := c.Listed(); err == nil && !listed {
		parsed = "commands: parsed, and checked by the files they spell out (there is no list of commands)"
	}
	l := domain.SandboxLayers{
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
			gaps = append(gaps, confine.Gap{
				What: "the limit of disk", Why: "this kernel does not count what processes write", Help: "it takes CONFIG_TASK_IO_ACCOUNTING",
			})
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
	if hosts := programs.Hosts(c.policy.Settings.Presets); len(hosts) > 0 && spec.Network == confine.Proxied {
		l.InForce = append(l.InForce, "hosts of presets: "+strings.Join(hosts, ", "))
	}
	l.SideEffects = spec.SideEffects(c.kernel.support)
	if spec.Exec != nil {
		l.SideEffects = append(l.SideEffects, c.confinement.listed.Unusables()...)
	}
	var short []string
	for _, g := range gaps {
		l.Missing = append(l.Missing, g.String())
		short = append(short, g.What)
	}
	if _, err := c.kernel.scratch.Place(); err != nil {
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
