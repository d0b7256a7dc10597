package web_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/test/tooltest"
	documents "github.com/toolserver/toolserver/tools/files/content"
	"github.com/toolserver/toolserver/tools/web"
)

// site is a web site on this machine that the tool may reach.
func site(t testing.TB, routes map[string]http.HandlerFunc) (base string) {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, h := range routes {
		mux.HandleFunc(pattern, h)
	}
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// fetchTool is web_fetch, which may reach these hosts besides public ones.
func fetchTool(t testing.TB, o web.Options, p sandbox.ToolPolicy, hosts ...string) domain.Tool {
	t.Helper()
	for i := range hosts {
		hosts[i] = strings.TrimPrefix(hosts[i], "http://")
	}
	p.PrivateHosts = hosts
	return web.Tool(fetcher(t, p), documents.NewReader(nil), o)
}

// fetcher is what web_fetch is handed under a policy.
func fetcher(t testing.TB, p sandbox.ToolPolicy) *sandbox.Fetcher {
	t.Helper()
	s := tooltest.Sandbox(t, sandbox.Policy{Tools: map[string]sandbox.ToolPolicy{web.Name: p}}, web.Family().Declared())
	return s.For(web.Name).Fetcher()
}

// says answers with a body of a type.
func says(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}
}

func redirects(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func TestFetch(t *testing.T) {
	stopped := make(chan bool, 1) // whether the bomb was not read to its end
	base := site(t, map[string]http.HandlerFunc{
		"/page": says("text/html; charset=utf-8", `<!doctype html><title> A &amp; B </title><script>x()</script><h1>Hi</h1><p>See <a href="/next">more</a>.`),
		"/json": says("application/json", `{"z":9223372036854775808,"a":[1.10,{"y":null,"b":"é"}],"z2":1e400}`),
		"/bad":  says("application/json", `{"a":`),
		"/text": says("text/plain", "a  b\n<p>c"),
		"/none": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			io.WriteString(w, "<html><body><p>sniffed")
		},
		"/png":     says("image/png", "\x89PNG\r\n\x1a\n123"),
		"/empty":   says("text/plain", ""),
		"/404":     http.NotFound,
		"/429":     func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) },
		"/500":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"/to-page": redirects("/page#part"),
		"/to-file": redirects("file:///etc/passwd"),
		"/to-meta": redirects("http://169.254.169.254/latest/"),
		"/to-user": redirects("http://user:secret@example.com/"),
		"/to-long": redirects("/" + strings.Repeat("x", 60_000)),
		"/switch": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				t.Cleanup(func() { conn.Close() })
				io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n") // and nothing more
			}
		},
		"/loop":    redirects("/loop"),
		"/nowhere": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) },
		"/declared": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2500000")
			w.WriteHeader(200)
		},
		"/over": func(w http.ResponseWriter, _ *http.Request) {
			w.Write(make([]byte, 1))
			w.(http.Flusher).Flush()
			w.Write([]byte(strings.Repeat("x", 2_000_000)))
		},
		"/limit": says("text/plain", strings.Repeat("x", 2_000_000)),
		"/bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 500 {
				if _, err := z.Write(make([]byte, 1<<20)); err != nil {
					stopped <- true
					return
				}
			}
			stopped <- false
		},
		"/br": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "compress")
			io.WriteString(w, "x")
		},
		"/short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "only this")
		},
		"/deep":  says("text/html", strings.Repeat("<div>", 5000)+"bottom"),
		"/parts": says("text/html", `<title>T</title><nav>menu</nav><main><p>one<p><b>two</b></main><main>three</main>`),
	})
	tool := fetchTool(t, web.Options{}, sandbox.ToolPolicy{DeniedHosts: []string{"bad.example"}}, base)
	tooltest.Run(t, tool, []tooltest.Case{
		{Name: "html", Args: arg(base + "/page"), Exact: "URL: " + base + "/page\nStatus: 200\nContent-Type: text/html\nTitle: A & B\nLength: " +
			fmt.Sprint(len("Hi\n\nSee more ("+base+"/next).")) + " chars\n\n--- Content ---\n\nHi\n\nSee more (" + base + "/next)."},
		{Name: "redirect", Args: arg(base + "/to-page"), Want: "URL: " + base + "/to-page\nFinal URL: " + base + "/page\nStatus: 200\n"},
		{Name: "json", Args: arg(base + "/json"), Want: "--- Content ---\n\n{\n  \"z\": 9223372036854775808,\n  \"a\": [\n    1.10,\n    {\n      \"y\": null,\n      \"b\": \"é\"\n    }\n  ],\n  \"z2\": 1e400\n}"},
		{Name: "broken json", Args: arg(base + "/bad"), Want: "--- Content ---\n\n{\"a\":"},
		{Name: "text", Args: arg(base + "/text"), Want: "Content-Type: text/plain\nLength: 9 chars\n\n--- Content ---\n\na  b\n<p>c"},
		{Name: "sniffed", Args: arg(base + "/none"), Want: "Content-Type: text/html\nLength: 7 chars\n\n--- Content ---\n\nsniffed"},
		{Name: "empty", Args: arg(base + "/empty"), Exact: "URL: " + base + "/empty\nStatus: 200\nContent-Type: text/plain\nNote: the site sent no content\nLength: 0 chars\n\n--- Content ---\n\n"},
		{Name: "image", Args: arg(base + "/png"), Fail: true, ErrorType: "invalid_image", Want: "is not a whole image/png image"},
		{Name: "not found", Args: arg(base + "/404"), Fail: true, ErrorType: "not_found", Exact: "Error: HTTP 404 fetching " + base + "/404\nCheck the URL, or try another page.\nThe site says: 404 page not found"},
		{Name: "server error", Args: arg(base + "/500"), Fail: true, ErrorType: "http_status", Exact: "Error: HTTP 500 fetching " + base + "/500\nThe site has a problem; try again later."},
		{Name: "asked to wait", Args: arg(base + "/429"), Fail: true, ErrorType: "rate_limited", Exact: "Error: HTTP 429 fetching " + base + "/429\nThe site asks to wait 7s before the next request."},
		{Name: "redirect to a file", Args: arg(base + "/to-file"), Fail: true, ErrorType: "denied", Wants: []string{"network.scheme", "after a redirect to file:///etc/passwd"}},
		{Name: "redirect inside", Args: arg(base + "/to-meta"), Fail: true, ErrorType: "denied", Wants: []string{"network.metadata", "after a redirect to http://169.254.169.254/latest/"}},
		{Name: "redirect with a password", Args: arg(base + "/to-user"), Fail: true, ErrorType: "denied", Want: "network.userinfo"},
		{Name: "redirect to a long URL", Args: arg(base + "/to-long"), Fail: true, ErrorType: "invalid_url", Want: "longer than 8192 bytes (after a redirect to "},
		{Name: "switch", Args: arg(base + "/switch"), Fail: true, ErrorType: "http_status", Want: "HTTP 101"},
		{Name: "loop", Args: arg(base + "/loop"), Fail: true, ErrorType: "too_many_redirects", Want: "Error: Too many redirects (max 5)\nCheck"},
		{Name: "redirect to nowhere", Args: arg(base + "/nowhere"), Fail: true, ErrorType: "http_status", Want: "HTTP 302"},
		{Name: "declared too large", Args: arg(base + "/declared"), Fail: true, ErrorType: "too_large", Want: "Error: Response too large (2,500,000 bytes, max 2,000,000 bytes)\nFetch a smaller page"},
		{Name: "too large", Args: arg(base + "/over"), Fail: true, ErrorType: "too_large", Want: "Error: Response too large (more than 2,000,000 bytes, max 2,000,000 bytes)\n"},
		{Name: "just right", Args: `{"url":"` + base + `/limit","maxChars":10}`, Want: "Length: 10 chars (truncated from 2,000,000)\n"},
		{Name: "bomb", Args: arg(base + "/bomb"), Fail: true, ErrorType: "too_large"},
		{Name: "encoding", Args: arg(base + "/br"), Fail: true, ErrorType: "unsupported_content", Want: `encoding "compress"`},
		{Name: "connection ends", Args: arg(base + "/short"), Wants: []string{"only this", "[The connection ended early, so the end is missing: 9 of 100 bytes came]"}},
		{Name: "deep", Args: arg(base + "/deep"), Want: "--- Content ---\n\nbottom"},
		{Name: "selector", Args: `{"url":"` + base + `/parts","selector":"main"}`, Wants: []string{"Title: T\n", "--- Content ---\n\none\n\ntwo\n\nthree"}},
		{Name: "selector of markdown", Args: `{"url":"` + base + `/parts","selector":"main > p","format":"markdown"}`, Want: "**two**"},
		{Name: "raw", Args: `{"url":"` + base + `/parts","format":"raw"}`, Want: "--- Content ---\n\n<title>T</title><nav>"},
		{Name: "selects nothing", Args: `{"url":"` + base + `/parts","selector":"aside"}`, Fail: true, ErrorType: "not_found"},
		{Name: "no selector", Args: `{"url":"` + base + `/parts","selector":"main >"}`, Code: domain.CodeInvalidParams, Want: "selector"},
		{Name: "selector of text", Args: `{"url":"` + base + `/text","selector":"main"}`, Fail: true, ErrorType: "unsupported_content"},
		{Name: "past the end", Args: `{"url":"` + base + `/text","start_index":9}`, Fail: true, ErrorType: "out_of_range", Want: "9 characters"},
		{Name: "scheme", Args: arg("ftp://example.com/"), Fail: true, ErrorType: "invalid_url", Want: "Error: URL must use http or https scheme\nGive"},
		{Name: "no scheme", Args: arg("example.com"), Fail: true, ErrorType: "invalid_url", Want: "Error: URL must use http or https scheme\nGive"},
		{Name: "no host", Args: arg("http:///x"), Fail: true, ErrorType: "invalid_url"},
		{Name: "no url", Args: arg("http://[::1"), Fail: true, ErrorType: "invalid_url"},
		{Name: "empty url", Args: arg(""), Code: domain.CodeInvalidParams},
		{Name: "loopback", Args: arg("http://localhost:1/"), Fail: true, ErrorType: "denied", Want: "network.loopback"},
		{Name: "listed", Args: arg("https://www.bad.example/"), Fail: true, ErrorType: "denied", Want: "tools.web_fetch.denied_hosts"},
		{Name: "too many characters", Args: `{"url":"` + base + `","maxChars":1000001}`, Code: domain.CodeInvalidParams},
	})
	if !<-stopped {
		t.Error("the bomb was read to its end")
	}
}

