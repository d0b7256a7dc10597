package domain

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

// surely reports whether v satisfies the schema of p beyond doubt. It knows what
// nearly all calls are made of and leaves everything else, also whatever is
// wrong, to the validator: that says the same, and takes several times as long.
func (p *Param) surely(v any) bool {
	if !p.plain {
		return false
	}
	if p.Enum != nil {
		text, ok := v.(string)
		if !ok || !slices.Contains(p.Enum, any(text)) {
			return false
		}
	}
	switch v := v.(type) {
	case string:
		return p.Type == "string" && (p.Min == "" && p.Max == "" || p.within(utf8.RuneCountInString(v)))
	case bool:
		return p.Type == "boolean"
	case json.Number:
		n, err := strconv.Atoi(string(v))
		return err == nil && (p.Type == "integer" || p.Type == "number") && p.within(n)
	case []any:
		return p.Type == "array" && p.within(len(v)) && !slices.ContainsFunc(v, func(item any) bool { return p.Items != nil && !p.Items.surely(item) })
	case map[string]any:
		return p.Type == "object" && p.fieldsSurely(v)
	}
	return false
}

func (p *Param) fieldsSurely(object map[string]any) bool {
	known := 0
	for i := range p.Fields {
		f := &p.Fields[i]
		v, ok := object[f.Name]
		switch {
		case ok && !f.surely(v), !ok && f.Required:
			return false
		case ok:
			known++
		}
	}
	return known == len(object) || !p.closed
}

// within reports whether n keeps to the bounds, which have to be integers.
func (p *Param) within(n int) bool {
	if p.Min != "" {
		if least, err := strconv.Atoi(p.Min); err != nil || n < least {
			return false
		}
	}
	if p.Max != "" {
		if most, err := strconv.Atoi(p.Max); err != nil || n > most {
			return false
		}
	}
	return true
}

// boundsOnly notes of what a schema gives bounds: imum, Length or Items. It
// reports whether it is of one thing only.
func boundsOnly(bounded *string, of string) bool {
	if *bounded == "" {
		*bounded = of
	}
	return *bounded == of
}

// boundedBy returns of what a schema of a type can give bounds.
func boundedBy(kind string) string {
	switch kind {
	case "string":
		return "Length"
	case "array":
		return "Items"
	case "integer", "number":
		return "imum"
	}
	return ""
}

// allNamed reports whether each name that is needed is that of a field.
func allNamed(fields []Param, needed []byte) bool {
	var names []string
	if json.Unmarshal(needed, &names) != nil {
		return false
	}
	for _, name := range names {
		if !slices.ContainsFunc(fields, func(f Param) bool { return f.Name == name }) {
			return false
		}
	}
	return true
}
