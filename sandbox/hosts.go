package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"toolserver/sandbox/netguard"
)

// HostError says that a list keeps a tool from a host.
type HostError struct {
	Host    string
	Rule    string   // the list that decides: tools.web_fetch.denied_hosts
	Allowed []string // what would be allowed, if a list says so
}

func (e *HostError) Error() string {
	if e.Allowed == nil {
		return fmt.Sprintf("%s is denied by %s", e.Host, e.Rule)
	}
	allowed := "nothing"
	if len(e.Allowed) > 0 {
		allowed = strings.Join(e.Allowed, ", ")
	}
	return fmt.Sprintf("%s is not in %s, which allows %s", e.Host, e.Rule, allowed)
}

// hostLists are the hosts a tool may go to. Entries are names, which stand for
// their subdomains, too, or addresses; either may end in a port, without which
// it stands for all.
type hostLists struct {
	tool        string
	allow, deny []string // canonical; allow is nil if any host will do
}

// hostLists returns the lists of hosts of an owner: denies add up, and an allow list
// of its own replaces the family's.
func (p Policy) hostLists(o Owner) (lists hostLists, err error) {
	lists.tool = o.Tool
	if !o.hasHosts() {
		return lists, nil
	}
	for _, tool := range slices.Compact([]string{o.Fetches, o.Tool}) {
		allow, err := hostEntries(p.Tools[tool].AllowedHosts)
		if err != nil {
			return lists, fmt.Errorf("tools.%s.allowed_hosts%w", tool, err)
		}
		deny, err := hostEntries(p.Tools[tool].DeniedHosts)
		if err != nil {
			return lists, fmt.Errorf("tools.%s.denied_hosts%w", tool, err)
		}
		if allow != nil {
			lists.allow = allow
		}
		lists.deny = union(lists.deny, deny)
	}
	return lists, nil
}

// CheckHostEntry reports what is wrong with an entry of a list of hosts.
func CheckHostEntry(text string) error {
	_, err := hostEntry(text)
	return err
}

func hostEntries(texts []string) ([]string, error) {
	if texts == nil {
		return nil, nil
	}
	entries := make([]string, len(texts))
	for i, text := range texts {
		entry, err := hostEntry(text)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		entries[i] = entry
	}
	return entries, nil
}

func hostEntry(text string) (string, error) {
	if text == "*" {
		return text, nil
	}
	if strings.ContainsAny(text, "*/") {
		return "", fmt.Errorf("%q is not a host: write a name such as example.com, which stands for its subdomains, too, an address, or * for any", text)
	}
	host, err := netguard.ParseHost(text)
	if err != nil {
		return "", err
	}
	return host.String(), nil
}

func (l hostLists) check(host, port string) error {
	if matches(l.deny, host, port) {
		return &HostError{Host: host, Rule: "tools." + l.tool + ".denied_hosts"}
	}
	if l.allow != nil && !matches(l.allow, host, port) {
		return &HostError{Host: host, Rule: "tools." + l.tool + ".allowed_hosts", Allowed: l.allow}
	}
	return nil
}

func matches(entries []string, host, port string) bool {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return slices.ContainsFunc(entries, func(entry string) bool {
		return entry == "*" || within(host, entry) || within(host+":"+port, entry)
	})
}

// within reports whether a host is what an entry says, or a subdomain of it.
func within(host, entry string) bool {
	before, ok := strings.CutSuffix(host, entry)
	return ok && (before == "" || strings.HasSuffix(before, "."))
}