func arg(url string) string {
	b, _ := json.Marshal(map[string]string{"url": url})
	return string(b)
}

func TestAllowedHosts(t *testing.T) {
	base := site(t, map[string]http.HandlerFunc{"/": says("text/plain", "x")})
	tooltest.Run(t, fetchTool(t, web.Options{}, sandbox.ToolPolicy{AllowedHosts: []string{"docs.example"}}, base), []tooltest.Case{
		{Name: "not listed", Args: arg(base), Fail: true, ErrorType: "denied", Want: "is not in tools.web_fetch.allowed_hosts, which allows docs.example"},
	})
	tooltest.Run(t, fetchTool(t, web.Options{}, sandbox.ToolPolicy{AllowedHosts: []string{}}, base), []tooltest.Case{
		{Name: "empty list", Args: arg(base), Fail: true, ErrorType: "denied", Want: "which allows nothing"},
	})
	tooltest.Run(t, fetchTool(t, web.Options{}, sandbox.ToolPolicy{AllowedHosts: []string{"127.0.0.1"}}, base), []tooltest.Case{
		{Name: "listed", Args: arg(base), Want: "Status: 200"},
	})
}

// TestPaging reads a long page in parts of every size, which must make up the
// whole.
func TestPaging(t *testing.T) {
	whole := strings.Repeat("aé日😀\n\t z", 300)
	base := site(t, map[string]http.HandlerFunc{"/long": says("text/plain; charset=utf-8", whole)})
	tool := fetchTool(t, web.Options{}, sandbox.ToolPolicy{}, base)
	for _, size := range []int{1, 7, 100, 1024, 2399, 2400, 50000} {
		var got strings.Builder
		calls := 0
		for next := 0; next >= 0; calls++ {
			res := tooltest.Call(t, tool, fmt.Sprintf(`{"url":%q,"maxChars":%d,"start_index":%d}`, base+"/long", size, next))
			part, following := content(t, res)
			got.WriteString(part)
			if next = following; calls > 3000 {
				t.Fatal("there is no end")
			}
			if size == 1 && calls == 20 {
				break // enough of the smallest
			}
		}
		if want := whole; size > 1 && got.String() != want || !strings.HasPrefix(want, got.String()) {
			t.Errorf("parts of %d characters do not make up the whole", size)
		}
	}
}

