package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
)

// serve runs the program with pipes for its streams, until the test ends.
func serveProgram(t *testing.T, args ...string) (in io.Writer, out, stderr *bufio.Reader) {
	t.Helper()
	stdin, toServer := io.Pipe()
	fromServer, stdout := io.Pipe()
	logs, errOut := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	go func() {
		code := Run(ctx, args, app.Streams{In: stdin, Out: stdout, Err: errOut}, app.Program{Version: "test"})
		stdout.Close()
		errOut.Close()
		done <- code
	}()
	t.Cleanup(func() {
		cancel()
		toServer.Close()
		go io.Copy(io.Discard, fromServer)
		go io.Copy(io.Discard, logs)
		if code := <-done; code != 0 {
			t.Errorf("the server ended with code %d", code)
		}
	})
	return toServer, bufio.NewReader(fromServer), bufio.NewReader(logs)
}

// drain keeps a stream from filling up.
func drain(r io.Reader) { go io.Copy(io.Discard, r) }

// TestTranscripts plays the conversations in testdata/mcp to the whole program,
// over each transport and in each era. The client's lines start with >, the
// answer the server owes with <. DIR stands for the working directory, ICON for a picture.
func TestTranscripts(t *testing.T) {
	transcripts, err := filepath.Glob("../../../testdata/mcp/*.txt")
	if err != nil || len(transcripts) == 0 {
		t.Fatal("no transcripts", err)
	}
	texts := map[string]string{}
	for _, path := range transcripts {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(path)] = string(b)
	}
	for name, text := range texts {
		for transport, dial := range map[string]func(*testing.T) func(string) string{"stdio": dialStdio, "http": dialHTTP} {
			t.Run(transport+"/"+name, func(t *testing.T) {
				dir := workspace(t)
				ask := dial(t)
				var got string
				for line := range strings.Lines(text) {
					line = workingDirectory.ReplaceAllLiteralString(strings.TrimSpace(line), dir)
					if msg, ok := strings.CutPrefix(line, "> "); ok {
						got = picture.ReplaceAllLiteralString(varying.ReplaceAllString(ask(msg), "${1}"), "data:image/png;base64,ICON")
					}
					if want, ok := strings.CutPrefix(line, "< "); ok && got != want {
						t.Errorf("\n got %s\nwant %s", got, want)
					}
				}
			})
		}
	}
}

// workingDirectory is the word that stands for it in transcripts.
var workingDirectory = regexp.MustCompile(`\bDIR\b`)

// varying is what results of commands say of this machine and of the time they
// took: how the object of that begins is kept.
var varying = regexp.MustCompile(`(?:\\n)?\[sandbox: [^\]]*\]|("_meta":\{"exit_code":\d+),"duration_ms":\d+(?:,"sandbox":\{[^}]*\})?`)

var picture = regexp.MustCompile(`data:image/png;base64,[A-Za-z0-9+/=]+`)

func dialStdio(t *testing.T) func(string) string {
	in, out, stderr := serveProgram(t, "serve", "--stdio")
	drain(stderr)
	return func(msg string) string {
		fmt.Fprintln(in, msg)
		if !strings.Contains(msg, `"id":`) {
			return ""
		}
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(line, "\n")
	}
}

func dialHTTP(t *testing.T) func(string) string {
	_, _, stderr := serveProgram(t, "serve", "--insecure-no-auth", "--http", "127.0.0.1:0")
	line, err := stderr.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(line, "serving MCP at ")
	url, _, _ = strings.Cut(url, ",")
	drain(stderr)
	session := ""
	return func(msg string) string {
		req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(msg))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if strings.Contains(msg, "2026-07-28") {
			_, method, _ := strings.Cut(msg, `"method":"`)
			method, _, _ = strings.Cut(method, `"`)
			named := `"name":"`
			if method == "resources/read" {
				named = `"uri":"`
			}
			_, name, _ := strings.Cut(msg, named)
			name, _, _ = strings.Cut(name, `"`)
			req.Header.Set("MCP-Protocol-Version", "2026-07-28")
			req.Header.Set("Mcp-Method", method)
			switch method {
			case "tools/call", "prompts/get", "resources/read":
				req.Header.Set("Mcp-Name", name)
			}
		} else if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.TrimSpace(b))
	}
}

// TestReload checks that a changed file is taken over, and that a wrong one is
// not.
func TestReload(t *testing.T) {
	dir := workspace(t)
	file := filepath.Join(dir, "toolserver.yaml")
	write := func(text string) {
		t.Helper()
		next := file + ".next"
		if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, file); err != nil {
			t.Fatal(err)
		}
	}
	write("tools: {echo: {enabled: true}}\n")
	in, out, stderr := serveProgram(t, "serve", "--stdio", "--config", file)
	logged := make(chan string, 100)
	go func() {
		for {
			line, err := stderr.ReadString('\n')
			if err != nil {
				close(logged)
				return
			}
			logged <- line
		}
	}()
	waitFor := func(text string) {
		t.Helper()
		deadline := time.After(20 * time.Second)
		for {
			select {
			case line := <-logged:
				if strings.Contains(line, text) {
					return
				}
			case <-deadline:
				t.Fatalf("no log of %q", text)
			}
		}
	}
	ask := func(msg string) string {
		t.Helper()
		fmt.Fprintln(in, msg)
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`
	ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if got := ask(call); !strings.Contains(got, "Echo: ") {
		t.Fatal(got)
	}
	write("tools: {echo: {enabled: false}}\n")
	if line, err := out.ReadString('\n'); err != nil || !strings.Contains(line, "notifications/tools/list_changed") {
		t.Fatal(line, err)
	}
	waitFor("configuration reloaded")
	if got := ask(call); !strings.Contains(got, "-32004") {
		t.Error(got)
	}
	write("tools: {echo: {enabled: maybe}}\n")
	waitFor("the old one stays in force")
	if got := ask(call); !strings.Contains(got, "-32004") {
		t.Error(got)
	}
	write("errors: result\nserver: {http: \"127.0.0.1:1\"}\ntools: {echo: {enabled: false}}\n")
	waitFor("configuration reloaded")
	waitFor("require a restart")
	if got := ask(call); !strings.Contains(got, `"isError":true`) {
		t.Error(got)
	}
}

// TestAuditUnwritable calls tools on stdio while the audit cannot be written: those that have no effect are refused, too.
func TestAuditUnwritable(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no device that is full")
	}
	workspace(t)
	const messages = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}
`
	for policy, want := range map[string]string{"refuse": "what cannot be recorded is not done", "drop": "Echo: hello"} {
		if err := os.WriteFile("a.yaml", []byte("audit: {file: /dev/full, on_failure: "+policy+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, stderr, _ := play(t, messages, "--config", "a.yaml", "serve", "--stdio"); !strings.Contains(out, want) {
			t.Errorf("%s: %s\n%s", policy, out, stderr)
		}
	}
}
