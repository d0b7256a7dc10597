package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// maxInit is how many bytes a package of ours may allocate before main begins: room for
// errors and short tables. A few regular expressions take more.
const maxInit = 8 << 10

// TestInitialization holds our packages to preparing nothing that most runs of the
// program do not need: clients start the server anew for each session, and every
// command starts the program again to supervise it.
func TestInitialization(t *testing.T) {
	self, err := os.Executable() // with all packages of the program
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seen := 0
	for line := range strings.Lines(string(out)) { // init PACKAGE @1.2 ms, 0.003 ms clock, 72 bytes, 2 allocs
		words := strings.Fields(line)
		if len(words) < 8 || words[0] != "init" || !strings.HasPrefix(words[1], "github.com/toolserver/toolserver/") {
			continue
		}
		seen++
		if size, err := strconv.Atoi(words[7]); err != nil || size > maxInit {
			t.Errorf("too much for an initialization: %s", line)
		}
	}
	if seen < 10 {
		t.Errorf("only %d packages seen:\n%s", seen, out)
	}
}