// content returns the content of an answer, and where the next part begins or -1.
func content(t *testing.T, res domain.ToolResult) (part string, next int) {
	t.Helper()
	_, part, ok := strings.Cut(tooltest.Unmarked(res.Content[0].Text), "\n\n--- Content ---\n\n")
	if !ok {
		t.Fatalf("no content in %q", res.Content[0].Text)
	}
	var meta struct {
		Next *int `json:"next_start_index"`
	}
	b, err := json.Marshal(res.Meta)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &meta); err != nil {
		t.Fatal(err)
	}
	if meta.Next == nil {
		return part, -1
	}
	part, _, ok = strings.Cut(part, "\n\n[Content truncated at ")
	if !ok {
		t.Fatalf("a part that is not the last has no notice: %q", part)
	}
	return part, *meta.Next
}

func TestTruncation(t *testing.T) {
	base := site(t, map[string]http.HandlerFunc{"/long": says("text/plain", strings.Repeat("x", 85_000))})
	tool := fetchTool(t, web.Options{}, sandbox.ToolPolicy{}, base)
	tooltest.Run(t, tool, []tooltest.Case{
		{Name: "by default", Args: arg(base + "/long"), Exact: "URL: " + base + "/long\nStatus: 200\nContent-Type: text/plain\nLength: 50,000 chars (truncated from 85,000)\n\n--- Content ---\n\n" +
			strings.Repeat("x", 50_000) + "\n\n[Content truncated at 50,000 characters]\n[To read on: web_fetch(url=\"" + base + "/long\", start_index=50000)]"},
		{Name: "the rest", Args: `{"url":"` + base + `/long","start_index":50000}`, Want: "Length: 35,000 chars (from 50,000 of 85,000)\n"},
	})
}

