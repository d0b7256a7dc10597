package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"toolserver/sandbox"
	"toolserver/sandbox/pathguard"
)

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

// pinned returns the file that a path leads to, if a link on the way lies where
// tools may write: commands cannot be kept from replacing a link, and what it leads
// to then must not be what is read next time. Elsewhere links are followed each
// time, as those are that deployments exchange.
func (l *Loaded) pinned(file string) (string, error) {
	writable := l.Policy().Writable()
	path := string(filepath.Separator)
	for _, name := range strings.Split(filepath.Clean(file), path) {
		dir := path
		path = filepath.Join(path, name)
		info, err := os.Lstat(path)
		if err != nil {
			return "", err
		}
		if info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		if within(dir, writable) {
			return filepath.EvalSymlinks(file)
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", err
		}
	}
	return file, nil
}

// within reports whether the directory, which has no links, is one of those, or
// below.
func within(dir string, of []string) bool {
	for _, root := range of {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		if pathguard.Within(root, dir) {
			return true
		}
	}
	return false
}

// Exposed reports whether the configuration file is where tools may write, so that
// only protection keeps them from changing it.
func (l *Loaded) Exposed() bool {
	if l.File == "" {
		return false
	}
	real, err := filepath.EvalSymlinks(l.File)
	return err == nil && within(filepath.Dir(real), l.Policy().Writable())
}

// stateDirectory returns where state is kept: as configured, or where programs
// keep theirs on this system. It is empty if that cannot be known.
func (c *Config) stateDirectory() string {
	if c.StateDirectory != "" {
		return c.StateDirectory
	}
	places := [][2]string{{"XDG_STATE_HOME", "toolserver"}, {"HOME", ".local/state/toolserver"}}
	switch runtime.GOOS {
	case "windows":
		places = [][2]string{{"LocalAppData", "toolserver/state"}}
	case "darwin":
		places = [][2]string{{"HOME", "Library/Application Support/toolserver/state"}}
	}
	for _, place := range places {
		if dir := os.Getenv(place[0]); filepath.IsAbs(dir) { // a relative one is ignored, as the XDG specification says
			return filepath.Join(dir, place[1])
		}
	}
	return ""
}
