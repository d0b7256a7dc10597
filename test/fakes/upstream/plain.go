package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// plain are tools that do no harm: what they say shows what reached the server.
func plain() []tool {
	dir := schema(`"at":{"type":"string","description":"Directory where the call says what it does."}`, "at")
	return []tool{
		{"echo", "Says it again.", schema(`"message":{"type":"string"}`, "message"), func(c *call) (string, error) {
			var in struct{ Message string }
			c.arguments(&in)
			return text(in.Message), nil
		}},
		{"about", "Says which server it is, and which process.", schema(""), func(c *call) (string, error) {
			return text(fmt.Sprintf("%s %d", c.session.upstream.name, os.Getpid())), nil
		}},
		{"received", "Says what the call came with.", schema(""), func(c *call) (string, error) {
			return text(string(jsonrpc.AppendValue(nil, c.params))), nil
		}},
		{"whoami", "Says who calls.", schema(`"username":{"type":"string"},"note":{"type":"string"}`, "username"), func(c *call) (string, error) {
			return text(string(c.params["arguments"])), nil
		}},
		{"env", "Says its environment, working directory, arguments and descriptors.", schema(""), func(*call) (string, error) {
			cwd, _ := os.Getwd()
			env := os.Environ()
			slices.Sort(env)
			open, _ := filepath.Glob("/proc/self/fd/*")
			files := []string{}
			for _, fd := range open {
				if target, err := os.Readlink(fd); err == nil {
					files = append(files, filepath.Base(fd)+" "+target)
				}
			}
			return text(string(jsonrpc.AppendValue(nil, map[string]any{"env": env, "cwd": cwd, "argv": os.Args, "pid": os.Getpid(), "fd": files}))), nil
		}},
		{"open_file", "Says what a file has, to see what the server may read.", schema(`"path":{"type":"string"}`, "path"), func(c *call) (string, error) {
			var in struct{ Path string }
			c.arguments(&in)
			b, err := os.ReadFile(in.Path)
			if err != nil {
				return failure(err.Error()), nil
			}
			return text(string(b)), nil
		}},
		{"hold", "Waits until the file go appears.", dir, func(c *call) (string, error) { return c.hold(c.ctx) }},
		{"deaf", "Likewise, but does not listen to cancellation.", dir, func(c *call) (string, error) { return c.hold(context.WithoutCancel(c.ctx)) }},
		{"progress", "Reports progress.", schema(`"steps":{"type":"integer"}`), func(c *call) (string, error) {
			var in struct{ Steps int }
			c.arguments(&in)
			token := c.meta["progressToken"]
			for i := range in.Steps {
				if token != nil {
					c.notify("notifications/progress", map[string]any{"progressToken": token, "progress": i + 1, "total": in.Steps, "message": fmt.Sprintf("step %d", i+1)})
				}
			}
			return text(fmt.Sprintf("%d steps, token %t", in.Steps, token != nil)), nil
		}},
		{"log", "Logs a message at each level.", schema(""), func(c *call) (string, error) {
			for _, level := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
				c.notify("notifications/message", map[string]any{"level": level, "logger": "upstream", "data": map[string]any{"level": level, "n": 1.5}})
			}
			return text("logged"), nil
		}},
		{"fail", "Fails with an error of the protocol.", schema(`"code":{"type":"integer"},"message":{"type":"string"},"data":{}`), func(c *call) (string, error) {
			var in struct {
				Code    int
				Message string
				Data    json.RawMessage
			}
			c.arguments(&in)
			e := &jsonrpc.Error{Code: in.Code, Message: in.Message}
			if in.Data != nil {
				e.Data = in.Data
			}
			return "", e
		}},
		{"refuse", "Fails with a result.", schema(`"message":{"type":"string"}`), func(c *call) (string, error) {
			var in struct{ Message string }
			c.arguments(&in)
			return failure(in.Message), nil
		}},
		{"large", "Returns so many bytes of text, and as much structured content.", schema(`"bytes":{"type":"integer"},"structured":{"type":"boolean"}`), func(c *call) (string, error) {
			var in struct {
				Bytes      int
				Structured bool
			}
			c.arguments(&in)
			row := `{"id":12345,"name":"A name of some length","tags":["one","two"],"ok":true}`
			if in.Structured {
				rows := strings.Repeat(row+",", in.Bytes/(len(row)+1)) + row
				return join(text("see the structured content"), `"structuredContent":{"rows":[`+rows+`]}`), nil
			}
			return text(strings.Repeat("0123456789abcdef", in.Bytes/16+1)[:in.Bytes]), nil
		}},
	}
}

// failure returns the members of a result that is an error.
func failure(message string) string { return join(text(message), `"isError":true`) }

// hold notes in a directory that it has begun, waits for the file go there, and
// notes it if ctx ends first.
func (c *call) hold(ctx context.Context) (string, error) {
	var in struct{ At string }
	c.arguments(&in)
	if err := note(in.At, "begun"); err != nil {
		return failure(err.Error()), nil
	}
	for {
		if _, err := os.Stat(filepath.Join(in.At, "go")); err == nil {
			return text("held"), nil
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(errSilent, note(in.At, "stopped"))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// note makes a file of its own in a directory.
func note(dir, name string) error {
	f, err := os.CreateTemp(dir, name)
	if err != nil {
		return err
	}
	return f.Close()
}

// flagged returns a tool whose arguments have the names of flags that command lines have.
func flagged() []tool {
	properties := ""
	for _, name := range []string{"config", "dir", "json", "help", "exit_code"} {
		properties = join(properties, `"`+name+`":{"type":"string","description":"A `+"`value`"+` of its own."}`)
	}
	return []tool{{"flags", "Returns its arguments.", schema(properties), func(c *call) (string, error) {
		return text(string(c.params["arguments"])), nil
	}}}
}
