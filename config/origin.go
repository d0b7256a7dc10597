package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"mvdan.cc/sh/v3/syntax"
)

// The sources of a configuration: why it is obeyed.
const (
	OriginNamed    = "named"    // by a person, on the command line or in the environment
	OriginTrusted  = "trusted"  // it was found, and a person trusts this very content
	OriginUser     = "user"     // it was found in the user's configuration directory, where tools cannot write
	OriginDefaults = "defaults" // there is no file
)

// Origin says where a configuration comes from.
type Origin struct {
	Source string   `json:"source"`
	File   string   `json:"file,omitempty"`
	By     string   `json:"by,omitempty"`     // --config or $TOOLSERVER_CONFIG
	SHA256 string   `json:"sha256,omitempty"` // of what was read
	Unused []Unused `json:"unused,omitempty"` // found, but nobody has named or trusted them

	named string // the path that File was first read by, where what is relative in it starts
}

// Described says where the configuration comes from, in a line.
func (o *Origin) Described() string {
	switch o.Source {
	case OriginNamed:
		return fmt.Sprintf("%s (named by %s)", o.File, o.By)
	case OriginTrusted:
		return fmt.Sprintf("%s (trusted, sha256 %s)", o.File, o.SHA256)
	case OriginUser:
		return o.File + " (the user's configuration)"
	}
	return "no file; the defaults apply"
}

// Unused is a file that was found and that is not obeyed.
type Unused struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Error says how the file can be used.
func (u *Unused) Error() string {
	file, err := syntax.Quote(u.File, syntax.LangBash) // to be pasted
	if err != nil {
		file = "FILE"
	}
	return fmt.Sprintf("%s is not used, because %s: review it, then run toolserver trust %s, or start the server with --config %s", u.File, u.Reason, file, file)
}

// configVariable names the environment variable with the path of the configuration.
const configVariable = "TOOLSERVER_CONFIG"

// workspaceFile is looked for in the directory that the program is started in.
const workspaceFile = "toolserver.yaml"

// userFile returns the user's configuration, "" if its directory is not known.
func userFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "toolserver", "config.yaml")
}

// candidates returns the files that are looked for, the first that is obeyed
// counts.
func candidates() []string {
	if user := userFile(); user != "" {
		return []string{workspaceFile, user}
	}
	return []string{workspaceFile}
}

// named returns the file that a person has named, if any.
func named(file string) (Origin, error) {
	by := "--config"
	if file == "" {
		file, by = ambient(configVariable), "$"+configVariable
	}
	if file == "" {
		return Origin{}, nil
	}
	abs, err := filepath.Abs(file)
	return Origin{Source: OriginNamed, File: abs, By: by}, err
}

// find loads the first file that is found and may be obeyed, or else the defaults.
func find(directories []string) (*Loaded, error) {
	var unused []Unused
	for _, path := range candidates() {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		origin := Origin{Source: OriginUser, File: abs}
		if path == workspaceFile {
			origin.Source = OriginTrusted // or it is not used
		}
		l, err := load(origin, directories, nil)
		if u, ok := errors.AsType[*Unused](err); ok {
			unused = append(unused, *u)
			continue
		}
		if err == nil {
			l.Unused = unused
		}
		return l, err
	}
	return load(Origin{Source: OriginDefaults, Unused: unused}, directories, nil)
}

// maxFound is more than yamlconf decodes.
const maxFound = 2 << 20

// readFound reads a file that nobody has named, which may be anything.
func readFound(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would block
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	return io.ReadAll(io.LimitReader(f, maxFound))
}

// content reads the file, once: what is decoded is what was judged. Of a file that
// was found the error is [*Unused] if a person has to trust it and has not.
func (o *Origin) content(directories []string) ([]byte, error) {
	read := readFound
	if o.By != "" {
		read = os.ReadFile
	}
	text, err := read(o.File)
	o.SHA256 = hashOf(text)
	if o.Source == OriginNamed {
		return text, err
	}
	all, unknown := readLedger() // after the file: what was exposed before it was read, is noticed
	doubt := ""
	switch before := all.exposed(trustPath(o.named)); {
	case o.named != userFile():
		doubt = "it lies in the directory where the server is started, and others may have written it"
	case replaceable(o.named, defaultWritable(directories)):
		doubt = "it lies where tools may write"
	case before != nil && before.SHA256 != o.SHA256:
		doubt = "it has changed since tools could write there"
	case err == nil && unknown != nil:
		return nil, fmt.Errorf("whether others may have written %s is unknown: %w; or name it with --config", o.File, unknown)
	}
	if doubt == "" {
		o.Source = OriginUser
		return text, err
	}
	return text, o.trust(&all, doubt, errors.Join(err, unknown))
}

// trust returns an error unless a person trusts the content of the file, whom the
// doubt is for.
func (o *Origin) trust(all *ledger, doubt string, problem error) error {
	path := trustPath(o.named)
	switch {
	case problem != nil:
		doubt += " (" + problem.Error() + ")"
	case all.trusts(path, o.SHA256):
		o.Source = OriginTrusted
		return nil
	case slices.ContainsFunc(all.Trusted, func(t Trust) bool { return t.File == path }):
		doubt = "its content is not what was trusted"
	}
	return &Unused{o.named, doubt}
}

// settled checks, once it is known what the policy lets tools write, that they do
// not write the policy, which is the user's.
func (o *Origin) settled(writable []string) error {
	if !replaceable(o.named, writable) {
		return nil
	}
	all, err := readLedger()
	return o.trust(&all, "it lets tools write where it lies", err)
}

// defaultWritable returns what tools may write unless a file says more.
func defaultWritable(directories []string) []string {
	if here, err := os.Getwd(); err == nil && here != string(filepath.Separator) && len(directories) == 0 {
		return []string{here}
	}
	return directories
}
