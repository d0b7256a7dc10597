package yamlconf

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"toolserver/domain/nearest"
)

// scalar decodes text, numbers and booleans.
func (d *decoder) scalar(n *yaml.Node, s *shape, r rules, path string, out reflect.Value) {
	if n.Kind != yaml.ScalarNode {
		d.wrongType(n, s, r, path)
		return
	}
	text, expanded, err := d.text(n, r, path)
	if err != nil {
		d.errorf(n, "%s: %s", path, err)
		return
	}
	v := reflect.New(s.typ).Elem()
	if s.kind == kindText {
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			reason := oneLine(err.Error())
			if expanded || r.secret {
				reason = "not accepted: " + shown(n, r)
			}
			d.errorf(n, "%s: %s", path, reason)
			return
		}
		out.Set(v)
		return
	}
	tag := n.ShortTag()
	if expanded {
		tag = "" // the text may be of any type
	}
	switch err := set(v, s, tag, text); {
	case errors.Is(err, strconv.ErrRange):
		d.errorf(n, "%s is out of range: it must be %s, not %s", path, s.limits(), shown(n, r))
	case err != nil:
		d.wrongType(n, s, r, path)
	case !r.allows(v, s):
		d.forbidden(n, v, s, r, path)
	default:
		out.Set(v)
	}
}

// text returns the characters of the scalar n, with references resolved and a
// path made absolute, and remembers those that must not be shown.
func (d *decoder) text(n *yaml.Node, r rules, path string) (text string, expanded bool, err error) {
	text = n.Value
	if n.ShortTag() == "!!str" && strings.Contains(text, "${") {
		var parts []string
		if text, parts, err = d.expand(text); err != nil {
			return "", false, err
		}
		expanded = len(parts) > 0
		if !r.path {
			for _, part := range parts {
				d.Source.remember(part)
			}
		}
	}
	if r.path {
		if text, err = d.resolve(text); err != nil {
			return "", false, err
		}
	}
	if expanded || r.secret {
		d.Source.mask(path)
		if r.secret || !r.path {
			d.Source.remember(text)
		}
	}
	return text, expanded, nil
}

// errType says that a text is not of the wanted type at all; an error that is
// strconv.ErrRange says that it does not fit.
var errType = errors.New("wrong type")

// set parses the text of a scalar with the given YAML tag into v. The tag is
// empty for text that came from a reference.
func set(v reflect.Value, s *shape, tag, text string) error {
	number := tag == "!!int" || tag == "!!float"
	switch s.kind {
	case kindString:
		if number || tag == "!!bool" {
			return errType
		}
		v.SetString(text)
	case kindBool:
		word := strings.ToLower(text)
		if tag != "" && tag != "!!bool" || word != "true" && word != "false" {
			return errType
		}
		v.SetBool(word == "true")
	case kindFloat:
		f, err := parseFloat(tag, text)
		if err == nil && v.OverflowFloat(f) {
			err = strconv.ErrRange
		}
		v.SetFloat(f)
		return err
	case kindDuration:
		return setDuration(v, tag, text)
	case kindBytes:
		if b, err := ParseBytes(text); err == nil && !number {
			v.SetInt(int64(b))
			return nil
		}
		return setWhole(v, tag, text)
	default:
		return setWhole(v, tag, text)
	}
	return nil
}

func setDuration(v reflect.Value, tag, text string) error {
	if tag == "!!int" {
		n, err := parseWhole(tag, text)
		d, ok := seconds(n)
		if err == nil && !ok {
			err = strconv.ErrRange
		}
		v.SetInt(int64(d))
		return err
	}
	if tag == "!!float" {
		text = strings.ReplaceAll(text, "_", "")
	}
	d, ok := parseDuration(text)
	if !ok {
		return errType
	}
	v.SetInt(int64(d))
	return nil
}

func setWhole(v reflect.Value, tag, text string) error {
	n, err := parseWhole(tag, text)
	switch {
	case err != nil:
		return err
	case v.CanUint():
		if n < 0 || v.OverflowUint(uint64(n)) {
			return strconv.ErrRange
		}
		v.SetUint(uint64(n))
	case v.OverflowInt(n) || n < 0 && v.Type() == reflect.TypeFor[Bytes]():
		return strconv.ErrRange
	default:
		v.SetInt(n)
	}
	return nil
}

// parseWhole reads an integer as YAML writes it, or in decimal when it came
// from a reference. Floats without a fraction are whole.
func parseWhole(tag, text string) (int64, error) {
	switch tag {
	case "!!int":
		return strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 64)
	case "":
		return strconv.ParseInt(text, 10, 64)
	case "!!float":
		f, err := parseFloat(tag, text)
		if err != nil || f != math.Trunc(f) {
			return 0, errType
		}
		if math.Abs(f) > 1<<53 {
			return 0, strconv.ErrRange
		}
		return int64(f), nil
	}
	return 0, errType
}

// parseFloat reads any number but infinities and NaN.
func parseFloat(tag, text string) (float64, error) {
	text = strings.ReplaceAll(text, "_", "")
	if tag == "!!int" {
		if n, err := strconv.ParseInt(text, 0, 64); err == nil {
			return float64(n), nil
		}
	}
	if tag != "" && tag != "!!int" && tag != "!!float" || strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, errType
	}
	return strconv.ParseFloat(text, 64)
}

// wrongType reports a value of another type than the shape's.
func (d *decoder) wrongType(n *yaml.Node, s *shape, r rules, path string) {
	hint := ""
	if s.kind == kindString && n.Kind == yaml.ScalarNode && !r.secret {
		hint = fmt.Sprintf("; put it in quotes: %q", clip(n.Value))
	}
	d.errorf(n, "%s must be %s, not %s%s", subject(path), s.expectation(), shown(n, r), hint)
}

// forbidden reports a value of the right type that breaks a rule.
func (d *decoder) forbidden(n *yaml.Node, v reflect.Value, s *shape, r rules, path string) {
	switch {
	case s.kind != kindString:
		d.errorf(n, "%s must be %s, not %s", path, r.limits(), shown(n, r))
	case r.enum != nil && !slices.Contains(r.enum, v.String()):
		near := ""
		if word, ok := nearest.Word(n.Value, r.enum); ok && !r.secret {
			near = fmt.Sprintf("; did you mean %q?", word)
		}
		d.errorf(n, "%s must be %s, not %s%s", path, oneOf(r.enum), shown(n, r), near)
	default:
		count := utf8.RuneCountInString(v.String())
		d.errorf(n, "%s: the number of %s must be %s, not %d", path, s.counted(), r.limits(), count)
	}
}
