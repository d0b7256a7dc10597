//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// spanCollector keeps the spans that it gets.
type spanCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []ptrace.Span
}

func collectSpans(t *testing.T) *spanCollector {
	c := &spanCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		req := ptraceotlp.NewExportRequest()
		if err == nil {
			err = req.UnmarshalProto(body)
		}
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range req.Traces().ResourceSpans().All() {
			for _, scope := range resource.ScopeSpans().All() {
				for _, s := range scope.Spans().All() {
					c.spans = append(c.spans, s)
				}
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// named waits for a span of a name and kind.
func (c *spanCollector) named(t *testing.T, kind ptrace.SpanKind, name string) (found ptrace.Span) {
	t.Helper()
	eventually(t, "there is a span "+name, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.spans {
			if s.Kind() == kind && s.Name() == name {
				found = s
				return true
			}
		}
		return false
	})
	return found
}

// diagnosed returns what the diagnostics of a server answer to a request, also for another host.
func diagnosed(t *testing.T, s *httpServer, path, host, accept string) (status int, body string) {
	t.Helper()
	var at []string
	eventually(t, "there are diagnostics", func() bool {
		at = regexp.MustCompile(`metrics and probes for operators at http://([^/]+)/`).FindStringSubmatch(s.log())
		return at != nil
	})
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+at[1]+path, nil)
	must(t, err)
	r.Host = host
	r.Header.Set("Accept", accept)
	res, err := s.client.Do(r)
	must(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(b)
}

// TestTelemetryMetrics has promtool check what a server measures, whose series do not grow by what clients make up.
func TestTelemetryMetrics(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	file := o.file("c.yaml", strings.Replace(withTokens("ann", "anns"), "{", "{diagnostics: '127.0.0.1:0', ", 1)+fmt.Sprintf("working_directory: .\nstate_directory: %s\n"+
		"audit: {file: %s}\ntools: {read_file: {denied_paths: [secret]}}\n", t.TempDir(), filepath.Join(o.dir, "audit.jsonl"))+"logging: {level: error}\n")
	s := launchHTTP(t, nil, binary(), "--config", file)
	made := func(i int) {
		method := "tools/call"
		if i%2 == 0 {
			method = fmt.Sprint("made/up", i)
		}
		_, err := s.tool(t.Context(), "anns", fmt.Sprint("made_up_", i), `{}`)
		must(t, err)
		s.do(t, "POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			method, modernVersion), map[string]string{"Authorization": "Bearer anns", "MCP-Protocol-Version": modernVersion, "Mcp-Method": method, "Mcp-Name": "x"})
	}
	_, err := s.tool(t.Context(), "anns", "echo", `{"message":"hi"}`)
	must(t, err)
	_, err = s.tool(t.Context(), "anns", "read_file", `{"path":"secret"}`)
	must(t, err)
	_, err = s.tool(t.Context(), "wrong", "echo", `{}`)
	must(t, err)
	for i := range 4 {
		made(i)
	}
	status, before := diagnosed(t, s, "/metrics", "", "")
	contain(t, "/metrics", before, `mcp_server_operation_duration_seconds_count{gen_ai_tool_name="echo",mcp_method_name="tools/call",mcp_protocol_version="2026-07-28"} 1`, `error_type="-32602",mcp_method_name="tools/call"`, `error_type="tool_error",gen_ai_tool_name="read_file"`, `mcp_method_name="_other"`, `toolserver_auth_total{reason="invalid_token",result="refused"} 1`,
		`toolserver_sandbox_refusals_total{rule="tools.read_file.denied_paths"} 1`, "toolserver_in_flight ", "toolserver_audit_records_total ", "toolserver_build_info{", "process_cpu_seconds_total ")
	if status != 200 || strings.Contains(before, "made") || strings.Contains(before, "ann") || strings.Contains(before, "127.0.0.1") || strings.Contains(before, o.dir) {
		t.Errorf("%d %s", status, before)
	}
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Log("promtool is missing (Debian's package prometheus has it): it did not check the metrics")
	} else {
		check := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
		check.Stdin = strings.NewReader(before)
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("promtool: %v %s", err, said)
		}
	}
	var all sync.WaitGroup
	for part := range 8 {
		all.Go(func() {
			for i := range 625 {
				made(part*625 + i)
			}
		})
	}
	all.Wait()
	if _, after := diagnosed(t, s, "/metrics", "", ""); strings.Count(after, "\n") != strings.Count(before, "\n") {
		t.Errorf("series before and after:\n%s\n%s", before, after)
	}
	for _, test := range []struct {
		path, host string
		status     int
		says       string
	}{
		{"/livez", "", 200, "ok"}, {"/readyz", "", 200, "ok"}, {"/readyz?verbose", "", 200, "[+] configuration: sha256 "}, {"/readyz?verbose", "localhost", 200, "[+] audit: "},
		{"/metrics", "evil.example", 403, "not allowed"}, {"/readyz", "evil.example:80", 403, "not allowed"}, {"/mcp", "", 404, ""}, {"/debug/pprof/", "", 404, ""},
	} {
		if status, said := diagnosed(t, s, test.path, test.host, ""); status != test.status || !strings.Contains(said, test.says) {
			t.Errorf("%s of %s: %d %s", test.path, test.host, status, said)
		}
	}
	if r := s.do(t, "GET", "/metrics", "", nil); r.status != 404 {
		t.Errorf("the endpoint serves metrics: %d", r.status)
	}
}

// TestTelemetryTraces follows a call from the client that is its parent to an upstream, over both transports and in both versions.
func TestTelemetryTraces(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http"} {
		for _, speaks := range []string{"legacy", "modern"} {
			for _, version := range []string{"2025-11-25", modernVersion} {
				t.Run(fmt.Sprint(transport, " ", speaks, " ", version), func(t *testing.T) {
					t.Parallel()
					collector, dir := collectSpans(t), t.TempDir()
					audit := filepath.Join(dir, "audit.jsonl")
					file := filepath.Join(dir, "c.yaml")
					must(t, os.WriteFile(file, fmt.Appendf(nil, "working_directory: %s\nstate_directory: %s\naudit: {file: %s}\ntelemetry: {otlp: {endpoint: %q}, sample: 1}\n%s",
						dir, t.TempDir(), audit, collector.URL, gateway(entry("u", "", upstreamBinary(t), "--offer", "good,faithful", "--speaks", speaks))), 0o600))
					options := mcpclient.Options{Name: "t", Version: "1", Protocol: version, ConnectTimeout: patience}
					var c *mcpclient.Client
					var server *program
					var err error
					if transport == "http" {
						s := startHTTP(t, binary(), "--config", file)
						server = s.program
						c, err = mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, s.url, nil, options)
					} else {
						out, stdout, pipeErr := os.Pipe()
						must(t, pipeErr)
						server = spawn(t, stdout, nil, binary(), "serve", "--stdio", "--config", file)
						c, err = mcpclient.Connect(t.Context(), &checkedOutput{File: out, in: server.in, t: t}, options)
					}
					must(t, err)
					t.Cleanup(c.Close)
					eventually(t, "the upstream is listed", func() bool { return byName(t, c)["u__parameters"] != nil })
					const traceID, spanID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
					const meta = `"_meta":{"traceparent":"00-` + traceID + `-` + spanID + `-00","tracestate":"a=1","baggage":"user=ann"}`
					got := comesTo(c, "tools/call", `{"name":"u__parameters","arguments":{"x":"topsecret"},`+meta+`}`)
					span := collector.named(t, ptrace.SpanKindServer, "tools/call u__parameters")
					client := collector.named(t, ptrace.SpanKindClient, "tools/call parameters")
					if span.TraceID().String() != traceID || span.ParentSpanID().String() != spanID || client.TraceID() != span.TraceID() || client.ParentSpanID() != span.SpanID() {
						t.Error(span.TraceID(), span.ParentSpanID(), client.TraceID(), client.ParentSpanID())
					}
					if want := fmt.Sprintf("00-%s-%s-01", traceID, client.SpanID()); !strings.Contains(got, want) || strings.Contains(got, "baggage") || !strings.Contains(got, "tracestate") {
						t.Errorf("the upstream got %s; want %s", got, want)
					}
					attributes := span.Attributes().AsRaw()
					if attributes["mcp.protocol.version"] != version || attributes["network.transport"] != map[string]string{"stdio": "pipe", "http": "tcp"}[transport] {
						t.Error(attributes)
					}
					_ = comesTo(c, "tools/call", `{"name":"no_such","arguments":{},"_meta":{"traceparent":"00-`+traceID+`-0000000000000000-01"}}`)
					failed := collector.named(t, ptrace.SpanKindServer, "tools/call")
					if failed.TraceID().String() == traceID || failed.Status().Code() != ptrace.StatusCodeError || failed.Attributes().AsRaw()["error.type"] != "-32001" {
						t.Error(failed.TraceID(), failed.Status().Code(), failed.Attributes().AsRaw())
					}
					collector.mu.Lock()
					for _, s := range collector.spans {
						if text := fmt.Sprint(s.Name(), s.Attributes().AsRaw()); strings.Contains(text, "topsecret") || strings.Contains(text, "ann") {
							t.Errorf("a span has an argument: %s", text)
						}
					}
					collector.mu.Unlock()
					eventually(t, "the audit has the trace", func() bool {
						text, _ := os.ReadFile(audit)
						return strings.Contains(string(text), fmt.Sprintf(`"trace_id":%q,"span_id":%q`, traceID, span.SpanID()))
					})
					if log := server.log(); !strings.Contains(log, fmt.Sprintf(`"trace_id":%q,"span_id":%q`, traceID, span.SpanID())) {
						t.Errorf("the log has no trace: %s", log)
					}
				})
			}
		}
	}
}

// TestTelemetryDown calls while no collector answers: nothing is kept from its work, and the log says so once.
func TestTelemetryDown(t *testing.T) {
	t.Parallel()
	hangs := make(chan struct{})
	down := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	defer down.Close()
	defer close(hangs)
	for _, endpoint := range []string{down.URL, "http://127.0.0.1:9"} {
		s := launchHTTP(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "OTEL_TRACES_SAMPLER=always_on", "OTEL_METRICS_EXPORTER=otlp"}, binary(), append([]string{"--insecure-no-auth"}, httpConfig(t, t.TempDir(), "")...)...)
		for range 5000 {
			said, err := s.tool(t.Context(), "", "echo", `{"message":"hi"}`)
			must(t, err)
			if !strings.Contains(said, "Echo: hi") {
				t.Fatal(said)
			}
		}
		must(t, s.cmd.Process.Signal(os.Interrupt))
		<-s.exited
		if n := strings.Count(s.log(), "telemetry cannot be sent"); n > 2 {
			t.Errorf("the log says it %d times", n)
		}
	}
}
