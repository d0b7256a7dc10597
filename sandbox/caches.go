package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"toolserver/sandbox/confine"
	"toolserver/sandbox/osfile"
	"toolserver/sandbox/process"
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
)

// setVariables settles the environment of commands, and where their caches are.
func (c *Commands) setVariables(lists ToolPolicy) {
	settings := c.policy.Settings
	c.env = process.MinimalEnv(settings.Env)
	c.variables = map[string]string{}
	if settings.Enforcement != EnforceParseOnly && runtime.GOOS != "windows" { // where nothing keeps programs from writing elsewhere
		c.presets, c.caches = c.policy.presets(lists), c.cachesOf(c.policy.WorkingDirectory)
		// Compilers run what they have built there, so that it is not a directory that
		// other programs are in.
		c.variables["TMPDIR"] = c.kernel.scratch.temporary()
		for _, t := range rowsOf(c.presets) {
			for _, k := range t.caches {
				c.place(k)
			}
		}
	}
	if c.owner.Runs != "" {
		for name, value := range settings.Env {
			c.variables[name] = value
		}
	}
	c.env = process.MinimalEnv(c.variables)
}

// shellVariables change what the text of a command means to the shell, so that it would
// not be what was checked. Other variables that run code are for the operator to set.
var shellVariables = strings.Fields(`BASH_ENV ENV SHELLOPTS BASHOPTS BASH_COMPAT BASH_LOADABLES_PATH POSIXLY_CORRECT
	IFS CDPATH GLOBIGNORE EXECIGNORE PROMPT_COMMAND PS4 PWD OLDPWD`)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// CheckVariable reports why [Settings.Env] cannot have a variable.
func CheckVariable(name, value string) error {
	switch {
	case !variableName.MatchString(name):
		return fmt.Errorf("%.100q cannot be the name of a variable: use letters, digits and _", name)
	case strings.Contains(value, "\x00"):
		return errors.New("the value has a NUL byte, which no environment can hold")
	case slices.Contains(shellVariables, name):
		return errors.New("it changes what the text of a command means to the shell, which would then not be what was checked; leave it out")
	case (name == "HOME" || name == "TMPDIR") && !filepath.IsAbs(value):
		return errors.New("it must be an absolute path")
	}
	return nil
}

// place sets the variables of a cache, unless programs may use their own one.
func (c *Commands) place(k cache) {
	own := c.atHome(k.own)
	_, err := os.Stat(own)
	d, refused := c.writes.Check(own)
	offline := networks[c.policy.Settings.Network] <= confine.Loopback
	if refused == nil && d.Allowed || k.download && offline && err == nil {
		return
	}
	expand := func(text string) {
		name, value, _ := strings.Cut(text, "=")
		c.variables[name] = os.Expand(value, func(name string) string {
			switch name {
			case "DIR":
				return filepath.Join(c.caches, strings.ReplaceAll(strings.TrimLeft(k.own, "~/."), "/", "-"))
			case "OWN":
				return (&url.URL{Scheme: "file", Path: own}).String()
			}
			return c.goSetting(name)
		})
	}
	expand(k.set)
	if k.too != "" && err == nil {
		expand(k.too)
	}
}

// goSetting returns a variable as "go env -w" has kept it.
func (c *Commands) goSetting(name string) string {
	text, _ := os.ReadFile(c.atHome("~/.config/go/env"))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value
		}
	}
	return map[string]string{"GOPROXY": "https://proxy.golang.org,direct"}[name]
}

// cachesOf returns the directory for the caches of commands that work in a directory.
// It is the scratch if nothing can be kept, or if commands could replace the directory.
func (c *Commands) cachesOf(work string) string {
	base, err := os.UserCacheDir()
	dir := filepath.Join(base, cachesName)
	d, unknown := c.writes.Check(dir)
	_, unwritable := c.writes.Refused(dir)
	_, unreadable := c.reads.Refused(dir)
	if err != nil || unknown != nil || d.Allowed || unwritable || unreadable || !mayKeep(dir) {
		return c.kernel.scratch.path
	}
	sum := sha256.Sum256([]byte(realOr(work)))
	return filepath.Join(dir, hex.EncodeToString(sum[:16]))
}

// mayKeep reports whether dir is private, or can be made.
func mayKeep(dir string) bool {
	if _, err := os.Lstat(dir); err == nil {
		return private(dir)
	}
	for {
		dir = filepath.Dir(dir)
		info, err := os.Stat(dir)
		if err == nil {
			return info.IsDir() && osfile.Of(info).UID == os.Geteuid() && osfile.Writable(dir)
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return false
		}
	}
}

// private reports whether path is a directory, and no link, of this user alone.
func private(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && osfile.Of(info).UID == os.Geteuid() && info.Mode()&0o077 == 0
}

// makeCaches makes the directory for caches, unless it is there, and marks it as used.
func (c *Commands) makeCaches() error {
	if c.caches == "" || c.caches == c.kernel.scratch.path {
		return nil
	}
	if time.Since(time.Unix(0, c.kept.Load())) < cacheRenewed && private(c.caches) {
		return nil
	}
	base, now := filepath.Dir(c.caches), time.Now()
	err := os.MkdirAll(base, 0o700)
	if err == nil && private(base) {
		err = os.Mkdir(c.caches, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make a directory for caches of commands: %w", err)
	}
	if !private(base) || !private(c.caches) {
		return fmt.Errorf("%s, where commands keep caches, is no directory of this user alone; remove it", c.caches)
	}
	root, err := os.OpenRoot(c.caches) // since commands may put links there
	if err == nil {
		defer root.Close()
		if err = root.MkdirAll(goBuild, 0o700); err != nil {
			err = errors.Join(root.RemoveAll(filepath.Dir(goBuild)), root.MkdirAll(goBuild, 0o700))
		}
	}
	if err == nil {
		err = os.Chtimes(c.caches, now, now)
	}
	if err != nil {
		return fmt.Errorf("make a directory for caches of commands: %w", err)
	}
	c.kept.Store(now.UnixNano())
	sweepCaches(base)
	return nil
}

// sweepCaches removes a directory that was not used for long. It leaves the others for
// the next time, since that may take seconds.
func sweepCaches(base string) {
	entries, _ := os.ReadDir(base)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && time.Since(info.ModTime()) > cacheAge {
			_ = removeTree(filepath.Join(base, e.Name()))
			return
		}
	}
}
