package server

import (
	"context"
	"errors"
	"time"

	"toolserver/domain"
)

// callTool serves tools/call. The exchange ends with the answer, which may come
// after callTool has returned or, of a handler that takes no notice of its
// time, before.
func (x *exchange) callTool(ctx context.Context) {
	name, wrong := x.text("name", x.params.name)
	if wrong != nil {
		x.fail(wrong)
		x.end()
		return
	}
	logged := x.logCall(name)
	cmd := domain.ExecuteToolCommand{Session: x.domain(), Tool: name, Arguments: x.params.arguments, Client: x}
	x.server.exec.Start(ctx, cmd, func(res domain.ToolResult, err error) {
		defer x.recover()
		logged(res, err)
		x.close()
		x.answerCall(res, err)
		x.end()
	})
}

// logCall returns what logs to the client how a call went, if it asked for log
// messages at debug level.
func (x *exchange) logCall(tool string) func(domain.ToolResult, error) {
	if !x.logs(domain.LogDebug) {
		return func(domain.ToolResult, error) {}
	}
	begun := time.Now()
	return func(res domain.ToolResult, err error) {
		outcome := "ok"
		if _, asks := errors.AsType[*domain.InputRequired](err); asks {
			outcome = "input_required"
		} else if err != nil || res.IsError {
			outcome = "error"
		}
		x.Log(domain.LogMessage{Level: domain.LogDebug, Logger: x.server.opts.Name, Data: map[string]any{
			"tool": domain.ClipName(tool), "outcome": outcome, "took_ms": float64(time.Since(begun).Microseconds()) / 1000,
		}})
	}
}

func (x *exchange) answerCall(res domain.ToolResult, err error) {
	code := 0
	if err != nil {
		e, ok := errors.AsType[*domain.Error](err)
		if !ok || e.Verbatim || e.Code == domain.CodeMissingCapability || !x.server.settings.Load().ErrorsAsResults {
			x.failWith(err)
			return
		}
		res = e.AsResult()
		if e.Code == domain.CodeTimeout {
			code = int(e.Code) // which no HTTP status stands for
		}
	}
	x.answerAs(code, func(b []byte) []byte { return x.appendResult(b, &res) })
}
