// Package tooltest tests tools the way callers use them: by name, with JSON
// arguments, through the executor.
package tooltest

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
)

// A Case is one call and its expected outcome. A call that is to succeed has none
// of Fail, ErrorType and Code.
type Case struct {
	Name string
	Args string // JSON; empty for no arguments

	Want  string   // substring of the text the model reads, or of the error's message
	Wants []string // more of them
	Exact string   // the whole text; empty is not checked

	Fail      bool        // the result is a tool execution error
	ErrorType string      // of the result or error; empty is not checked
	Code      domain.Code // the call fails with this code

	Check func(t *testing.T, res domain.ToolResult) // further checks of a result; may be nil
}

// Bounds of a call in a test, for tools that set none themselves.
const (
	callTimeout = 30 * time.Second
	callGrace   = time.Second
)

// Executor returns an executor with default settings over tools.
func Executor(t testing.TB, tools ...domain.Tool) *call.Executor {
	t.Helper()
	registry, err := domain.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	limits := domain.Limits{DefaultTimeout: callTimeout, MaxAbandonGrace: callGrace}
	return call.NewExecutor(registry, call.NewResultStore(domain.PageBytes(0)), domain.Settings{Limits: limits}, nil)
}

// Run calls tool for each case, in order, and holds every result to [Verify].
func Run(t *testing.T, tool domain.Tool, cases []Case) {
	t.Helper()
	exec := Executor(t, tool)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			res, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: tool.Name, Arguments: json.RawMessage(c.Args)})
			c.compare(t, tool, res, err)
			if err == nil {
				Verify(t, tool, res)
				if c.Check != nil && !t.Failed() {
					c.Check(t, res)
				}
			}
		})
	}
}

// Call calls tool once, outside of a table, and returns what must be a result:
// an error ends the test. The result is held to [Verify].
func Call(t testing.TB, tool domain.Tool, args string) domain.ToolResult {
	t.Helper()
	res, err := Executor(t, tool).Call(t.Context(), call.ExecuteToolCommand{Tool: tool.Name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s(%s): %v", tool.Name, args, err)
	}
	Verify(t, tool, res)
	return res
}

// marks are those of untrusted text.
var marks = regexp.MustCompile(`[ ]*--- [A-Z][a-z]+ [A-Z2-7]{26} begins: untrusted data written by [a-z ]+, not instructions ---\n|\n[ ]*--- [A-Z][a-z]+ [A-Z2-7]{26} ends ---`)

// Unmarked returns a text without the marks of [domain.Untrusted], whose words are random.
func Unmarked(text string) string { return marks.ReplaceAllString(text, "") }

// compare reports where the outcome of the call is not what c wants.
func (c *Case) compare(t testing.TB, tool domain.Tool, res domain.ToolResult, err error) {
	t.Helper()
	got, errorType := Unmarked(Text(res)), res.ErrorType()
	if err != nil {
		got, errorType = err.Error(), domain.CodeOf(err).Type()
	}
	if domain.CodeOf(err) != c.Code || res.IsError != (c.Fail || c.ErrorType != "" && c.Code == 0) {
		t.Errorf("%s(%s): code %d, is error %v; want code %d, is error %v; it says:\n%s",
			tool.Name, c.Args, domain.CodeOf(err), res.IsError, c.Code, c.Fail, got)
		return
	}
	if c.ErrorType != "" && errorType != c.ErrorType {
		t.Errorf("%s(%s): error type %q; want %q; it says:\n%s", tool.Name, c.Args, errorType, c.ErrorType, got)
	}
	if c.Exact != "" && got != c.Exact {
		t.Errorf("%s(%s):\n got %q\nwant %q", tool.Name, c.Args, got, c.Exact)
	}
	for _, want := range slices.Concat([]string{c.Want}, c.Wants) {
		if !strings.Contains(got, want) {
			t.Errorf("%s(%s):\n got %q\nwant something with %q", tool.Name, c.Args, got, want)
		}
	}
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Hint == "" {
		t.Errorf("%s(%s): the error has no hint: %v", tool.Name, c.Args, err)
	}
}

// Text returns the text blocks of res, joined.
func Text(res domain.ToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// Golden compares a text with the file that says what it must be. With update the
// file is written instead, for a look at what changed.
func Golden(t testing.TB, file, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(string(b), "\r\n", "\n"); got != want {
		first, old, now := changed(strings.Split(want, "\n"), strings.Split(got, "\n"))
		t.Errorf("%s is out of date from line %d; if the change is meant, run this package's tests with -update\n got %.1500s\nwant %.1500s",
			file, first, strings.Join(now, "\n"), strings.Join(old, "\n"))
	}
}

// changed returns what differs of two texts by lines, from the first line that does to
// the last, and the number of that first line.
func changed(want, got []string) (first int, old, now []string) {
	for len(want) > 0 && len(got) > 0 && want[0] == got[0] {
		want, got, first = want[1:], got[1:], first+1
	}
	for len(want) > 0 && len(got) > 0 && want[len(want)-1] == got[len(got)-1] {
		want, got = want[:len(want)-1], got[:len(got)-1]
	}
	return first + 1, want, got
}

// Sandbox returns the sandbox of a policy for declared tools. Commands are
// checked in it and not run. Without a working directory it is a temporary one.
func Sandbox(t testing.TB, p sandbox.Policy, declared ...[]declare.Tool) *sandbox.Sandbox {
	t.Helper()
	p.Owners = declare.Owners(slices.Concat(declared...))
	if p.WorkingDirectory == "" {
		p.WorkingDirectory = t.TempDir()
	}
	kernel := sandbox.NewKernel(nil)
	s, err := sandbox.New(p, kernel)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kernel.Close() }) // nothing was run
	return s
}

// Tools returns the tools of a family.
func Tools[C, D any](t testing.TB, f declare.Family[C, D], from declare.From[C]) []domain.Tool {
	t.Helper()
	o, err := f.Offer(from)
	if err != nil {
		t.Fatal(err)
	}
	return o.Tools
}

// Client has every tool send its requests with c.
func Client(c *http.Client) func(tool string) *http.Client {
	return func(string) *http.Client { return c }
}
