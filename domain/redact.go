package domain

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"toolserver/domain/rawjson"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// minSecret is the shortest text taken for a secret: a shorter one turns up in
// ordinary text by chance.
const minSecret = 8

// redactor takes known secrets out of text: those the server holds itself, such
// as API keys. It does not guess at what looks like one, which would damage
// what tools read.
type redactor struct {
	secrets []string // as they are, and as they look inside JSON
}

func newRedactor(secrets []string) redactor {
	var r redactor
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		r.secrets = append(r.secrets, s)
		quoted := rawjson.AppendString(nil, s)
		if inJSON := string(quoted[1 : len(quoted)-1]); inJSON != s {
			r.secrets = append(r.secrets, inJSON)
		}
	}
	return r
}

func (r redactor) text(s string) string {
	for _, secret := range r.secrets {
		if strings.Contains(s, secret) {
			s = strings.ReplaceAll(s, secret, Redacted)
		}
	}
	return s
}

// result returns res without secrets.
func (r redactor) result(res ToolResult) ToolResult {
	if len(r.secrets) == 0 {
		return res
	}
	blocks := make([]Content, len(res.Content))
	for i, c := range res.Content {
		c.Text = r.text(c.Text)
		blocks[i] = c
	}
	res.Content = blocks
	res.Results = r.structured(res.Results)
	res.Meta = r.structured(res.Meta)
	return res
}

// structured returns v, or its JSON if there was a secret in it.
func (r redactor) structured(v any) any {
	if v == nil {
		return nil
	}
	if f, ok := v.(failureEnvelope); ok {
		f.Message, f.Hint = r.text(f.Message), r.text(f.Hint)
		return f
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v // reported where it is written
	}
	text := string(b)
	clean := r.text(text)
	if clean == text {
		return v
	}
	return json.RawMessage(clean)
}

// clip cuts s to at most n bytes, between runes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
