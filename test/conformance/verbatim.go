package main

import (
	"context"
	"fmt"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
)

// schema202012 has what a server may not strip from a schema (SEP-1613,
// SEP-2106).
const schema202012 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {
		"address": {
			"$anchor": "addressDef",
			"type": "object",
			"properties": {"street": {"type": "string"}, "city": {"type": "string"}}
		}
	},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

// schemaWithHeader has an argument that HTTP clients repeat in a header
// (SEP-2243).
const schemaWithHeader = `{
	"type": "object",
	"properties": {"region": {"type": "string", "description": "Where to look.", "x-mcp-header": "Region"}},
	"required": ["region"],
	"additionalProperties": false
}`

// verbatimTools have schemas that reach the client as they are.
func verbatimTools() ([]domain.Tool, error) {
	list := []domain.Tool{
		{Name: "json_schema_2020_12_tool", Description: "Has an input schema with the keywords of JSON Schema 2020-12."},
		{Name: "test_x_mcp_header", Description: "Has an argument that HTTP clients repeat in a header."},
	}
	for i, text := range []string{schema202012, schemaWithHeader} {
		t := &list[i]
		input, err := schema.Parse([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		t.Title, t.Category, t.Input, t.Annotations = t.Name, "conformance", input, domain.Annotations{ReadOnly: true, Idempotent: true}
		t.Run = func(_ context.Context, args domain.Arguments) (domain.ToolResult, error) {
			shown, err := args.JSON()
			return domain.Text(string(shown)), err
		}
	}
	return list, nil
}
