package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/programs"
	"github.com/toolserver/toolserver/sandbox/scratch"
)

// surroundings are what commands start with.
type surroundings struct {
	env       []string
	variables map[string]string // of env, besides the minimal ones
	presets   []string          // in force
	caches    string            // the directory for what commands keep
	kept      *scratch.Caches   // the same; nil if it goes with the server
}

// newSurroundings settles what commands start with. It looks at many files, which a
// server has no time for before its first answer.
func newSurroundings(p Policy, o Owner, lists programs.Lists, files access) *surroundings {
	temporary := files.scratch
	s := &surroundings{env: process.MinimalEnv(p.Settings.Env), variables: map[string]string{}, caches: temporary.Path()}
	if p.Settings.Enforcement != EnforceParseOnly && runtime.GOOS != "windows" { // where nothing keeps programs from writing elsewhere
		if s.presets = p.Settings.Presets; s.presets == nil {
			s.presets = programs.PresetsOf(lists)
		}
		if p.User != 0 {
			p.takeHome(s.variables)
			s.env = process.MinimalEnv(s.variables)
		} else if s.kept = scratch.NewCaches(pathguard.Real(p.WorkingDirectory), files.theirs); s.kept != nil {
			s.caches = s.kept.Path
		}
		// Compilers run what they have built there, so that it is not a directory that
		// other programs are in.
		s.variables["TMPDIR"] = temporary.Temporary()
		for _, t := range programs.Toolchains(s.presets) {
			for _, k := range t.Caches {
				s.place(k, p.Settings.Network, files)
			}
		}
	}
	if o.Runs != "" {
		maps.Copy(s.variables, p.Settings.Env)
	}
	s.env = process.MinimalEnv(s.variables)
	return s
}

// takeHome sets variables for a user who cannot use the home directory of the server, nor programs in it.
func (p Policy) takeHome(variables map[string]string) {
	dirs := slices.DeleteFunc(filepath.SplitList(process.LookupEnv(process.MinimalEnv(variables), "PATH")), closed)
	path := strings.Join(dirs, string(filepath.ListSeparator))
	for name, value := range map[string]string{"HOME": p.WorkingDirectory, "USER": strconv.Itoa(p.User), "PATH": path} {
		if variables[name] == "" {
			variables[name] = value
		}
	}
}

// closed reports whether a directory, or one above it, lets in nobody but its owner and group.
func closed(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode()&1 == 0 {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// with returns an environment that has the given variables, too.
func (s *surroundings) with(set map[string]string) []string {
	if len(set) == 0 {
		return s.env
	}
	variables := maps.Clone(s.variables)
	maps.Copy(variables, set)
	return process.MinimalEnv(variables)
}

// lookup returns the value of a variable.
func (s *surroundings) lookup(name string) string { return process.LookupEnv(s.env, name) }

// path returns where commands find programs.
func (s *surroundings) path() []string { return filepath.SplitList(s.lookup("PATH")) }

// atHome returns a path, where ~ is the home directory of commands.
func (s *surroundings) atHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join("/", s.lookup("HOME"), rest)
	}
	return path
}

// shellVariables change what the text of a command means to the shell, so that it would
// not be what was checked. Other variables that run code are for the operator to set.
const shellVariables = `BASH_ENV ENV SHELLOPTS BASHOPTS BASH_COMPAT BASH_LOADABLES_PATH POSIXLY_CORRECT
	IFS CDPATH GLOBIGNORE EXECIGNORE PROMPT_COMMAND PS4 PWD OLDPWD`

// CheckVariable reports why [Settings.Env] cannot have a variable.
func CheckVariable(name, value string) error {
	switch {
	case !syntax.ValidName(name):
		return fmt.Errorf("%.100q cannot be the name of a variable: use letters, digits and _", name)
	case slices.Contains(strings.Fields(shellVariables), name):
		return errors.New("it changes what the text of a command means to the shell, which would then not be what was checked; leave it out")
	case (name == "HOME" || name == "TMPDIR") && !filepath.IsAbs(value):
		return errors.New("it must be an absolute path")
	}
	return nil
}

// place sets the variables of a cache, unless programs may use their own one.
func (s *surroundings) place(k programs.Cache, network Network, files access) {
	own := s.atHome(k.Own)
	_, err := os.Stat(own)
	offline := network.kind() <= confine.Loopback
	if files.writable(own) || k.Download && offline && err == nil {
		return
	}
	dir := filepath.Join(s.caches, strings.ReplaceAll(strings.TrimLeft(k.Own, "~/."), "/", "-"))
	set := []string{k.Set}
	if k.Too != "" && err == nil {
		set = append(set, k.Too)
	}
	for _, text := range set {
		name, value, _ := strings.Cut(text, "=")
		own := (&url.URL{Scheme: "file", Path: own}).String()
		s.variables[name] = strings.NewReplacer("$DIR", dir, "$OWN", own, "$GOPROXY", s.goProxy()).Replace(value)
	}
}

// goProxy returns what go gets modules from, as "go env -w" has kept it.
func (s *surroundings) goProxy() string {
	text, _ := os.ReadFile(s.atHome("~/.config/go/env"))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "GOPROXY="); ok {
			return value
		}
	}
	return "https://proxy.golang.org,direct"
}

// makeCaches makes the directory for caches that stays.
func (s *surroundings) makeCaches() error {
	if s.kept == nil {
		return nil
	}
	return s.kept.Make()
}