// TestClamp asks for more than a result may have: what is shown and what _meta
// says of it are the same, so that the parts still make up the whole.
func TestClamp(t *testing.T) {
	whole := strings.Repeat("é", 200_000)
	base := site(t, map[string]http.HandlerFunc{"/long": says("text/plain", whole)})
	for _, operator := range []int{1000, 0, 100_000} {
		exec := call.NewExecutor(must(domain.NewRegistry(fetchTool(t, web.Options{MaxChars: operator}, sandbox.ToolPolicy{}, base))),
			call.NewResultStore(domain.PageBytes(operator)), domain.Settings{Limits: domain.Limits{MaxResultChars: operator}}, nil)
		var got strings.Builder
		for next, calls := 0, 0; next >= 0; calls++ {
			res, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: "web_fetch",
				Arguments: json.RawMessage(fmt.Sprintf(`{"url":%q,"maxChars":1000000,"start_index":%d}`, base+"/long", next))})
			if err != nil {
				t.Fatal(err)
			}
			part, following := content(t, res)
			got.WriteString(part)
			next = following
			if operator == 1000 && calls == 20 {
				break
			}
		}
		if !strings.HasPrefix(whole, got.String()) || operator != 1000 && got.String() != whole {
			t.Errorf("limit %d: the parts, %d bytes, do not make up the whole", operator, got.Len())
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestQuery sends queries as browsers do.
func TestQuery(t *testing.T) {
	base := site(t, map[string]http.HandlerFunc{
		"/echo": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "["+r.RequestURI+"]") },
		"/to": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/echo?x=y z&q=ü")
			w.WriteHeader(302)
		},
	})
	tooltest.Run(t, fetchTool(t, web.Options{}, sandbox.ToolPolicy{}, base), []tooltest.Case{
		{Name: "escaped", Args: arg(base + "/echo?a b=\"<ü>#part"), Want: "[/echo?a%20b=%22%3C%C3%BC%3E]"},
		{Name: "as it is", Args: arg(base + "/echo?a%20b=c+d&e=%zz|[1]"), Want: "[/echo?a%20b=c+d&e=%zz|[1]]"},
		{Name: "redirect", Args: arg(base + "/to"), Want: "[/echo?x=y%20z&q=%C3%BC]"},
		{Name: "white space", Args: arg("  " + base + "/echo?x \n"), Want: "URL: " + base + "/echo?x\nStatus: 200\n"},
		{Name: "no scheme", Args: arg("127.0.0.1:8080/ok"), Fail: true, Want: "Error: URL must use http or https scheme\nGive"},
	})
}

