package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"toolserver/sandbox/pathguard"
)

// A slip is a form of entries that mean something else than their writer thinks, with what
// to write.
type slip struct {
	form *regexp.Regexp
	help string
}

func slips(list [][2]string) func() []slip {
	return sync.OnceValue(func() (all []slip) {
		for _, s := range list {
			all = append(all, slip{regexp.MustCompile(s[0]), s[1]})
		}
		return all
	})
}

var pathSlips = slips([][2]string{
	{`^$`, "write . for the working directory"},
	{`^!`, "lists have no exceptions; write the rest in the other list, or ./! for a name that begins with it"},
	{`^~[^/]`, "~ is your own home directory, at the start and before a slash; write the whole path, or ./~ for a name that begins with it"},
	{`^\$\w`, "write ${NAME} for a variable, or ./$ for a name that begins with it"},
	{`^(regexp?|re|glob|path):|^\^|[*+\\)].*\$$`, "write a glob such as *.key or src/**/*.go, not a regular expression"},
	{`://`, "write a path, not a URL"},
	{`\|`, "write each path as an entry of its own, or {a,b}"},
	{`\\[^\]\[*?{}!,\\^-]|\\$`, `write a glob such as *.key; \ escapes wildcards only, and itself`},
	{`[^/*{,]\*\*|\*\*[^/*},]|\*\*\*`, "** is a whole name, as in **/*.key; write * within a name"},
	{`[*?[{].*(/\.\.?(/|$)|//)`, "write what follows a wildcard without ., .. and //"},
})

var commandSlips = slips([][2]string{
	{`^$`, "write a program name, a sub-command, a path or *"},
	{"[|&;<>()$`\\\\\"']", "it must be plain words, not shell syntax and not a regular expression"},
	{`^(regexp?|re|glob):|^\^|(^|\D)\.\*`, "write a pattern such as rm*, not a regular expression"},
	{`^!.`, "lists have no exceptions; write the command in the other list"},
	{`^[^ *]+:\*`, `write "git *" for git with any arguments`},
	{`^[^ ]+/( |$)`, "write a program, not a directory; ./bin/* is every program in bin"},
	{`^[^ ]*\*[^ ]*/`, "write out the directory of a program; its name may have wildcards"},
	{`\?|\[.*\]|\{.*,.*\}`, "* is the only wildcard; write each command as an entry of its own"},
	{`^\*[ *]*[^ *]`, "* for any program stands alone; write out the program, or as in x*"},
})

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
