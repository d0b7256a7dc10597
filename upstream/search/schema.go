package search

import "github.com/toolserver/toolserver/wire/rawjson"

// maxSchemaTexts bounds what is indexed of one schema: a tool that takes a whole
// language as its argument does not get a place in every search.
const maxSchemaTexts = 400

// texts are the words of an input schema by what they are.
type texts struct {
	names, descriptions, values []string
}

// schemaTexts collects the names and descriptions of parameters, and the values
// they may have, wherever they are in the schema: in anyOf, $defs, items.
func schemaTexts(schema []byte) texts {
	var t texts
	t.walk(schema, 0)
	return t
}

func (t *texts) full() bool {
	return len(t.names)+len(t.descriptions)+len(t.values) >= maxSchemaTexts
}

func (t *texts) walk(schema []byte, depth int) {
	if depth > 12 || t.full() {
		return
	}
	_ = rawjson.Object(schema, func(name, value []byte) error {
		switch string(name) {
		case "properties", "$defs", "definitions", "patternProperties":
			property := string(name) == "properties"
			_ = rawjson.Object(value, func(name, value []byte) error {
				if property && !t.full() {
					t.names = append(t.names, string(name))
				}
				t.walk(value, depth+1)
				return nil
			})
		case "anyOf", "oneOf", "allOf", "prefixItems":
			_ = rawjson.Array(value, func(value []byte) error {
				t.walk(value, depth+1)
				return nil
			})
		case "items", "additionalProperties", "if", "then", "else", "not":
			t.walk(value, depth+1)
		case "enum":
			_ = rawjson.Array(value, func(value []byte) error {
				t.value(value)
				return nil
			})
		case "const":
			t.value(value)
		case "description", "title":
			if s, err := rawjson.String(value); err == nil && depth > 0 && !t.full() {
				t.descriptions = append(t.descriptions, s)
			}
		}
		return nil
	})
}

func (t *texts) value(value []byte) {
	if s, err := rawjson.String(value); err == nil && len(s) <= 64 && !t.full() {
		t.values = append(t.values, s)
	}
}
