package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// ownCommand returns how others start this program, with warnings about that. The symlinks of package
// managers stay, since they outlive an upgrade.
func ownCommand() (argv, warnings []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	if before, after, ok := strings.Cut(filepath.ToSlash(self), "/_npx/"); ok {
		hash, _, _ := strings.Cut(after, "/")
		if argv := npxCommand(filepath.FromSlash(before + "/_npx/" + hash + "/package.json")); argv != nil {
			return argv, nil, nil
		}
	}
	program := self
	for _, name := range []string{filepath.Base(os.Args[0]), os.Args[0]} {
		if found, err := exec.LookPath(name); err == nil && sameFile(found, self) {
			if program, err = filepath.Abs(found); err != nil {
				return nil, nil, err
			}
			break
		}
	}
	temporary := []string{os.TempDir(), "/tmp", "/var/tmp"}
	if home, err := os.UserHomeDir(); err == nil {
		temporary = append(temporary, filepath.Join(home, "Downloads"))
	}
	for _, dir := range temporary {
		if pathguard.Within(filepath.Clean(dir), program) {
			warnings = append(warnings, fmt.Sprintf("the entry starts %s, which is in a folder for temporary files or downloads: "+
				"move the program, such as to /usr/local/bin, and install it again", program))
			break
		}
	}
	return []string{program}, warnings, nil
}

// npxCommand returns how npx starts the package that it was told to, nil if that is not known: its
// cache is no place that lasts.
func npxCommand(manifest string) []string {
	text, err := os.ReadFile(manifest)
	var npx struct {
		NPX struct{ Packages []string } `json:"_npx"`
	}
	if err != nil || json.Unmarshal(text, &npx) != nil || len(npx.NPX.Packages) == 0 {
		return nil
	}
	argv := []string{"npx", "-y", npx.NPX.Packages[0]}
	if runtime.GOOS == "windows" { // where it is a batch file
		argv = append([]string{"cmd", "/c"}, argv...)
	}
	return argv
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
