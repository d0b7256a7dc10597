package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/glob"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// maxLooked bounds the files that are looked at for one entry with wildcards.
const maxLooked = 50_000

// Unmatched returns a warning for each entry of a list of paths or commands that matches
// nothing on this machine now, with its place. It may be meant for later.
func (l *Loaded) Unmatched() (warnings []string) {
	for _, f := range l.source.Formatted {
		var found bool
		var near string
		switch f.Format {
		case "path", "directory":
			found, near = l.matchPath(f.Text)
		case "command":
			found, near = matchCommand(f.Text, l.WorkingDirectory)
		default:
			continue
		}
		if found {
			continue
		}
		text := fmt.Sprintf("%q matches nothing here now", f.Text)
		if near != "" {
			text += "; did you mean " + near + "?"
		}
		warnings = append(warnings, l.Mistake(f.Path, "%s", text).Error())
	}
	return warnings
}

var errFound = errors.New("found")

// matchPath reports whether there is what an entry of a list of paths is about, or what
// has nearly its name. What is beyond the bound counts as found.
func (l *Loaded) matchPath(text string) (found bool, near string) {
	e, err := pathguard.ParseEntry(text)
	if err != nil {
		return true, ""
	}
	if !filepath.IsAbs(e.Path) {
		e.Path = filepath.Join(l.WorkingDirectory, e.Path)
	}
	if e.Glob == "" {
		if _, err := os.Lstat(e.Path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return true, ""
		}
		near, _ = nearest.Word(filepath.Base(e.Path), names(filepath.Dir(e.Path)))
		return false, near
	}
	g, err := glob.Compile("/" + e.Glob)
	if err != nil {
		return true, ""
	}
	dirs := []string{e.Path}
	if e.Anywhere {
		dirs = append([]string{l.WorkingDirectory}, l.Roots...)
	}
	looked := 0
	for _, dir := range dirs {
		err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
			rel, err := filepath.Rel(dir, path)
			if looked++; looked > maxLooked || err == nil && rel != "." && g.Match(filepath.ToSlash(rel)) {
				return errFound
			}
			return nil
		})
		found = found || err == errFound
	}
	return found, ""
}

// matchCommand reports whether there is a program or a builtin that an entry of a list of
// commands is about, or one that has nearly its name.
func matchCommand(text, dir string) (found bool, near string) {
	name := command.Words(text)[0]
	if name == "*" || command.IsBuiltin(name) {
		return true, ""
	}
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		dirs = []string{filepath.Dir(name)}
	}
	for _, file := range command.Files(filepath.Base(name), dirs) {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true, ""
		}
	}
	var known []string
	for _, dir := range dirs {
		known = append(known, names(dir)...)
	}
	near, _ = nearest.Word(filepath.Base(name), known)
	return false, near
}

// names returns what is in a directory.
func names(dir string) (all []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
