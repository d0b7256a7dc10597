package config

import (
	"os"
	"path/filepath"
	"runtime"
)

// stateDirectory returns where state is kept: as configured, or where programs keep
// theirs on this system. It is empty if that cannot be known.
func (c *Config) stateDirectory() string {
	if c.StateDirectory != "" {
		dir, err := filepath.Abs(c.StateDirectory)
		if err != nil {
			return ""
		}
		return dir
	}
	switch runtime.GOOS {
	case "windows":
		if dir := os.Getenv("LocalAppData"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "toolserver", "state")
		}
		return ""
	case "darwin":
		if home := os.Getenv("HOME"); filepath.IsAbs(home) {
			return filepath.Join(home, "Library", "Application Support", "toolserver", "state")
		}
		return ""
	}
	// https://specifications.freedesktop.org/basedir-spec/latest/ ignores relative paths
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "toolserver")
	}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "toolserver")
	}
	return ""
}
