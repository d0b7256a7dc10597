package search

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// Transport returns a client transport that hands requests to a handler without a network, as tests need whose clock is not the
// real one. Compressed answers come decompressed, as from net/http.
func Transport(h http.Handler) http.RoundTripper { return transport{h} }

type transport struct{ handler http.Handler }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	req := r.Clone(r.Context())
	req.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	t.handler.ServeHTTP(w, req)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	res := w.Result()
	res.Request = r
	if res.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(res.Body)
		if err != nil {
			return nil, err
		}
		res.Body = io.NopCloser(z)
		res.Header.Del("Content-Encoding")
	}
	return res, nil
}

// recorder notes the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

func (r *recorder) Flush() {
	if f, ok := r.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

func readAll(r io.Reader) string {
	b, _ := io.ReadAll(io.LimitReader(r, 1<<20)) // what arrived of it is what there is
	return string(b)
}

func withBody(r *http.Request, body string) *http.Request {
	r.Body = io.NopCloser(strings.NewReader(body))
	return r
}

// writeJSON answers with JSON, compressed if the client takes that.
func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(status)
		_, _ = w.Write(b)
		return
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(b)
	_ = z.Close()
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	_, _ = w.Write(packed.Bytes())
}

// writePage answers with a page that wants to know whether a person is there.
func writePage(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>
<div class="anomaly-modal__mask"><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></div>
<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=lite" method="POST"></form></body></html>`)
}
