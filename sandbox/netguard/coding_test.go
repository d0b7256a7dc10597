package netguard

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// encoders are the codings by their names, with a raw form of deflate.
var encoders = map[string]func(io.Writer) io.WriteCloser{
	"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, "deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"raw": func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 9); return z },
	"br":  func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) io.WriteCloser {
		z, _ := zstd.NewWriter(w)
		return z
	},
}

func encode(t *testing.T, text string, codings ...string) string {
	t.Helper()
	for _, coding := range codings {
		var b bytes.Buffer
		w := encoders[coding](&b)
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		text = b.String()
	}
	return text
}

func TestCodings(t *testing.T) {
	text := strings.Repeat("grüße ", 2000)
	type answer struct{ header, body, want, rest string }
	answers := map[string]answer{
		"none": {"", text, text, ""}, "identity": {"identity", text, text, ""}, "gzip": {"gzip", encode(t, text, "gzip"), text, ""},
		"x-gzip": {"X-GZIP", encode(t, text, "gzip"), text, ""}, "deflate": {"deflate", encode(t, text, "deflate"), text, ""},
		"raw": {"deflate", encode(t, text, "raw"), text, ""}, "br": {"br", encode(t, text, "br"), text, ""}, "zstd": {"zstd", encode(t, text, "zstd"), text, ""},
		"two": {"deflate, gzip", encode(t, text, "deflate", "gzip"), text, ""}, "three": {"br,zstd , identity,gzip", encode(t, text, "br", "zstd", "gzip"), text, ""},
		"unknown": {"compress", "x", "x", "compress"}, "unknown inside": {"compress, gzip", encode(t, "x", "gzip"), "x", "compress"},
		"many": {"gzip,gzip,gzip,gzip,gzip", "x", "x", "gzip,gzip,gzip,gzip,gzip"}, "empty": {"br", "", "", ""},
	}
	for name := range encoders {
		coded := encode(t, text, name)
		answers["half "+name] = answer{strings.Replace(name, "raw", "deflate", 1), coded[:len(coded)-9], "cut", ""}
	}
	for _, coding := range strings.Split(Codings, ", ") {
		answers["no "+coding] = answer{coding, "\xfe\xfe\xfe this is none", "bad", ""}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := answers[r.URL.Query().Get("name")]
		if a.header != "" {
			w.Header().Set("Content-Encoding", a.header)
		}
		io.WriteString(w, a.body)
	}))
	t.Cleanup(server.Close)
	open, err := ParseHost(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	guard := New(Options{Open: []Host{open}})
	for name, a := range answers {
		req, _ := http.NewRequest(http.MethodGet, server.URL+"/?name="+strings.ReplaceAll(name, " ", "+"), nil)
		req.Header.Set("Accept-Encoding", Codings)
		res, err := guard.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		var wrong *CodingError
		switch {
		case a.want == "cut":
			if err == nil || !strings.HasPrefix(text, string(got)) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		case a.want == "bad":
			if !errors.As(err, &wrong) || wrong.Coding != a.header || len(got) > 0 {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		case err != nil || string(got) != a.want || res.Header.Get("Content-Encoding") != a.rest:
			t.Errorf("%s: %.20q, %v, %q", name, got, err, res.Header.Get("Content-Encoding"))
		}
	}
}
