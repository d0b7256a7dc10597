package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// served is a client whose requests a handler answers, without a network.
func served(handle http.HandlerFunc) *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: transport(handle)}
}

type transport http.HandlerFunc

func (handle transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if handle == nil {
		return nil, io.ErrUnexpectedEOF
	}
	w := httptest.NewRecorder()
	handle(w, req)
	return w.Result(), nil
}

// TestWebhook checks what is sent, in each form, and that it is signed.
func TestWebhook(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := asking("token:ann", `<!channel> {"a":"`+strings.Repeat("ä", maxText)+`"}`)
	r.ID, r.Client, r.Expires = "abcdefghij", "c 1", time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	const console = "https://tools.example.com/console"
	for format, check := range map[string]func(t *testing.T, body []byte, header http.Header){
		"json": func(t *testing.T, body []byte, _ http.Header) {
			var m map[string]any
			if err := json.Unmarshal(body, &m); err != nil {
				t.Fatal(err)
			}
			text, _ := m["text"].(string)
			if m["id"] != "abcdefghij" || m["tool"] != "write" || m["principal"] != "token:ann" || m["client"] != "c 1" || m["about"] != "confirm" ||
				m["expires"] != "2030-01-02T03:04:05Z" || m["url"] != console || m["text_cut"] != true || m["second"] != false ||
				!strings.HasPrefix(text, "Allow write with <!channel>") || len(text) > maxText+6 {
				t.Errorf("%.300s", body)
			}
		},
		"slack": func(t *testing.T, body []byte, _ http.Header) {
			var m struct {
				Text   string
				Mrkdwn *bool
			}
			if err := json.Unmarshal(body, &m); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(m.Text, "Allow write with &lt;!channel&gt;") || !strings.Contains(m.Text, console) || m.Mrkdwn == nil || *m.Mrkdwn {
				t.Errorf("%.300s", body)
			}
		},
		"ntfy": func(t *testing.T, body []byte, header http.Header) {
			if header.Get("Title") != "Approval abcdefghij" || header.Get("Click") != console || !strings.Contains(string(body), "token:ann asks to call write") ||
				len(body) > 4096 || !utf8.Valid(body) {
				t.Errorf("%v %.300s", header, body)
			}
		},
	} {
		t.Run(format, func(t *testing.T) {
			got := 0
			client := served(func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				at, sum, _ := strings.Cut(strings.TrimPrefix(req.Header.Get("Toolserver-Signature"), "t="), ",v1=")
				mac := hmac.New(sha256.New, []byte("0123456789abcdef"))
				mac.Write([]byte(at + "." + string(body)))
				if sum != hex.EncodeToString(mac.Sum(nil)) || at == "" {
					t.Errorf("the signature is %q", req.Header.Get("Toolserver-Signature"))
				}
				check(t, body, req.Header)
				if got++; got == 1 {
					w.WriteHeader(http.StatusServiceUnavailable) // and is tried again
				}
			})
			synctest.Test(t, func(t *testing.T) {
				if err := (Webhook{"https://hooks.example.com/", secret, format}).Send(t.Context(), client, r, console); err != nil || got != 2 {
					t.Errorf("%d requests, %v", got, err)
				}
			})
		})
	}
}

// TestWebhookFails has what is wrong said, without the address, which may be a secret, and tried again only where that may help.
func TestWebhookFails(t *testing.T) {
	const address = "https://hooks.example.com/"
	got := 0
	client := served(func(w http.ResponseWriter, req *http.Request) {
		if got++; req.URL.Path == "/moved" {
			http.Redirect(w, req, "/", http.StatusTemporaryRedirect)
			return
		}
		w.WriteHeader(http.StatusForbidden)
	})
	for path, want := range map[string]string{"": "it answered 403 Forbidden", "moved": "it answered 307 Temporary Redirect"} {
		got = 0
		err := Webhook{URL: address + path, Format: "json"}.Send(t.Context(), client, asking("token:ann", "a"), "")
		if err == nil || err.Error() != want || got != 1 {
			t.Errorf("%s: %d requests, %v", path, got, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		err := Webhook{URL: address + "secret", Format: "ntfy"}.Send(t.Context(), served(nil), asking("token:ann", "a"), "")
		if err == nil || strings.Contains(err.Error(), "/secret") {
			t.Errorf("nobody listens: %v", err)
		}
	})
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{short: "has 3 bytes", short + "x": "no such file"} {
		if _, err := (Webhook{Secret: file}).Key(); err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "cannot find") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
