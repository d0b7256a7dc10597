// Command client is the driver of the protocol's conformance suite for clients. It
// uses the product's MCP client, which does what the suite checks, as a person would:
// it connects to the URL that is its last argument, and lists, reads and calls what
// is there.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"toolserver/jsonrpc"
	"toolserver/mcpclient"
)

// scenario is what the suite gives a client for one, as JSON.
type scenario struct {
	Name      string `json:"name"`
	ToolCalls []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	do := run
	if name := os.Getenv("MCP_CONFORMANCE_SCENARIO"); strings.HasPrefix(name, "auth/") {
		do = func(ctx context.Context, url string) error { return authorize(ctx, name, url) }
	}
	if err := do(ctx, os.Args[len(os.Args)-1]); err != nil {
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
	c, err := mcpclient.ConnectHTTP(ctx, &http.Client{}, url, nil, mcpclient.Options{
		Name: "toolserver-conformance", Version: "1",
		Handlers: map[string]mcpclient.Handler{"elicitation/create": accept, "roots/list": constant(`{"roots":[]}`),
			"sampling/createMessage": constant(`{"role":"assistant","content":{"type":"text","text":"Yes."},"model":"none","stopReason":"endTurn"}`)},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	var offers struct{ Tools, Resources, Prompts *struct{} }
	if err := json.Unmarshal(c.Server().Capabilities, &offers); err != nil {
		return err
	}
	d := driver{ctx, c, s}
	err = d.useTools()
	if offers.Resources != nil {
		err = errors.Join(err, d.useAll("resources/list", "resources/read", "uri"))
	}
	if offers.Prompts != nil {
		err = errors.Join(err, d.useAll("prompts/list", "prompts/get", "name"))
	}
	return err
}

// constant returns a handler that always gives the same answer.
func constant(answer string) mcpclient.Handler {
	return func(context.Context, json.RawMessage) (any, error) { return json.RawMessage(answer), nil }
}

// accept fills in the form of an elicitation with its defaults.
func accept(_ context.Context, params json.RawMessage) (any, error) {
	var p struct{ RequestedSchema schema }
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	content := map[string]any{}
	for name, property := range p.RequestedSchema.Properties {
		content[name] = property.example()
	}
	return map[string]any{"action": "accept", "content": content}, nil
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
	scenario
}

// useTools lists the tools, and calls each once or as the scenario says.
func (d driver) useTools() error {
	tools, rejected, err := d.client.Tools(d.ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "rejected:", errors.Join(rejected...))
	schemas := map[string]json.RawMessage{}
	var names []string
	for _, raw := range tools {
		var tool struct {
			Name        string
			InputSchema json.RawMessage
		}
		if err := json.Unmarshal(raw, &tool); err != nil {
			return err
		}
		schemas[tool.Name] = tool.InputSchema
		names = append(names, tool.Name)
	}
	for _, call := range d.ToolCalls {
		err = errors.Join(err, d.call(call.Name, schemas[call.Name], call.Arguments))
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
		err = errors.Join(err, d.call(name, schemas[name], arguments))
	}
	return err
}

func (d driver) call(name string, schema, arguments json.RawMessage) error {
	params := map[string]any{"name": name, "arguments": arguments}
	return d.do(mcpclient.Request{Method: "tools/call", Params: params, InputSchema: schema})
}

// useAll lists something and gets each of its items.
func (d driver) useAll(list, get, key string) error {
	items, err := d.client.List(d.ctx, list)
	for _, item := range items {
		var members map[string]any
		if err := json.Unmarshal(item, &members); err != nil {
			return err
		}
		err = errors.Join(err, d.do(mcpclient.Request{Method: get, Params: map[string]any{key: members[key]}}))
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
