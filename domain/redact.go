package domain

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// minSecret is the shortest text taken for a secret: a shorter one turns up in
// ordinary text by chance.
const minSecret = 8

// redactor takes known secrets out of everything that leaves the server: those
// the server holds itself, such as API keys. It does not guess at what looks
// like one, which would damage what tools read. The zero redactor has none.
type redactor struct {
	secrets []string // as they are, and as they look inside JSON; the longest first
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
	slices.SortStableFunc(r.secrets, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	return r
}

// RedactText returns s without secrets that settings do not have.
func RedactText(s string, secrets []string) string {
	r := newRedactor(secrets)
	return r.text(s)
}

// RedactJSON is [RedactText] of JSON, however it escapes them.
func RedactJSON(raw json.RawMessage, secrets []string) json.RawMessage {
	r := newRedactor(secrets)
	return r.json(raw)
}

// WithoutSecrets returns JSON without the secrets that results of the call that ctx belongs to
// must not have, for what changes it beyond recognition.
func WithoutSecrets(ctx context.Context, raw json.RawMessage) json.RawMessage {
	if c := callOf(ctx); c.catalog != nil {
		return c.catalog.redactor.json(raw)
	}
	return raw
}

// outcome returns out without secrets.
func (r *redactor) outcome(out outcome) outcome {
	if len(r.secrets) == 0 {
		return out
	}
	out.Tool.Content = each(out.Tool.Content, r.content)
	out.Tool.Results, out.Tool.Meta = r.value(out.Tool.Results), r.value(out.Tool.Meta)
	out.Tool.Extra = r.json(out.Tool.Extra)
	out.Tool.MetaData = r.members(out.Tool.MetaData)
	out.Prompt.Meta, out.Prompt.Extra, out.Completions.Extra = r.json(out.Prompt.Meta), r.json(out.Prompt.Extra), r.json(out.Completions.Extra)
	out.Prompt.Description = r.text(out.Prompt.Description)
	out.Prompt.Messages = each(out.Prompt.Messages, func(m PromptMessage) PromptMessage { return PromptMessage{m.Role, r.content(m.Content)} })
	out.Completions.Values = each(out.Completions.Values, r.text)
	return out
}

// each returns a copy of list with clean applied to each element.
func each[T any](list []T, clean func(T) T) []T {
	list = slices.Clone(list)
	for i := range list {
		list[i] = clean(list[i])
	}
	return list
}

func (r *redactor) content(c Content) Content {
	c.Text, c.URI, c.Name, c.Raw = r.text(c.Text), r.text(c.URI), r.text(c.Name), r.json(c.Raw)
	if c.Data != nil && strings.HasPrefix(c.MIMEType, "text/") {
		c.Data = []byte(r.text(string(c.Data)))
	}
	return c
}

// error takes secrets out of what callers see of e, and bounds its message.
func (r *redactor) error(e *Error) {
	if len(e.RawData) > maxRawData {
		e.RawData = json.RawMessage(`{"truncated":true}`)
	}
	e.Message, e.Hint, e.RawData = brief.Clip(r.text(e.Message), maxErrorText), r.text(e.Hint), r.json(e.RawData)
	e.Data = r.members(e.Data)
}

// members returns m with secrets taken out of its names and values.
func (r *redactor) members(m map[string]any) map[string]any {
	if m == nil || len(r.secrets) == 0 {
		return m
	}
	clean := make(map[string]any, len(m))
	for name, v := range m {
		clean[r.text(name)] = r.value(v)
	}
	return clean
}

// value returns v, or its JSON if there was a secret in it.
func (r *redactor) value(v any) any {
	if v == nil || len(r.secrets) == 0 {
		return v
	}
	switch v := v.(type) {
	case string:
		return r.text(v)
	case failureEnvelope:
		v.Message, v.Hint, v.Data = r.text(v.Message), r.text(v.Hint), r.members(v.Data)
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v // reported where it is written
	}
	if clean := r.json(b); !bytes.Equal(clean, b) {
		return clean
	}
	return v
}

// json returns JSON without secrets, however they are escaped.
func (r *redactor) json(raw json.RawMessage) json.RawMessage {
	if len(r.secrets) == 0 || len(raw) == 0 {
		return raw
	}
	if clean := r.text(string(raw)); clean != string(raw) {
		raw = json.RawMessage(clean)
	}
	if !bytes.Contains(raw, []byte(`\`)) {
		return raw
	}
	return replaceStrings(raw, func(s string, _ int) (string, bool) {
		text := r.text(s)
		return text, text != s
	})
}

func (r *redactor) text(s string) string {
	for _, secret := range r.secrets {
		if strings.Contains(s, secret) {
			s = strings.ReplaceAll(s, secret, Redacted)
		}
	}
	return s
}

// part returns s[start:end] without secrets, also those that lie only partly
// within: of two parts that meet in a secret the first has what stands for it.
func (r *redactor) part(s string, start, end int) string {
	secret := make([]bool, len(s)+1) // of each byte
	for _, text := range r.secrets {
		for at := 0; ; at++ {
			i := strings.Index(s[at:], text)
			if i < 0 {
				break
			}
			at += i
			for j := range len(text) {
				secret[at+j] = true
			}
		}
	}
	if !slices.Contains(secret, true) {
		return s[start:end]
	}
	var b strings.Builder
	for i := start; i < end; i++ {
		switch {
		case !secret[i]:
			b.WriteByte(s[i])
		case i == 0 || !secret[i-1]:
			b.WriteString(Redacted)
		}
	}
	return b.String()
}

// longest returns the length of the longest secret.
func (r *redactor) longest() int {
	if len(r.secrets) == 0 {
		return 0
	}
	return len(r.secrets[0])
}
