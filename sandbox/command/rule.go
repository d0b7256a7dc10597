package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Rule is one entry of an allow or deny list.
type Rule struct {
	// Name is a program ("ls"), a program with the sub-command it starts with
	// ("git status"), a path of a program ("/usr/bin/jq", "./build.sh"), or
	// "*".
	Name string `yaml:"name" json:"name" short:"true"`
	// ArgsDeny lists options that the program may not get. In a deny list, the
	// rule then denies only uses with one of them.
	ArgsDeny []string `yaml:"args_deny" json:"args_deny,omitempty"`
}

// Rules returns rules that are nothing but names.
func Rules(names ...string) []Rule {
	list := make([]Rule, len(names))
	for i, name := range names {
		list[i].Name = name
	}
	return list
}

// rule is a Rule prepared for matching.
type rule struct {
	text     string
	words    []string // program and the words that must follow it
	path     string   // real path, for a rule that names one
	argsDeny []string
	file     os.FileInfo // of a denied program, if it is there
}

// rules is a list, in order and by the program's base name.
type rules struct {
	all  []rule
	base map[string][]*rule
}

func (rs *rules) add(r Rule, c Config) error {
	words := strings.Fields(r.Name)
	if len(words) == 0 {
		return fmt.Errorf("entry %d is empty: must be a program name, a sub-command, a path or *", len(rs.all)+1)
	}
	if words[0] == "*" {
		return fmt.Errorf("%q: * stands alone, in the allow list", r.Name)
	}
	if i := strings.IndexAny(r.Name, "|&;<>()$`\\\"'"); i >= 0 {
		return fmt.Errorf("%q holds %q: must be plain words, not shell syntax", r.Name, r.Name[i])
	}
	n := rule{text: strings.Join(words, " "), words: words, argsDeny: r.ArgsDeny}
	if strings.Contains(words[0], "/") {
		path := words[0]
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		budget := 100
		n.path = realPath(path, &budget)
		words[0] = filepath.Base(path)
	}
	path := n.path
	if path == "" {
		path, _ = c.lookPath(words[0])
	}
	n.file = ownFile(path)
	rs.all = append(rs.all, n)
	return nil
}

func (rs *rules) index() {
	rs.base = make(map[string][]*rule, len(rs.all))
	for i := range rs.all {
		name := strings.ToLower(rs.all[i].words[0])
		rs.base[name] = append(rs.base[name], &rs.all[i])
	}
}

// hasDenied returns the option of argsDeny that args hold, or "".
func (r *rule) hasDenied(args []arg) string {
	for _, deny := range r.argsDeny {
		for _, a := range args {
			if optionIs(a.s, deny) || !a.exact() && a.maybeOption() {
				return deny
			}
		}
	}
	return ""
}

// optionIs reports whether the argument is the option deny, also with a value
// glued to it, written with one dash or two, or abbreviated.
func optionIs(arg, deny string) bool {
	if arg == deny || strings.HasPrefix(arg, deny+"=") {
		return true
	}
	name, _, _ := strings.Cut(arg, "=")
	long := strings.TrimLeft(deny, "-")
	switch {
	case !strings.HasPrefix(deny, "-") || !strings.HasPrefix(arg, "-"):
		return false
	case len(long) == 1 && !strings.HasPrefix(arg, "--"):
		return strings.Contains(name, long)
	case strings.TrimLeft(name, "-") == long:
		return true
	}
	return strings.HasPrefix(arg, "--") && len(name) > 2 && strings.HasPrefix("--"+long, name)
}
