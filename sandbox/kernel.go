package sandbox

import (
	"fmt"
	"os"
	"sync"

	"toolserver/osfile"
	"toolserver/sandbox/confine"
	"toolserver/sandbox/netproxy"
	"toolserver/sandbox/process"
	"toolserver/sandbox/runner"
	"toolserver/share"
)

// Kernel is what stays the same whatever policy is in force: what this machine has to
// hold commands to it, which is found out once, when it is needed first, and the HTTP
// clients that tools keep.
type Kernel struct {
	runner   *runner.Runner
	launcher *process.Launcher // of runner, and of children
	children *process.Children
	scratch  *scratch
	network  *network
	proxied  *share.Pool // connections of commands, through proxies
	// Left is called with each temporary file of the file tools that could not be removed.
	// It is set before the first [New], and may be nil.
	Left func(path string, err error)

	programs func() []string // directories that hold programs
	memory   func() int64    // see DefaultMemory

	probe   sync.Once // sets what follows
	support confine.Support
	method  process.Method
	worse   error // why the best method is not used
}

// DefaultMemory is how many bytes a command may use where no limit is configured: half of
// what the machine has. Zero means no bound, because that is not known.
func DefaultMemory() int64 { return machineMemory() / 2 }

// NewKernel returns the kernel layer for commands that r runs. Its caller closes
// it when none runs any more.
func NewKernel(r *runner.Runner) *Kernel {
	k := &Kernel{runner: r, scratch: newScratch(), network: new(network), proxied: netproxy.NewPlaces(osfile.Descriptors()), programs: sync.OnceValue(confine.ProgramDirs), memory: sync.OnceValue(DefaultMemory)}
	if r != nil {
		k.launcher = r.Launcher()
		k.children = process.NewChildren(k.launcher, maxChildren)
	}
	return k
}

// Close removes the files that commands left in their temporary directory, and closes
// idle connections.
func (k *Kernel) Close() error {
	k.network.apply(nil)
	return k.scratch.remove()
}

func (k *Kernel) ready() {
	k.probe.Do(func() {
		k.method, k.worse = k.launcher.Method()
		k.support = confine.Probe()
		k.support.PIDNamespace = k.method == process.MethodNamespace
		if k.support.LandlockABI == 0 && !k.support.UserNamespace {
			hideProcess() // which Landlock does, or a namespace; with one it would get in the way
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
