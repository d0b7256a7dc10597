package config

import (
	"os"
	"path/filepath"
	"strings"

	"toolserver/sandbox/pathguard"
)

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
