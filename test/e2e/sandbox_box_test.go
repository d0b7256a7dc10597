//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// open starts a server.
func (g *ground) open(s setup) *box {
	g.t.Helper()
	return &box{wire: launch(g.t, g.argv(s)...), ground: g}
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
	*wire
	*ground
	last int
}

// outcome is how a call ended.
type outcome struct {
	text      string
	structure map[string]any
	failed    bool
	errorType string
}

func (o outcome) String() string { return fmt.Sprintf("%t %s %.2000q", o.failed, o.errorType, o.text) }

// begin sends a call and returns its id.
func (b *box) begin(tool string, args map[string]any) string {
	b.wire.t.Helper()
	b.last++
	id := strconv.Itoa(b.last)
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	must(b.wire.t, err)
	b.send(request(id, "tools/call", string(params)))
	return id
}

// finish returns how a call ends, or has ended while others were waited for.
func (b *box) finish(id string) outcome {
	b.wire.t.Helper()
	for i, r := range b.before {
		if r.Method == "" && string(r.ID) == id {
			b.before = slices.Delete(b.before, i, i+1)
			return b.outcome(r)
		}
	}
	return b.outcome(b.answer(id))
}

func (b *box) outcome(r wireLine) (o outcome) {
	b.wire.t.Helper()
	if r.Error != nil {
		return outcome{text: r.Error.Message, failed: true, errorType: strconv.Itoa(r.Error.Code)}
	}
	var result struct {
		Content           []struct{ Text string }
		StructuredContent map[string]any
		IsError           bool
	}
	must(b.wire.t, json.Unmarshal(r.Result, &result))
	o.failed, o.structure = result.IsError, result.StructuredContent
	o.errorType, _ = o.structure["error_type"].(string)
	for _, c := range result.Content {
		o.text += c.Text
	}
	return o
}

func (b *box) call(tool string, args map[string]any) outcome {
	b.wire.t.Helper()
	return b.finish(b.begin(tool, args))
}

// bash runs a command that ends soon.
func (b *box) bash(command string) outcome {
	b.wire.t.Helper()
	return b.call("bash", map[string]any{"command": command})
}

// resource reads one.
func (b *box) resource(uri string) string {
	b.wire.t.Helper()
	b.last++
	id := strconv.Itoa(b.last)
	b.send(request(id, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri)))
	r := b.answer(id)
	var result struct{ Contents []struct{ Text string } }
	if r.Error != nil || json.Unmarshal(r.Result, &result) != nil || len(result.Contents) != 1 {
		b.wire.t.Fatalf("%s is %s", uri, r.Raw)
	}
	return result.Contents[0].Text
}

// stop ends the server as clients do.
func (b *box) stop() {
	b.wire.t.Helper()
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
