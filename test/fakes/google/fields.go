package google

import (
	"fmt"
	"net/http"
	"strings"
)

// mask says which fields of an answer are wanted: those it has, whole if theirs is nil. "*" is all.
type mask map[string]mask

// parseMask parses the parameter fields: a,b(c,d),e/f.
func parseMask(text string) (mask, error) {
	m, rest, err := parseList(text)
	if err == nil && rest != "" {
		err = fmt.Errorf("unexpected %q", rest)
	}
	return m, err
}

func parseList(text string) (m mask, rest string, err error) {
	m = mask{}
	for {
		if text, err = m.parseItem(text); err != nil || !strings.HasPrefix(text, ",") {
			return m, text, err
		}
		text = text[1:]
	}
}

// parseItem adds one item to the mask.
func (m mask) parseItem(text string) (rest string, err error) {
	end := strings.IndexAny(text, ",()/")
	if end < 0 {
		end = len(text)
	}
	name := strings.TrimSpace(text[:end])
	if name == "" {
		return text, fmt.Errorf("a name is missing before %q", text)
	}
	old, had := m[name]
	sub := mask{}
	switch rest = text[end:]; {
	case strings.HasPrefix(rest, "/"):
		rest, err = sub.parseItem(rest[1:])
	case strings.HasPrefix(rest, "("):
		sub, rest, err = parseList(rest[1:])
		if err == nil && !strings.HasPrefix(rest, ")") {
			err = fmt.Errorf("a parenthesis is open before %q", rest)
		}
		rest = strings.TrimPrefix(rest, ")")
	default:
		sub = nil
	}
	if had && old != nil && sub != nil {
		for k, v := range old {
			sub[k] = v
		}
	}
	if had && old == nil {
		sub = nil
	}
	m[name] = sub
	return rest, err
}

// check returns an error if the mask has a field that its schema has not.
func (m mask) check(d *document, s *schema) error {
	s = d.resolve(s)
	for s != nil && s.Type == "array" {
		s = d.resolve(s.Items)
	}
	for name, sub := range m {
		if name == "*" && sub == nil {
			continue
		}
		var member *schema
		if s != nil {
			member = s.Properties[name]
			if member == nil {
				member = s.AdditionalProperties
			}
		}
		if name == "*" {
			continue
		}
		if member == nil {
			return fmt.Errorf("%s", name)
		}
		if err := sub.check(d, member); err != nil {
			return err
		}
	}
	return nil
}

// apply returns v with the fields of the mask.
func (m mask) apply(v any) any {
	if m == nil {
		return v
	}
	switch v := v.(type) {
	case []any:
		kept := make([]any, 0, len(v))
		for _, item := range v {
			kept = append(kept, m.apply(item))
		}
		return kept
	case map[string]any:
		kept := map[string]any{}
		for name, member := range v {
			sub, ok := m[name]
			if !ok {
				sub, ok = m["*"]
			}
			if ok {
				kept[name] = sub.apply(member)
			}
		}
		return kept
	}
	return v
}

// partial applies the parameter fields to an answer.
func partial(mth *method, fields string, v any) (any, *Answer) {
	if fields == "" {
		return v, nil
	}
	m, err := parseMask(fields)
	if err == nil {
		err = m.check(mth.doc, mth.Response)
	}
	if err != nil {
		return nil, &Answer{
			Status: http.StatusBadRequest, Reason: "invalidParameter", Message: "Invalid field selection " + err.Error(), Location: "fields",
		}
	}
	return m.apply(v), nil
}
