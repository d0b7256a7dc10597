package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"toolserver/config/yamlconf"
	"toolserver/sandbox"
)

// Loaded is a configuration and where it comes from.
type Loaded struct {
	Config
	File    string   // empty if there is none
	Secrets []string // what must not be shown

	named  string // the path that File was found by
	source yamlconf.Source
	size   int  // of the file
	whole  bool // the file ends with a newline
}

// Overrides are what the command line says over the file.
type Overrides struct {
	File        string   // to read instead of looking for one
	Directories []string // the first is the working directory, all are roots
}

// errNoDirectory tells somebody whose client starts servers anywhere what to
// set.
var errNoDirectory = errors.New("no working directory: the server was started in /, so give a directory as an argument (toolserver serve --stdio /path/to/project), or set working_directory in the configuration")

// Load reads the configuration: the file that is named, or the first there is
// of $TOOLSERVER_CONFIG, toolserver.yaml here, and toolserver/config.yaml in
// the user's configuration directory; or else the defaults. The error has a
// line for each mistake, with its place in the file.
func Load(o Overrides) (*Loaded, error) { return load(o, nil) }

// load is Load, with a check of the file's text before anything else is made of
// it: the text that is checked is the one that is obeyed.
func load(o Overrides, check func(file string, text []byte) error) (*Loaded, error) {
	l := &Loaded{Config: Default()}
	var err error
	if l.File, err = find(o.File); err != nil {
		return nil, err
	}
	if l.File != "" {
		text, err := os.ReadFile(l.File)
		if err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
		if check != nil {
			if err := check(l.File, text); err != nil {
				return nil, err
			}
		}
		l.size, l.whole = len(text), endsLine(text)
		if err := yamlconf.Decode(l.File, text, &l.Config, &l.source); err != nil {
			return nil, err
		}
		l.Secrets = l.source.Secrets()
	}
	l.Tools = l.ToolSections.common()
	l.credentials()
	if err := l.directories(o.Directories); err != nil {
		return nil, err
	}
	l.named = l.File
	if l.File != "" && filepath.VolumeName(l.File) == "" {
		if l.File, err = l.pinned(l.File); err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
	}
	return l, l.check()
}

// Again reads the same file once more. A file that looks as if its writer has
// not finished is refused, since what is missing would open what the
// configuration has closed: one that is empty, or that is shorter than before
// and breaks off within its last line, as a full disk leaves it.
func (l *Loaded) Again(directories []string) (*Loaded, error) {
	again, err := load(Overrides{File: l.File, Directories: directories}, func(file string, text []byte) error {
		switch {
		case empty(text):
			return fmt.Errorf("%s: the file is empty, which would lift every restriction; write what is to hold, or restart the server to have the defaults", file)
		case len(text) < l.size && l.whole && !endsLine(text):
			return fmt.Errorf("%s: the last line does not end with a newline, and the file is shorter than before: it looks half-written; save all of it, with a newline at its end", file)
		}
		return nil
	})
	if again != nil {
		again.named = l.named
	}
	return again, err
}

func endsLine(text []byte) bool { return bytes.HasSuffix(text, []byte("\n")) }

// empty reports whether a file has nothing but blanks and comments, as one has
// that is about to be written or that a full disk has left.
func empty(data []byte) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && string(line) != "---" && string(line) != "..." {
			return false
		}
	}
	return true
}

// find returns the file to read, or "" if there is none.
func find(named string) (string, error) {
	if named == "" {
		named = os.Getenv("TOOLSERVER_CONFIG")
	}
	if named != "" {
		abs, err := filepath.Abs(named)
		return abs, err
	}
	for _, path := range candidates() {
		if _, err := os.Stat(path); err == nil {
			return filepath.Abs(path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("configuration: %w", err)
		}
	}
	return "", nil
}

// candidates returns the files that are looked for, the first that is there
// counts.
func candidates() []string {
	paths := []string{"toolserver.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		paths = append(paths, filepath.Join(dir, "toolserver", "config.yaml"))
	}
	return paths
}

// Policy returns what tools may touch. The files that the program itself obeys
// are not among it, nor those it would obey when it is started again.
func (l *Loaded) Policy() sandbox.Policy {
	p := l.Config.Policy()
	own := func(path, what string, secret bool) {
		if abs, err := filepath.Abs(path); path != "" && err == nil {
			p.Own = append(p.Own, sandbox.OwnFile{Path: abs, What: what, Secret: secret})
		}
	}
	own(l.File, "the configuration file", false)
	own(l.named, "the configuration file", false)
	for _, path := range candidates() {
		own(path, "the configuration file", false)
	}
	own(l.Server.TLS.Cert, "the TLS certificate", false)
	own(l.Server.TLS.Key, "the TLS key", true)
	own(l.Logging.File, "the log", false)
	own(l.stateDirectory(), "the state directory", true)
	return p
}

// directories settles the working directory and the roots, which must exist.
func (l *Loaded) directories(given []string) error {
	if len(given) > 0 {
		l.WorkingDirectory = given[0]
		l.Roots = append(l.Roots[:len(l.Roots):len(l.Roots)], given[1:]...)
	}
	if l.WorkingDirectory == "" {
		dir, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("no working directory: %w", err)
		}
		if dir == "/" {
			return errNoDirectory
		}
		l.WorkingDirectory = dir
	}
	var err error
	if l.WorkingDirectory, err = l.directory("working_directory", l.WorkingDirectory); err != nil {
		return err
	}
	for i, root := range l.Roots {
		if l.Roots[i], err = l.directory(fmt.Sprintf("roots[%d]", i), root); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loaded) directory(key, path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", l.mistake(key, "%v", err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", l.mistake(key, "%v", err)
	}
	if !info.IsDir() {
		return "", l.mistake(key, "%s is not a directory", abs)
	}
	d, err := os.Open(abs)
	if err != nil {
		return "", l.mistake(key, "%v", err)
	}
	return abs, d.Close()
}

// mistake returns an error about the value of key, with its place if it comes
// from a file.
func (l *Loaded) mistake(key, format string, args ...any) error {
	if l.File == "" {
		return fmt.Errorf(key+": "+format, args...)
	}
	return l.source.Errorf(key, format, args...)
}

// Show returns the configuration in force as YAML, with secrets masked.
func (l *Loaded) Show() []byte { return yamlconf.Show(&l.Config, &l.source) }

// Template returns a file to start from, with every key and what it means.
func Template() []byte {
	c := Default()
	return yamlconf.Template(&c)
}

// Schema returns the JSON Schema of the file, for editors.
func Schema() []byte {
	c := Default()
	return yamlconf.Schema(&c)
}
