package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/process"
)

// This file is about where commands keep what they download and build, if policy does
// not let them where programs do that otherwise: in a directory of their own, which stays
// for the next server. Each working directory has another one, so that commands put
// nothing into what is built elsewhere.

const (
	cachesName   = "toolserver-commands" // among the caches of the user
	goBuild      = "cache/go-build"      // in the directory; go runs what it keeps there
	cacheAge     = 30 * 24 * time.Hour   // after which an unused directory is removed
	cacheRenewed = time.Hour             // how exact is known when one was used
	maxSweep     = time.Second           // after which the next one waits for another command
)

// surroundings are what commands start with.
type surroundings struct {
	env       []string
	variables map[string]string // of env, besides the minimal ones
	presets   []string          // in force
	caches    string            // the directory for what commands keep
}

// newSurroundings settles what commands start with. It looks at many files, which a
// server has no time for before its first answer.
func (c *Commands) newSurroundings(lists ToolPolicy) *surroundings {
	settings := c.policy.Settings
	s := &surroundings{env: process.MinimalEnv(settings.Env), variables: map[string]string{}, caches: c.kernel.scratch.path()}
	if settings.Enforcement != EnforceParseOnly && runtime.GOOS != "windows" { // where nothing keeps programs from writing elsewhere
		s.presets, s.caches = c.policy.presets(lists), c.cachesOf(c.policy.WorkingDirectory)
		// Compilers run what they have built there, so that it is not a directory that
		// other programs are in.
		s.variables["TMPDIR"] = c.kernel.scratch.temporary()
		for _, t := range rowsOf(s.presets) {
			for _, k := range t.caches {
				c.place(s, k)
			}
		}
	}
	if c.owner.Runs != "" {
		maps.Copy(s.variables, settings.Env)
	}
	s.env = process.MinimalEnv(s.variables)
	return s
}

// lookup returns the value of a variable.
func (s *surroundings) lookup(name string) string { return lookup(s.env, name) }

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
func (c *Commands) place(s *surroundings, k cache) {
	own := s.atHome(k.own)
	_, err := os.Stat(own)
	offline := c.policy.Settings.Network.kind() <= confine.Loopback
	if c.writable(own) || k.download && offline && err == nil {
		return
	}
	dir := filepath.Join(s.caches, strings.ReplaceAll(strings.TrimLeft(k.own, "~/."), "/", "-"))
	set := []string{k.set}
	if k.too != "" && err == nil {
		set = append(set, k.too)
	}
	for _, text := range set {
		name, value, _ := strings.Cut(text, "=")
		s.variables[name] = strings.NewReplacer("$DIR", dir, "$OWN", (&url.URL{Scheme: "file", Path: own}).String(), "$GOPROXY", s.goProxy()).Replace(value)
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

// cachesOf returns the directory for the caches of commands that work in a directory.
// It is the scratch if nothing can be kept, or if commands could replace the directory.
func (c *Commands) cachesOf(work string) string {
	base, err := os.UserCacheDir()
	dir := filepath.Join(base, cachesName)
	_, unwritable := c.writes.Refused(dir)
	_, unreadable := c.reads.Refused(dir)
	if err != nil || c.writable(dir) || unwritable || unreadable || !mayKeep(dir) {
		return c.kernel.scratch.path()
	}
	sum := sha256.Sum256([]byte(realOr(work)))
	return filepath.Join(dir, hex.EncodeToString(sum[:16]))
}

// mayKeep reports whether dir is private, or can be made where the user has others, or
// in the home directory. That must exist: there are users who are to have none.
func mayKeep(dir string) bool {
	private, err := openPrivate(dir, dir, os.OpenRoot, os.Lstat)
	if err == nil {
		return private.Close() == nil
	}
	for _, above := range []string{filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		if !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		var info fs.FileInfo
		if info, err = os.Stat(above); err == nil {
			return info.IsDir() && osfile.Of(info).UID == os.Geteuid() && osfile.Writable(above)
		}
	}
	return false
}

// makeCaches makes the directory for caches, unless it is there, and marks it as used.
func (c *Commands) makeCaches() error {
	caches := c.around().caches
	info, err := os.Lstat(caches)
	if caches == c.kernel.scratch.path() || err == nil && info.IsDir() && time.Since(time.Unix(0, c.kept.Load())) < cacheRenewed {
		return nil
	}
	base, name := filepath.Split(caches)
	if err = os.MkdirAll(base, 0o700); err != nil {
		return fmt.Errorf("make a directory for caches of commands: %w", err)
	}
	root, err := openPrivate(base, base, os.OpenRoot, os.Lstat)
	if err != nil {
		return fmt.Errorf("caches of commands: %w", err)
	}
	defer root.Close()
	if err = root.MkdirAll(filepath.Join(name, goBuild), 0o700); err != nil { // there is a link, which commands may have put there
		err = errors.Join(root.RemoveAll(filepath.Join(name, "cache")), root.MkdirAll(filepath.Join(name, goBuild), 0o700))
	}
	now := time.Now()
	if err = errors.Join(err, root.Chtimes(name, now, now)); err != nil {
		return fmt.Errorf("make a directory for caches of commands: %w", err)
	}
	c.kept.Store(now.UnixNano())
	// What was not used for long goes, some of it at a time, since that may take seconds.
	entries, _ := os.ReadDir(base)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && time.Since(info.ModTime()) > cacheAge && time.Since(now) < maxSweep {
			_ = removeTree(filepath.Join(base, e.Name()))
		}
	}
	return nil
}
