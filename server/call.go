package server

import (
	"context"
	"errors"

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
	cmd := domain.ExecuteToolCommand{Session: x.session.domain(), Tool: name, Arguments: x.params.arguments, Client: x}
	x.server.exec.Start(ctx, cmd, func(res domain.ToolResult, err error) {
		x.close()
		x.answerCall(res, err)
		x.end()
	})
}

func (x *exchange) answerCall(res domain.ToolResult, err error) {
	if err != nil {
		e, ok := errors.AsType[*domain.Error](err)
		if !ok || e.Code == domain.CodeMissingCapability || !x.server.settings.Load().ErrorsAsResults {
			x.failWith(err)
			return
		}
		res = e.AsResult()
	}
	x.answer(func(b []byte) []byte { return x.appendResult(b, &res) })
}
