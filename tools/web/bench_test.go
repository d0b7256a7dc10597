package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/web"
)

// BenchmarkFetch fetches a page of 100 KB, anew, from the cache, and after the
// site has said that it is the same.
func BenchmarkFetch(b *testing.B) {
	body := "<title>Page</title>" + strings.Repeat(`<p>Some <b>text</b> with a <a href="/x">link</a> &amp; more of it.</p>`, 1500)
	page := func(header, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set(header, value)
			if header == "ETag" && r.Header.Get("If-None-Match") == value {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Write([]byte(body))
		}
	}
	base := site(b, map[string]http.HandlerFunc{"/new": page("X-Nothing", ""), "/fresh": page("Cache-Control", "max-age=600"), "/same": page("ETag", `"1"`)})
	for _, path := range []string{"/fresh", "/same", "/new"} {
		b.Run(path[1:], func(b *testing.B) {
			exec := tooltest.Executor(b, fetchTool(b, web.Options{}, sandbox.ToolPolicy{}, base))
			cmd := call.ExecuteToolCommand{Tool: "web_fetch", Arguments: json.RawMessage(arg(base + path))}
			b.ReportAllocs()
			for b.Loop() {
				if res, err := exec.Call(b.Context(), cmd); err != nil || res.IsError {
					b.Fatal(res, err)
				}
			}
		})
	}
}
