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
	"time"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/domain/structschema"
)

// errType says that a value is of another type.
var errType = errors.New("wrong type")

// scalar decodes text, numbers and booleans.
func (d *decoder) scalar(n *yaml.Node, t *structschema.Type, r structschema.Rules, path string, out reflect.Value) {
	text, expanded, err := d.text(n, r, path)
	if err != nil {
		d.errorf(n, "%s: %s", path, err)
		return
	}
	read := &yaml.Node{Kind: yaml.ScalarNode, Value: text} // of a reference: the text may be of any type
	if !expanded {
		read.Tag = n.ShortTag()
	}
	v := reflect.New(t.Go).Elem()
	switch err := set(v, t, read, expanded); {
	case err != nil && t.Kind == structschema.Text && (expanded || r.Secret):
		d.errorf(n, "%s: not accepted: %s", path, shown(n, r))
	case err != nil && t.Kind == structschema.Text:
		d.errorf(n, "%s: %s", path, oneLine(err.Error()))
	case errors.Is(err, strconv.ErrRange):
		d.errorf(n, "%s is out of range: it must be %s, not %s", path, capacity(t), shown(n, r))
	case err != nil:
		d.wrongType(n, t, r, path)
	case !r.Allows(t, v):
		given := shown(n, r)
		if t.Kind == structschema.Duration && n.ShortTag() == "!!int" {
			given += " seconds"
		}
		r.Secret = r.Secret || expanded // so that no word is compared with it
		d.errorf(n, "%s %s", path, r.Problem(t, v, given))
	default:
		out.Set(v)
		if t.Kind == structschema.Duration {
			d.doubt(n, text, time.Duration(v.Int()), path)
		}
		if r.Format != "" {
			d.source.Formatted = append(d.source.Formatted, Formatted{path, r.Format, text})
		}
	}
}

// text returns the characters of the scalar n, with references resolved and a
// path made absolute, and remembers those that must not be shown.
func (d *decoder) text(n *yaml.Node, r structschema.Rules, path string) (text string, expanded bool, err error) {
	text = n.Value
	if n.ShortTag() == "!!str" && strings.Contains(text, "${") {
		var parts []string
		var written string
		free := r.Element && r.Enum == nil && (r.Format == "" || !strings.HasSuffix(path, "]")) // such as headers and environments
		if text, parts, written, err = d.expand(text, free); err != nil {
			return "", false, err
		}
		expanded = len(parts) > 0
		if expanded && !r.Path && (!r.Secret || onlyReference(written)) {
			d.source.Refer(path, written)
		}
		for _, part := range parts {
			if !r.Path {
				d.source.remember(part)
			}
		}
	}
	if r.Path {
		if text, err = d.resolve(text, r.Relative); err != nil {
			return "", false, err
		}
	}
	if expanded && !r.Path || r.Secret {
		d.source.masked[path] = true
		d.source.remember(text)
	}
	return text, expanded, nil
}

// set stores the scalar n in v. The error is [strconv.ErrRange] if v cannot hold
// the value.
func set(v reflect.Value, t *structschema.Type, n *yaml.Node, anyType bool) error {
	tag := n.ShortTag()
	isNumber := tag == "!!int" || tag == "!!float"
	switch {
	case t.Kind == structschema.Text:
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value))
	case t.Kind == structschema.String && (anyType || !isNumber && tag != "!!bool"):
		v.SetString(n.Value)
		return nil
	case t.Kind == structschema.Bool && tag == "!!bool":
		return n.Decode(v.Addr().Interface())
	case t.Kind == structschema.Duration:
		text := n.Value
		var seconds int64
		if isNumber {
			text = strings.ReplaceAll(text, "_", "")
		}
		if tag == "!!int" && n.Decode(&seconds) == nil {
			text = strconv.FormatInt(seconds, 10) // it may be hexadecimal
		}
		d, err := structschema.ParseDuration(text)
		v.SetInt(int64(d))
		return err
	case t.Kind == structschema.Size && !isNumber:
		b, err := structschema.ParseBytes(n.Value)
		v.SetInt(int64(b))
		return err
	}
	var f float64
	if !isNumber || n.Decode(&f) != nil || math.IsInf(f, 0) || !v.CanFloat() && (!v.CanInt() || f != math.Trunc(f)) || math.IsNaN(f) {
		return errType
	}
	if n.Decode(v.Addr().Interface()) != nil || t.Kind == structschema.Size && v.Int() < 0 {
		return strconv.ErrRange
	}
	return nil
}

// doubt warns of numbers that milliseconds have and seconds hardly: a number without a unit
// is in seconds.
func (d *decoder) doubt(n *yaml.Node, text string, value time.Duration, path string) {
	// Times of people are multiples of five minutes, and long ones of half an hour.
	whole := value <= time.Hour && value%(5*time.Minute) == 0 || value%(30*time.Minute) == 0
	if value >= 500*time.Second && value%(100*time.Second) == 0 && !whole && strings.Trim(text, "0123456789_") == "" {
		d.source.Warnings = append(d.source.Warnings, newError(d.source.file, n.Line, n.Column,
			fmt.Sprintf("%s: %s is %s, since a number without a unit is in seconds; write %s if that is meant, or %s for milliseconds",
				path, text, structschema.FormatDuration(value), structschema.FormatDuration(value), structschema.FormatDuration(value/1000))).Error())
	}
}

// wrongType reports a value of another type than t.
func (d *decoder) wrongType(n *yaml.Node, t *structschema.Type, r structschema.Rules, path string) {
	hint, key := "", path[strings.LastIndexByte(path, '.')+1:]
	switch example := d.examples[path]; {
	case example != "":
		hint = fmt.Sprintf("; write it as in %s: %s", key, example)
	case t.Kind == structschema.String && n.Kind == yaml.ScalarNode && !r.Secret:
		hint = fmt.Sprintf("; put it in quotes: %q", clip(n.Value))
	case t.Short != nil && n.Kind == yaml.SequenceNode:
		if i := slices.IndexFunc(t.Fields, func(f structschema.Field) bool { return f.Type.Kind == structschema.List }); i >= 0 {
			hint = fmt.Sprintf("; write it as in %s: {%s: [...]}", key, t.Fields[i].Name)
		}
	}
	d.errorf(n, "%s must be %s, not %s%s", subject(path), looks(t), shown(n, r), hint)
}

// looks says what a value of the type looks like, after "must be".
func looks(t *structschema.Type) string {
	if t.Kind == structschema.Pointer {
		t = t.Elem
	}
	return t.Kind.String()
}

// capacity says which values the Go type can hold, after "must be".
func capacity(t *structschema.Type) string {
	switch t.Kind {
	case structschema.Size:
		return "from 0 to " + strconv.FormatInt(math.MaxInt64, 10) + " bytes"
	case structschema.Duration:
		return "at most 292 years"
	}
	return fmt.Sprintf("a number that fits in %d bits", t.Go.Bits())
}

// subject is how a message calls the value at path.
func subject(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

// in says where a key stands; nothing is said of the top of the file.
func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// describe names what n is.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "null"
	}
	return "a single value"
}

// shown is the value n as a message may show it: as it stands in the file, so
// that what a reference stands for stays unseen.
func shown(n *yaml.Node, r structschema.Rules) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return describe(n)
	case r.Secret:
		return "the value given"
	case n.ShortTag() != "!!str":
		return clip(oneLine(n.Value))
	case strings.Contains(n.Value, "${"):
		return "the value of " + strconv.Quote(clip(n.Value))
	}
	return strconv.Quote(clip(n.Value))
}
