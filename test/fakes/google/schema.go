package google

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// schema is a schema of discovery, of a value or of a parameter.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 string
	Format               string
	Pattern              string
	Enum                 []string
	Minimum              string
	Maximum              string
	Properties           map[string]*schema
	Items                *schema
	AdditionalProperties *schema
	Location             string // of a parameter
	Required             bool
	Repeated             bool
}

// resolve follows a reference.
func (d *document) resolve(s *schema) *schema {
	if s != nil && s.Ref != "" {
		return d.Schemas[s.Ref]
	}
	return s
}

// parameter checks the text of a parameter.
func (s *schema) parameter(text string) error {
	switch s.Type {
	case "boolean":
		if text != "true" && text != "false" {
			return errors.New("TYPE_BOOL")
		}
	case "integer":
		return s.integer(text)
	}
	return s.text(text, true)
}

// integer checks a whole number and its bounds.
func (s *schema) integer(text string) error {
	bits, unsigned := 64, strings.HasPrefix(s.Format, "uint")
	if strings.HasSuffix(s.Format, "32") {
		bits = 32
	}
	if unsigned {
		if _, err := strconv.ParseUint(text, 10, bits); err != nil {
			return fmt.Errorf("TYPE_UINT%d", bits)
		}
		return nil
	}
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return fmt.Errorf("TYPE_INT%d", bits)
	}
	if low, err := strconv.ParseInt(s.Minimum, 10, 64); err == nil && n < low {
		return fmt.Errorf("must be at least %d", low)
	}
	if high, err := strconv.ParseInt(s.Maximum, 10, 64); err == nil && n > high {
		return fmt.Errorf("must be at most %d", high)
	}
	return nil
}

var localTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$`)

// text checks a string. Strict is without what Google accepts and does not answer: times without an offset, base64 of any kind.
func (s *schema) text(text string, strict bool) error {
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
		return errors.New("TYPE_ENUM")
	}
	if s.Pattern != "" {
		if ok, err := regexp.MatchString("^(?:"+s.Pattern+")$", text); err != nil || !ok {
			return fmt.Errorf("does not match %s", s.Pattern)
		}
	}
	switch s.Format {
	case "int64", "uint64":
		return s.integer(text)
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		return err
	case "date-time", "google-datetime":
		if _, err := time.Parse(time.RFC3339, text); err == nil || !strict && localTime.MatchString(text) {
			return nil
		}
		return errors.New("TYPE_DATETIME")
	case "byte":
		if strict {
			_, err := base64.URLEncoding.DecodeString(text)
			return err
		}
		if _, err := decode64(text); err != nil {
			return errors.New("TYPE_BYTES")
		}
	}
	return nil
}

// decode64 decodes base64 as Google accepts it: of both alphabets, with padding or without.
func decode64(text string) ([]byte, error) {
	text = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "="))
	return base64.RawURLEncoding.DecodeString(text)
}

// valid checks a value, decoded with numbers kept, against its schema. Strict is for answers: a request may have null, and
// numbers as strings or the other way round.
func (d *document) valid(s *schema, v any, at string, strict bool) error {
	s = d.resolve(s)
	if s == nil {
		return fmt.Errorf("%s: no schema", at)
	}
	if v == nil && !strict || s.Type == "any" {
		return nil
	}
	wrong := sayf("Invalid value at '%s' (%s), %.100v", at, s.Type, v)
	switch s.Type {
	case "object":
		object, ok := v.(map[string]any)
		if !ok {
			return wrong
		}
		for name, member := range object {
			ms := s.Properties[name]
			if ms == nil {
				ms = s.AdditionalProperties
			}
			if ms == nil {
				return unknownName(name, at)
			}
			if err := d.valid(ms, member, strings.TrimPrefix(at+"."+name, "."), strict); err != nil {
				return err
			}
		}
	case "array":
		list, ok := v.([]any)
		if !ok {
			return wrong
		}
		for i, item := range list {
			if err := d.valid(s.Items, item, fmt.Sprintf("%s[%d]", at, i), strict); err != nil {
				return err
			}
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return wrong
		}
	case "integer":
		n, ok := v.(json.Number)
		if text, is := v.(string); is && !strict {
			n, ok = json.Number(text), true
		}
		if !ok || s.integer(string(n)) != nil {
			return wrong
		}
	case "string":
		text, ok := v.(string)
		if n, is := v.(json.Number); is && !strict && strings.HasSuffix(s.Format, "int64") {
			text, ok = string(n), true
		}
		if !ok || s.text(text, strict) != nil {
			return wrong
		}
	}
	return nil
}

// said is an error in Google's words.
type said string

func (s said) Error() string { return string(s) }

func sayf(format string, args ...any) error { return said(fmt.Sprintf(format, args...)) }

func unknownName(name, at string) error {
	if at != "" {
		return sayf("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", name, at)
	}
	return sayf("Invalid JSON payload received. Unknown name %q: Cannot find field.", name)
}
