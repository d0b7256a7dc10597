package process

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// MinimalEnv returns an environment for [Spec.Env] that holds of the server's only
// what ordinary programs need: PATH, HOME, USER, TZ, TMPDIR, LANG and LC_*, on
// Windows also the variables that locate the system. TERM is dumb, and the character
// encoding is UTF-8 unless the server's environment says otherwise.
//
// The variables in set are added, and win. Names that no environment can hold
// (empty, or with "=" or NUL) are left out, as are values with NUL.
func MinimalEnv(set map[string]string) []string {
	const windows = runtime.GOOS == "windows"
	names := []string{"PATH", "HOME", "USER", "TZ", "TMPDIR", "LANG"}
	if windows {
		names = append(names, "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
			"USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "PROGRAMFILES", "PROGRAMDATA", "APPDATA", "LOCALAPPDATA")
	}
	vars := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			continue
		}
		key := name
		if windows { // names are case-insensitive there
			key = strings.ToUpper(name)
		}
		if strings.HasPrefix(key, "LC_") || slices.Contains(names, key) || slices.Contains(names, name) {
			vars[name] = value
		}
	}
	if !windows {
		if vars["PATH"] == "" {
			vars["PATH"] = defaultPath
		}
		if vars["LANG"] == "" && vars["LC_ALL"] == "" && vars["LC_CTYPE"] == "" {
			vars["LANG"] = "C.UTF-8"
		}
	}
	if windows {
		// Or cmd.exe would run what a command wrote into its directory by the name of a program.
		vars["NoDefaultCurrentDirectoryInExePath"] = "1"
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

// LookupEnv returns the value of the last entry for name: a later one is meant to
// win.
func LookupEnv(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if n, v, ok := strings.Cut(entry, "="); ok && n == name {
			return v
		}
	}
	return ""
}
