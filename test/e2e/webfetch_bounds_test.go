package e2e

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// maxPage is the most bytes of a page.
const maxPage = 2_000_000

// pouring counts what a site could write.
type pouring struct {
	written atomic.Int64
	ended   chan struct{}
}

func newPouring() *pouring { return &pouring{ended: make(chan struct{}, 64)} }

// pour writes pieces until the client is gone, or most bytes are written.
func (p *pouring) pour(w io.Writer, piece []byte, most int64) {
	defer func() { p.ended <- struct{}{} }()
	for p.written.Load() < most {
		n, err := w.Write(piece)
		if p.written.Add(int64(n)); err != nil {
			return
		}
	}
}

// poured waits for the end and returns how much was written.
func (p *pouring) poured(t *testing.T) int64 {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatal("the site still writes")
	}
	return p.written.Swap(0)
}

// gzipped returns size zero bytes as gzip.
func gzipped(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for size > 0 {
		n, err := z.Write(zeros[:min(size, len(zeros))])
		must(t, err)
		size -= n
	}
	must(t, z.Close())
	return b.Bytes()
}

// TestWebFetchSize has pages of just the size that is allowed, of a byte more and
// of many more. What is too much is neither read nor kept.
func TestWebFetchSize(t *testing.T) {
	t.Parallel()
	endless, declared := newPouring(), newPouring()
	bomb := gzipped(t, 500<<20)
	full, over := strings.Repeat("x", maxPage), strings.Repeat("x", maxPage+1)
	chunked := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, text[:1])
			w.(http.Flusher).Flush()
			io.WriteString(w, text[1:])
		}
	}
	compressed := func(b []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			w.Write(b)
		}
	}
	encoded := func(encoding string, b []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", encoding)
			body("text/plain", string(b))(w, r)
		}
	}
	piece := bytes.Repeat([]byte("x"), 32<<10)
	site := serveSite(t, map[string]http.HandlerFunc{
		"/full": body("text/plain", full),
		"/over": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(over)))
			body("text/plain", over)(w, r)
		},
		"/chunked":     chunked(full),
		"/overchunked": chunked(over),
		"/endless":     func(w http.ResponseWriter, _ *http.Request) { endless.pour(w, piece, 1<<30) },
		"/declared": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(1<<30))
			declared.pour(w, piece, 1<<30)
		},
		"/bomb":      compressed(bomb),
		"/zipped":    compressed(gzipped(t, maxPage)),
		"/zipover":   compressed(gzipped(t, maxPage+1)),
		"/twice":     encoded("gzip, gzip", bomb),
		"/compress":  encoded("compress", []byte("x")),
		"/br":        encoded("br", []byte("\xfe\xfe\xfe this is none")),
		"/deflate":   encoded("deflate", []byte("\xfe\xfe\xfe this is none")),
		"/identity":  encoded("identity", []byte("as it is")),
		"/bad-gzip":  encoded("gzip", []byte("this is no gzip")),
		"/half-gzip": compressed(gzipped(t, maxPage)[:500]),
	})
	c := openFetch(t, "", site)
	if got := c.fetched(site + "/identity"); got != "as it is" {
		t.Errorf("got %q", got)
	}
	before := c.peak()
	for _, path := range []string{"/full", "/chunked", "/zipped"} {
		a := c.fetch(site+path, "maxChars", 10)
		if a.failed() || a.Result.Meta["total_length"] != float64(maxPage) {
			t.Errorf("%s: %.300s", path, a.text())
		}
	}
	for path, want := range map[string]string{
		"/over": "2,000,001 bytes", "/overchunked": "more than 2,000,000 bytes", "/zipover": "more than 2,000,000 bytes",
		"/endless": "more than 2,000,000 bytes", "/declared": "1,073,741,824 bytes", "/bomb": "more than 2,000,000 bytes",
	} {
		wantFailure(t, path, c.fetch(site+path), "too_large", "Error: Response too large ("+want+", max 2,000,000 bytes)")
	}
	for range 5 {
		wantFailure(t, "/bomb", c.fetch(site+"/bomb"), "too_large", "Response too large")
	}
	wantFailure(t, "/compress", c.fetch(site+"/compress"), "unsupported_content", "Error: Unsupported content encoding")
	for _, path := range []string{"/twice", "/br", "/deflate"} {
		wantFailure(t, path, c.fetch(site+path), "unsupported_content", ", and it is not")
	}
	wantFailure(t, "/bad-gzip", c.fetch(site+"/bad-gzip"), "unsupported_content", "is gzip, and it is not")
	if a := c.fetch(site+"/half-gzip", "maxChars", 10); a.failed() || !strings.Contains(a.text(),
		"[The connection ended early, so the end is missing]") {
		t.Errorf("half of a gzip: %.300s", a.text())
	}
	// The kernel takes some megabytes off a site's hands before they are read.
	for name, p := range map[string]*pouring{"endless": endless, "declared": declared} {
		if n := p.poured(t); n > 32<<20 {
			t.Errorf("%s: the site could write %d bytes", name, n)
		}
	}
	// Pages take some 50 MB until they are collected, more where that comes late; the sites have a gigabyte each.
	if grown := c.peak() - before; grown > 128<<10 {
		t.Errorf("memory grew by %d kB", grown)
	}
	c.ping()
}

