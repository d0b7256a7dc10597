package cli

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"toolserver/domain"
)

// record logs a finished call: never its arguments or its result.
func (a *app) record(r *domain.CallRecord) {
	level := zap.InfoLevel
	if r.Outcome == "error" {
		level = zap.WarnLevel
	}
	// The logger itself would look at the clock again.
	if entry := a.log.Core().Check(zapcore.Entry{Level: level, Time: r.Start.Add(r.Duration), Message: "call"}, nil); entry != nil {
		entry.Write(zap.Inline((*callFields)(r)))
	}
	if stack := r.Stack(); stack != "" {
		a.log.Error("a tool panicked", zap.String("id", r.ID), zap.String("tool", r.Tool), zap.String("stack", stack))
	}
}

// callFields are what the log says of a call. They are written from where they
// are: a list of fields would cost more than the rest of the entry.
type callFields domain.CallRecord

// MarshalLogObject writes the fields.
func (r *callFields) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	enc.AddString("id", r.ID)
	enc.AddString("tool", r.Tool)
	enc.AddString("principal", r.Principal)
	enc.AddString("session", r.Session)
	enc.AddDuration("took", r.Duration)
	enc.AddString("outcome", r.Outcome)
	enc.AddInt("args_bytes", r.ArgsBytes)
	enc.AddInt("result_bytes", r.ResultBytes)
	if r.Outcome != "ok" {
		enc.AddString("error_type", r.ErrorType)
		enc.AddInt("code", int(r.Code))
		enc.AddBool("abandoned", r.Abandoned)
	}
	return nil
}
