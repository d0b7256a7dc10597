package config

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// A slip is a form of entries that mean something else than their writer thinks, with what
// to write.
type slip struct {
	form *regexp.Regexp
	help string
}

// slipTable has a line for each slip: the kind of entry, a regular expression and the help, with tabs
// between them.
//
//go:embed slips.txt
var slipTable string

func slips(kind string) func() []slip {
	return sync.OnceValue(func() (all []slip) {
		for line := range strings.Lines(slipTable) {
			if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); f[0] == kind {
				all = append(all, slip{regexp.MustCompile(f[1]), f[2]})
			}
		}
		return all
	})
}

var pathSlips, commandSlips = slips("path"), slips("command")

// check says what to write instead of an entry that is a slip. Extra spaces do not count.
func check(slips func() []slip, text string) error {
	for _, s := range slips() {
		if s.form.MatchString(strings.Join(strings.Fields(text), " ")) {
			return fmt.Errorf("%.100q does not work as an entry: %s", text, s.help)
		}
	}
	return nil
}

func checkPath(text string) error {
	if err := check(pathSlips, filepath.ToSlash(text)); err != nil {
		return err
	}
	_, err := pathguard.ParseEntry(text)
	return err
}

// checkDirectory is for lists of directories, which take no wildcards.
func checkDirectory(text string) error {
	err := checkPath(text)
	if e, _ := pathguard.ParseEntry(text); err == nil && e.Glob != "" {
		return fmt.Errorf("%q has wildcards; write each directory as an entry of its own", text)
	}
	return err
}

func checkCommand(text string) error { return check(commandSlips, text) }

// checkOption is for options in args_deny.
func checkOption(text string) error {
	if text == "" || strings.ContainsAny(text, "* \t\n") {
		return fmt.Errorf("%.100q does not work as an option: write each option as an entry of its own, as in [--exec, -c]", text)
	}
	return nil
}
