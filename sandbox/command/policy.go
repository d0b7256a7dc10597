package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Mode says what happens to code that the policy cannot look into.
type Mode uint8

// The modes. Default refuses as soon as an allow or a deny list is configured.
const (
	Default Mode = iota
	Allow
	Deny
)

// ParseMode returns the mode that a configuration spells "allow", "deny" or
// "" (Default).
func ParseMode(s string) (Mode, error) {
	switch s {
	case "":
		return Default, nil
	case "allow":
		return Allow, nil
	case "deny":
		return Deny, nil
	}
	return Default, fmt.Errorf("mode %q: must be allow or deny", s)
}

// Config is what a policy is compiled from.
type Config struct {
	// Allowed lists what may run. Nil allows every command that is not denied;
	// an empty list allows none. The entry "*" stands for every command.
	Allowed []Rule
	// Denied lists what never runs, however it is reached.
	Denied []Rule
	// InlineCode is for code in arguments of interpreters: python3 -c, awk's
	// system(), sed's e.
	InlineCode Mode
	// OpaqueScripts is for code in files or on standard input: sh FILE,
	// source FILE, awk -f FILE, programs outside the directories of PATH.
	OpaqueScripts Mode
	// Paths checks redirections and the file operands of known programs.
	Paths Paths
	// Path holds the directories that commands search for programs, in order.
	Path []string
	// Home is what ~ and $HOME expand to, so it must be the HOME that commands
	// get; if empty they are undecidable.
	Home string
	// Temp is what $TMPDIR expands to, in the same way.
	Temp string
	// Dir is where relative paths in rules start.
	Dir string
}

// Paths is a path policy. A nil function permits everything. The functions get
// absolute paths with symbolic links resolved as far as the path exists, and
// return an error that says why the path is refused.
type Paths struct {
	Read, Write func(path string) error
	// ReadDenied and WriteDenied are the absolute paths denied within allowed
	// ones; a glob that could match one of them is refused.
	ReadDenied, WriteDenied []string
}

// Policy is a compiled, immutable policy, safe for concurrent use.
type Policy struct {
	Config
	listed   bool // an allow or a deny list is configured, or something is denied altogether
	any      bool // everything that is not denied may run
	allowed  rules
	denied   rules
	hint     string
	programs map[string]*spec
	parsers  sync.Pool
}

// Compile checks the rules of c and prepares them for Decide. It looks denied
// programs up, so that links to them are recognised.
func Compile(c Config) (*Policy, error) {
	p := &Policy{Config: c, listed: c.Allowed != nil || len(c.Denied) > 0 || c.InlineCode == Deny || c.OpaqueScripts == Deny, any: c.Allowed == nil, programs: programs()}
	p.parsers.New = func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }
	for _, r := range c.Allowed {
		if strings.TrimSpace(r.Name) == "*" {
			p.any = true
			continue
		}
		if err := p.allowed.add(r, c); err != nil {
			return nil, fmt.Errorf("allowed command: %w", err)
		}
	}
	for _, r := range c.Denied {
		if err := p.denied.add(r, c); err != nil {
			return nil, fmt.Errorf("denied command: %w", err)
		}
	}
	p.allowed.index()
	p.denied.index()
	p.hint = p.describe()
	return p, nil
}

// describe says in one sentence what the policy allows.
func (p *Policy) describe() string {
	var b strings.Builder
	list := func(intro string, rs []rule) {
		b.WriteString(intro)
		for i, r := range rs {
			if b.Len() > 300 {
				fmt.Fprintf(&b, " and %d more", len(rs)-i)
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(clean(r.text, 60))
		}
	}
	switch {
	case !p.any && len(p.allowed.all) == 0:
		return "no command is allowed"
	case !p.any:
		list("allowed commands: ", p.allowed.all)
	case len(p.denied.all) > 0:
		list("every command is allowed except: ", p.denied.all)
	}
	return b.String()
}

// Listed reports whether anything is configured that refuses commands.
func (p *Policy) Listed() bool { return p.listed }

func (p *Policy) opaqueDenied() bool { return denies(p.OpaqueScripts, p.listed) }
func (p *Policy) inlineDenied() bool { return denies(p.InlineCode, p.listed) }

func denies(m Mode, listed bool) bool { return m == Deny || m == Default && listed }

// lookPath returns the absolute path of the program that a bare name runs, and
// what it is; "" if there is none.
func (c *Config) lookPath(name string) (string, os.FileInfo) {
	for _, dir := range c.Path {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, info
		}
	}
	return "", nil
}