func TestCharsets(t *testing.T) {
	routes, want := map[string]http.HandlerFunc{}, map[string][2]string{}
	add := func(name, contentType, body, text, charset string) {
		routes["/"+name], want[name] = says(contentType, body), [2]string{text, charset}
	}
	ascii := strings.Repeat("plain ascii text. ", 80) // more than browsers look at
	add("header", "text/plain; charset=windows-1252", "caf\xe9 \x80", "café €", "windows-1252")
	add("latin1", "text/plain; charset=ISO-8859-1", "caf\xe9", "café", "windows-1252")
	add("meta", "text/html", `<meta charset="shift_jis"><p>`+"\x93\xfa\x96\x7b\x8c\xea", "日本語", "shift_jis")
	add("equiv", "text/html", `<meta http-equiv=Content-Type content="text/html; charset=gb2312"><p>`+"\xc4\xe3\xba\xc3", "你好", "gbk")
	add("late", "text/html", "<script>"+ascii+ascii+`</script><meta charset=koi8-r><p>`+"\xf0\xd2\xc9\xd7\xc5\xd4", "Привет", "koi8-r")
	add("xml", "application/xml", `<?xml version="1.0" encoding="ISO-8859-2"?><a>`+"\xe8</a>", `<?xml version="1.0" encoding="ISO-8859-2"?><a>č</a>`, "iso-8859-2")
	add("cut", "text/html", "<p>日本語 été\xe6\x97", "日本語 été\ufffd", "utf-8")
	add("stray", "text/plain", strings.Repeat("été ", 50)+"\xff.", strings.Repeat("été ", 50)+"\ufffd.", "utf-8")
	add("bom", "text/plain; charset=windows-1252", "\xef\xbb\xbfé", "é", "utf-8")
	add("utf16le", "text/plain", "\xff\xfeh\x00i\x00\xe9\x00", "hié", "utf-16le")
	add("mojibake", "text/html", "<p>caf\xc3\x83\xc2\xa9", "cafÃ©", "utf-8")
	add("utf16be", "text/plain; charset=utf-16be", "\x00h\x00i", "hi", "utf-16be")
	add("undeclared", "text/html", "<p>"+ascii+"ende: é日", strings.TrimSpace(ascii)+" ende: é日", "utf-8")
	add("guessed", "text/plain", "Le caf\xe9 est tr\xe8s bon, \xe0 c\xf4t\xe9 de la for\xeat o\xf9 il a \xe9t\xe9", "Le café est très bon, à côté de la forêt où il a été", "windows-1252")
	add("japanese", "text/plain", "\x1b$BF|K\\\x1b(B", "日本", "iso-2022-jp")
	add("unknown", "text/html; charset=nonsense", "<p>é", "é", "utf-8")
	add("broken", "text/plain; charset=utf-8", "a\xffb", "a\ufffdb", "utf-8")
	add("meta16", "text/html", `<meta charset=utf-16><p>é`, "é", "utf-8")
	add("json16", "application/json", "\xff\xfe[\x001\x00]\x00", "[\n  1\n]", "utf-16le")
	// What it is said to be in is not so.
	const chinese = "\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7"
	add("not-gbk", "text/html; charset=utf-8", `<meta charset=gbk><p>`+chinese, "你好，世界", "gbk")
	add("not-big5", "text/html; charset=utf-8", `<meta charset=big5><p>`+"\xa4\xe9\xa5\xbb", "日本", "big5")
	add("not-sjis", "text/html; charset=utf-8", `<meta charset=shift_jis><p>`+"\x93\xfa\x96\x7b", "日本", "shift_jis")
	add("not-euckr", "text/html; charset=utf-8", `<meta charset=euc-kr><p>`+"\xc7\xd1\xb1\xdb", "한글", "euc-kr")
	add("not-gb18030", "text/html; charset=utf-8", `<meta charset=gb18030><p>`+"\x95\x32\x82\x36\xc4\xe3", "𠀀你", "gb18030")
	add("not-1251", "text/plain; charset=utf-8", "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0", "Привет, мир", "windows-1251")
	add("not-metagbk", "text/html", "<meta charset=gbk><p>日本語の文字です。", "日本語の文字です。", "utf-8")
	add("not-header", "text/plain; charset=shift_jis", "Grüße, 日本語: être, ça", "Grüße, 日本語: être, ça", "utf-8")
	add("unmarked16", "text/plain", "G\x00r\x00\xfc\x00\xdf\x00e\x00 \x00a\x00b\x00", "Grüße ab", "utf-16le")
	add("not-16", "text/plain; charset=utf-8", "\x00G\x00r\x00\xfc\x00\xdf\x00e\x00 \x00a\x00b\x00\xe9\x00\xe9\x00\xe9\x00\xe9", "Grüße abéééé", "utf-16be")
	base := site(t, routes)
	tool := fetchTool(t, web.Options{}, sandbox.ToolPolicy{}, base)
	for name, w := range want {
		t.Run(name, func(t *testing.T) {
			res := tooltest.Call(t, tool, arg(base+"/"+name))
			if got, _ := content(t, res); got != w[0] {
				t.Errorf("%q; want %q", got, w[0])
			}
			if said := strings.Contains(res.Content[0].Text, "Note: the page does not say its charset"); said != (name == "guessed" || name == "unmarked16") {
				t.Errorf("says that it is a guess: %t", said)
			}
			if said := strings.Contains(res.Content[0].Text, "Note: the page is said to be in "); said != strings.HasPrefix(name, "not-") {
				t.Errorf("says that it is in another: %t", said)
			}
			if b, _ := json.Marshal(res.Meta); !strings.Contains(string(b), `"charset":"`+w[1]+`"`) {
				t.Errorf("%s; want charset %s", b, w[1])
			}
		})
	}
}

