package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// callTool serves tools/call. It returns with the handler; a call that is out of
// time is answered before.
func (x *exchange) callTool() {
	name, err := x.text("name", x.name)
	if err != nil {
		x.finish(nil, err)
		return
	}
	x.peer.background.begin()
	logged := x.logCall(name)
	cmd := call.ExecuteToolCommand{Session: x.domain(), Tool: name, Arguments: x.arguments, Client: &x.peer, Cancel: x.cancel}
	x.server.exec.Start(x.ctx, cmd, func(res domain.ToolResult, err error) {
		defer x.recover()
		logged(res, err)
		if res.IsError {
			err = cmp.Or(err, stopped(x.ctx)) // what the handler made of that
		}
		e, ok := errors.AsType[*domain.Error](err)
		if ok && x.server.ErrorsAsResults.Load() && !e.Verbatim && e.Code != domain.CodeMissingCapability {
			res, err = e.AsResult(), nil
			if e.Code == domain.CodeTimeout || e.Code == domain.CodeRateLimited {
				x.code = int(e.Code)
			}
		}
		x.bad = res.IsError
		x.finish(func(b []byte) []byte { return x.encoder().result(b, &res) }, err)
	})
}

// logCall returns what logs the outcome of a call to the client, if it asked for
// log messages at debug level.
func (x *exchange) logCall(tool string) func(domain.ToolResult, error) {
	if !x.peer.logs(call.LogDebug) {
		return func(domain.ToolResult, error) {}
	}
	begun := time.Now()
	return func(res domain.ToolResult, err error) {
		outcome := "ok"
		if _, asks := errors.AsType[*call.InputRequired](err); asks {
			outcome = "input_required"
		} else if err != nil || res.IsError {
			outcome = "error"
		}
		x.peer.Log(call.LogMessage{Level: call.LogDebug, Logger: x.server.opts.Info.Name, Data: map[string]any{
			"tool": brief.Name(tool), "outcome": outcome, "took_ms": float64(time.Since(begun).Microseconds()) / 1000,
		}})
	}
}

// readResource serves resources/read.
func (x *exchange) readResource() {
	uri, err := x.text("uri", x.uri)
	if err != nil {
		x.finish(nil, err)
		return
	}
	x.server.exec.ReadResource(x.ctx, x.domain(), &x.peer, uri, func(r domain.ToolResult, err error) {
		x.finish(func(b []byte) []byte {
			b = appendList(append(b, '{'), "contents", r.Content, func(b []byte, c domain.Content) []byte { return appendContents(b, &c) })
			if x.meta.modern {
				b = append(b, caching...)
			}
			return x.encoder().end(appendMembers(b, r.Extra), r.Meta)
		}, err)
	})
}

// aboutSkills serves skills/get and resources/directory/read.
func (x *exchange) aboutSkills() {
	uri, err := x.text("uri", x.uri)
	cursor := ""
	if err == nil && x.cursor != nil {
		cursor, err = x.text("cursor", x.cursor)
	}
	if err != nil {
		x.finish(nil, err)
		return
	}
	p := x.domain().Principal
	registry, broken := x.server.exec.RegistryOf(p)
	if broken != nil {
		x.finish(nil, broken)
		return
	}
	var members []byte
	x.server.exec.Ask(x.ctx, string(x.method), x.domain(), &x.peer, uri, func(ctx context.Context) error {
		if x.method == methodSkillsGet {
			s, err := registry.GetSkill(ctx, p, uri)
			if err == nil {
				members = appendSkill([]byte(`"skill":`), s)
			}
			return err
		}
		page, next, err := registry.Look(ctx, domain.LookTime).ReadDirectory(ctx, p, uri, cursor)
		members = appendOptional(appendList(nil, "resources", page, appendResource), "nextCursor", next)
		return err
	}, func(err error) {
		x.finish(func(b []byte) []byte {
			if b = append(append(b, '{'), members...); x.meta.modern { // the SDKs require it here, too
				b = append(b, caching...)
			}
			return x.encoder().end(b, nil)
		}, err)
	})
}

