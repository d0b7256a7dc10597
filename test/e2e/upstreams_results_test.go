package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// Small files that the upstream has in base64.
const (
	pdfBase64 = "JVBERi0xLjQKJSVFT0YK"
	pngBase64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
)

// TestUpstreamsContract has an upstream answer in the form of the V2 contract, or an
// older form of it: what files it returns is neither in the text nor in the structured
// content, but can be read.
func TestUpstreamsContract(t *testing.T) {
	t.Parallel()
	s := openGateway(t, gateway(entry("u", "", upstreamBinary(t))))
	s.awaits("u__v2")
	for _, kind := range []string{"full", "results", "iframe", "result", "metadata", "files", "bad_base64", "climbing", "bare", "nameless"} {
		for _, as := range []string{"text", "structured", "both"} {
			a := s.call("u__v2", map[string]any{"kind": kind, "as": as})
			structured, _ := json.Marshal(a.Result.StructuredContent)
			var text strings.Builder
			for _, block := range a.Result.Content {
				text.WriteString(block.Text)
			}
			if a.failed() {
				t.Errorf("%s as %s: %+v", kind, as, a.Error)
			}
			for _, b64 := range []string{pdfBase64, pngBase64} {
				if strings.Contains(text.String(), b64) || strings.Contains(string(structured), b64) {
					t.Errorf("%s as %s has base64 in its text %.500s or its structured content %.500s", kind, as, text.String(), structured)
				}
			}
			if kind == "full" && (as != "structured" && !strings.Contains(text.String(), "Done.") || !strings.Contains(string(structured), "report.pdf") || !strings.Contains(string(structured), "primary_file")) {
				t.Errorf("as %s: %s, %s", as, text.String(), structured)
			}
		}
	}
}

// TestUpstreamsLargeResults bounds what comes of upstreams as what comes of others: the
// rest can be read, by whoever made the call.
func TestUpstreamsLargeResults(t *testing.T) {
	t.Parallel()
	s := openGateway(t, gateway(entry("u", "", upstreamBinary(t))))
	s.awaits("u__large")
	for _, structured := range []bool{false, true} {
		a := s.call("u__large", map[string]any{"bytes": 5 << 20, "structured": structured})
		raw, err := json.Marshal(a.Result)
		must(t, err)
		if a.failed() || !structured && (len(raw) > 1<<20 || !strings.Contains(a.text(), "read_large_result")) {
			t.Errorf("structured %t: %d bytes, %.300s, %+v", structured, len(raw), a.text(), a.Error)
		}
	}
	s.works("u")
}

// TestUpstreamsManyTools lists 500 tools of 20 upstreams, and calls one of each while
// they all change.
func TestUpstreamsManyTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var entries []string
	for i := range 20 {
		entries = append(entries, entry(fmt.Sprintf("s%d", i), "", upstreamBinary(t), "--offer", "none,bad", "--tools", "25", "--page", "10", "--change", filepath.Join(dir, fmt.Sprint(i))))
	}
	s := openGateway(t, gateway(entries...))
	for i := range 20 {
		s.awaits(fmt.Sprintf("s%d__create_issue", i))
	}
	for i := range 20 {
		s.says(fmt.Sprintf("s%d__change", i), map[string]any{"kind": "new"}, "changed")
		s.says(fmt.Sprintf("s%d__create_issue", i), map[string]any{"issue_id": "1"}, "did create_issue")
	}
	for i := range 20 {
		s.awaits(fmt.Sprintf("s%d__newcomer", i))
	}
	checkListed(t, s.tools())
	t.Logf("%d tools, %d kB", len(s.tools()), s.status("VmRSS"))
}

// TestUpstreamsTellTheRightOne has calls of two users report progress at once. Each
// hears of their own.
func TestUpstreamsTellTheRightOne(t *testing.T) {
	t.Parallel()
	s := launchHTTP(t, nil, binary(), httpConfig(t, t.TempDir(), withTokens("ann", "anns", "bob", "bobs")+gateway(entry("u", "", upstreamBinary(t))))...)
	done := make(chan string, 2)
	for token, steps := range map[string]int{"anns": 7, "bobs": 11} {
		user := userOf(t, s, token, "2025-11-25", nil)
		go func() {
			for range 20 {
				seen := 0
				result, err := user.CallTool(context.Background(), "u__progress", map[string]any{"steps": steps}, func(p mcpclient.Progress) {
					if seen++; p.Total != float64(steps) {
						seen += 1000
					}
				})
				if err == nil && seen != steps {
					done <- fmt.Sprintf("%s heard %d reports of %d: %s", token, seen, steps, result)
					return
				}
			}
			done <- ""
		}()
	}
	for range 2 {
		if problem := <-done; problem != "" {
			t.Error(problem)
		}
	}
}

