// Package redact takes known secrets out of what leaves the server.
package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// shortest is the shortest text taken for a secret: a shorter one turns up in
// ordinary text by chance.
const shortest = 8

// Redactor takes known secrets out of everything that leaves the server: those
// the server holds itself, such as API keys. It does not guess at what looks
// like one, which would damage what tools read. The zero Redactor knows none.
type Redactor struct {
	secrets []string // as they are, and as they look inside JSON; the longest first
}

// New returns what takes the secrets out, but for those that are too short to be told from ordinary text.
func New(secrets []string) Redactor {
	var r Redactor
	for _, s := range secrets {
		if len(s) < shortest {
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

// Text returns s without secrets that settings do not have.
func Text(s string, secrets []string) string {
	r := New(secrets)
	return r.Text(s)
}

// JSON is [Text] of JSON, however it escapes them.
func JSON(raw json.RawMessage, secrets []string) json.RawMessage {
	r := New(secrets)
	return r.JSON(raw)
}

// Empty reports whether it knows no secret.
func (r *Redactor) Empty() bool { return len(r.secrets) == 0 }

// Members returns m with secrets taken out of its names and values.
func (r *Redactor) Members(m map[string]any) map[string]any {
	if m == nil || len(r.secrets) == 0 {
		return m
	}
	clean := make(map[string]any, len(m))
	for name, v := range m {
		clean[r.Text(name)] = r.Value(v)
	}
	return clean
}

// Value returns v, or its JSON if there was a secret in it. A value with a method WithoutSecrets does that itself.
func (r *Redactor) Value(v any) any {
	if v == nil || len(r.secrets) == 0 {
		return v
	}
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case interface{ WithoutSecrets(*Redactor) any }:
		return v.WithoutSecrets(r)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v // reported where it is written
	}
	if clean := r.JSON(b); !bytes.Equal(clean, b) {
		return clean
	}
	return v
}

// JSON returns JSON without secrets, however they are escaped.
func (r *Redactor) JSON(raw json.RawMessage) json.RawMessage {
	if len(r.secrets) == 0 || len(raw) == 0 {
		return raw
	}
	if clean := r.Text(string(raw)); clean != string(raw) {
		raw = json.RawMessage(clean)
	}
	if !bytes.Contains(raw, []byte(`\`)) {
		return raw
	}
	return rawjson.ReplaceStrings(raw, func(s string, _ int) (string, bool) {
		text := r.Text(s)
		return text, text != s
	})
}

// Text returns s without secrets.
func (r *Redactor) Text(s string) string {
	for _, secret := range r.secrets {
		if strings.Contains(s, secret) {
			s = strings.ReplaceAll(s, secret, Mark)
		}
	}
	return s
}

// Part returns s[start:end] without secrets, also those that lie only partly
// within: of two parts that meet in a secret the first has what stands for it.
func (r *Redactor) Part(s string, start, end int) string {
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
			b.WriteString(Mark)
		}
	}
	return b.String()
}

// Longest returns the length of the longest secret.
func (r *Redactor) Longest() int {
	if len(r.secrets) == 0 {
		return 0
	}
	return len(r.secrets[0])
}

// Each returns a copy of list with clean applied to each element.
func Each[T any](list []T, clean func(T) T) []T {
	list = slices.Clone(list)
	for i := range list {
		list[i] = clean(list[i])
	}
	return list
}
