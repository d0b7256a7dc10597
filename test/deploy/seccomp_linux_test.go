package deploy

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

var update = flag.Bool("update", false, "write the seccomp profile")

const profileFile = "../../deploy/kubernetes/seccomp/toolserver.json"

// needed are the system calls that the sandbox makes and that the default profile keeps for CAP_SYS_ADMIN. The kernel allows them
// to who has that capability in a user namespace; clone makes one. clone3, setns and pivot_root are not among them.
var needed = []string{"clone", "fsconfig", "fsmount", "fsopen", "mount", "mount_setattr", "move_mount", "open_tree", "umount2", "unshare"}

// defaultProfile is that of container runtimes for a container without capabilities, in the form that they load from a node.
func defaultProfile(more ...string) specs.LinuxSeccomp {
	has := func(list []string, some ...string) bool {
		return slices.ContainsFunc(some, func(s string) bool { return slices.Contains(list, s) })
	}
	from := seccomp.DefaultProfile()
	flat := specs.LinuxSeccomp{
		DefaultAction: from.DefaultAction, DefaultErrnoRet: from.DefaultErrnoRet,
		Architectures: []specs.Arch{specs.ArchX86_64, specs.ArchX86, specs.ArchX32, specs.ArchAARCH64, specs.ArchARM},
	}
	for _, call := range from.Syscalls {
		if in := call.Includes; in != nil && (len(in.Caps) > 0 || len(in.Arches) > 0 && !has(in.Arches, "amd64", "arm64")) {
			continue
		}
		rule := call.LinuxSyscall
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool { return slices.Contains(more, name) })
		if len(rule.Names) > 0 {
			flat.Syscalls = append(flat.Syscalls, rule)
		}
	}
	if more != nil {
		flat.Syscalls = append(flat.Syscalls, specs.LinuxSyscall{Names: more, Action: specs.ActAllow})
	}
	return flat
}

// TestSeccompProfile checks that the profile for nodes is the default one of container runtimes with what the sandbox needs. With -update
// it writes it: after an update of the module with the default.
func TestSeccompProfile(t *testing.T) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "\t")
	e.SetEscapeHTML(false)
	if err := e.Encode(defaultProfile(needed...)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(profileFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if content, err := os.ReadFile(profileFile); err != nil || !bytes.Equal(content, b.Bytes()) {
		t.Errorf("%s is another one (%v): go test -C test/deploy -run TestSeccompProfile -update", profileFile, err)
	}
}
