package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Rule is one entry of an allow or deny list.
type Rule struct {
	// Name is a program ("ls"), a program with the sub-command it starts with ("git status"), a path of
	// a program ("/usr/bin/jq", "./build.sh"), or "*". Within a word, * stands for any text ("npm run
	// test:*"), and as the last word for any further arguments ("git *").
	Name string `yaml:"name" json:"name" short:"true" format:"command"`
	// ArgsDeny lists options that the program may not get. In a deny list, the
	// rule then denies only uses with one of them.
	ArgsDeny []string `yaml:"args_deny" json:"args_deny,omitempty" format:"option"`
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
	name     string   // the program in lower case; * stands for any text
	path     string   // real path, for a rule that names one
	rest     bool     // with any further arguments, as a * at the end says
	argsDeny []string
	files    []os.FileInfo // of the programs, as far as they are there
}

// about reports whether the rule is about programs with this base name, in any case of its letters.
func (r *rule) about(name string) bool { return Like(r.name, strings.ToLower(name)) }

// prepare makes rules of a list.
func (c *Config) prepare(what string, list []Rule) (rules []*rule, err error) {
	for _, r := range list {
		words := Words(r.Name)
		if len(words) == 0 || words[0] == "*" || strings.ContainsAny(r.Name, "|&;<>()$`\\\"'") {
			return nil, fmt.Errorf("%s command: %q must be plain words: a program name, a sub-command or a path; * stands alone, in the allow list", what, r.Name)
		}
		n := &rule{text: strings.Join(strings.Fields(r.Name), " "), words: words, rest: strings.HasSuffix(strings.TrimSpace(r.Name), " *"), argsDeny: r.ArgsDeny}
		dirs := c.Path
		if path := words[0]; strings.Contains(path, "/") {
			if !filepath.IsAbs(path) {
				path = filepath.Join(c.Dir, path)
			}
			budget := 100
			n.path = realPath(path, &budget)
			words[0], dirs = filepath.Base(path), []string{filepath.Dir(n.path)}
		}
		n.name = strings.ToLower(words[0])
		files := []string{n.path}
		if strings.Contains(n.name, "*") {
			files = Files(words[0], dirs)
		} else if n.path == "" {
			files[0], _ = c.LookPath(words[0])
		}
		for _, path := range files {
			n.files = append(n.files, ownFile(path))
		}
		rules = append(rules, n)
	}
	return rules, nil
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

// names reports whether a rule of either list is about this name.
func (p *Policy) names(name string) bool {
	about := func(r *rule) bool { return r.about(name) }
	return slices.ContainsFunc(p.allowed, about) || slices.ContainsFunc(p.denied, about)
}

// deniedBy returns the deny rule that the program falls under, by its name, the
// name of its file, or the file itself.
func (p *Policy) deniedBy(prog program, words, args []arg) *rule {
	names := []string{prog.base}
	if real := filepath.Base(prog.real); prog.real != "" && !MultiCall(strings.ToLower(real)) {
		names = append(names, real)
	}
	for _, r := range p.denied {
		named := slices.ContainsFunc(names, r.about) && (r.path == "" || r.samePath(prog) || prog.real == "")
		if (named || r.isFile(prog.file)) && (len(r.argsDeny) == 0 || r.hasDenied(args) != "") && mayFollow(r.words[1:], words[1:], args) {
			return r
		}
	}
	return nil
}

// mayFollow reports whether the sub-command words may be want. The words may
// also come after options whose arguments are not known here.
func mayFollow(want []string, words, args []arg) bool {
	if mayStart(words, want) || mayStart(args, want) {
		return true
	}
	for i := 1; i < len(args) && (strings.HasPrefix(args[i-1].s, "-") || i > 1 && strings.HasPrefix(args[i-2].s, "-")); i++ {
		if mayStart(args[i:], want) {
			return true
		}
	}
	return false
}

func mayStart(words []arg, want []string) bool {
	for i, w := range want {
		if i >= len(words) {
			return false
		}
		if words[i].many {
			return true
		}
		without := strings.TrimSuffix(w, ":*") // which may be how a prefix was meant
		if !words[i].like(w) && !words[i].like(without) && (words[i].exact() || !strings.Contains(w, "*") && !matches(words[i].s, w)) {
			return false
		}
	}
	return true
}

// allowedBy returns the allow rule that covers the program, or the denied
// argument that keeps it from doing so.
func (p *Policy) allowedBy(prog program, words, args []arg) (r *rule, why string) {
	for _, r := range p.allowed {
		runs := prog.trusted
		if r.path != "" {
			runs = !prog.builtin && r.samePath(prog)
		}
		starts := len(words) >= len(r.words) && slices.EqualFunc(words[1:len(r.words)], r.words[1:], arg.like)
		if runs && starts && Like(r.words[0], prog.base) {
			if why = r.hasDenied(args); why == "" {
				return r, ""
			}
		}
	}
	return nil, why
}

func (r *rule) isFile(file os.FileInfo) bool {
	return file != nil && slices.ContainsFunc(r.files, func(own os.FileInfo) bool { return own != nil && os.SameFile(own, file) })
}

func (r *rule) samePath(prog program) bool {
	return filepath.Dir(r.path) == filepath.Dir(prog.real) && Like(filepath.Base(r.path), filepath.Base(prog.real)) || r.isFile(prog.file)
}

// builtin reports whether bash runs name itself.
func (p *Policy) builtin(name string) bool { return p.programs["builtin "+name] != nil }

// IsBuiltin reports whether bash runs name itself.
func IsBuiltin(name string) bool { return programs()["builtin "+name] != nil }

// ownFile returns the identity of the program at path, unless it is a link to
// a program of many names (busybox): that file is not this program alone.
func ownFile(path string) os.FileInfo {
	real, err := filepath.EvalSymlinks(path)
	if base := filepath.Base(real); err != nil || base != filepath.Base(path) && MultiCall(base) {
		return nil
	}
	info, _ := os.Stat(real)
	return info
}

// MultiCall reports whether a file of this name is many programs, distinguished by their names.
func MultiCall(base string) bool { return isListed("programs of many names", base, unknown) }

// Words returns the words of an entry. * as the last stands for any further arguments, as
// no word does.
func Words(entry string) []string {
	words := strings.Fields(entry)
	for len(words) > 1 && words[len(words)-1] == "*" {
		words = words[:len(words)-1]
	}
	return words
}

// Like reports whether a word, in which * stands for any text, can be s.
func Like(word, s string) bool {
	part, rest, star := strings.Cut(word, "*")
	if !star {
		return word == s
	}
	s, found := strings.CutPrefix(s, part)
	for found {
		if part, rest, star = strings.Cut(rest, "*"); !star {
			return strings.HasSuffix(s, part)
		}
		_, s, found = strings.Cut(s, part)
	}
	return false
}

// like reports whether the word is for certain one that want means.
func (a arg) like(want string) bool { return a.exact() && Like(want, a.s) }

// Files returns the paths in dirs of what a name may mean in which * stands for any text.
func Files(name string, dirs []string) (paths []string) {
	for _, dir := range dirs {
		if !strings.Contains(name, "*") {
			paths = append(paths, filepath.Join(dir, name))
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if Like(name, e.Name()) {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
	}
	return paths
}
