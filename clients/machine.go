package clients

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// Machine is where the files of clients are looked for.
type Machine struct {
	OS       string // as runtime.GOOS
	Home     string
	Project  string // the directory that files of a project are in
	Getenv   func(string) string
	LookPath func(string) (string, error)
}

// Here returns this machine, with the project in the current directory.
func Here() (Machine, error) {
	home, err := os.UserHomeDir()
	project, failed := os.Getwd()
	return Machine{OS: runtime.GOOS, Home: home, Project: project, Getenv: os.Getenv, LookPath: exec.LookPath}, cmp.Or(failed, err)
}

// variable is a part of a path that the environment decides: {NAME:default}, where $NAME may be unset.
var variable = lazyregexp.New(`\{(\w+)(?::([^{}]*))?\}`)

// expand returns a path of the table on this machine, and whether it is one of this system. Paths of
// the table have slashes.
func (m Machine) expand(template string) (string, bool) {
	if system, rest, ok := strings.Cut(template, "|"); ok {
		if system != m.OS && (system != "unix" || m.OS == "windows") {
			return "", false
		}
		template = rest
	}
	if name, ok := strings.CutPrefix(template, "$"); ok { // a place that there is only where the variable is set
		name, rest, _ := strings.Cut(name, "/")
		value := m.Getenv(name)
		return filepath.Join(value, filepath.FromSlash(rest)), filepath.IsAbs(value)
	}
	template = variable().ReplaceAllStringFunc(template, func(match string) string {
		parts := variable().FindStringSubmatch(match)
		switch name := parts[1]; name {
		case "config": // where programs keep their settings
			return m.settings("~/Library/Application Support")
		case "xdg": // likewise, for those that take macOS for any Unix
			return m.settings("~/.config")
		default:
			if value := m.Getenv(name); path.IsAbs(filepath.ToSlash(value)) || filepath.IsAbs(value) {
				return filepath.ToSlash(value)
			}
			return parts[2]
		}
	})
	if rest, ok := strings.CutPrefix(template, "~"); ok {
		template = filepath.ToSlash(m.Home) + rest
	}
	if strings.HasPrefix(template, "./") {
		template = filepath.ToSlash(m.Project) + template[1:]
	}
	return filepath.FromSlash(template), true
}

func (m Machine) settings(mac string) string {
	name, otherwise := "XDG_CONFIG_HOME", "~/.config"
	switch m.OS {
	case "windows":
		name, otherwise = "APPDATA", "~/AppData/Roaming"
	case "darwin":
		return mac
	}
	return filepath.ToSlash(cmp.Or(m.Getenv(name), otherwise))
}

// pick chooses among the places of a file: the first that is there, else the first whose directory
// is there, else the first. Of places with a wildcard there must not be several.
func (m Machine) pick(templates []string) (_ string, err error) {
	var files, dirs, all []string
	for _, template := range templates {
		place, ok := m.expand(template)
		if !ok {
			continue
		}
		if strings.HasPrefix(template, "$") { // comes before what is there
			return place, nil
		}
		places, star := []string{place}, strings.Index(place, "*")+1
		if star == 0 {
			all = append(all, place)
		} else if places, err = filepath.Glob(place[:star]); err != nil {
			return "", err
		}
		written := len(files)
		for _, at := range places {
			if star > 0 {
				at += place[star:]
			}
			if exists(at) {
				files = append(files, at)
			} else if star > 0 || exists(filepath.Dir(at)) {
				dirs = append(dirs, at)
			}
		}
		if written = len(files) - written; written > 1 || written == 0 && len(places) > 1 {
			return "", fmt.Errorf("%s and others may be the file of the client; nothing was changed: add the entry by hand (--print)", places[0]+place[star:])
		}
	}
	for _, list := range [][]string{files, dirs, all} {
		if len(list) > 0 {
			return list[0], nil
		}
	}
	return "", errors.New("it has no such file")
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// target returns where a file is that may be a symlink, or below one.
func target(name string) (string, error) {
	for range 40 {
		real, err := filepath.EvalSymlinks(name)
		if err == nil {
			return real, nil
		}
		link, failed := os.Readlink(name)
		if failed != nil { // it is not there
			return name, nil
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(name), link)
		}
		name = link
	}
	return "", fmt.Errorf("%s leads through too many links", name)
}
