package mcpshape

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/wire/rawjson"
)

//go:embed shapes.txt
var table string

// shapes returns the shapes of shapes.txt, whose head describes it, by their names.
var shapes = sync.OnceValue(func() map[string]*shape {
	all := values()
	for line := range strings.Lines(table) {
		name, members, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !ok || name[0] == '#' {
			continue
		}
		s := all[name]
		if s == nil {
			s = &shape{members: map[string]*shape{}}
			all[name] = s
		}
		for part := range strings.SplitSeq(members, ", ") {
			if base, ok := strings.CutPrefix(part, "+"); ok {
				maps.Copy(s.members, all[base].members)
				s.required = append(s.required, all[base].required...)
				continue
			}
			names := strings.Fields(part)
			kind := named(all, names[len(names)-1])
			for _, name := range names[:len(names)-1] {
				name, required := strings.CutSuffix(name, "!")
				if s.members[name] = kind; required {
					s.required = append(s.required, name)
				}
			}
		}
	}
	all["items"].members = all["schema"].members
	return all
})

// named returns what a value may be.
func named(all map[string]*shape, kind string) *shape {
	inner := kind[1 : len(kind)-1]
	switch {
	case kind[0] == '[':
		return &shape{elements: named(all, inner)}
	case kind[0] == '{':
		return &shape{every: named(all, inner)}
	case strings.Contains(kind, "|"):
		texts := strings.Split(kind, "|")
		return &shape{value: ofText(func(s string) bool { return slices.Contains(texts, s) })}
	case all[kind] == nil:
		panic("shapes.txt has no " + kind)
	}
	return all[kind]
}

func isText(raw []byte) bool { return raw[0] == '"' }

func isFlag(raw []byte) bool { return raw[0] == 't' || raw[0] == 'f' }

func isNumber(raw []byte) bool { return raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9' }

// ofText accepts texts that fit.
func ofText(fits func(string) bool) func(raw []byte) bool {
	return func(raw []byte) bool {
		s, err := rawjson.String(raw)
		return err == nil && fits(s)
	}
}

// ofNumber accepts numbers that fit.
func ofNumber(fits func(float64) bool) func(raw []byte) bool {
	return func(raw []byte) bool {
		var f float64
		return isNumber(raw) && json.Unmarshal(raw, &f) == nil && fits(f)
	}
}

// values returns the shapes of what is no object, and of a JSON Schema, as draft 2020-12 has it and, where [repair.keywords]
// translates that, earlier drafts.
func values() map[string]*shape {
	text, any := &shape{value: isText}, &shape{value: func([]byte) bool { return true }}
	kind := named(nil, "string|integer|number|boolean|array|object|null")
	schema := &shape{value: isFlag, settle: (*repair).keywords, members: map[string]*shape{}}
	return map[string]*shape{
		"text": text, "flag": {value: isFlag}, "number": {value: isNumber}, "any": any, "object": {members: map[string]*shape{}}, "never": {},
		"share":  {value: ofNumber(func(f float64) bool { return 0 <= f && f <= 1 })},
		"factor": {value: ofNumber(func(f float64) bool { return f > 0 })},
		"count":  {value: ofNumber(func(f float64) bool { return f >= 0 && f == float64(int64(f)) })},
		"bound":  {value: func(raw []byte) bool { return isNumber(raw) || isFlag(raw) }},
		"size": {value: func(raw []byte) bool {
			_, err := strconv.ParseUint(string(raw), 10, 53) // what a client in Go reads as well
			return err == nil
		}},
		"moment": {value: ofText(func(s string) bool {
			_, err := time.Parse(time.RFC3339, s)
			return err == nil && !strings.Contains(s, ",") // which Go reads as a point
		})},
		"data": {value: ofText(func(s string) bool {
			_, wrong := base64.StdEncoding.DecodeString(s)
			_, unpadded := base64.RawStdEncoding.DecodeString(s)
			return wrong == nil || unpadded == nil
		})},
		"anchor": {value: ofText(func(s string) bool {
			return s != "" && (s[0] == '_' || 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z') && s == acceptable(s)
		})},
		"types":      {value: kind.value, elements: kind, distinct: true, whole: true, least: 1},
		"values":     {elements: any, least: 1},
		"names":      {elements: text, distinct: true},
		"dependency": {value: isFlag, members: map[string]*shape{}, elements: text, distinct: true},
		"schema":     schema,
		"schemas":    {every: schema, instead: anything},
		"parts":      {elements: schema, least: 1, instead: anything},
		"properties": {every: schema, instead: anything, settle: (*repair).properties},
		"items":      {value: isFlag, elements: schema, instead: anything, settle: schema.settle},
	}
}
