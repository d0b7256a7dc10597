package command

import (
	"flag"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var manual = flag.Bool("manual", false, "compare the table of programs with the manual pages of this machine")

var (
	// optionLine is a line of a manual that begins with options.
	optionLine = regexp.MustCompile(`^\s{0,14}(-{1,2}[A-Za-z0-9?@][^\s,=\[<]*.*)$`)
	optionName = regexp.MustCompile(`(?:^|[\s,/|])(--?[A-Za-z0-9?@][A-Za-z0-9_.-]*)`)
	// telling are the words of what an option does that matter here.
	telling = regexp.MustCompile(`(?i)\b(execut(e|es|ed|ing)\b.{0,40}\b(command|program|script|code)|(run|start|invoke|spawn|call|use)s?\b.{0,30}\b(command|program|script|helper|shell|editor|pager|filter|plugin|hook)|` +
		`(external|filter|shell|helper|arbitrary) (command|program|script)|(?-i:COMMAND|PROGRAM|CMD|PROG|SCRIPT|PAGER|EDITOR|HOOK)\b|(compressed|zip) files|decompressor|preprocessor|plugins?|` +
		`(read|take|get|load)s?\b.{0,40}\bfrom (a )?(the )?([a-z]+ )?file|options? from|arguments from|config\w* file|(write|save|append|log)\w*\b.{0,30}\bto (a )?(the )?\w*file|output file|log ?file)\b`)
	// harmlessly is what only sounds so.
	harmlessly = regexp.MustCompile(`^--?(help|version|no-|h\b|V\b)`)
)

// TestManuals prints, program by program, the options that by their manual start
// something, or read options or names from a file, or write one, and that the table
// does not know. It is run by hand, where many of the programs are installed:
//
//	go test ./sandbox/command -run TestManuals -manual -v
func TestManuals(t *testing.T) {
	if !*manual {
		t.Skip("run with -manual")
	}
	table, seen := programs(), 0
	for _, name := range slices.Sorted(maps.Keys(table)) {
		s := table[name]
		if strings.HasPrefix(name, "builtin ") || s.has("!") || s.is("t") {
			continue
		}
		text := manualOf(name)
		if text == "" {
			continue
		}
		seen++
		for _, missing := range s.missing(text) {
			fmt.Printf("%-16s %s\n", name, missing)
		}
	}
	if seen == 0 {
		t.Skip("no program of the table is installed")
	}
	t.Logf("%d manuals of %d programs", seen, len(table))
}

// missing returns the options that text describes with telling words and s lacks.
func (s *spec) missing(text string) (found []string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		m := optionLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		head, about, ok := strings.Cut(m[1], "  ")
		if !ok || strings.TrimSpace(about) == "" {
			for _, next := range lines[i+1 : min(i+4, len(lines))] {
				if optionLine.MatchString(next) {
					break
				}
				about += " " + strings.TrimSpace(next)
			}
		}
		if !telling.MatchString(head+" "+about) || harmlessly.MatchString(head) {
			continue
		}
		known := slices.ContainsFunc(optionName.FindAllStringSubmatch(head, -1), func(m []string) bool {
			bare := strings.TrimLeft(m[1], "-")
			o := s.lookup(bare, len(bare) > 1)
			return o != nil && slices.Contains(o.names, bare)
		})
		if !known {
			found = append(found, strings.Join(strings.Fields(head), " ")+": "+clean(strings.Join(strings.Fields(about), " "), 100))
		}
	}
	return found
}

// manualOf returns the manual page of a program or its help; git's and other
// sub-commands have pages of their own.
func manualOf(name string) string {
	run := func(argv ...string) string {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			return ""
		}
		cmd := exec.Command(path, argv[1:]...)
		cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "MANWIDTH=200", "LC_ALL=C", "MANPAGER=cat", "PAGER=cat", "TERM=dumb"}
		timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		out, _ := cmd.CombinedOutput() // that it fails says only that there is no such page
		return regexp.MustCompile(".\x08|\x1b\\[[0-9;]*m").ReplaceAllString(string(out), "")
	}
	words := strings.Fields(name)
	if _, err := exec.LookPath(words[0]); err != nil {
		return ""
	}
	if page := run("man", "--", strings.Join(words, "-")); strings.Count(page, "\n") > 20 {
		return page
	}
	if len(words) == 2 && words[0] == "git" {
		return run("git", words[1], "-h")
	}
	return run(append(words, "--help")...)
}
