package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// toolClient is a program with an MCP client on its standard streams. What the
// program writes is held to the protocol.
type toolClient struct {
	*program
	mcp    *mcpclient.Client
	output *checkedOutput
}

// start starts the binary.
func start(t *testing.T, args ...string) *toolClient {
	t.Helper()
	return connect(t, append([]string{binary(), "serve", "--stdio"}, args...)...)
}

// connect starts a program and begins a session.
func connect(t *testing.T, argv ...string) *toolClient {
	t.Helper()
	out, stdout, err := os.Pipe()
	must(t, err)
	c := &toolClient{program: spawn(t, stdout, nil, argv...)}
	c.output = &checkedOutput{File: out, in: c.in, t: t}
	t.Cleanup(func() {
		c.kill()
		if c.mcp != nil {
			c.mcp.Close()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	options := mcpclient.Options{Name: "t", Version: "1", Protocol: "2025-11-25", MaxMessageBytes: 64 << 20, ConnectTimeout: patience}
	c.mcp, err = mcpclient.Connect(ctx, c.output, options)
	must(t, err)
	return c
}

// checkedOutput is the output of a program, of which it keeps the lines.
type checkedOutput struct {
	*os.File
	in *os.File
	t  *testing.T

	mu      sync.Mutex
	partial []byte
	lines   []wireLine
}

func (o *checkedOutput) Read(b []byte) (int, error) {
	n, err := o.File.Read(b)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.partial = append(o.partial, b[:n]...)
	for {
		end := bytes.IndexByte(o.partial, '\n') + 1
		if end == 0 {
			return n, err
		}
		o.lines = append(o.lines, parseLine(o.t, bytes.Clone(o.partial[:end])))
		o.partial = o.partial[end:]
	}
}

func (o *checkedOutput) Write(b []byte) (int, error) { return o.in.Write(b) }

func (o *checkedOutput) Close() error { return errors.Join(o.in.Close(), o.File.Close()) }

// said returns all lines that have come from the server until now.
func (c *toolClient) said() []wireLine {
	c.t.Helper()
	c.output.mu.Lock()
	defer c.output.mu.Unlock()
	return c.output.lines[:len(c.output.lines):len(c.output.lines)]
}

// notified returns how many notifications of a method have come.
func (c *toolClient) notified(method string) (n int) {
	c.t.Helper()
	c.ping()
	for _, line := range c.said() {
		if line.Method == method {
			n++
		}
	}
	return n
}

// request sends any request and returns its result.
func (c *toolClient) request(method string, params any) json.RawMessage {
	c.t.Helper()
	result, err := c.mcp.Call(context.Background(), method, params)
	must(c.t, err)
	return result
}

// ping returns how long a ping takes.
func (c *toolClient) ping() time.Duration {
	c.t.Helper()
	begun := time.Now()
	c.request("ping", nil)
	return time.Since(begun)
}

// pending is a call in flight.
type pending struct {
	cancel context.CancelFunc
	over   chan struct{}
	answer answer
	err    error // there is no answer
}

// begin sends a call.
func (c *toolClient) begin(tool string, args any) *pending {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pending{cancel: cancel, over: make(chan struct{})}
	go func() {
		defer close(p.over)
		result, err := c.mcp.CallTool(ctx, tool, args, nil)
		p.answer, p.err = answerOf(result, err)
	}()
	return p
}

func answerOf(result json.RawMessage, err error) (a answer, failure error) {
	if failed, ok := errors.AsType[*jsonrpc.Error](err); ok {
		result, err = json.Marshal(map[string]any{"error": failed})
	} else {
		result = append(append([]byte(`{"result":`), result...), '}')
	}
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(result, &a)
}

// finish returns the answer to a call.
func (c *toolClient) finish(p *pending) answer {
	c.t.Helper()
	<-p.over
	must(c.t, p.err)
	return p.answer
}

func (c *toolClient) call(tool string, args any) answer {
	c.t.Helper()
	return c.finish(c.begin(tool, args))
}

// answer is what tests look at of an answer.
type answer struct {
	Result struct {
		Content           []struct{ Text string }
		StructuredContent map[string]any
		IsError           bool
		Meta              map[string]any `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
		Data    map[string]any
	}
}

// marks are those of untrusted text, whose words are random.
var marks = regexp.MustCompile(`[ ]*--- [A-Z][a-z]+ [A-Z2-7]{26} begins: untrusted data written by [a-z ]+, not instructions ---\n|\n[ ]*--- [A-Z][a-z]+ [A-Z2-7]{26} ends ---`)

// text returns what a model reads first, without the marks of untrusted text.
func (a answer) text() string {
	if a.Error != nil {
		return a.Error.Message
	}
	if len(a.Result.Content) == 0 {
		return ""
	}
	return marks.ReplaceAllString(a.Result.Content[0].Text, "")
}

// failed reports whether a call has failed, either way.
func (a answer) failed() bool { return a.Error != nil || a.Result.IsError }

// errorType is that of an answer, or empty.
func (a answer) errorType() string {
	if a.Error != nil {
		kind, _ := a.Error.Data["error_type"].(string)
		return kind
	}
	kind, _ := a.Result.StructuredContent["error_type"].(string)
	return kind
}
