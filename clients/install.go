// Package clients writes toolserver into the configuration files of MCP clients, and takes it out
// again. It also reads the servers that such files name. What is known of a client is in one table;
// everything else is the same for all of them.
package clients

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/clients/edit"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/text/textdiff"
	"github.com/toolserver/toolserver/upstream"
)

// Site is the file of a client, of the user or of a project.
type Site struct {
	Client  Client
	File    string // as the client opens it
	Project bool
	machine Machine
	format  edit.Format
	program string // the client's own, which changes the file
}

// Site returns where the entry of a client is.
func (c Client) Site(m Machine, project bool) (*Site, error) {
	s := &Site{Client: c, Project: project, machine: m}
	places := c.Files
	if project {
		if places = c.Project; places == nil {
			return nil, fmt.Errorf("%s has no file of a project; leave out --project", c.Title)
		}
	}
	var err error
	if s.File, err = m.pick(places); err != nil && places != nil {
		return nil, fmt.Errorf("%s: %w", c.Title, err)
	}
	s.format = edit.FormatOf(s.File)
	if c.Add != nil && !project {
		s.program, _ = m.LookPath(c.Programs[0])
	}
	return s, nil
}

// Others returns the other places of the client's files, older ones and alternatives, that have an entry of that name.
func (s *Site) Others(name string) (others []*Site) {
	for _, template := range slices.Concat(s.Client.Files, s.Client.Project, s.Client.Legacy) {
		place, ok := s.machine.expand(template)
		other := &Site{Client: s.Client, File: place, Project: s.Project, machine: s.machine, format: edit.FormatOf(place)}
		if ok && strings.HasPrefix(template, "./") == s.Project && place != s.File && other.Has(name) {
			others = append(others, other)
		}
	}
	return others
}

// Found reports whether the client of the file seems to be on the machine.
func (s *Site) Found() bool { return s.Client.Found(s.machine) }

