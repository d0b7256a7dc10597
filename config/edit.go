package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/config/yamlconf"
	"github.com/toolserver/toolserver/config/yamledit"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/upstream"
)

// Entry is an entry of mcp_servers as a file has it: references such as ${TOKEN} stand for
// themselves.
type Entry struct {
	Name     string
	Settings upstream.Settings
}

// Edited says what an edit has done.
type Edited struct {
	File    string
	Line    int  // of what EnableTool has set
	Created bool // the file was not there before
	Trusted bool // a person trusted the file before, or it is new, and its new content is trusted
	Found   bool // the program finds the file by itself
}

// AddServers adds entries to mcp_servers in the configuration file, or in a new one if there
// is none. Everything else in the file stays as it is. After an error nothing has changed.
func AddServers(o Overrides, entries []Entry, replace bool) (Edited, error) {
	return edit(o, section, func(text []byte) (_ []byte, names []string, err error) {
		for _, e := range entries {
			if text, err = setEntry(text, e, replace); err != nil {
				return nil, nil, err
			}
			names = append(names, e.Name)
		}
		return text, names, nil
	})
}

// RemoveServer removes an entry of mcp_servers from the configuration file.
func RemoveServer(o Overrides, name string) (Edited, error) {
	return edit(o, section, func(text []byte) ([]byte, []string, error) {
		text, err := yamledit.Remove(text, section, name)
		return text, []string{name}, err
	})
}

// EnableTool has the configuration file say whether a tool is enabled.
func EnableTool(o Overrides, name string, enabled bool) (done Edited, err error) {
	line := 0
	done, err = edit(o, toolSection, func(text []byte) (_ []byte, _ []string, err error) {
		text, line, err = setEnabled(text, name, enabled)
		return text, []string{name}, err
	})
	done.Line = line
	return done, err
}

// edit changes the entries of a section that change names.
func edit(o Overrides, s yamledit.Section, change func(text []byte) ([]byte, []string, error)) (done Edited, err error) {
	l, err := editable(o)
	if err != nil {
		return done, err
	}
	done.File, done.Found = l.File, l.Source != OriginNamed
	real := l.File
	if path, err := filepath.EvalSymlinks(real); err == nil { // a link stays one
		real = path
	}
	before, err := os.ReadFile(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		done.Created = true
	case err != nil:
		return done, err
	case l.SHA256 != "" && hashOf(before) != l.SHA256:
		return done, fmt.Errorf("%s is being changed by somebody else; try again", l.File)
	}
	after, names, err := change(before)
	if err != nil {
		return done, fmt.Errorf("%s: %w", l.File, err)
	}
	if err := onlyEntries(before, after, s, names); err != nil {
		return done, fmt.Errorf("%s cannot be edited by a program: %w; edit it by hand", l.File, err)
	}
	if err := validate(l.File, after, o.Directories); err != nil {
		return done, fmt.Errorf("nothing was changed, since the configuration would be wrong:\n%w", err)
	}
	if err := replaceFile(real, before, after); err != nil {
		return done, err
	}
	if l.Source == OriginTrusted || done.Found && (done.Created || isUnused(o)) {
		_, _, err = TrustContent(l.File, o.Directories)
		done.Trusted = err == nil
	}
	return done, err
}

// isUnused reports whether the file that was just written is not used without trust.
func isUnused(o Overrides) bool {
	l, err := Load(o)
	return err == nil && l.File == "" && len(l.Unused) > 0
}

// editable returns the configuration whose file is edited: the one that is in force, or else
// where config init writes one.
func editable(o Overrides) (*Loaded, error) {
	origin, err := named(o.File)
	if err != nil {
		return nil, err
	}
	if origin.File != "" {
		return &Loaded{Origin: origin}, nil // what it says now may be what is to be mended
	}
	l, err := find(o.Directories)
	if err != nil || l.File != "" {
		return l, err
	}
	abs, err := filepath.Abs(workspaceFile)
	if err != nil {
		return nil, err
	}
	for _, u := range l.Unused {
		if u.File == abs {
			return nil, &u
		}
	}
	return &Loaded{Origin: Origin{Source: OriginTrusted, File: abs}}, nil
}

// validate reports what is wrong with a text as the content of the configuration file.
func validate(file string, text []byte, directories []string) error {
	l := &Loaded{Config: Default(), Origin: Origin{Source: OriginNamed, File: file, named: file}}
	if err := yamlconf.Decode(file, text, &l.Config, &l.source); err != nil {
		return err
	}
	return l.complete(directories)
}

// replaceFile replaces the content of a file as a whole, unless it is not what it was.
func replaceFile(file string, before, after []byte) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	return osfile.Replace(file, before, after, mode)
}

// Tokens returns an entry of server.tokens as a configuration file has it.
func Tokens(t server.Token) []byte {
	text, err := yamledit.Set(nil, serverSection, "tokens", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{yamlconf.Node(t)}})
	if err != nil {
		panic(fmt.Sprintf("config: %v", err)) // a section of ours can be edited
	}
	return text
}

// Servers returns entries as a configuration file has them.
func Servers(entries []Entry) []byte {
	text, err := []byte("mcp_servers: {}\n"), error(nil)
	for _, e := range entries {
		if text, err = setEntry(text, e, true); err != nil {
			panic(fmt.Sprintf("config: %v", err)) // a section of ours can be edited
		}
	}
	return text
}