// peak is the most memory that the server has used so far, in kB.
func (c *toolClient) peak() int {
	c.t.Helper()
	return c.status("VmHWM")
}

// TestWebFetchTimeout has sites that never come to an end. Their time is up all
// the same, and they are left alone.
func TestWebFetchTimeout(t *testing.T) {
	t.Parallel()
	left := make(chan string, 64)
	drip := func(w http.ResponseWriter, r *http.Request) {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for ; r.Context().Err() == nil; <-ticker.C {
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
		}
		left <- r.URL.Path
	}
	hang := func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		left <- r.URL.Path
	}
	site := serveSite(t, map[string]http.HandlerFunc{
		"/silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); left <- r.URL.Path },
		"/drip":   drip,
		"/stall": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "the beginning")
			hang(w, r)
		},
		"/moved":     func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/silent", http.StatusFound) },
		"/moved-404": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404); hang(w, r) },
	})
	raw := serveRaw(t, map[string]func(net.Conn){
		"/header": func(conn net.Conn) {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(conn, "X: y\r\n"); err != nil {
					break
				}
				time.Sleep(10 * time.Millisecond) // as slow a site as it is to be
			}
			left <- "/header"
		},
		"/informed": func(conn net.Conn) {
			for {
				if _, err := io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\n\r\n"); err != nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			left <- "/informed"
		},
	})
	c := openFetch(t, "tools: {web_fetch: {timeout: 1s}}\n", site, raw)
	for url, came := range map[string]string{
		site + "/silent": "", site + "/drip": "xxx", site + "/stall": "the beginning", site + "/moved": "", raw + "/header": "",
	} {
		a := c.fetch(url)
		if came == "" {
			wantFailure(t, url, a, "timed_out", "Error: Request timed out after 1 seconds\nTry again later")
		} else if a.failed() || !strings.Contains(a.text(), "\n\n"+came) || !strings.Contains(a.text(), "\n\n[The time limit of 1 seconds was reached, so the end is missing") ||
			a.Result.Meta["incomplete"] != true {
			t.Errorf("%s: %.500s", url, a.text())
		}
		select {
		case <-left:
		case <-time.After(patience):
			t.Fatalf("%s: the connection stays", url)
		}
	}
	if a := c.fetch(raw + "/informed"); !a.failed() {
		t.Errorf("answers that are never final: %s", a.text())
	}
	c.ping()
}

// TestWebFetchUnneededBody has answers whose body nobody needs, and does not come:
// where they lead, or what their status is, is known without it.
func TestWebFetchUnneededBody(t *testing.T) {
	t.Parallel()
	hang := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/there")
			w.WriteHeader(status)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}
	site := serveSite(t, map[string]http.HandlerFunc{"/302": hang(302), "/404": hang(404), "/there": body("text/plain", "there")})
	c := openFetch(t, "tools: {web_fetch: {timeout: 2s}}\n", site)
	if a := c.fetch(site + "/302"); a.failed() || !strings.HasSuffix(a.text(), "there") {
		t.Errorf("a redirect whose body does not come: %s", a.text())
	}
	wantFailure(t, "a status whose page does not come", c.fetch(site+"/404"), "not_found", "Error: HTTP 404 fetching")
}