// Found reports whether a client seems to be on a machine.
func (c Client) Found(m Machine) bool {
	traces := c.Traces
	for _, template := range c.Files {
		if c.Traces == nil {
			traces = append(traces, template[:strings.LastIndexByte(template, '/')])
		}
	}
	for _, template := range traces {
		if trace, ok := m.expand(template); ok {
			if all, _ := filepath.Glob(trace); len(all) > 0 {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.Programs, func(name string) bool { _, err := m.LookPath(name); return err == nil })
}

// place returns where a text has the entry.
func (s *Site) place(text []byte, name string) edit.Place {
	keys := s.Client.Keys[len(s.Client.Keys)-1]
	for _, k := range s.Client.Keys {
		if s.format.Has(text, k) {
			keys = k
			break
		}
	}
	p := edit.Place{Keys: keys, Name: name}
	if s.format == edit.YAML {
		p.ID = s.Client.ID
	}
	return p
}

// parts returns what is written for a server.
func (s *Site) parts(text []byte, server Server) ([]part, error) {
	c := s.Client
	if s.Project && c.Shape.UserRefers {
		c.Shape.Reference = ""
	}
	return c.entry(server, s.place(text, server.Name))
}

// Snippet returns what a file with nothing else has for a server.
func (s *Site) Snippet(server Server) ([]byte, error) {
	parts, err := s.parts(nil, server)
	if err != nil {
		return nil, err
	}
	return s.write(nil, parts)
}

// Link returns an address that has the client add the server.
func (s *Site) Link(server Server) (string, error) {
	parts, err := s.parts(nil, server)
	if err != nil {
		return "", err
	}
	if s.Client.Link == "" || len(parts) > 1 {
		return "", fmt.Errorf("%s has no link for this entry", s.Client.Title)
	}
	return filled(s.Client.Link, server.Name, parts[0].entry), nil
}

func (s *Site) write(text []byte, parts []part) (_ []byte, err error) {
	if text, err = s.format.Begin(text, s.Client.Head); err != nil {
		return nil, err
	}
	for _, p := range parts {
		if text, err = s.format.Set(text, p.place, p.entry); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// Change is what is to be done to a file.
type Change struct {
	Site *Site
	// Before and After are the content; nil if there is no file.
	Before, After []byte
	Differs       bool // there was another entry of that name
	name          string
	found         any // the entry before; nil if there is none
	parts         []part
	real          string // what the file is, behind symlinks
	mode          fs.FileMode
	secret        bool // the entry has values that may be secrets
	backup        string
}

// None reports whether nothing is to be done.
func (c *Change) None() bool {
	return (c.Before == nil) == (c.After == nil) && bytes.Equal(c.Before, c.After)
}

// Diff returns the change as a unified diff.
func (c *Change) Diff() string {
	return textdiff.Unified(c.Site.File, string(c.Before), string(c.After), edit.MaxFile)
}

// Verb says what the change does.
func (c *Change) Verb() string {
	switch {
	case c.parts == nil:
		return "removed"
	case c.found != nil:
		return "replaced"
	}
	return "added"
}

// read reads the file of a site, and the entry in it.
func (s *Site) read(name string) (c *Change, err error) {
	c = &Change{Site: s, name: name, mode: 0o600}
	if c.real, err = target(s.File); err != nil {
		return nil, err
	}
	info, err := os.Stat(c.real)
	switch {
	case errors.Is(err, fs.ErrNotExist), s.File == "":
		return c, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", s.File)
	case info.Size() > edit.MaxFile:
		return nil, fmt.Errorf("%s has more than %d bytes", s.File, edit.MaxFile)
	}
	c.mode = info.Mode().Perm()
	if c.Before, err = os.ReadFile(c.real); err != nil {
		return nil, err
	}
	c.After = c.Before
	if c.found, err = s.format.Get(c.Before, s.place(c.Before, name)); err != nil {
		return nil, fmt.Errorf("%s was not changed: %w", s.File, err)
	}
	return c, nil
}

// Plan returns what it takes to have a client use a server. Nothing is changed.
func (s *Site) Plan(server Server) (*Change, error) {
	c, err := s.read(server.Name)
	if err != nil {
		return nil, err
	}
	c.secret = slices.ContainsFunc(server.Env, func(v Variable) bool { return v.Given })
	if c.parts, err = s.parts(c.Before, server); err != nil {
		return nil, err
	}
	c.Differs = c.found != nil && !edit.Same(c.found, c.parts[0].entry)
	if c.After, err = s.write(c.Before, c.parts); err != nil {
		return nil, fmt.Errorf("%s was not changed: %w", s.File, err)
	}
	return c, c.writable()
}

// writable says why the file cannot be changed.
func (c *Change) writable() error {
	if c.Before != nil && c.mode&0o200 == 0 && !c.None() && c.Site.program == "" {
		return fmt.Errorf("%s is read-only and was not changed; make it writable, or add the entry by hand (--print)", c.Site.File)
	}
	return nil
}

// Removal returns what it takes to take an entry out again: the bytes that were there before it was
// added, if a backup has them; nothing, if a file has nothing else; or the file without the entry.
func (s *Site) Removal(name string) (*Change, error) {
	c, err := s.read(name)
	if err != nil || c.found == nil {
		return c, err
	}
	places := []edit.Place{s.place(c.Before, name)}
	for _, m := range regexp.MustCompile(`\$\{input:([^}]+)\}`).FindAllStringSubmatch(fmt.Sprint(c.found), -1) {
		if id := m[1]; strings.HasPrefix(id, name+"-") {
			places = append(places, edit.Place{Keys: []string{"inputs"}, ID: "id", Name: id})
		}
	}
	if c.After, err = s.without(c.Before, places); err != nil {
		return nil, fmt.Errorf("%s was not changed: %w", s.File, err)
	}
	dir, base := filepath.Split(c.real)
	beside, _ := os.ReadDir(dir)
	for _, b := range slices.Backward(beside) {
		if !strings.HasPrefix(b.Name(), base+backupInfix) || !strings.HasSuffix(b.Name(), backupSuffix) {
			continue
		}
		backup := dir + b.Name()
		text, err := os.ReadFile(backup)
		if err != nil {
			continue
		}
		left, err := s.without(text, places) // what is left of it if the entry is added and removed
		if found, failed := s.format.Get(text, places[0]); err == nil && failed == nil && found == nil && bytes.Equal(left, c.After) {
			c.After, c.backup = append([]byte{}, text...), backup
			return c, c.writable()
		}
	}
	if left, err := s.without(nil, places); err == nil && s.program == "" && bytes.Equal(left, c.After) {
		c.After = nil
	}
	return c, c.writable()
}

// without returns a text without what is at places. What is not there is added first, so that the
// same is left of a text before entries were added to it.
func (s *Site) without(text []byte, places []edit.Place) (_ []byte, err error) {
	if begun, err := s.format.Begin(text, s.Client.Head); err == nil {
		text = begun
	}
	for _, p := range places {
		found, err := s.format.Get(text, p)
		if err == nil && found == nil {
			entry := edit.Object{{Name: "x", Value: "x"}}
			if p.ID != "" {
				entry = append(edit.Object{{Name: p.ID, Value: p.Name}}, entry...)
			}
			text, err = s.format.Set(text, p, entry)
		}
		if err == nil {
			text, err = s.format.Remove(text, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

const (
	backupInfix  = ".toolserver-"
	backupSuffix = ".bak"
	madeSuffix   = ".toolserver-made" // of a file that says how many directories were made for the file
)

// Apply makes a change, and returns the file that has the bytes of before, if there is one. The
// error is [osfile.ErrChanging] if the file is no longer what it was: plan again.
func (c *Change) Apply(ctx context.Context) (backup string, err error) {
	if c.None() {
		return "", nil
	}
	if c.Site.program != "" {
		return "", c.run(ctx)
	}
	if c.parts == nil {
		defer c.removeParents()
	}
	if c.After == nil {
		return "", os.Remove(c.real)
	}
	mode := c.mode
	if c.secret {
		mode &^= 0o077
	}
	if err := c.makeParents(); err != nil {
		return "", err
	}
	if c.Before != nil && c.parts != nil {
		if backup, err = c.keep(); err != nil {
			return "", fmt.Errorf("%s was not changed, since no backup can be written: %w", c.Site.File, err)
		}
	}
	if err := osfile.Replace(c.real, c.Before, c.After, mode); err != nil {
		if backup != "" {
			err = errors.Join(err, os.Remove(backup))
		}
		return "", err
	}
	if c.backup != "" {
		err = os.Remove(c.backup)
	}
	return backup, err
}

// makeParents makes the directories that the file is in, and notes how many those are.
func (c *Change) makeParents() error {
	made, dir := 0, filepath.Dir(c.real)
	for at := dir; !exists(at); at = filepath.Dir(at) {
		made++
	}
	if err := os.MkdirAll(dir, 0o755); err != nil || made == 0 {
		return err
	}
	return os.WriteFile(c.real+madeSuffix, []byte(strconv.Itoa(made)), 0o600)
}

// removeParents removes the directories that were made for the file, unless they have something else by now.
func (c *Change) removeParents() {
	note, _ := os.ReadFile(c.real + madeSuffix) // which is there only if directories were made
	made, _ := strconv.Atoi(string(note))
	_ = os.Remove(c.real + madeSuffix)
	for dir := filepath.Dir(c.real); made > 0 && os.Remove(dir) == nil; dir = filepath.Dir(dir) {
		made--
	}
}

// keep writes a backup.
func (c *Change) keep() (string, error) {
	name := c.real + backupInfix + time.Now().Format("20060102-150405.000000000") + backupSuffix
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, c.mode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(c.Before)
	return name, errors.Join(err, f.Chmod(c.mode), f.Sync(), f.Close())
}

// runTime bounds how long a client's own command may take.
const runTime = time.Minute

// run has the client's own command make the change.
func (c *Change) run(ctx context.Context) error {
	s := c.Site
	var lines [][]string
	var entry string
	if c.found != nil {
		lines = append(lines, s.Client.Drop)
	}
	if c.parts != nil {
		lines, entry = append(lines, s.Client.Add), string(edit.Line(c.parts[0].entry))
	}
	if ext := strings.ToLower(filepath.Ext(s.program)); ext == ".cmd" || ext == ".bat" {
		return fmt.Errorf("%s is a batch file, to which arguments cannot be passed safely; add the entry by hand (--print)", s.program)
	}
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	for _, words := range lines {
		var line []string
		for _, word := range words {
			line = append(line, strings.NewReplacer("{name}", c.name, "{entry}", entry).Replace(word))
		}
		out, err := exec.CommandContext(ctx, s.program, line...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %s: %w: %s", s.program, strings.Join(line[:2], " "), err, bytes.TrimSpace(out))
		}
	}
	now, err := s.read(c.name)
	if err == nil && (now.found != nil) != (c.parts != nil) {
		err = fmt.Errorf("%s did not change %s", s.program, s.File)
	}
	return err
}

// Has reports whether the file has an entry of that name.
func (s *Site) Has(name string) bool {
	c, err := s.read(name)
	return err == nil && c.found != nil
}

// server returns what the entry says to the client, with references as they are written.
func (s *Site) server(name string) (settings upstream.Settings, err error) {
	c, err := s.read(name)
	if err == nil && c.found == nil {
		err = ErrNotInstalled
	}
	if err != nil {
		return settings, err
	}
	entry, _ := c.found.(object)
	shape := s.Client.Shape
	key := cmp.Or(shape.Command, "command")
	command, has := entry[key]
	_, list := command.([]any)
	settings, _ = (&reader{asWritten: true}).server(name, c.found)
	switch {
	case !has && entry[shape.URL] == nil, has && list != shape.Argv:
		err = fmt.Errorf("%s does not understand the entry in %s: it has no %s that is of use (--force replaces it)", s.Client.Title, s.File, key)
	case settings.Enabled != nil && !*settings.Enabled:
		err = fmt.Errorf("the entry is disabled in %s", s.File)
	}
	return settings, err
}
