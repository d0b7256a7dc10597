package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// collector is one that keeps what it gets.
type collector struct {
	*httptest.Server
	t       *testing.T
	spans   chan ptrace.ResourceSpans
	metrics chan []string
	headers chan http.Header
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t, spans: make(chan ptrace.ResourceSpans, 100), metrics: make(chan []string, 100), headers: make(chan http.Header, 100)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.headers <- r.Header
		switch r.URL.Path {
		case "/v1/traces":
			req := ptraceotlp.NewExportRequest()
			if err := req.UnmarshalProto(body); err != nil {
				t.Error(err)
			}
			for _, s := range req.Traces().ResourceSpans().All() {
				c.spans <- s
			}
		case "/v1/metrics":
			req := pmetricotlp.NewExportRequest()
			if err := req.UnmarshalProto(body); err != nil {
				t.Error(err)
			}
			var names []string
			for _, r := range req.Metrics().ResourceMetrics().All() {
				for _, s := range r.ScopeMetrics().All() {
					for _, m := range s.Metrics().All() {
						names = append(names, m.Name())
					}
				}
			}
			c.metrics <- names
		default:
			t.Error(r.URL)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func start(t testing.TB, s Settings, scraped bool) *Telemetry {
	t.Helper()
	started, err := Start(s, "toolserver", "1.2.3", scraped, func(err error) { t.Log(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Close)
	return started
}

const parentOf = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"

// TestSpans has a collector decode the spans of a request and of a call that it makes.
func TestSpans(t *testing.T) {
	c := newCollector(t)
	headers := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(headers, []byte("X-Key: secret\r\nX-Other:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tele := start(t, Settings{OTLP: OTLP{Endpoint: c.URL + "/", HeadersFile: headers, Traces: true, Metrics: true}, Sample: new(1.0)}, false)
	meta := json.RawMessage(`{"traceparent":"` + parentOf + `0","tracestate":"a=1","baggage":"k=v"}`)
	op := tele.Begin("tools/call", json.RawMessage(`7`), meta, "session", "192.0.2.1", strings.Replace(parentOf, "0af7", "0af8", 1)+"1")
	params, ended := op.Call("files", "tools/call", json.RawMessage(`{"name":"read","_meta":{"traceparent":"x","tracestate":"a=1"}}`))
	ended("-32603")
	op.Called("files__read", "", "", time.Millisecond)
	traceID, spanID := op.IDs()
	op.End("2026-07-28", "tool_error")
	op.End("2026-07-28", "") // does not count
	tele.Close()
	if h := <-c.headers; h.Get("X-Key") != "secret" || h.Get("X-Other") != "1" {
		t.Error(h)
	}
	r := <-c.spans
	if v, _ := r.Resource().Attributes().Get("service.name"); v.Str() != "toolserver" {
		t.Error(r.Resource().Attributes().AsRaw())
	}
	scope := r.ScopeSpans().At(0)
	if scope.SchemaUrl() != "https://opentelemetry.io/schemas/1.41.0" || scope.Spans().Len() != 2 {
		t.Fatal(scope.SchemaUrl(), scope.Spans().Len())
	}
	client, server := scope.Spans().At(0), scope.Spans().At(1)
	if server.Kind() != ptrace.SpanKindServer || server.Name() != "tools/call files__read" || server.TraceID().String() != parentOf[3:35] || server.TraceState().AsRaw() != "a=1" ||
		server.ParentSpanID().String() != parentOf[36:52] || server.Status().Code() != ptrace.StatusCodeError || server.SpanID().String() != spanID || traceID != parentOf[3:35] {
		t.Error(server.Kind(), server.Name(), server.TraceID(), server.ParentSpanID(), server.Status().Code(), traceID, spanID)
	}
	if links := server.Links(); links.Len() != 1 || !strings.HasPrefix(links.At(0).TraceID().String(), "0af8") {
		t.Error(links.Len())
	}
	want := map[string]any{
		"mcp.method.name": "tools/call", "gen_ai.tool.name": "files__read", "gen_ai.operation.name": "execute_tool", "jsonrpc.request.id": "7", "error.type": "tool_error",
		"mcp.protocol.version": "2026-07-28", "mcp.session.id": "session", "network.transport": "tcp", "network.protocol.name": "http", "client.address": "192.0.2.1",
	}
	if got := server.Attributes().AsRaw(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v; want %v", got, want)
	}
	if client.Kind() != ptrace.SpanKindClient || client.Name() != "tools/call read" || client.ParentSpanID() != server.SpanID() || client.TraceID() != server.TraceID() {
		t.Error(client.Kind(), client.Name(), client.ParentSpanID())
	}
	if got := fmt.Sprint(client.Attributes().AsRaw()); got != "map[error.type:-32603 mcp.method.name:tools/call rpc.response.status_code:-32603 toolserver.upstream:files]" {
		t.Error(got)
	}
	want2 := fmt.Sprintf(`{"name":"read","_meta":{"traceparent":"00-%s-%s-01","tracestate":"a=1"}}`, client.TraceID(), client.SpanID())
	if string(params) != want2 {
		t.Errorf("%s; want %s", params, want2)
	}
	names := fmt.Sprint(<-c.metrics)
	for _, name := range []string{"mcp.server.operation.duration", "mcp.client.operation.duration", "toolserver.queue", "process.cpu"} {
		if !strings.Contains(names, name) {
			t.Errorf("no %s: %s", name, names)
		}
	}
}

// TestParents takes only what is exactly a traceparent for one.
func TestParents(t *testing.T) {
	good := parentOf + "1"
	for _, test := range []struct {
		text           string
		valid, sampled bool
	}{
		{good, true, true}, {parentOf + "0", true, false}, {good[:53] + "03", true, true}, {good[:53] + "ff", true, true}, {good[:53] + "f0", true, false},
		{"", false, false}, {good + "-", false, false}, {good[:54], false, false}, {"01" + good[2:], false, false}, {"ff" + good[2:], false, false},
		{strings.ToUpper(good), false, false}, {good[:53] + "0g", false, false}, {good[:53] + "AB", false, false}, {good[:53] + "-1", false, false},
		{"00-" + strings.Repeat("0", 32) + good[35:], false, false}, {good[:36] + strings.Repeat("0", 16) + good[52:], false, false},
		{good[:35] + "_" + good[36:], false, false}, {good[:3] + "é" + good[5:], false, false}, {" " + good[:54], false, false}, {strings.Repeat("0", 55), false, false},
	} {
		quoted, _ := json.Marshal(test.text)
		got := Parent(json.RawMessage(`{"traceparent":` + string(quoted) + `,"tracestate":"` + strings.Repeat("=,", 100) + `"}`))
		if got.IsValid() != test.valid || test.valid && got.IsSampled() != test.sampled {
			t.Errorf("%q: %t %t", test.text, got.IsValid(), got.IsSampled())
		}
	}
	for _, meta := range []string{``, `null`, `[]`, `7`, `{"traceparent":7}`, `{"traceparent":null}`, `{"traceparent":{}}`, `{}`} {
		if Parent(json.RawMessage(meta)).IsValid() {
			t.Error(meta)
		}
	}
}

// TestSampling leaves it to clients what is traced only where they are trusted.
func TestSampling(t *testing.T) {
	c := newCollector(t)
	for _, test := range []struct {
		sample  *float64
		env     string
		trust   bool
		flags   string // of the client
		sampled bool
	}{
		{new(0.0), "always_on", false, "1", false}, {new(1.0), "always_off", false, "0", true}, {new(0.0), "", true, "1", true}, {new(1.0), "", true, "0", false},
		{nil, "always_on", false, "0", true}, {nil, "parentbased_always_off", false, "1", false}, {nil, "parentbased_always_on", false, "0", true},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", test.env)
		tele := start(t, Settings{OTLP: OTLP{Endpoint: c.URL, Traces: true}, Sample: test.sample, TrustParent: test.trust}, false)
		op := tele.Begin("ping", nil, json.RawMessage(`{"traceparent":"`+parentOf+test.flags+`"}`), "", "", "")
		id, _ := op.IDs()
		if (id != "") != test.sampled {
			t.Errorf("%v: traced as %q", test, id)
		}
		params, ended := op.Call("u", "ping", json.RawMessage(`{}`))
		ended("")
		if want := map[bool]string{true: `-01"`, false: `-00"`}[test.sampled]; !strings.Contains(string(params), `{"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-`) ||
			!strings.Contains(string(params), want) {
			t.Errorf("%v: %s", test, params)
		}
		op.End("", "")
	}
	t.Setenv("OTEL_TRACES_SAMPLER", "jaeger_remote")
	if _, err := Start(Settings{OTLP: OTLP{Endpoint: c.URL, Traces: true}}, "", "", false, func(error) {}); err == nil {
		t.Error("a sampler that there is not")
	}
}

// TestOff measures nothing where nobody wants to know.
func TestOff(t *testing.T) {
	for _, env := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SDK_DISABLED"} {
		t.Setenv(env, "")
	}
	off := start(t, Settings{OTLP: OTLP{Traces: true}, Sample: new(1.0)}, false)
	if off != nil {
		t.Fatal("it measures")
	}
	off.Gauge("x", "", "", nil)
	off.Total("x", "", "", nil)
	off.Counter("x", "").Add(1)
	off.Seconds("x", "").Add(1)
	var op *Operation
	op.Limited("x")
	if params, ended := op.Call("u", "ping", json.RawMessage(`{}`)); string(params) != `{}` {
		t.Errorf("%s", params)
	} else {
		ended("")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", newCollector(t).URL)
	if start(t, Settings{OTLP: OTLP{Traces: true}}, false) == nil {
		t.Error("the environment is not obeyed")
	}
}

// TestDown fills the room for spans while the collector does not answer: what is too many is dropped, and nobody waits.
func TestDown(t *testing.T) {
	hangs := make(chan struct{})
	down := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	defer down.Close()
	defer close(hangs)
	tele := start(t, Settings{OTLP: OTLP{Endpoint: down.URL, Traces: true}, Sample: new(1.0)}, true)
	for range 3 * maxSpans {
		tele.Begin("ping", nil, nil, "", "", "").End("", "")
	}
	text := scrape(tele, "")
	if !strings.Contains(text, `toolserver_spans_total{result="dropped"} `) || !strings.Contains(text, `_count{mcp_method_name="ping"} 6144`) {
		t.Error(text)
	}
	begun := time.Now()
	if tele.Close(); time.Since(begun) > flushTime+time.Second {
		t.Error(time.Since(begun))
	}
}

func scrape(t *Telemetry, accept string) string {
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", accept)
	t.ServeHTTP(w, r)
	return w.Body.String()
}

// TestScrape has promtool check the text, and finds the trace of an exemplar.
func TestScrape(t *testing.T) {
	c := newCollector(t)
	tele := start(t, Settings{OTLP: OTLP{Endpoint: c.URL, Traces: true}, Sample: new(1.0)}, true)
	tele.Counter("toolserver.things", "Things.", "kind").Add(2, "a\"b\\c\nd")
	tele.Gauge("toolserver.size", "Size.", "By", func() float64 { return 1e9 })
	tele.Total("toolserver.hits", "Hits.", "", func() float64 { return 3 })
	op := tele.Begin("tools/call", nil, nil, "", "", "")
	op.Called("echo", "", "", 0)
	id, _ := op.IDs()
	op.End("2025-11-25", "")
	text, open := scrape(tele, "text/plain"), scrape(tele, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
	for _, line := range []string{
		`toolserver_things_total{kind="a\"b\\c\nd"} 2`, "# TYPE toolserver_things_total counter", "toolserver_size_bytes 1e+09", "toolserver_hits_total 3", "# TYPE toolserver_size_bytes gauge",
		`mcp_server_operation_duration_seconds_count{gen_ai_tool_name="echo",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	if strings.Contains(text, id) || !strings.Contains(open, `# {trace_id="`+id+`",span_id="`) || !strings.HasSuffix(open, "# EOF\n") || !strings.Contains(open, "# TYPE toolserver_things counter\n") {
		t.Error(open)
	}
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip(err)
	}
	check := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if said, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, said)
	}
}

// TestSeries bounds the series of a metric, whatever a server offers.
func TestSeries(t *testing.T) {
	tele := start(t, Settings{}, true)
	c := tele.Counter("toolserver.things", "Things.", "kind")
	for i := range 3 * maxSeries {
		c.Add(1, fmt.Sprint(i))
	}
	text := scrape(tele, "")
	if n := strings.Count(text, "toolserver_things_total{"); n > maxSeries || !strings.Contains(text, `{kind="_other"}`) {
		t.Errorf("%d series", n)
	}
	for i := range 3 * maxSeries {
		c.Add(1, fmt.Sprint(i+1e6))
	}
	if len(c.made) > 2*maxSeries {
		t.Errorf("%d are kept", len(c.made))
	}
}

// TestHeaders names the file of a wrong line, and not what that says.
func TestHeaders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OTLP{HeadersFile: file}.Headers()
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), file) {
		t.Error(err)
	}
	if _, err := (OTLP{HeadersFile: file + "x"}).Headers(); err == nil {
		t.Error("there is no such file")
	}
}

// BenchmarkCall measures what a call of a tool costs.
func BenchmarkCall(b *testing.B) {
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer sink.Close()
	traced := func(sample float64) Settings {
		return Settings{OTLP: OTLP{Endpoint: sink.URL, Traces: true}, Sample: new(sample)}
	}
	id, meta := json.RawMessage("1"), json.RawMessage(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`)
	for _, test := range []struct {
		name    string
		s       Settings
		scraped bool
	}{
		{"metrics", Settings{}, true}, {"unsampled", traced(0), false}, {"sampled", traced(1), false}, {"metrics and 10 %", traced(0.1), true},
	} {
		b.Run(test.name, func(b *testing.B) {
			tele := start(b, test.s, test.scraped)
			b.ReportAllocs()
			for b.Loop() {
				op := tele.Begin("tools/call", id, meta, "", "127.0.0.1", "")
				op.Called("echo", "", "", 0)
				op.End("2026-07-28", "")
			}
		})
	}
	b.Run("another series", func(b *testing.B) {
		c := start(b, Settings{}, true).Counter("toolserver.auth", "", "result", "reason")
		for b.Loop() {
			c.Add(1, "ok")
		}
	})
}

// TestInvalidText sends spans of requests whose ID and session are no UTF-8, or are cut within a character.
func TestInvalidText(t *testing.T) {
	c := newCollector(t)
	tele := start(t, Settings{OTLP: OTLP{Endpoint: c.URL, Traces: true}, Sample: new(1.0)}, false)
	tele.Begin("ping", json.RawMessage(`"`+strings.Repeat("é", 60)+`"`), nil, "s\xff", "a\xff", "").End("", "")
	tele.Close()
	select {
	case r := <-c.spans:
		if id, _ := r.ScopeSpans().At(0).Spans().At(0).Attributes().Get("jsonrpc.request.id"); id.Str() != `"`+strings.Repeat("é", 31) {
			t.Errorf("%q", id.Str())
		}
	default:
		t.Error("nothing was sent")
	}
}

// TestHalfParents begins a trace where a half of the parent is valid.
func TestHalfParents(t *testing.T) {
	c := newCollector(t)
	tele := start(t, Settings{OTLP: OTLP{Endpoint: c.URL, Traces: true}, Sample: new(1.0)}, false)
	for _, parent := range []string{parentOf[:36] + strings.Repeat("0", 16) + "-01", parentOf[:36] + strings.Repeat("x", 16) + "-01"} {
		op := tele.Begin("ping", nil, json.RawMessage(`{"traceparent":"`+parent+`"}`), "", "", parent)
		if id, _ := op.IDs(); id == "" || id == parentOf[3:35] {
			t.Errorf("%s: %q", parent, id)
		}
		op.End("", "")
	}
}
