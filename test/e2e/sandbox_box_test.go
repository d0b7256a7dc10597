//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// open starts a server.
func (g *ground) open(s setup) *box {
	g.t.Helper()
	return &box{toolClient: connect(g.t, g.argv(s)...), ground: g}
}

// run runs the program to its end and returns what it says.
func (g *ground) run(s setup) (text string, code int) {
	g.t.Helper()
	argv := g.argv(s)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	b, _ := cmd.CombinedOutput() // the code tells
	return string(b), cmd.ProcessState.ExitCode()
}

// box is a server with its ground.
type box struct {
	*toolClient
	*ground
}

// outcome is how a call ended.
type outcome struct {
	text      string
	structure map[string]any
	failed    bool
	errorType string
}

func (o outcome) String() string { return fmt.Sprintf("%t %s %.2000q", o.failed, o.errorType, o.text) }

// finish returns how a call ends.
func (b *box) finish(p *pending) (o outcome) {
	b.t.Helper()
	a := b.toolClient.finish(p)
	if a.Error != nil {
		return outcome{text: a.Error.Message, failed: true, errorType: strconv.Itoa(a.Error.Code)}
	}
	o.failed, o.structure = a.Result.IsError, a.Result.StructuredContent
	o.errorType, _ = o.structure["error_type"].(string)
	for _, c := range a.Result.Content {
		o.text += c.Text
	}
	return o
}

func (b *box) call(tool string, args map[string]any) outcome {
	b.t.Helper()
	return b.finish(b.begin(tool, args))
}

// bash runs a command that ends soon.
func (b *box) bash(command string) outcome {
	b.t.Helper()
	return b.call("bash", map[string]any{"command": command})
}

// resource reads one.
func (b *box) resource(uri string) string {
	b.t.Helper()
	var result struct{ Contents []struct{ Text string } }
	raw := b.request("resources/read", map[string]string{"uri": uri})
	if json.Unmarshal(raw, &result) != nil || len(result.Contents) != 1 {
		b.t.Fatalf("%s is %s", uri, raw)
	}
	return result.Contents[0].Text
}

// stop ends the server as clients do.
func (b *box) stop() {
	b.t.Helper()
	b.in.Close()
	b.end()
}

// lines returns the lines of text that hold part.
func lines(text, part string) (found []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