func TestCache(t *testing.T) {
	var asked, sent atomic.Int32
	version := func() string { return fmt.Sprintf("version %d", sent.Load()) }
	base := site(t, map[string]http.HandlerFunc{
		"/etag": func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("ETag", `"v1"`)
			if r.Header.Get("If-None-Match") == `"v1"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			sent.Add(1)
			io.WriteString(w, version())
		},
		"/fresh": func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Cache-Control", "max-age=600")
			io.WriteString(w, "fresh")
		},
		"/never": func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("ETag", `"v1"`)
			if r.Header.Get("If-None-Match") != "" {
				t.Error("what must not be stored was")
			}
			fmt.Fprintf(w, "%d %s", asked.Load(), strings.Repeat("x", 100))
		},
	})
	tool := fetchTool(t, web.Options{}, sandbox.ToolPolicy{}, base)
	exec := tooltest.Executor(t, tool)
	get := func(args string) string {
		t.Helper()
		res, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: tool.Name, Arguments: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := content(t, res)
		return text
	}
	for range 3 {
		if got := get(arg(base + "/etag")); got != "version 1" {
			t.Errorf("%q", got)
		}
	}
	if asked.Load() != 3 || sent.Load() != 1 {
		t.Errorf("asked %d times, sent %d times; want 3 and 1", asked.Load(), sent.Load())
	}
	if got := get(`{"url":"` + base + `/etag","refresh":true}`); got != "version 2" {
		t.Errorf("refreshed: %q", got)
	}
	asked.Store(0)
	get(arg(base + "/fresh"))
	get(arg(base + "/fresh"))
	if asked.Load() != 1 {
		t.Errorf("asked %d times for what is fresh", asked.Load())
	}
	asked.Store(0)
	first := get(`{"url":"` + base + `/never","maxChars":50}`)
	rest := get(`{"url":"` + base + `/never","start_index":50}`)
	if asked.Load() != 1 || first+rest != "1 "+strings.Repeat("x", 100) {
		t.Errorf("asked %d times; %q and %q", asked.Load(), first, rest)
	}
	if get(arg(base + "/never")); asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// fakeNetwork has a transport of its own.
type fakeNetwork struct {
	*sandbox.Fetcher
	transport http.RoundTripper
}

func (n fakeNetwork) Client() *http.Client {
	client := *n.Fetcher.Client()
	client.Transport = n.transport
	return &client
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDowngrade(t *testing.T) {
	transport := transportFunc(func(r *http.Request) (*http.Response, error) {
		rec := httptest.NewRecorder()
		if r.URL.Scheme == "https" {
			rec.Header().Set("Location", "http://example.com/plain")
			rec.WriteHeader(http.StatusMovedPermanently)
		} else {
			rec.WriteString("plain")
		}
		res := rec.Result()
		res.Request = r
		if r.Header.Get("User-Agent") != httpcall.UserAgent || r.Header.Get("Accept-Language") != "en-US,en;q=0.5" {
			t.Errorf("headers %v", r.Header)
		}
		return res, nil
	})
	tool := web.Tool(fakeNetwork{fetcher(t, sandbox.ToolPolicy{}), transport}, nil, web.Options{})
	tooltest.Run(t, tool, []tooltest.Case{{
		Name: "downgrade", Args: arg("https://EXAMPLE.com/"),
		Want: "URL: https://EXAMPLE.com/\nFinal URL: http://example.com/plain\nWarning: a redirect led from https to http",
	}})
}

func TestTimeout(t *testing.T) {
	done := make(chan struct{}, 2)
	slow := func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.URL.RawQuery)
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the connection is closed
		done <- struct{}{}
	}
	base := site(t, map[string]http.HandlerFunc{"/slow": slow})
	tooltest.Run(t, fetchTool(t, web.Options{Timeout: 100 * time.Millisecond}, sandbox.ToolPolicy{}, base), []tooltest.Case{
		{Name: "slow", Args: arg(base + "/slow"), Fail: true, ErrorType: "timed_out", Want: "Error: Request timed out after 0.1 seconds\n"},
		{Name: "slow end", Args: arg(base + "/slow?part"), Want: "\n\npart\n\n[The time limit of 0.1 seconds was reached, so the end is missing]"},
	})
	<-done
	<-done
}

func TestCancel(t *testing.T) {
	begun, done := make(chan struct{}), make(chan struct{})
	base := site(t, map[string]http.HandlerFunc{"/slow": func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(done)
	}})
	tool := fetchTool(t, web.Options{}, sandbox.ToolPolicy{}, base)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	_, err := tooltest.Executor(t, tool).Call(ctx, call.ExecuteToolCommand{Tool: tool.Name, Arguments: json.RawMessage(arg(base + "/slow"))})
	if e, ok := errors.AsType[*domain.Error](err); !ok || e.Code != domain.CodeExecutionFailed {
		t.Errorf("%v; want a canceled call", err)
	}
	<-done
}

// TestConcurrent has callers fetch the same and other pages at a time.
func TestConcurrent(t *testing.T) {
	var now, most atomic.Int32
	base := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>%s", r.URL.Path)
	}})
	tool := fetchTool(t, web.Options{}, sandbox.ToolPolicy{}, base)
	exec := tooltest.Executor(t, tool)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			path := fmt.Sprintf("/%d", i%5)
			res, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: tool.Name, Arguments: json.RawMessage(arg(base + path))})
			if err != nil || !strings.HasSuffix(tooltest.Unmarked(res.Content[0].Text), "\n\n"+path) {
				t.Errorf("%s: %v, %v", path, res, err)
			}
		})
	}
	wg.Wait()
	if most.Load() > 6 {
		t.Errorf("%d requests to one host at a time", most.Load())
	}
}
