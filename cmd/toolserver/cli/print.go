package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/server"
)

// answer prints what a call has led to. The error is for the exit code, and for people.
func (o *opened) answer(res domain.ToolResult, err error) error {
	if o.line == nil {
		return err
	}
	code, std := exitFailed, o.g.std
	if failed, ok := errors.AsType[*domain.Error](err); ok && o.g.json {
		code, res, err = o.g.codeOf(err), failed.AsResult(), nil
	}
	if err != nil {
		return o.line.explained(err)
	}
	outcome := outcomeOf(res)
	if o.g.json {
		fmt.Fprintf(std.Out, "%s\n", server.MarshalResult(res))
	} else {
		outcome.print(std, o.tool.Name, res)
	}
	if res.IsError && o.line.newline != "" { // a path should have none, which the program cannot know
		fmt.Fprintf(std.Err, "toolserver: note: --%s, read from standard input, ends with a newline; printf %%s writes none\n", o.line.newline)
	}
	switch {
	case o.line.exitCode && outcome.timedOut:
		code = exitTimeout
	case o.line.exitCode && outcome.exitCode != nil:
		code = *outcome.exitCode
	case !res.IsError:
		code = exitOK
	}
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// outcome is what a result says of the command that a tool ran.
type outcome struct {
	exitCode *int
	timedOut bool
	message  string // of a tool execution error
}

// outcomeOf reads a result as clients get it, so that tools of other servers are no exception.
func outcomeOf(res domain.ToolResult) (o outcome) {
	if !res.IsError {
		res.Content = nil // which may be long
	}
	type facts struct {
		ExitCode  *int   `json:"exit_code"`
		ErrorType string `json:"error_type"`
		Message   string `json:"message"`
	}
	var wire struct {
		Meta       facts `json:"_meta"`
		Structured facts `json:"structuredContent"`
	}
	_ = json.Unmarshal(server.MarshalResult(res), &wire) // of another shape, it says nothing
	return outcome{cmp.Or(wire.Structured.ExitCode, wire.Meta.ExitCode), wire.Structured.ErrorType == "timed_out", wire.Structured.Message}
}

// print shows the content of a result on standard output, and what has failed on standard error. The
// content of a tool execution error is its message, unless a command ran.
func (o outcome) print(std app.Streams, tool string, res domain.ToolResult) {
	blocks := res.Blocks()
	text := ""
	if len(blocks) == 1 && blocks[0].Type == domain.TextContent {
		text = blocks[0].Text
	}
	switch {
	case !res.IsError:
		printBlocks(std.Out, blocks)
	case o.message == text && o.exitCode != nil: // the output, and how it ended
		end := endOf(text)
		io.WriteString(std.Out, text[:end])
		fmt.Fprintln(std.Err, text[end:])
	case o.message == "" || o.message == text:
		printBlocks(std.Err, blocks)
	default:
		printBlocks(std.Out, blocks)
		fmt.Fprintf(std.Err, "toolserver: %s: %s\n", tool, call.Visible(o.message))
	}
}

// endOf returns where the lines begin that say how a command ended, behind its output.
func endOf(text string) int {
	if i := strings.LastIndex("\n"+text, "\n[timed out "); i >= 0 {
		return i
	}
	return strings.LastIndexByte(text, '\n') + 1
}

func printBlocks(w io.Writer, blocks []domain.Content) {
	for _, c := range blocks {
		switch c.Type {
		case domain.TextContent:
			io.WriteString(w, c.Text)
			if c.Text != "" && !strings.HasSuffix(c.Text, "\n") {
				io.WriteString(w, "\n")
			}
		case domain.LinkContent:
			fmt.Fprintln(w, c.URI)
		default:
			fmt.Fprintf(w, "[%s, %s, %d bytes]\n", c.Type, c.MIMEType, len(c.Data)+len(c.Text))
		}
	}
}

// printJSON prints a value for programs.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printYAML prints a YAML document of the program as JSON.
func printYAML(w io.Writer, text []byte) error {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return err
	}
	return printJSON(w, v)
}

// forPeople is where instructions go: not into output that a program reads.
func (g *globals) forPeople() io.Writer {
	if g.json {
		return g.std.Err
	}
	return g.std.Out
}

// counted returns a number of things in words.
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

// visibleLines returns a text that others may have written as it can be shown, line by line.
func visibleLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " ")
		b.WriteString(line[:len(line)-len(rest)])
		b.WriteString(call.Visible(strings.TrimSuffix(rest, "\n")) + "\n")
	}
	return b.String()
}
