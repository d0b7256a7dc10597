package system

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// sysNet is where the kernel tells about network interfaces; see
// Documentation/ABI/testing/sysfs-class-net in its source.
const sysNet = "/sys/class/net"

// linkType returns the kind of an interface, or "" if it is none of the common
// ones.
func linkType(i *net.Interface) string {
	if kind := flagType(i); kind == "loopback" {
		return kind
	}
	dir := filepath.Join(sysNet, i.Name)
	for _, mark := range []struct{ file, kind string }{
		{"wireless", "wireless"}, {"phy80211", "wireless"}, {"bridge", "bridge"}, {"bonding", "bond"}, {"tun_flags", "tunnel"},
	} {
		if _, err := os.Lstat(filepath.Join(dir, mark.file)); err == nil {
			return mark.kind
		}
	}
	switch readWord(filepath.Join(dir, "type")) { // ARPHRD_*, see linux/if_arp.h
	case "1":
		return "ethernet"
	case "32":
		return "infiniband"
	case "512":
		return "ppp"
	case "768", "769", "776", "778", "65534":
		return "tunnel"
	}
	return flagType(i)
}

// linkSpeed returns the speed of a link in Mbit/s, or 0 if the driver does not
// know it: reading it then fails, or says -1.
func linkSpeed(name string) int {
	speed, err := strconv.Atoi(readWord(filepath.Join(sysNet, name, "speed")))
	if err != nil || speed < 0 {
		return 0
	}
	return speed
}

func readWord(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
