package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"toolserver/sandbox/pathguard"
)

// Files hands file tools the part of the file system each may use. It is made
// for one policy; a new policy makes new Files, and calls under way go on with
// the old.
type Files struct {
	readers, writers map[string]*pathguard.Guard
	workingDirectory string
}

// NewFiles returns the file system that p allows.
func NewFiles(p Policy) (*Files, error) {
	f := &Files{readers: map[string]*pathguard.Guard{}, writers: map[string]*pathguard.Guard{}, workingDirectory: p.WorkingDirectory}
	if err := f.add(f.readers, readers, p); err != nil {
		return nil, err
	}
	return f, f.add(f.writers, writers, p)
}

// add makes a guard for each tool of a family. Tools with the same rules share
// one, and with it what it keeps open.
func (f *Files) add(guards map[string]*pathguard.Guard, family []string, p Policy) error {
	byRules := map[string]*pathguard.Guard{}
	protected, denyHardlinks := p.protected(family[0] == writers[0]), p.denyHardlinks(family)
	for _, tool := range family {
		allow, deny := p.pathLists(family, tool)
		key := strings.Join(allow, "\x00") + "\x00\x00" + strings.Join(deny, "\x00")
		if byRules[key] == nil {
			g, err := pathguard.New(p.WorkingDirectory, pathguard.Rules{Allow: allow, Deny: deny, DenyHardlinks: denyHardlinks, Protect: protected})
			if err != nil {
				return fmt.Errorf("tools.%s: %w", tool, err)
			}
			byRules[key] = g
		}
		guards[tool] = byRules[key]
	}
	return nil
}

// Reader returns the files that tool may read. A tool that is not one of the
// readers reads what read_file does.
func (f *Files) Reader(tool string) *pathguard.Guard {
	if g, ok := f.readers[tool]; ok {
		return g
	}
	return f.readers[readers[0]]
}

// Writer returns the files that tool may write, as [Files.Reader] does for
// reading.
func (f *Files) Writer(tool string) *pathguard.Guard {
	if g, ok := f.writers[tool]; ok {
		return g
	}
	return f.writers[writers[0]]
}

// Close releases what the file system keeps open. Nothing may be using it.
func (f *Files) Close() error {
	closed := map[*pathguard.Guard]bool{}
	var all []error
	for _, guards := range []map[string]*pathguard.Guard{f.readers, f.writers} {
		for _, g := range guards {
			if !closed[g] {
				closed[g] = true
				all = append(all, g.Close())
			}
		}
	}
	return errors.Join(all...)
}

// WorkingDirectory is where relative paths start.
func (f *Files) WorkingDirectory() string { return f.workingDirectory }
