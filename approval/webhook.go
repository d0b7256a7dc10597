package approval

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Webhook is an address that is told of each request. It cannot decide.
type Webhook struct {
	URL    string `yaml:"url" format:"server_url" secret:"true"`
	Secret string `yaml:"secret_file" path:"true"`
	Format string `yaml:"format" enum:"json|slack|ntfy"`
}

// Bounds of what is sent.
const (
	maxText   = 2800 // bytes of the question: Slack takes 3,000 characters, and ntfy 4,096 bytes, of a message
	minSecret = 16
	tries     = 3
	patience  = 5 * time.Second // for one try
	pause     = 2 * time.Second // after the first; longer after others
)

// Key reads the key that what is sent is signed with; nil if there is none.
func (w Webhook) Key() ([]byte, error) {
	if w.Secret == "" {
		return nil, nil
	}
	key, err := os.ReadFile(w.Secret)
	if key = bytes.TrimSpace(key); err == nil && len(key) < minSecret {
		err = fmt.Errorf("has %d bytes; a secret has at least %d, such as those of openssl rand -hex 32", len(key), minSecret)
	}
	return key, err
}

// body returns what is sent about a request, and the headers that go with it.
func (w Webhook) body(r Request, console string) (body []byte, header http.Header, err error) {
	text := r.Text
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " [...]"
	}
	until := r.Expires.UTC().Format(time.RFC3339)
	said := fmt.Sprintf("Approval %s: %s asks to call %s, until %s.\n%s\n%s", r.ID, r.Principal, r.Tool, until, text,
		cmp.Or(console, "toolserver approve "+r.ID))
	header = http.Header{"Content-Type": {"application/json"}}
	switch w.Format {
	case "slack":
		plain := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(said)
		body, err = json.Marshal(map[string]any{"text": plain, "mrkdwn": false})
	case "ntfy":
		header = http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Title": {"Approval " + r.ID}}
		if console != "" {
			header.Set("Click", console)
		}
		body = []byte(said)
	default:
		body, err = json.Marshal(map[string]any{"id": r.ID, "tool": r.Tool, "about": r.About, "principal": r.Principal, "client": r.Client,
			"text": text, "text_cut": len(r.Text) > maxText, "second": r.Second, "expires": until, "url": console})
	}
	return body, header, err
}

// Sign returns the value of the header Toolserver-Signature.
func Sign(key, body []byte, at time.Time) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// Send tells the webhook of a request by client, which follows no redirects. It tries again where that may help.
func (w Webhook) Send(ctx context.Context, client *http.Client, r Request, console string) error {
	key, err := w.Key()
	if err != nil {
		return fmt.Errorf("approvals.webhook.secret_file: %w", err)
	}
	body, header, err := w.body(r, console)
	for n := 1; err == nil; n++ {
		status, failed := w.post(ctx, client, body, header, key)
		switch {
		case failed == nil && status/100 == 2:
			return nil
		case failed == nil:
			failed = fmt.Errorf("it answered %d %s", status, http.StatusText(status))
		}
		if n == tries || status != 0 && status < 500 && status != http.StatusTooManyRequests {
			return failed
		}
		select {
		case <-time.After(pause * time.Duration(n*n)):
		case <-ctx.Done():
			return failed
		}
	}
	return err
}

// post sends what there is once.
func (w Webhook) post(ctx context.Context, client *http.Client, body []byte, header http.Header, key []byte) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("the address is none")
	}
	req.Header = header.Clone()
	if key != nil {
		req.Header.Set("Toolserver-Signature", Sign(key, body, time.Now()))
	}
	answer, err := client.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return 0, failed.Err // without the address, which is a secret
	}
	return answer.StatusCode, answer.Body.Close()
}
