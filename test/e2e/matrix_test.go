package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rule is something that holds for every kind of request, or for a reason does
// not.
type rule struct {
	name string
	// cells has an assertion for each kind of request, which makes the client
	// start; none has the reason why there is nothing to assert of a kind, a door,
	// or a "kind door".
	cells map[string]cell
	none  map[string]string
}

type cell func(t *testing.T, c *client)

// everywhere are the cells that exist for no rule.
var everywhere = map[string]string{
	"batch stdio modern":  "batches belong to protocol version 2025-03-26",
	"batch http modern":   "batches belong to protocol version 2025-03-26",
	"upload stdio legacy": byAddress,
	"upload stdio modern": byAddress,
	"upload http legacy":  byAddress,
	"upload cli":          byAddress,
	"skill cli":           "the command line reads no skills",
	"resource cli":        "the command line reads no resources",
	"prompt cli":          "the command line has no prompts",
	"completion cli":      "the command line completes nothing of MCP's",
	"subscribe cli":       "a command ends before anything changes",
	"batch cli":           "a command is one request",
	"task stdio legacy":   "tasks belong to protocol version 2026-07-28",
	"task http legacy":    "tasks belong to protocol version 2026-07-28",
	"task cli":            "a command waits for its call",
}

const byAddress = "files go by address over HTTP in protocol version 2026-07-28 only"

// of makes one assertion for several kinds.
func of(kinds []string, assert cell) map[string]cell {
	cells := map[string]cell{}
	for _, kind := range kinds {
		cells[kind] = assert
	}
	return cells
}

// and adds an assertion for some kinds.
func and(cells map[string]cell, assert cell, kinds ...string) map[string]cell {
	for _, kind := range kinds {
		cells[kind] = assert
	}
	return cells
}

// TestMatrix crosses every kind of request, through every door, with every rule.
// A cell without an assertion has to have a reason. It takes long because each cell has a
// server of its own, whose configuration, limits and death are what is asserted.
func TestMatrix(t *testing.T) {
	t.Parallel()
	if os.Getenv("FIXTURE") == "" {
		t.Fatal("FIXTURE does not name the fixture's binary")
	}
	asserted, explained := 0, 0
	for _, r := range slices.Concat(limitRules, reloadRules, secretRules, breakRules, sizeRules) {
		used := map[string]bool{}
		for _, kind := range requestKinds {
			for _, d := range doors {
				reason := ""
				for _, key := range []string{kind, d.name, kind + " " + d.name} {
					if r.none[key] != "" {
						reason, used[key] = r.none[key], true
					}
				}
				assert := r.cells[kind]
				switch {
				case everywhere[kind+" "+d.name] != "" || reason != "":
					explained++
				case assert == nil:
					t.Errorf("%s of %s over %s has no assertion, and no reason why not", r.name, kind, d.name)
				default:
					asserted++
					t.Run(r.name+"/"+kind+"/"+d.name, func(t *testing.T) {
						t.Parallel()
						assert(t, &client{door: d, kind: kind})
					})
				}
			}
		}
		for key := range r.none {
			if !used[key] {
				t.Errorf("%s: the reason for %q is about no cell", r.name, key)
			}
		}
	}
	t.Logf("%d cells have an assertion, %d a reason why not", asserted, explained)
}

// The codes of errors.
const (
	noTool, noResource, invalid         = -32001, -32002, -32602
	disabled, broken, outOfTime         = -32004, -32005, -32006
	busy, overRate, internal, badLetter = -32007, -32008, -32603, -32600
)

// notFound is the code of what is not there, or not for this client.
func (c *client) notFound(kind string) int {
	switch {
	case kind == kindTool || kind == kindTask || kind == kindUpload:
		return noTool
	case slices.Contains([]string{kindResource, kindSkill, kindSubscribe}, kind) && !c.modern:
		return noResource
	}
	return invalid
}

// ok asks for something and checks that it is had.
func (c *client) ok(t *testing.T, kind, do, at string) response {
	t.Helper()
	o := c.ask(t, kind, do, at).wait()
	c.good(t, o)
	return o
}

func (c *client) good(t *testing.T, o response) {
	t.Helper()
	bad := o.code != 0 || o.none || strings.Contains(o.text, `"isError":true`)
	for _, part := range o.parts {
		bad = bad || part.code != 0
	}
	if bad {
		t.Errorf("got %v", o)
	}
}

// fails asks for something and checks that all of it fails with a code, or on the
// command line says text.
func (c *client) fails(t *testing.T, o response, code int, text string) {
	t.Helper()
	codes := []int{o.code}
	if len(o.parts) > 0 {
		codes = nil
		for _, part := range o.parts {
			codes = append(codes, part.code)
		}
	}
	for _, got := range codes {
		if got != code && !(c.cli && got > 0 && got <= 143) {
			t.Errorf("got %v; want code %d", o, code)
		}
	}
	if !strings.Contains(o.text, text) {
		t.Errorf("got %v; want %q", o, text)
	}
}

// parts is how many calls a request of a kind makes.
func (c *client) calls() int {
	if c.kind == kindBatch || c.kind == kindUpload {
		return 2
	}
	return 1
}

// hold begins a request that runs until release, in a directory of its own.
func (c *client) hold(t *testing.T, kind string) (s *sent, dir string) {
	t.Helper()
	dir = t.TempDir()
	s = c.ask(t, kind, "hold", dir)
	n := 1
	if kind == kindBatch {
		n = 2
	}
	noted(t, dir, "begun", n)
	return s, dir
}

// noted waits until the fixture has noted something n times.
func noted(t *testing.T, dir, what string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d calls have %s", n, what), func() bool {
		files, _ := filepath.Glob(filepath.Join(dir, what+"*"))
		return len(files) == n
	})
}

// release lets go of what hold began.
func release(t *testing.T, dir string) { touch(t, filepath.Join(dir, "go")) }

// lists returns all lists, and for a person the list of tools.
func (c *client) lists(t *testing.T) string {
	t.Helper()
	if c.cli {
		return c.command(t, "tools").wait().text
	}
	all := ""
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list", "skills/list"} {
		o := c.request(t, method, `"unknown":1`).wait()
		c.good(t, o)
		all += o.text
	}
	return all
}

// items are the names of what lists have of the fixture.
func (c *client) items() []string {
	if c.cli {
		return []string{"fixture_do"}
	}
	return []string{`"name":"fixture_do","description"`, `"name":"fixture_do","uriTemplate"`, `"name":"fixture_do","description":"Does what it is told to.","arguments"`, `"name":"fixture_watched"`, `skill://fixture/do/SKILL.md`}
}

// listed checks that the lists have all items of the fixture, or none.
func (c *client) listed(t *testing.T, want bool) {
	t.Helper()
	lists := c.lists(t)
	for _, item := range c.items() {
		if strings.Contains(lists, item) != want {
			t.Errorf("%s is listed: %t; want %t", item, !want, want)
		}
	}
}

// everyItem is a configuration that says the same of all items of the fixture.
func everyItem(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("tools: {fixture_do: {%s}, upload_file: {%[1]s}}\nresources: {fixture_do: {%[1]s}, fixture_watched: {%[1]s}}\nprompts: {fixture_do: {%[1]s}}\nskills: {settings: {fixture/do: {%[1]s}}}\n", text)
}
