package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

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
	own(l.Google.Credentials, "the Google credentials", true)
	own(l.Logging.File, "the log", false)
	own(l.Audit.File, "the audit", true)
	own(l.Audit.Key, "the key of the audit", true)
	own(l.Telemetry.OTLP.HeadersFile, "the headers for the collector", true)
	for _, k := range l.Server.Keys {
		own(k.File, "a key of the replicas", true)
	}
	own(l.Store.Password, "the password of the store", true)
	own(l.Store.CA, "who vouches for the store", false)
	for _, k := range append(slices.Collect(maps.Values(InPods(l))), l.Sandbox.Kubernetes) {
		own(k.TLS.Key, "the key for pods", true)
		own(k.API.TokenFile, "the token of the cluster", true)
	}
	own(l.stateDirectory(), "the state directory", true)
	if user := userState(); user != l.stateDirectory() {
		own(user, "the state directory", true) // has what is trusted
	}
	return p
}

// pinned returns the file that a path leads to, if a link on the way lies where
// tools may write: commands cannot be kept from replacing a link, and what it leads
// to then must not be what is read next time. Elsewhere links are followed each
// time, as those are that deployments exchange.
func (l *Loaded) pinned(file string) (string, error) {
	writable := realPaths(l.Policy().Writable())
	link, err := onTheWay(file, func(path string, link bool) bool { return link && within(path, writable) })
	if err != nil || !link {
		return file, err
	}
	return filepath.EvalSymlinks(file)
}

// replaceable reports whether tools that may write to those paths can put something
// else where the file is, or would be: itself, or a directory or link on the way.
func replaceable(file string, writable []string) bool {
	writable = realPaths(writable)
	found, _ := onTheWay(file, func(path string, _ bool) bool { return within(path, writable) })
	return found
}

// maxLinks is how many links a path may lead through.
const maxLinks = 255

// onTheWay calls is for all that a path leads through, itself included, until that
// returns true or something is not there. The paths it gets have no links but the
// last name.
func onTheWay(file string, is func(path string, link bool) bool) (found bool, err error) {
	const separator = string(filepath.Separator)
	root := filepath.VolumeName(file) + separator
	dir, names := root, strings.Split(strings.TrimPrefix(file, root), separator)
	for links := 0; len(names) > 0; {
		path := filepath.Join(dir, names[0])
		names = names[1:]
		info, err := os.Lstat(path)
		link := err == nil && info.Mode()&os.ModeSymlink != 0
		if is(path, link) || err != nil {
			return is(path, link), err
		}
		dir = path
		if !link {
			continue
		}
		target, err := os.Readlink(path)
		if links++; err != nil || links > maxLinks {
			return false, errors.Join(err, fmt.Errorf("%s leads through too many links", file))
		}
		if dir = filepath.Dir(path); filepath.IsAbs(target) {
			dir = root
		}
		names = append(strings.Split(strings.TrimPrefix(target, filepath.VolumeName(target)), separator), names...)
	}
	return false, nil
}

// within reports whether the path, which has no links, is one of those, or below.
func within(path string, of []string) bool {
	return slices.ContainsFunc(of, func(root string) bool { return pathguard.Within(root, path) })
}

// realPaths returns where paths lead to.
func realPaths(paths []string) (real []string) {
	for _, path := range paths {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		real = append(real, path)
	}
	return real
}

// Exposed reports whether the configuration file is where tools may write, so that
// only protection keeps them from changing what is obeyed.
func (l *Loaded) Exposed() bool {
	return l.Source == OriginNamed && replaceable(l.File, l.Policy().Writable())
}

// stateDirectory returns where state is kept: as configured, or where programs
// keep theirs on this system. It is empty if that cannot be known.
func (c *Config) stateDirectory() string {
	if c.StateDirectory != "" {
		return c.StateDirectory
	}
	return userState()
}

// userState returns where programs keep the state of this user.
func userState() string {
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
