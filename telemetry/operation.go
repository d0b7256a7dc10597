package telemetry

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// upstreamKey is the attribute that names another server as the configuration does.
const upstreamKey = "toolserver.upstream"

// Operation is a request of a client while it is served: a span, and a measurement when it ends. A nil one is not observed.
type Operation struct {
	telemetry    *Telemetry
	method       string
	begun        time.Time
	parent       trace.SpanContext
	ctx          context.Context      // has the span
	span         trace.Span           // nil unless the request is traced
	said         []attribute.KeyValue // of the span
	tool, prompt string
	ended        atomic.Bool
}

// Begin begins to observe a request of a method that the server knows, or [Other]. Its _meta names the parent, see [Parent]; over
// HTTP there are the address of the client, and in carrier the traceparent header. Nothing but the method has to be there.
func (t *Telemetry) Begin(method string, id, meta json.RawMessage, session, address, carrier string) *Operation {
	op := &Operation{telemetry: t, method: method, begun: time.Now(), ctx: context.Background()}
	if t.tracer == nil {
		return op
	}
	if op.parent = Parent(meta); !t.samples(op.parent) {
		return op
	}
	op.ctx, op.span = t.tracer.Start(trace.ContextWithRemoteSpanContext(op.ctx, op.parent), method, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithLinks(trace.Link{SpanContext: parse(carrier)})) // none if it is not valid
	op.said = append(make([]attribute.KeyValue, 0, 12), semconv.McpMethodNameKey.String(method))
	op.note(semconv.JSONRPCRequestIDKey, string(id[:min(len(id), maxID)]))
	op.note(semconv.McpSessionIDKey, session[:min(len(session), maxID)])
	op.note(semconv.ClientAddressKey, address)
	if address != "" {
		op.said = append(op.said, semconv.NetworkTransportTCP, semconv.NetworkProtocolName("http"))
		return op
	}
	op.said = append(op.said, semconv.NetworkTransportPipe)
	return op
}

const maxID = 64 // bytes of what is said of an ID

// note notes an attribute that is not empty. What is no UTF-8 would keep a whole batch of spans from being sent.
func (op *Operation) note(key attribute.Key, value string) {
	if value != "" && op.span != nil {
		op.said = append(op.said, key.String(strings.ToValidUTF8(value, "")))
	}
}

// Called notes what the request has called, an item of the server, and how long it waited for a slot; of a resource its
// address, without secrets.
func (op *Operation) Called(tool, prompt, uri string, waited time.Duration) {
	op.tool, op.prompt = tool, prompt
	op.note(semconv.GenAIToolNameKey, tool)
	op.note(semconv.GenAIPromptNameKey, prompt)
	op.note(semconv.McpResourceURIKey, uri)
	if tool != "" && op.span != nil {
		op.said = append(op.said, semconv.GenAIOperationNameExecuteTool)
	}
	if waited > 0 {
		op.telemetry.waits.add(op.ctx, waited.Seconds())
	}
}

// Limited counts that a limit has refused the request.
func (op *Operation) Limited(limit string) {
	if op != nil {
		op.telemetry.limited.add(op.ctx, 1, limit)
	}
}

// Refused counts that policy has refused something, by the setting that did.
func (op *Operation) Refused(setting string) {
	if op != nil {
		op.telemetry.refusals.add(op.ctx, 1, setting)
	}
}

// IDs returns the IDs of trace and span, in hexadecimal digits; they are empty unless the request is traced.
func (op *Operation) IDs() (traceID, spanID string) {
	if op == nil || op.span == nil {
		return "", ""
	}
	return op.span.SpanContext().TraceID().String(), op.span.SpanContext().SpanID().String()
}

