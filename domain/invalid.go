package domain

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"toolserver/domain/nearest"
)

// InvalidArguments says how a call's arguments break the tool's schema.
type InvalidArguments struct {
	Fields []InvalidField
}

// InvalidField is one breach.
type InvalidField struct {
	Field   string `json:"field"`   // where: edits[0].old_text; empty for the arguments as a whole
	Problem string `json:"problem"` // what, and what is allowed
}

// maxProblems bounds a message; a model mends a few mistakes at a time.
const maxProblems = 8

func (e *InvalidArguments) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = strings.TrimSpace(f.Field + " " + f.Problem)
	}
	return strings.Join(parts, "; ")
}

func (e *InvalidArguments) add(field, problem string) {
	e.Fields = append(e.Fields, InvalidField{field, problem})
}

func invalid(field, problem string) *InvalidArguments {
	return &InvalidArguments{[]InvalidField{{field, problem}}}
}

// explain turns err, v5's verdict on args, into sentences a model can act on.
func explain(err error, args map[string]any, root *Param) error {
	verdict, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	var found []InvalidField
	for leaf := range leaves(verdict) {
		for _, f := range problems(leaf, args, root) {
			if !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	}
	slices.SortFunc(found, func(a, b InvalidField) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Problem, b.Problem))
	})
	if len(found) > maxProblems {
		found = found[:maxProblems]
	}
	return &InvalidArguments{found}
}

// leaves yields the innermost causes of a verdict: those that name a field.
func leaves(e *jsonschema.ValidationError) func(yield func(*jsonschema.ValidationError) bool) {
	return func(yield func(*jsonschema.ValidationError) bool) { walkLeaves(e, yield) }
}

func walkLeaves(e *jsonschema.ValidationError, yield func(*jsonschema.ValidationError) bool) bool {
	if len(e.Causes) == 0 {
		return yield(e)
	}
	for _, cause := range e.Causes {
		if !walkLeaves(cause, yield) {
			return false
		}
	}
	return true
}

// problems describes one leaf: what its keyword asks for, and what is there.
func problems(leaf *jsonschema.ValidationError, args map[string]any, root *Param) []InvalidField {
	at, value, p := locate(leaf.InstanceLocation, args, root)
	_, keyword, _ := cutLast(leaf.KeywordLocation, "/")
	switch object, isObject := value.(map[string]any); {
	case p == nil:
	case keyword == "required" && isObject:
		if list := missing(at, object, p); list != nil {
			return list
		}
	case keyword == "additionalProperties" && isObject:
		return unknown(at, object, p)
	default:
		if s := breach(keyword, value, p); s != "" {
			return []InvalidField{{at, s}}
		}
	}
	if at == "" {
		return []InvalidField{{at, "the arguments are wrong: " + leaf.Message}}
	}
	return []InvalidField{{at, "is wrong: " + leaf.Message}}
}

func missing(at string, object map[string]any, p *Param) (list []InvalidField) {
	for _, f := range p.Fields {
		if _, ok := object[f.Name]; f.Required && !ok {
			list = append(list, InvalidField{join(at, f.Name), "is required"})
		}
	}
	return list
}

func unknown(at string, object map[string]any, p *Param) (list []InvalidField) {
	var known []string
	for _, f := range p.Fields {
		known = append(known, f.Name)
	}
	for name := range object {
		if slices.Contains(known, name) {
			continue
		}
		problem := "is not a known argument; known: " + strings.Join(known, ", ")
		if len(known) == 0 {
			problem = "is not a known argument; there are none"
		} else if near, ok := nearest.Word(name, known); ok {
			problem = fmt.Sprintf("is not a known argument; did you mean %s?", near)
		}
		list = append(list, InvalidField{join(at, name), problem})
	}
	return list
}

// breach says what keyword asks of value, whose schema is p, or "".
func breach(keyword string, value any, p *Param) string {
	switch keyword {
	case "type":
		if p.Type == "" {
			return ""
		}
		return fmt.Sprintf("must be %s, not %s", article(p.Type), describe(value))
	case "enum":
		return notInEnum(value, p.Enum)
	case "minimum":
		return fmt.Sprintf("must be at least %s, not %s", p.Min, describe(value))
	case "maximum":
		return fmt.Sprintf("must be at most %s, not %s", p.Max, describe(value))
	case "minLength":
		if value == "" {
			return "must not be empty"
		}
		return fmt.Sprintf("must have at least %s characters", p.Min)
	case "maxLength":
		return fmt.Sprintf("must have at most %s characters", p.Max)
	case "minItems":
		return fmt.Sprintf("must have at least %s elements", p.Min)
	case "maxItems":
		return fmt.Sprintf("must have at most %s elements", p.Max)
	}
	return ""
}

func notInEnum(value any, enum []any) string {
	var allowed, words []string
	for _, v := range enum {
		allowed = append(allowed, fmt.Sprint(v))
		if s, ok := v.(string); ok {
			words = append(words, s)
		}
	}
	problem := "must be one of " + strings.Join(allowed, ", ") + ", not " + describe(value)
	if s, ok := value.(string); ok {
		if near, ok := nearest.Word(s, words); ok {
			problem += "; did you mean " + near + "?"
		}
	}
	return problem
}

// locate follows a JSON pointer through the arguments and their schema. It
// returns the place as people write it, and nils where it cannot follow.
func locate(pointer string, v any, p *Param) (at string, _ any, _ *Param) {
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch container := v.(type) {
		case map[string]any:
			at, v = join(at, step), container[step]
			if p != nil {
				p, _ = p.field(step)
			}
		case []any:
			at += "[" + step + "]"
			if i, err := strconv.Atoi(step); err == nil && i < len(container) {
				v = container[i]
			}
			if p != nil {
				p = p.Items
			}
		}
	}
	return at, v, p
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

func article(typ string) string {
	if strings.ContainsRune("aeiou", rune(typ[0])) {
		return "an " + typ
	}
	return "a " + typ
}

// describe names a JSON value in a message, in a few words.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		if len(v) > 32 {
			return "a number of " + strconv.Itoa(len(v)) + " digits"
		}
		return string(v)
	case string:
		if len(v) > 60 {
			return "a string of " + strconv.Itoa(len(v)) + " bytes"
		}
		return "the string " + strconv.Quote(v)
	case []any:
		return "an array"
	}
	return "an object"
}
