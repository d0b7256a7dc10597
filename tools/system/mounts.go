package system

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/common"
	"github.com/shirou/gopsutil/v4/disk"

	"github.com/toolserver/toolserver/domain/brief"
)

// mount is one entry of the system's list of mounts.
type mount struct {
	device     string
	point      string
	filesystem string
	bind       bool // a directory of a file system, mounted once more
}

// listMounts returns all mounts this process sees, in the order in which they
// were made.
func listMounts() ([]mount, error) {
	// By default the library tells what process 1 sees, which may be another
	// mount namespace.
	ctx := context.WithValue(context.Background(), common.EnvKey, common.EnvMap{common.HostProcMountinfo: "/proc/self/mountinfo"})
	parts, err := disk.PartitionsWithContext(ctx, true)
	if err != nil && len(parts) == 0 { // on Windows an error may concern one drive of many
		return nil, err
	}
	list := make([]mount, len(parts))
	for i, p := range parts {
		if runtime.GOOS == "linux" {
			p.Device = unescape(p.Device) // the library leaves the escapes in the names of shares
		}
		list[i] = mount{p.Device, p.Mountpoint, p.Fstype, slices.Contains(p.Opts, "bind")}
	}
	return list, nil
}

// realDrives returns the mounts that stand for storage, one for each device,
// sorted by mount point. Of several mounts of a device it takes the shortest
// that is no bind mount, or else the shortest.
func realDrives(all []mount) []mount {
	visible := map[string]mount{} // a later mount hides an earlier one at the same place
	for _, m := range all {
		visible[m.point] = m
	}
	best := map[string]mount{}
	for _, m := range visible {
		if !m.isStorage() {
			continue
		}
		if old, ok := best[m.device]; !ok || m.before(old) {
			best[m.device] = m
		}
	}
	var list []mount
	for _, m := range best {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b mount) int { return strings.Compare(a.point, b.point) })
	return list
}

// before reports whether m stands for its device better than other does.
func (m mount) before(other mount) bool {
	if m.bind != other.bind {
		return other.bind
	}
	return cmp.Or(cmp.Compare(len(m.point), len(other.point)), strings.Compare(m.point, other.point)) < 0
}

// isStorage reports whether m holds files of people: the root whatever it is,
// and then disks, pools and shares, but no image a package is mounted from and
// nothing the kernel makes up.
func (m mount) isStorage() bool {
	if m.point == "/" || runtime.GOOS == "windows" {
		return true
	}
	switch m.filesystem {
	case "tmpfs", "devtmpfs", "devfs", "devpts", "ramfs", "overlay", "squashfs", "erofs", "iso9660", "autofs":
		return false
	case "zfs", "nfs", "nfs4", "cifs", "smb3", "smbfs", "afpfs", "ceph", "9p", "virtiofs", "lustre":
		return true
	}
	if slices.Contains([]string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}, m.point) {
		return false // files that container runtimes mount from the host's disk
	}
	if strings.HasPrefix(m.filesystem, "fuse.") {
		return strings.Contains(m.device, ":") // host:path of a share; others are desktops' and containers' views
	}
	return strings.HasPrefix(m.device, "/dev/") && m.device != "/dev/fuse"
}

// line is the line of an entry in a list: facts, with commas between them.
type line struct{ strings.Builder }

// add adds a fact, unless its value is an empty string.
func (l *line) add(format string, value any) {
	if s, ok := value.(string); ok {
		if s == "" {
			return
		}
		value = brief.OneLine(s)
	}
	if l.Len() > 0 {
		l.WriteString(", ")
	}
	fmt.Fprintf(l, format, value)
}
