package runner

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// MinimalEnv returns an environment for [Request.Env] that holds nothing of the
// server's but what ordinary programs need: PATH, HOME, USER, TZ, TMPDIR, LANG
// and LC_*, on Windows also the variables that locate the system. TERM is dumb,
// and the character encoding is UTF-8 unless the server's environment says
// otherwise.
//
// The variables named in pass are taken from the server's environment as well;
// those in set have the given values, and win. Names in set that no environment
// can hold (empty, or with "=" or NUL) are left out, as are values with NUL.
func MinimalEnv(pass []string, set map[string]string) []string {
	return minimalEnv(os.Environ(), runtime.GOOS, pass, set)
}

func minimalEnv(environ []string, goos string, pass []string, set map[string]string) []string {
	names := []string{"PATH", "HOME", "USER", "TZ", "TMPDIR", "LANG"}
	if goos == "windows" {
		names = append(names, "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
			"USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "PROGRAMFILES", "PROGRAMDATA", "APPDATA", "LOCALAPPDATA")
	}
	names = append(names, pass...)
	vars := make(map[string]string, len(names)+len(set))
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			continue
		}
		key := name
		if goos == "windows" { // names are case-insensitive there
			key = strings.ToUpper(name)
		}
		if strings.HasPrefix(key, "LC_") || slices.Contains(names, key) || slices.Contains(names, name) {
			vars[name] = value
		}
	}
	if goos != "windows" {
		if vars["PATH"] == "" {
			vars["PATH"] = defaultPath
		}
		if vars["LANG"] == "" && vars["LC_ALL"] == "" && vars["LC_CTYPE"] == "" {
			vars["LANG"] = "C.UTF-8"
		}
	}
	vars["TERM"] = "dumb"
	for name, value := range set {
		if name != "" && !strings.ContainsAny(name, "=\x00") && !strings.Contains(value, "\x00") {
			vars[name] = value
		}
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// lookupEnv returns the value of the last entry for name: a later one is meant to
// win.
func lookupEnv(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if n, v, ok := strings.Cut(entry, "="); ok && n == name {
			return v
		}
	}
	return ""
}

// withDir adds PWD, which tells a program the name its directory was reached by.
func withDir(env []string, dir string) []string {
	if lookupEnv(env, "PWD") != "" {
		return env
	}
	return append(slices.Clip(env), "PWD="+dir)
}
