package server

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"toolserver/domain"
	"toolserver/domain/rawjson"
)

// callTool serves tools/call. The exchange ends with the answer, which may come
// after callTool has returned or, of a handler that takes no notice of its
// time, before.
func (x *exchange) callTool(ctx context.Context) {
	cmd, err := x.command()
	if err != nil {
		x.fail(err)
		x.end()
		return
	}
	report := &progressReport{exchange: x}
	if x.meta.progressToken != nil {
		cmd.Progress = report.send
	}
	x.server.exec.Start(ctx, cmd, func(res domain.ToolResult, err error) {
		report.close()
		x.answerCall(res, err)
		x.end()
	})
}

// command reads the call a request asks for.
func (x *exchange) command() (domain.ExecuteToolCommand, *wireError) {
	cmd := domain.ExecuteToolCommand{Session: x.session.domain()}
	named := false
	if x.msg.params == nil || x.msg.params[0] != '{' {
		return cmd, invalidParams(`tools/call needs "params" with the "name" of a tool`)
	}
	err := rawjson.Object(x.msg.params, func(name, value []byte) (err error) {
		switch string(name) {
		case "name":
			named = true
			cmd.Tool, err = rawjson.String(value)
		case "arguments":
			cmd.Arguments = value
		}
		return err
	})
	if err != nil || !named {
		return cmd, invalidParams(`"name" of tools/call must be a string`)
	}
	return cmd, nil
}

func (x *exchange) answerCall(res domain.ToolResult, err error) {
	if err != nil {
		e, ok := errors.AsType[*domain.Error](err)
		if !ok {
			e = &domain.Error{Code: domain.CodeInternal, Message: err.Error()}
		}
		if !x.server.settings.Load().ErrorsAsResults {
			x.fail(&wireError{int(e.Code), e.Message, e.Envelope()})
			return
		}
		res = e.AsResult()
	}
	x.answer(func(b []byte) []byte { return x.appendResult(b, &res) })
}

// progressReport passes on what a call reports, up to its answer: what is said
// is written before ReportProgress returns, so none is lost or late.
type progressReport struct {
	*exchange
	mu     sync.Mutex
	closed bool
	last   float64
	any    bool
}

type progressParams struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress float64         `json:"progress"`
	Total    float64         `json:"total,omitempty"`
	Message  string          `json:"message,omitempty"`
}

func (p *progressReport) send(progress domain.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.session.canceled(p.entry) {
		return
	}
	if p.any && progress.Done <= p.last {
		return // progress must increase with each notification
	}
	p.any, p.last = true, progress.Done
	p.out.notify(notification("notifications/progress", progressParams{p.meta.progressToken, progress.Done, progress.Total, progress.Message}))
}

func (p *progressReport) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}