// End ends the request, which was of a protocol version. The type of an error is a code that the server knows, tool_error,
// [Other], or empty for none. Only the first end counts.
func (op *Operation) End(protocol, errorType string) {
	if op.ended.Swap(true) {
		return
	}
	op.telemetry.requests.add(op.ctx, time.Since(op.begun).Seconds(), op.method, op.tool, errorType, protocol)
	if op.span != nil {
		op.note(semconv.McpProtocolVersionKey, protocol)
		op.span.SetName(strings.TrimSpace(op.method + " " + op.tool + op.prompt))
		op.span.SetAttributes(op.said...)
	}
	end(op.span, errorType)
}

// end ends a span, if there is one, with the type of an error.
func end(s trace.Span, errorType string) {
	if s == nil {
		return
	}
	if errorType != "" {
		s.SetStatus(codes.Error, "")
		s.SetAttributes(semconv.ErrorTypeKey.String(errorType))
		if errorType[0] == '-' {
			s.SetAttributes(semconv.RPCResponseStatusCode(errorType))
		}
	}
	s.End()
}

// Call observes a request to another server, by its name in the configuration. It returns parameters whose _meta has the
// span as parent, and what is called with the type of the error, empty for none, when there is an answer.
func (op *Operation) Call(server, method string, params json.RawMessage) (json.RawMessage, func(errorType string)) {
	if op == nil {
		return params, func(string) {}
	}
	begun, ctx, span := time.Now(), op.ctx, op.span
	if span != nil {
		tool, _ := rawjson.String(rawjson.Member(params, "name"))
		ctx, span = op.telemetry.tracer.Start(ctx, strings.TrimSpace(method+" "+tool), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(semconv.McpMethodNameKey.String(method), attribute.String(upstreamKey, server)))
	}
	if op.telemetry.tracer != nil {
		s := op.parent.WithTraceFlags(0) // of a request that is not traced, the upstream traces nothing either
		if span != nil {
			s = span.SpanContext()
		} else if !s.IsValid() {
			var random [24]byte
			rand.Read(random[:]) // never fails
			s = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(random[:16]), SpanID: trace.SpanID(random[16:])})
		}
		meta := rawjson.Member(params, "_meta")
		if meta == nil {
			meta = []byte("{}")
		}
		meta = rawjson.With(meta, "traceparent", fmt.Appendf(nil, `"00-%s-%s-%s"`, s.TraceID(), s.SpanID(), s.TraceFlags()))
		params = rawjson.With(params, "_meta", meta)
	}
	return params, func(errorType string) {
		op.telemetry.calls.add(ctx, time.Since(begun).Seconds(), method, server, errorType)
		end(span, errorType)
	}
}

// Parent returns the span that the _meta of a request names as its parent (SEP-414); it is not valid if there is none.
func Parent(meta json.RawMessage) trace.SpanContext {
	var text string
	if raw := rawjson.Member(meta, "traceparent"); raw != nil {
		text, _ = rawjson.String(raw)
	}
	if len(text) != 55 {
		return trace.SpanContext{}
	}
	state, _ := rawjson.String(rawjson.Member(meta, "tracestate"))
	list, _ := trace.ParseTraceState(state) // empty after an error
	return parse(text).WithTraceState(list)
}

// parse reads a traceparent of version 00 (W3C Trace Context). What is anything else is not valid.
func parse(text string) trace.SpanContext {
	if len(text) != 55 || text[:3] != "00-" || text[35] != '-' || text[52] != '-' || strings.Trim(text[53:], "0123456789abcdef") != "" {
		return trace.SpanContext{}
	}
	c := trace.SpanContextConfig{Remote: true, TraceFlags: trace.TraceFlags(0).WithSampled(strings.ContainsAny(text[54:], "13579bdf"))}
	var err, err2 error
	c.TraceID, err = trace.TraceIDFromHex(text[3:35])
	if c.SpanID, err2 = trace.SpanIDFromHex(text[36:52]); err != nil || err2 != nil {
		return trace.SpanContext{} // not even a half that is valid
	}
	return trace.NewSpanContext(c)
}
