package domain

import (
	"encoding/json"
	"slices"
	"strings"

	"toolserver/rawjson"
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
	covered := make([]bool, len(s)+1)
	found := false
	for _, secret := range r.secrets {
		for at := 0; ; at++ {
			i := strings.Index(s[at:], secret)
			if i < 0 {
				break
			}
			found, at = true, at+i
			for j := range len(secret) {
				covered[at+j] = true
			}
		}
	}
	if !found {
		return s[start:end]
	}
	var b strings.Builder
	for i := start; i < end; i++ {
		switch {
		case !covered[i]:
			b.WriteByte(s[i])
		case i == 0 || !covered[i-1]:
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

// outcome returns out without secrets.
func (r *redactor) outcome(out Outcome) Outcome {
	if len(r.secrets) == 0 {
		return out
	}
	out.Tool = r.result(out.Tool)
	out.Contents = r.contents(out.Contents)
	out.Prompt.Description = r.text(out.Prompt.Description)
	out.Prompt.Messages = slices.Clone(out.Prompt.Messages)
	for i := range out.Prompt.Messages {
		r.content(&out.Prompt.Messages[i].Content)
	}
	out.Values = slices.Clone(out.Values)
	for i, v := range out.Values {
		out.Values[i] = r.text(v)
	}
	return out
}

func (r *redactor) result(res ToolResult) ToolResult {
	res.Content = r.contents(res.Content)
	res.Results = r.value(res.Results)
	res.Meta = r.value(res.Meta)
	if res.MetaData != nil {
		if clean, ok := r.value(res.MetaData).(json.RawMessage); ok {
			res.MetaData = nil
			_ = json.Unmarshal(clean, &res.MetaData) // it was marshalled just now
		}
	}
	return res
}

func (r *redactor) contents(blocks []Content) []Content {
	blocks = slices.Clone(blocks)
	for i := range blocks {
		r.content(&blocks[i])
	}
	return blocks
}

func (r *redactor) content(c *Content) {
	c.Text, c.URI, c.Name = r.text(c.Text), r.text(c.URI), r.text(c.Name)
	if c.Data != nil && strings.HasPrefix(c.MIMEType, "text/") {
		c.Data = []byte(r.text(string(c.Data)))
	}
	if c.Raw != nil {
		c.Raw = r.json(c.Raw)
	}
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
		v.Message, v.Hint = r.text(v.Message), r.text(v.Hint)
		if v.Data != nil {
			v.Data = r.data(v.Data)
		}
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v // reported where it is written
	}
	if clean := r.json(b); string(clean) != string(b) {
		return clean
	}
	return v
}

// json returns JSON without secrets, in whatever way they are escaped.
func (r *redactor) json(raw json.RawMessage) json.RawMessage {
	if clean := r.text(string(raw)); clean != string(raw) {
		raw = json.RawMessage(clean)
	}
	if !strings.Contains(string(raw), `\`) {
		return raw
	}
	v, err := rawjson.Decode(raw)
	if err != nil || !r.inStrings(v) {
		return raw
	}
	clean, err := json.Marshal(r.strings(v))
	if err != nil {
		return raw
	}
	return clean
}

// inStrings reports whether a string of v, decoded JSON, has a secret.
func (r *redactor) inStrings(v any) bool {
	switch v := v.(type) {
	case string:
		return r.text(v) != v
	case []any:
		return slices.ContainsFunc(v, r.inStrings)
	case map[string]any:
		for name, member := range v {
			if r.text(name) != name || r.inStrings(member) {
				return true
			}
		}
	}
	return false
}

// strings returns v, decoded JSON, without secrets in its strings.
func (r *redactor) strings(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		for i := range v {
			v[i] = r.strings(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, member := range v {
			clean[r.text(name)] = r.strings(member)
		}
		return clean
	}
	return v
}

// data returns the data of an error without secrets.
func (r *redactor) data(m map[string]any) map[string]any {
	clean := make(map[string]any, len(m))
	for name, v := range m {
		clean[name] = r.value(v)
	}
	return clean
}

// error removes secrets from what callers see of e, and bounds its message.
func (r *redactor) error(e *Error) *Error {
	e.Message, e.Hint = clip(r.text(e.Message), 2*maxPartial), r.text(e.Hint)
	if len(r.secrets) > 0 && e.Data != nil {
		e.Data = r.data(e.Data)
	}
	if len(r.secrets) > 0 && e.RawData != nil {
		e.RawData = r.json(e.RawData)
	}
	return e
}
