package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Mode says what happens to code that the policy cannot look into: Allow, Deny,
// or "", which denies as soon as an allow or a deny list is configured.
type Mode string

// The modes as a configuration spells them.
const (
	Allow Mode = "allow"
	Deny  Mode = "deny"
)

// Config is what a policy is compiled from.
type Config struct {
	// Allowed lists what may run. Nil allows every command that is not denied;
	// an empty list allows none. The entry "*" stands for every command.
	Allowed []Rule
	// Denied lists what never runs, however it is reached.
	Denied []Rule
	// InlineCode is for code in arguments of interpreters: python3 -c, awk's system(), sed's e.
	InlineCode Mode
	// OpaqueScripts is for code in files or on standard input: sh FILE,
	// source FILE, awk -f FILE, programs outside the directories of PATH.
	OpaqueScripts Mode
	// Paths checks redirections and the file operands of known programs.
	Paths Paths
	// Path holds the directories that commands search for programs, in order.
	Path []string
	// Home is what ~ and $HOME expand to, so it must be the HOME that commands get; if empty they are undecidable.
	Home string
	// Temp is what $TMPDIR expands to, in the same way.
	Temp string
	// Dir is where relative paths in rules start.
	Dir string
}

// Paths is a path policy. A nil function permits everything. The functions get absolute paths with symbolic links
// resolved as far as the path exists, and return an error that says why the path is refused.
type Paths struct {
	Read, Write func(path string) error
	// ReadDenied and WriteDenied are the absolute paths denied within allowed
	// ones; a glob that could match one of them is refused.
	ReadDenied, WriteDenied []string
	// Globs says that names are denied besides, so what a wildcard of a command stands for is looked up.
	Globs bool
	// Forbidden returns the rule by which no command may name a path, and why, or nothing. In the path, * and ?
	// stand for text in a name, and … for any text. With strict, what it may be counts, without it what there is.
	Forbidden func(path string, write, strict bool) (rule, reason string)
}

// Policy is a compiled, immutable policy, safe for concurrent use.
type Policy struct {
	Config
	listed   bool // an allow or a deny list is configured, or something is denied altogether
	any      bool // everything that is not denied may run
	allowed  []*rule
	denied   []*rule
	programs map[string]*spec
}

// Compile checks the rules of c and prepares them for Decide. It looks denied
// programs up, so that links to them are recognised.
func Compile(c Config) (*Policy, error) {
	p := &Policy{Config: c, any: c.Allowed == nil, programs: programs()}
	p.listed = c.Allowed != nil || len(c.Denied) > 0 || c.InlineCode == Deny || c.OpaqueScripts == Deny
	for _, mode := range []*Mode{&p.InlineCode, &p.OpaqueScripts} {
		switch {
		case *mode == "" && p.listed:
			*mode = Deny
		case *mode != "" && *mode != Allow && *mode != Deny:
			return nil, fmt.Errorf("inline_code or opaque_scripts is %q: must be allow or deny", *mode)
		}
	}
	all := func(r Rule) bool { return strings.Join(Words(r.Name), " ") == "*" }
	p.any = p.any || slices.ContainsFunc(c.Allowed, all)
	var err error
	if p.allowed, err = c.prepare("allowed", slices.DeleteFunc(slices.Clone(c.Allowed), all)); err != nil {
		return nil, err
	}
	if p.denied, err = c.prepare("denied", c.Denied); err != nil {
		return nil, err
	}
	return p, nil
}

// maxHinted is how many entries of a list a hint names.
const maxHinted = 10

// hint says what the policy allows: first what is nearest to the program.
func (p *Policy) hint(program string) string {
	list := func(intro string, rules []*rule) string {
		near := slices.Clone(rules)
		slices.SortStableFunc(near, func(a, b *rule) int { return alike(b.words[0], program) - alike(a.words[0], program) })
		var names []string
		for _, r := range near[:min(maxHinted, len(near))] {
			names = append(names, clean(r.text, 40))
		}
		text := intro + strings.Join(names, ", ")
		if more := len(near) - maxHinted; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return text
	}
	switch {
	case !p.any && len(p.allowed) == 0:
		return "no command is allowed"
	case !p.any:
		return list("allowed commands: ", p.allowed)
	case len(p.denied) > 0:
		return list("every command is allowed except: ", p.denied)
	}
	return ""
}

// alike returns how much of the beginning two names share; all of it counts more.
func alike(a, b string) int {
	if a == b {
		return 100
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Listed reports whether anything is configured that refuses commands.
func (p *Policy) Listed() bool { return p.listed }

// LookPath returns the absolute path of the program that a bare name runs, and what it is; "" if there is none.
func (c *Config) LookPath(name string) (string, os.FileInfo) {
	for _, dir := range c.Path {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, info
		}
	}
	return "", nil
}
