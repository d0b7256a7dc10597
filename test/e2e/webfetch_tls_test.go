//go:build linux

package e2e

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serveTLS serves HTTPS, over HTTP/2 if two, and returns the file with the
// certificate to trust.
func serveTLS(t *testing.T, two bool, handler http.Handler) (url, certificate string) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = two
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes are to fail
	s.StartTLS()
	t.Cleanup(s.Close)
	certificate = filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o644))
	return s.URL, certificate
}

// TestWebFetchTLS fetches over HTTPS, and tells of redirects that leave it.
func TestWebFetchTLS(t *testing.T) {
	t.Parallel()
	const warning = "\nWarning: a redirect led from https to http, so this may have been changed on its way\n"
	plain := serveSite(t, map[string]http.HandlerFunc{"/page": body("text/plain", "in the open")})
	for _, two := range []bool{false, true} {
		mux := http.NewServeMux()
		secure, certificate := serveTLS(t, two, mux)
		mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "sealed, by ", r.Proto) })
		mux.HandleFunc("/down", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, plain+"/page", http.StatusMovedPermanently)
		})
		mux.HandleFunc("/same", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/page", http.StatusPermanentRedirect)
		})
		up := serveSite(t, map[string]http.HandlerFunc{"/up": func(w http.ResponseWriter,
			r *http.Request) {
			http.Redirect(w, r, secure+"/page", http.StatusFound)
		}})
		c, _ := openTools(t, privateHosts(secure, plain, up), "SSL_CERT_FILE="+certificate, "SSL_CERT_DIR=/nonexistent")
		proto := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[two]
		if got := c.fetched(secure + "/page"); got != "sealed, by "+proto {
			t.Errorf("got %q", got)
		}
		for path, want := range map[string]string{"/down": "in the open", "/same": "sealed, by " + proto} {
			a := c.fetch(secure + path)
			if a.failed() || !strings.HasSuffix(a.text(), want) || strings.Contains(a.text(), warning) != (path == "/down") {
				t.Errorf("%s: %s", path, a.text())
			}
		}
		if a := c.fetch(up + "/up"); a.failed() || strings.Contains(a.text(), "Warning") || !strings.HasSuffix(a.text(), "sealed, by "+proto) {
			t.Errorf("from http to https: %s", a.text())
		}
		wantFailure(t, "http for https", c.fetch(strings.Replace(secure, "https:", "http:", 1)+"/page"), "http_status", "HTTP 400")
		wantFailure(t, "https for http", c.fetch(strings.Replace(plain, "http:", "https:", 1)+"/page"), "unreachable", "no secure connection")
		c.ping()

		stranger, _ := openTools(t, privateHosts(secure))
		wantFailure(t, "a certificate nobody knows", stranger.fetch(secure+"/page"), "unreachable", "no secure connection")
		byName := strings.Replace(secure, "127.0.0.1", "localhost", 1)
		named, _ := openTools(t, privateHosts(byName), "SSL_CERT_FILE="+certificate, "SSL_CERT_DIR=/nonexistent")
		wantFailure(t, "a certificate for another name", named.fetch(byName+"/page"), "unreachable", "no secure connection")
	}
}

// TestWebFetchTLSBreaksOff has pages that are not sent to their end, over both
// versions of HTTP. What came of them is shown.
func TestWebFetchTLSBreaksOff(t *testing.T) {
	t.Parallel()
	for _, two := range []bool{false, true} {
		secure, certificate := serveTLS(t, two, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			if r.URL.Path == "/length" {
				w.Header().Set("Content-Length", "100")
			}
			io.WriteString(w, "what came")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}))
		c, _ := openTools(t, privateHosts(secure), "SSL_CERT_FILE="+certificate, "SSL_CERT_DIR=/nonexistent")
		for path, much := range map[string]string{"/": "]", "/length": ": 9 of 100 bytes came]"} {
			a := c.fetch(secure + path)
			if a.failed() || !strings.HasSuffix(a.text(), "what came\n\n[The connection ended early, so the end is missing"+much) ||
				a.Result.Meta["incomplete"] != true {
				t.Errorf("HTTP/2 %t, %s: %s", two, path, a.text())
			}
		}
		c.ping()
	}
}
