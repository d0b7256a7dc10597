package confine

import (
	"path/filepath"
	"slices"
)

// Missing says what of the spec cannot be enforced with have.
func (s Spec) Missing(have Support) []Gap {
	s.WithoutMounts = s.WithoutMounts || !have.MountNamespace
	p, err := s.resolve()
	if err != nil {
		return []Gap{{What: "the confinement of commands", Why: err.Error(), Help: "correct the paths of the policy"}}
	}
	var list []Gap
	add := func(what, why, help string) { list = append(list, Gap{what, why, help}) }
	abi := have.LandlockABI
	if abi == 0 {
		add("which files commands may read, write and start", "there is no Landlock", helpLandlock)
	}
	if abi > 0 && abi < abiTruncate && s.WithoutMounts {
		add("that files outside the write paths are not cut off (truncate)", "Landlock knows of it from Linux 6.2 on",
			"run a later kernel; or "+helpMountNS)
	}
	if abi > 0 && abi < abiScope {
		add("that commands do not signal other processes of their user", "Landlock knows of it from Linux 6.12 on",
			"run a later kernel, or commands in PID namespaces")
	}
	if !have.Seccomp {
		add("network: "+s.Network.String()+", and that commands do not trace other processes or make namespaces", "there is no seccomp", helpSeccomp)
	}
	if s.Network == Loopback && !have.NetNamespace {
		add("network: loopback", "there are no network namespaces", helpMountNS)
	}
	if p.execList {
		for _, dir := range programDirs {
			dir, err := filepath.EvalSymlinks(dir)
			written := func(g grant) bool { return g.rights&canWrite != 0 && (beneath(dir, g.path) || beneath(g.path, dir)) }
			if err == nil && slices.ContainsFunc(p.grants, written) {
				add("that only listed programs start", "programs in "+dir+" may be written, so they can be read", "allow to write less")
				break
			}
		}
	}
	if s.WithoutMounts {
		for _, m := range p.mounts {
			switch m.kind {
			case mountHidden:
				add("that "+m.path+" is hidden inside a path that is allowed", "there are no mount namespaces, and Landlock cannot subtract",
					"allow paths beside it instead; or "+helpMountNS)
			case mountReadOnly:
				add("that "+m.path+" is read-only inside a path that may be written", "there are no mount namespaces, and Landlock cannot subtract",
					"allow paths beside it instead; or "+helpMountNS)
			}
		}
		if p.execList {
			add("that a command starts no program it wrote itself", "without mount namespaces the dynamic loader runs what it can read", helpMountNS)
		}
		if s.AllowMetadata {
			add("that modes, owners and times of files outside the write paths do not change",
				"there are no mount namespaces, and Landlock does not know of them", helpMountNS)
		}
	}
	if s.Limits != (Limits{}) && !have.StopAtStart {
		add("the limits", "a command cannot be stopped before it runs", helpStop)
	}
	return list
}

// SideEffects says which ordinary work fails because of how the spec is enforced
// with have, each in a sentence with what would help.
func (s Spec) SideEffects(have Support) []string {
	if have.MountNamespace && !s.WithoutMounts || s.AllowMetadata || !have.Seccomp {
		return nil
	}
	return []string{"commands cannot change modes, owners, times and attributes of any file (chmod, touch, cp -p, tar, gzip and git init fail): " +
		"without mount namespaces that is the way to protect files outside the write paths; " + helpMountNS + "; or allow such changes everywhere"}
}