// getPrompt serves prompts/get.
func (x *exchange) getPrompt() {
	name, err := x.text("name", x.name)
	var args map[string]string
	if err == nil && x.arguments != nil && json.Unmarshal(x.arguments, &args) != nil {
		err = invalidParams(`"arguments" of ` + x.Method + ` must be an object of strings`)
	}
	if err != nil {
		x.finish(nil, err)
		return
	}
	x.server.exec.GetPrompt(x.ctx, x.domain(), &x.peer, name, args, func(p domain.PromptResult, err error) {
		x.finish(func(b []byte) []byte {
			b = append(b, '{')
			if p.Description != "" {
				b = append(rawjson.AppendString(append(b, `"description":`...), p.Description), ',')
			}
			b = appendList(b, "messages", p.Messages, func(b []byte, m domain.PromptMessage) []byte {
				b = rawjson.AppendString(append(b, `{"role":`...), m.Role)
				return append(appendBlock(append(b, `,"content":`...), &m.Content), '}')
			})
			return x.encoder().end(appendMembers(b, p.Extra), p.Meta)
		}, err)
	})
}

// maxCompletions is how many values one answer may have.
const maxCompletions = 100

// complete serves completion/complete.
func (x *exchange) complete() {
	var p struct {
		Ref struct {
			Type string `json:"type"`
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"ref"`
		Argument struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"argument"`
		Context struct {
			Arguments map[string]string `json:"arguments"`
		} `json:"context"`
	}
	err := json.Unmarshal(x.Params, &p)
	q := domain.CompleteQuery{Session: x.domain(), Argument: p.Argument.Name, Typed: p.Argument.Value, Given: p.Context.Arguments}
	switch p.Ref.Type {
	case "ref/prompt":
		q.Prompt = p.Ref.Name
	case "ref/resource":
		q.Template = p.Ref.URI
	}
	if err != nil || q.Prompt == "" && q.Template == "" || q.Argument == "" {
		x.finish(nil, invalidParams(x.Method+` needs "ref", a ref/prompt with a "name" or a ref/resource with a "uri", and "argument" with "name" and "value"`))
		return
	}
	x.server.exec.Complete(x.ctx, q, func(c domain.Completions, err error) {
		shown := c.Values[:min(len(c.Values), maxCompletions)]
		x.finish(func(b []byte) []byte {
			b = appendList(append(b, `{"completion":{`...), "values", shown, rawjson.AppendString)
			if c.Extra == nil || len(shown) < len(c.Values) {
				b = append(b, `,"total":`+strconv.Itoa(len(c.Values))+`,"hasMore":`+strconv.FormatBool(len(shown) < len(c.Values))...)
			} else {
				b = appendMembers(b, c.Extra)
			}
			return x.encoder().end(append(b, '}'), nil)
		}, err)
	})
}

// setLogLevel serves logging/setLevel.
func (in *incoming) setLogLevel() (reply, error) {
	var p struct {
		Level string `json:"level"`
	}
	_ = json.Unmarshal(in.Params, &p)
	level, ok := call.ParseLogLevel(p.Level)
	if !ok {
		return nil, invalidParams(`"level" must be one of debug, info, notice, warning, error, critical, alert, emergency`)
	}
	in.session.logLevel.Store(int32(level))
	return emptyReply, nil
}

// initialize serves the handshake of protocol versions with sessions.
func (x *exchange) initialize() (reply, error) {
	var p struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
		ClientInfo   json.RawMessage `json:"clientInfo"`
	}
	if x.Params != nil && json.Unmarshal(x.Params, &p) != nil {
		return nil, invalidParams(`"protocolVersion" of initialize must be a string`)
	}
	version := mcp.NegotiateLegacyVersion(p.Version)
	x.session.completeHandshake(version, p.Capabilities, readClient(p.ClientInfo))
	x.meet(version)
	return func(b []byte) []byte {
		b = rawjson.AppendString(append(b, `{"protocolVersion":`...), version)
		b = append(append(b, `,"capabilities":`...), x.server.offering.Load().legacy...)
		b = append(append(b, `,"serverInfo":`...), x.server.about...)
		return append(appendOptional(b, "instructions", x.instructions()), '}')
	}, nil
}

// instructions returns what models are told of the server.
func (in *incoming) instructions() string {
	text := in.server.opts.Instructions
	if in.server.opts.Places != nil {
		text += in.server.opts.Places(in.domain())
	}
	return text
}

// discover serves server/discover, which replaces the handshake in protocol
// version 2026-07-28.
func (x *exchange) discover() (reply, error) {
	if err := x.server.exec.CountList(x.domain(), x.Method); err != nil {
		return nil, err
	}
	return func(b []byte) []byte {
		b = jsonrpc.AppendValue(append(b, `{"supportedVersions":`...), mcp.ValidProtocolVersions)
		b = append(append(b, `,"capabilities":`...), x.server.offering.Load().modern...)
		b = appendOptional(b, "instructions", x.instructions())
		return x.encoder().end(append(b, caching...), nil)
	}, nil
}
