package pathguard

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// foldName returns a name in the form in which protected names are compared. A
// file system that knows a file under more than one spelling may be mounted
// anywhere, so the names that protect something are compared without case, and
// without what HFS+ and Windows ignore in a name.
func foldName(name string) string {
	for i := 0; i < len(name); i++ {
		if b := name[i]; b >= utf8.RuneSelf || b >= 'A' && b <= 'Z' || b == ' ' || b == '.' && i == len(name)-1 {
			return foldSlowly(name)
		}
	}
	return name
}

func foldSlowly(name string) string {
	folded := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r)) // by way of the upper case, as for the long s
	}, name)
	if cut := strings.TrimRight(folded, " ."); cut != "" {
		return cut
	}
	return folded
}

// globMatches reports whether name is one that the pattern means, in which a
// star stands for any text.
func globMatches(pattern, name string) bool {
	first, rest, starred := strings.Cut(pattern, "*")
	if !starred {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		part, more, starred := strings.Cut(rest, "*")
		if !starred {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}

// wildcards are what [Guard.Protected] takes for text that is not known.
const wildcards = "*?…"

// mayMeet reports whether a path with wildcards can stand for a protected one.
// A name of which nothing at all is known does not count, nor do wildcards for
// names that are as ordinary as id_rsa.
func (p *protection) mayMeet(path string) (rule string, meets bool) {
	names := strings.Split(path, separator)
	for i := range names {
		names[i] = foldName(names[i])
	}
	start := 0 // a workspace is known and has no wildcards
	for _, w := range p.workspaces {
		if Within(w, foldPath(path)) {
			start = max(start, strings.Count(strings.TrimRight(w, separator), separator)+1)
		}
	}
	for i := start; i < len(names); i++ {
		for _, patterns := range p.literal {
			for _, n := range patterns {
				if n.mayMeet(names[i:]) {
					return n.rule, true
				}
			}
		}
		for _, n := range p.wild {
			if n.mayMeet(names[i:]) {
				return n.rule, true
			}
		}
	}
	return "", false
}

func (n *namePattern) mayMeet(names []string) bool {
	if n.excepts(names[0]) {
		return false
	}
	if strings.ContainsAny(names[0], wildcards) && !strings.HasPrefix(n.names[0], ".") {
		return false // or nobody could use a plain *
	}
	return (!n.only || len(names) == len(n.names)) && restMeets(n.names, names)
}

func restMeets(pattern, names []string) bool {
	switch {
	case len(pattern) == 0:
		return true
	case len(names) == 0:
		return false
	case pattern[0] == "**":
		return restMeets(pattern[1:], names) || restMeets(pattern, names[1:])
	}
	return globsMeet(names[0], pattern[0]) && restMeets(pattern[1:], names[1:])
}

// globsMeet reports whether the shell's wildcards in name can stand for a name
// that the pattern means. They do not stand for a dot at its start, and neither
// is text that is not known taken to start with one, as any might.
func globsMeet(name, pattern string) bool {
	if strings.HasPrefix(pattern, ".") {
		name = strings.TrimLeft(name, "…")
	}
	if name == "" || strings.Trim(name, "…") == "" || strings.HasPrefix(pattern, ".") && strings.IndexAny(name, "*?") == 0 {
		return false
	}
	return meet([]rune(name), []rune(pattern))
}

func meet(a, b []rune) bool {
	switch {
	case len(a) == 0 && len(b) == 0:
		return true
	case len(a) > 0 && (a[0] == '*' || a[0] == '…'):
		return meet(a[1:], b) || len(b) > 0 && meet(a, b[1:])
	case len(b) > 0 && b[0] == '*':
		return meet(a, b[1:]) || len(a) > 0 && meet(a[1:], b)
	case len(a) == 0 || len(b) == 0:
		return false
	}
	return (a[0] == '?' || a[0] == b[0]) && meet(a[1:], b[1:])
}

// expanded returns what may be protected of the paths that there are for one with
// wildcards in its last name: names that are, and links.
func (p *protection) expanded(path string) (found []string) {
	dir, pattern := filepath.Split(path)
	if strings.ContainsAny(dir, wildcards) || !strings.ContainsAny(pattern, wildcards) || strings.Trim(pattern, "…") == "" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(maxExpanded) // what cannot be listed has no wildcards expanded
	links := 0
	for _, e := range entries {
		link := e.Type()&fs.ModeSymlink != 0
		if link {
			links++
		}
		if (p.ends(e.Name()) || link && links <= maxFollowed) && globsMeet(pattern, e.Name()) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found
}

// These bound what is looked at for one path.
const (
	maxExpanded = 10_000 // names of a directory
	maxFollowed = 200    // links among them
)

// lookAt describes the file that path leads to, for its identity alone.
func lookAt(path string) (Info, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Info{}, err
	}
	return describe(info), nil
}
