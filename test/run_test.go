// Package test tests the script that runs the tests.
package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// run returns the lines that the script prints.
func run(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("./run", args...).CombinedOutput()
	if err != nil {
		t.Skipf("./run %v: %v: %s", args, err, out) // no bash here
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestEachTestIsInOnePart checks that each end-to-end test is run by make test or by one
// part of make verify, and that the list of the former names tests.
func TestEachTestIsInOnePart(t *testing.T) {
	parts := []string{"core"}
	for _, part := range run(t, "parts") {
		if flags := run(t, "select", part); len(flags) > 1 {
			parts = append(parts, part)
		}
	}
	if len(parts) < 3 {
		t.Fatalf("only %v have end-to-end tests", parts)
	}
	chosen := map[string]func(string) bool{}
	for _, part := range parts {
		chosen[part] = matcher(t, run(t, "select", part))
	}
	tests := declared(t)
	for _, name := range tests {
		var in []string
		for _, part := range parts {
			if chosen[part](name) {
				in = append(in, part)
			}
		}
		if len(in) != 1 {
			t.Errorf("%s is in %v", name, in)
		}
	}

	content, err := os.ReadFile("e2e/core.txt")
	if err != nil {
		t.Fatal(err)
	}
	var core []string
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "#") {
			core = append(core, strings.TrimSuffix(line, "\n"))
		}
	}
	if !slices.IsSorted(core) || len(slices.Compact(slices.Clone(core))) != len(core) {
		t.Error("e2e/core.txt is not sorted, or names a test twice")
	}
	for _, name := range core {
		if !slices.Contains(tests, name) {
			t.Errorf("e2e/core.txt names %q, which is no test", name)
		}
	}
}

// matcher says what go test runs with the flags -run and -skip.
func matcher(t *testing.T, flags []string) func(string) bool {
	t.Helper()
	patterns := map[string]*regexp.Regexp{"-skip": regexp.MustCompile(`^$`)}
	for pair := range slices.Chunk(flags, 2) {
		if len(pair) != 2 || pair[0] != "-run" && pair[0] != "-skip" {
			t.Fatalf("flags %q", flags)
		}
		if strings.Contains(pair[1], "/") {
			t.Fatalf("%s chooses subtests", pair)
		}
		patterns[pair[0]] = regexp.MustCompile(pair[1])
	}
	return func(name string) bool {
		return patterns["-run"].MatchString(name) && !patterns["-skip"].MatchString(name)
	}
}

// declared returns the names of the end-to-end tests.
func declared(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("e2e/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range function.FindAllSubmatch(content, -1) {
			names = append(names, string(match[1]))
		}
	}
	if len(names) < 400 {
		t.Fatalf("only %d tests found", len(names))
	}
	return names
}

// TestReport checks that the times of all steps are printed where one fails.
func TestReport(t *testing.T) {
	out, err := exec.Command("bash", "-c", `. ./run; step first true; step second sh -c 'echo because; false'; step third sh -c 'exit 0'`).CombinedOutput()
	if _, ran := err.(*exec.ExitError); !ran {
		t.Skipf("no bash here: %v", err)
	}
	for _, want := range []string{" s  first\n", " s  second, FAILED\n", " s  third\n", " s  together\n", "== the end of second\nbecause\n\n", "failed: second\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("does not say %q: %s", want, out)
		}
	}
}

// TestRace checks that the step with two runs at once passes where both do, and fails where either does.
func TestRace(t *testing.T) {
	for failing, want := range map[string]string{"none": " s  race\n", "*-race*": " s  race, FAILED\n", "*30m?./sandbox*": " s  race, FAILED\n"} {
		script := `. ./run; bin=$1; unit_coverage=$1/unit; go() { echo ./server; }; go_test() { case "$*" in ` + failing + `) return 1;; esac; }; step race race`
		out, err := exec.Command("bash", "-c", script, "bash", t.TempDir()).CombinedOutput() // the files of a real run are not touched
		if _, ran := err.(*exec.ExitError); err != nil && !ran {
			t.Skipf("no bash here: %v", err)
		}
		if !strings.Contains(string(out), want) {
			t.Errorf("with %s failing, does not say %q: %s", failing, want, out)
		}
	}
}