// TestUpstreamsWatched subscribes to a resource of an upstream, which then changes.
func TestUpstreamsWatched(t *testing.T) {
	t.Parallel()
	for _, speaks := range []string{"legacy", "modern"} {
		t.Run(speaks, func(t *testing.T) {
			t.Parallel()
			s := openGateway(t, gateway(entry("u", "", upstreamBinary(t), "--offer", "good,bad", "--speaks", speaks)))
			s.awaits("u__touch")
			uri := ""
			for _, item := range listOf(t, s, "resources/list") {
				if strings.HasSuffix(item.URI, "upstream://watched") {
					uri = item.URI
				}
			}
			s.request("resources/subscribe", map[string]any{"uri": uri})
			eventually(t, "the change is told", func() bool {
				s.says("u__touch", map[string]any{"at": "upstream://watched"}, "touched")
				return s.notified("notifications/resources/updated") > 0
			})
			for _, line := range s.said() {
				if line.Method == "notifications/resources/updated" && !strings.Contains(string(line.Raw), uri) {
					t.Errorf("the change is told as %s", line.Raw)
				}
			}
		})
	}
}

// listOf returns a list of resources.
func listOf(t *testing.T, s *gatewayServer, method string) []struct{ URI, Name string } {
	t.Helper()
	items, err := s.mcp.List(t.Context(), method)
	must(t, err)
	all := make([]struct{ URI, Name string }, len(items))
	for i, item := range items {
		must(t, json.Unmarshal(item, &all[i]))
	}
	return all
}

// TestUpstreamsKilledInCalls kills an upstream while calls of several users are in
// flight, and one of them is asked: each call ends, with an error that says so.
func TestUpstreamsKilledInCalls(t *testing.T) {
	t.Parallel()
	program := own(t, upstreamBinary(t))
	s := openGateway(t, gateway(entry("u", "", program, "--offer", "good,bad"), entry("other", "", upstreamBinary(t))))
	s.awaits("u__die")
	s.awaits("other__echo")
	for range 3 {
		s.recovers("u")
		held := t.TempDir()
		var waiting []*pending
		for i := range 5 {
			waiting = append(waiting, s.begin("u__hold", map[string]any{"at": held}))
			noted(t, held, "begun", i+1)
		}
		s.refused("u__die", nil, "-32005", "u")
		for _, p := range waiting {
			if a := s.finish(p); a.Error == nil || a.Error.Code != -32005 || a.errorType() == "" || !strings.Contains(a.Error.Message, "u") {
				t.Errorf("a call in flight: %+v", a)
			}
		}
		s.works("other")
	}
}

// TestUpstreamsCanceledReload cancels a call of an upstream that a reload changes
// meanwhile: the change does not wait for it, and nothing is left.
func TestUpstreamsCanceledReload(t *testing.T) {
	t.Parallel()
	program := own(t, upstreamBinary(t))
	s := openGateway(t, gateway(entry("u", "", program, "--name", "old")))
	s.awaits("u__hold")
	held, deaf := t.TempDir(), t.TempDir()
	waiting, stubborn := s.begin("u__hold", map[string]any{"at": held}), s.begin("u__deaf", map[string]any{"at": deaf})
	noted(t, held, "begun", 1)
	noted(t, deaf, "begun", 1)
	reconfigure(t, s.config, gateway(entry("u", "", program, "--name", "new")))
	eventually(t, "the new one serves", func() bool { return strings.HasPrefix(s.call("u__about", nil).text(), "new ") })
	waiting.cancel()
	stubborn.cancel()
	<-waiting.over
	<-stubborn.over
	eventually(t, "the old one is gone", func() bool { return len(running(t, program)) == 1 })
}
