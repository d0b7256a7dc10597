package system

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
)

// networkInfo is the result of network_info.
type networkInfo struct {
	Interfaces []networkInterface `json:"interfaces"`
	Total      int                `json:"total"`
	NextOffset int                `json:"next_offset,omitempty"`
}

type networkInterface struct {
	Name     string   `json:"name"`
	Type     string   `json:"type,omitempty"`
	MTU      int      `json:"mtu"`
	MAC      string   `json:"mac,omitempty"`
	Up       bool     `json:"up"`
	Loopback bool     `json:"loopback"`
	Speed    int      `json:"speed_mbps,omitempty"`
	IPv4     []string `json:"ipv4"`
	IPv6     []string `json:"ipv6"`
	Note     string   `json:"note,omitempty"` // how many addresses are left out
}

func networkTool(m machine) domain.Tool {
	return defineList(m, domain.Tool{
		Name: networkName, Title: "Network information", Ability: "list network interfaces",
		Description: "List active network interfaces with IP and hardware addresses, MTU and speed.",
		Output:      schema.OutputOf[networkInfo](),
	}, "no active interfaces", readNetwork, func(shown []networkInterface, total, next int) networkInfo { return networkInfo{shown, total, next} })
}

func (n networkInfo) lines() (all []string) {
	for _, i := range n.Interfaces {
		if i.Type == "" && i.Loopback {
			i.Type = "loopback"
		}
		var l line
		l.add("%s", i.Name)
		l.add("%s", i.Type)
		if i.MTU != 0 {
			l.add("MTU %d", i.MTU)
		}
		l.add("MAC %s", i.MAC)
		if i.Speed != 0 {
			l.add("%d Mbit/s", i.Speed)
		}
		l.add("IPv4 %s", strings.Join(i.IPv4, " "))
		l.add("IPv6 %s", strings.Join(i.IPv6, " "))
		l.add("%s", i.Note)
		all = append(all, l.String())
	}
	return all
}

// Bounds of network_info. Hosts of many containers have hundreds of interfaces.
const (
	maxInterfaces = 128 // in one result
	maxAddresses  = 64  // of one kind on one interface
	addressChars  = 50  // of one, at most
)

// readNetwork returns the active interfaces from an offset on, and how many there are.
func readNetwork(ctx context.Context, offset int) ([]networkInterface, int, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, 0, fmt.Errorf("listing network interfaces: %w", err)
	}
	up := slices.DeleteFunc(all, func(i net.Interface) bool { return i.Flags&net.FlagUp == 0 })
	slices.SortFunc(up, func(a, b net.Interface) int { return strings.Compare(a.Name, b.Name) })
	page := call.ListFrom(up, offset).Entries
	page = page[:min(maxInterfaces, len(page))]
	most := min(maxAddresses, call.ListRoom(ctx)/addressChars/3)
	interfaces := make([]networkInterface, len(page))
	for i := range page {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		interfaces[i] = describeInterface(&page[i], most)
	}
	return interfaces, len(up), nil
}

// describeInterface returns an interface with at most so many addresses of each kind.
func describeInterface(i *net.Interface, most int) networkInterface {
	loopback := i.Flags&net.FlagLoopback != 0
	n := networkInterface{
		Name: i.Name, Type: linkType(i), MTU: i.MTU, MAC: i.HardwareAddr.String(), Up: true, Loopback: loopback,
		Speed: linkSpeed(i.Name), IPv4: []string{}, IPv6: []string{},
	}
	addrs, err := i.Addrs()
	if err != nil {
		return n // the interface has gone meanwhile
	}
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		switch {
		case !ok:
		case ip.IP.To4() != nil && len(n.IPv4) < most:
			n.IPv4 = append(n.IPv4, ip.String())
		case ip.IP.To4() == nil && len(n.IPv6) < most:
			n.IPv6 = append(n.IPv6, ip.String())
		}
	}
	if kept := len(n.IPv4) + len(n.IPv6); kept < len(addrs) {
		n.Note = fmt.Sprintf("%d of %d addresses", kept, len(addrs))
	}
	return n
}

// sysNet is where Linux describes network interfaces; see
// Documentation/ABI/testing/sysfs-class-net in its source.
const sysNet = "/sys/class/net"

// linkType returns the kind of an interface, or "" if it is none of the common
// ones. Other systems than Linux have only its flags.
func linkType(i *net.Interface) string {
	if i.Flags&net.FlagLoopback != 0 {
		return "loopback"
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
	if i.Flags&net.FlagPointToPoint != 0 {
		return "point_to_point"
	}
	return ""
}

// linkSpeed returns the speed of a link in Mbit/s, or 0 if the driver does not
// know it: reading it then fails, or returns -1.
func linkSpeed(name string) int {
	speed, _ := strconv.Atoi(readWord(filepath.Join(sysNet, name, "speed")))
	return max(speed, 0)
}

func readWord(path string) string {
	b, _ := os.ReadFile(path) // empty without the file
	return strings.TrimSpace(string(b))
}
