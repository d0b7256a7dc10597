// Command client is the driver of the protocol's conformance suite for clients. It has
// the built toolserver, which TOOLSERVER names, do what the suite checks, as a person
// would: the server at the URL that is its last argument is one of its MCP servers, and
// a client of toolserver lists, reads and calls what is there, and signs in where it has to.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// prefix is that of what toolserver calls the tools and prompts of the server.
const prefix = "s__"

// scenario is what the suite gives a client for one, as JSON.
type scenario struct {
	Name      string `json:"-"`
	ToolCalls []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
	ClientID         string `json:"client_id"`
	ClientSecret     string `json:"client_secret"`
	PrivateKey       string `json:"private_key_pem"`
	SigningAlgorithm string `json:"signing_algorithm"`
	IDPClientID      string `json:"idp_client_id"`
	IDPTokenEndpoint string `json:"idp_token_endpoint"`
	IDToken          string `json:"idp_id_token"`
	ValidJWT         string `json:"valid_jwt"`
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 28*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string) error {
	s := scenario{Name: os.Getenv("MCP_CONFORMANCE_SCENARIO")}
	if given := os.Getenv("MCP_CONFORMANCE_CONTEXT"); given != "" {
		if err := json.Unmarshal([]byte(given), &s); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("/var/tmp", "conformance-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config, err := s.configure(dir, url)
	if err != nil {
		return err
	}
	starts := 1
	if strings.HasPrefix(s.Name, "auth/") {
		starts = 2 // what was signed in to is kept
	}
	for range starts {
		if err := s.once(ctx, config); err != nil {
			return err
		}
	}
	return nil
}

// pipes are the standard streams of toolserver.
type pipes struct {
	*os.File          // its output
	in       *os.File // its input
}

func (p pipes) Write(b []byte) (int, error) { return p.in.Write(b) }

func (p pipes) Close() error { return errors.Join(p.in.Close(), p.File.Close()) }

// once starts toolserver, uses all that the server has, and ends it.
func (s *scenario) once(ctx context.Context, config string) error {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, os.Getenv("TOOLSERVER"), "serve", "--stdio", "--config", config)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = filepath.Dir(config), theirIn, theirOut, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	theirIn.Close()
	theirOut.Close()
	p := person{}
	c, err := mcpclient.Connect(ctx, pipes{out, in}, mcpclient.Options{
		Name: "toolserver-conformance", Version: "1", OpensURLs: true,
		Handlers: map[string]mcpclient.Handler{"elicitation/create": p.answer, "roots/list": constant(`{"roots":[]}`),
			"sampling/createMessage": constant(`{"role":"assistant","content":{"type":"text","text":"Yes."},"model":"none","stopReason":"endTurn"}`)},
	})
	if err == nil {
		d := driver{ctx, c, s}
		if strings.HasPrefix(s.Name, "sep-2640-") {
			err = d.useSkills()
		} else {
			err = errors.Join(d.useTools(), d.useAll("resources/list", "resources/read", "uri", "mcp://s/"), d.useAll("prompts/list", "prompts/get", "name", prefix))
		}
		c.Close()
	}
	in.Close()
	return errors.Join(err, cmd.Wait())
}

// constant returns a handler that always gives the same answer.
func constant(answer string) mcpclient.Handler {
	return func(context.Context, json.RawMessage) (any, error) { return json.RawMessage(answer), nil }
}

// schema is what of a JSON schema is needed to make up arguments.
type schema struct {
	Type       any // a string or several
	Default    json.RawMessage
	Enum       []any
	Properties map[string]schema
	Required   []string
}

// example returns a value that fits.
func (s schema) example() any {
	switch {
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	}
	switch s.Type {
	case "number", "integer":
		return 1
	case "boolean":
		return true
	case "array":
		return []any{}
	case "object":
		object := map[string]any{}
		for _, name := range s.Required {
			object[name] = s.Properties[name].example()
		}
		return object
	}
	return "text"
}

type driver struct {
	ctx    context.Context
	client *mcpclient.Client
	*scenario
}

// tools returns the schemas of the tools of the server, as soon as there are any, and
// their names in order. A person signs in first, if the server says that one has to.
func (d driver) tools() (schemas map[string]json.RawMessage, names []string, err error) {
	for end := time.Now().Add(8 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		all, err := d.client.List(d.ctx, "tools/list")
		if err != nil {
			return nil, nil, err
		}
		schemas, names, signIn := map[string]json.RawMessage{}, []string(nil), false
		for _, raw := range all {
			var tool struct {
				Name        string
				InputSchema json.RawMessage
			}
			if err := json.Unmarshal(raw, &tool); err != nil {
				return nil, nil, err
			}
			switch name, ours := strings.CutPrefix(tool.Name, prefix); {
			case name == "sign_in":
				signIn = true
			case ours:
				schemas[name] = tool.InputSchema
				names = append(names, name)
			}
		}
		if names != nil || time.Now().After(end) {
			fmt.Fprintln(os.Stderr, "tools:", names)
			return schemas, names, nil
		}
		if signIn {
			if err := d.call("sign_in", json.RawMessage("{}")); err != nil {
				return nil, nil, err
			}
		}
	}
}

// useTools calls each tool once or as the scenario says.
func (d driver) useTools() error {
	schemas, names, err := d.tools()
	for _, call := range d.ToolCalls {
		err = errors.Join(err, d.call(call.Name, call.Arguments))
	}
	if d.ToolCalls != nil {
		return err
	}
	for _, name := range names {
		var s schema
		if err := json.Unmarshal(schemas[name], &s); err != nil {
			return err
		}
		arguments, _ := json.Marshal(s.example())
		if name == "json_schema_echo" { // it wants to see the schema of the other tool
			arguments, _ = json.Marshal(map[string]any{"schema": schemas["json_schema_2020_12_tool"]})
		}
		err = errors.Join(err, d.call(name, arguments))
	}
	return err
}

func (d driver) call(name string, arguments json.RawMessage) error {
	return d.do(mcpclient.Request{Method: "tools/call", Params: map[string]any{"name": prefix + name, "arguments": arguments}})
}

// useAll lists something and gets each of the server's items.
func (d driver) useAll(list, get, key, prefix string) error {
	items, err := d.client.List(d.ctx, list)
	for _, item := range items {
		var members map[string]any
		if err := json.Unmarshal(item, &members); err != nil {
			return err
		}
		if value, _ := members[key].(string); strings.HasPrefix(value, prefix) {
			err = errors.Join(err, d.do(mcpclient.Request{Method: get, Params: map[string]any{key: value}}))
		}
	}
	return err
}

// useSkills lists skills until the server's are there and, unless the scenario is about listing, reads their files: SKILL.md
// and, if that could be read, the others.
func (d driver) useSkills() error {
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		items, err := d.client.List(d.ctx, "skills/list")
		if err != nil {
			return err
		}
		for _, item := range items {
			var skill struct {
				URI       string
				Resources []struct{ URI string }
			}
			if err := json.Unmarshal(item, &skill); err != nil {
				return err
			}
			if !strings.HasPrefix(skill.URI, "skill://s/") {
				continue
			}
			fmt.Fprintf(os.Stderr, "%s\n", item)
			if strings.HasSuffix(d.Name, "no-prefetch") {
				return nil
			}
			if _, err := d.client.Call(d.ctx, "resources/read", map[string]any{"uri": skill.URI}); err != nil {
				return d.refused(err)
			}
			for _, file := range skill.Resources {
				if _, err := d.client.Call(d.ctx, "resources/read", map[string]any{"uri": file.URI}); err != nil {
					return d.refused(err)
				}
			}
			return nil
		}
	}
	return errors.New("the server's skills are not listed")
}

// refused passes over what the server answered.
func (d driver) refused(err error) error {
	if _, answered := errors.AsType[*jsonrpc.Error](err); answered {
		fmt.Fprintln(os.Stderr, "refused:", err)
		return nil
	}
	return err
}

// do sends a request. What the server answers to it, even an error, is its affair.
func (d driver) do(req mcpclient.Request) error {
	result, err := d.client.Do(d.ctx, req)
	if _, answered := errors.AsType[*jsonrpc.Error](err); !answered && err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %.200s %v\n", req.Method, result, err)
	return nil
}
