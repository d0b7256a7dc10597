package main

import (
	"fmt"
	"strings"
)

// said makes a tool that says how it is called.
func said(name, description, listed string) tool {
	return tool{name, description, listed, func(*call) (string, error) { return text("I am " + name), nil }}
}

// oddNames are names that clients do not take.
func oddNames() (all []tool) {
	for _, name := range []string{
		"", " ", "with space", "with.dot", "with/slash", "with:colon", "ünïcödé", "日本語", "emoji😀", "a__b", "__lead", "trail__", "-dash", "UPPER",
		"line\nbreak", "nul\x00name", "quote\"name", "<b>html</b>", "../../etc/passwd", "echo; rm -rf /", "{{template}}",
		strings.Repeat("n", 64), strings.Repeat("n", 65), strings.Repeat("n", 200), strings.Repeat("n", 199) + "m", strings.Repeat("é", 100),
	} {
		all = append(all, said(name, "Has an odd name.", schema("")))
	}
	return append(all, said("-", "Has no name.", schema("")), tool{"-", "-", `"name":7,"description":"Has a number for a name."`, nil}, tool{"-", "-", `"name":null`, nil})
}

// duplicates are tools of the same name.
func duplicates() []tool {
	return []tool{said("double", "Is the first one.", schema("")), said("single", "Is the only one.", schema("")), said("double", "Is the second one.", schema(`"x":{"type":"string"}`))}
}

// colliding are tools whose names differ only in what names may not have.
func colliding() (all []tool) {
	for _, name := range []string{"read.file", "read file", "read_file", "read/file", "read:file", strings.Repeat("c", 80) + "1", strings.Repeat("c", 80) + "2"} {
		all = append(all, said(name, "Reads a file.", schema("")))
	}
	return all
}

// undescribed are tools that lack what tools have.
func undescribed() []tool {
	return []tool{
		said("no_description", "-", schema("")), said("empty_description", "", schema("")), said("blank_description", " \n ", schema("")),
		said("long_description", strings.Repeat("Describes at length. ", 5000), schema("")),
		{"number_description", "-", `"description":7,` + schema(""), nil}, {"null_description", "-", `"description":null,` + schema(""), nil},
		said("control_description", "Has \x1b[31mcolors\x1b[0m, a \x00, \u202ereversed text and \u200b\U000e0041 hidden text.", schema("")),
	}
}

// badSchemas are tools with schemas that strict clients do not take, and some that
// they should.
func badSchemas() []tool {
	bad := func(name, schema string) tool { return said(name, "Has the schema "+name+".", schema) }
	return []tool{
		bad("fine", schema(`"x":{"type":"string"}`)),
		bad("missing", ""),
		bad("null", `"inputSchema":null`),
		bad("text", `"inputSchema":"object"`),
		bad("number", `"inputSchema":7`),
		bad("list", `"inputSchema":[]`),
		bad("true", `"inputSchema":true`),
		bad("false", `"inputSchema":false`),
		bad("array", `"inputSchema":{"type":"array","items":{"type":"string"}}`),
		bad("string", `"inputSchema":{"type":"string"}`),
		bad("untyped", `"inputSchema":{"properties":{"x":{"type":"string"}}}`),
		bad("empty", `"inputSchema":{}`),
		bad("types", `"inputSchema":{"type":["object","null"]}`),
		bad("unknown_type", `"inputSchema":{"type":"object","properties":{"x":{"type":"hologram"}}}`),
		bad("any_of", `"inputSchema":{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}`),
		bad("unresolved", `"inputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/none"}}}`),
		bad("remote", `"inputSchema":{"type":"object","properties":{"x":{"$ref":"http://127.0.0.1:9/schema.json"}}}`),
		bad("file_ref", `"inputSchema":{"type":"object","properties":{"x":{"$ref":"file:///etc/passwd"}}}`),
		bad("circular", `"inputSchema":{"type":"object","properties":{"x":{"$ref":"#/properties/x"}}}`),
		bad("recursive", `"inputSchema":{"type":"object","properties":{"x":{"$ref":"#"}}}`),
		bad("pattern", `"inputSchema":{"type":"object","properties":{"x":{"type":"string","pattern":"("}}}`),
		bad("slow_pattern", `"inputSchema":{"type":"object","properties":{"x":{"type":"string","pattern":"^(a+)+$"}}}`),
		bad("lookahead", `"inputSchema":{"type":"object","properties":{"x":{"type":"string","pattern":"^(?!a)b$"}}}`),
		bad("negative", `"inputSchema":{"type":"object","properties":{"x":{"type":"string","maxLength":-1}}}`),
		bad("required_text", `"inputSchema":{"type":"object","required":"x"}`),
		bad("properties_list", `"inputSchema":{"type":"object","properties":[]}`),
		bad("draft_04", `"inputSchema":{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"x":{"type":"integer","minimum":1,"exclusiveMinimum":true}}}`),
		bad("dialect", `"inputSchema":{"$schema":"https://example.com/dialect","type":"object"}`),
		bad("output_array", schema("")+`,"outputSchema":{"type":"array","items":{}}`),
		bad("output_untyped", schema("")+`,"outputSchema":{"properties":{"x":{"type":"string"}}}`),
		bad("output_true", schema("")+`,"outputSchema":true`),
		bad("output_unresolved", schema("")+`,"outputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/none"}}}`),
		bad("annotations_text", schema("")+`,"annotations":"readOnly"`),
		bad("annotations_wrong", schema("")+`,"annotations":{"readOnlyHint":"yes"}`),
		bad("title_number", schema("")+`,"title":7`),
		bad("icons_text", schema("")+`,"icons":"icon.png"`),
		bad("meta_text", schema("")+`,"_meta":"text"`),
	}
}

// hugeSchemas are one tool whose schema has 10 MiB, and one beside it.
func hugeSchemas() []tool {
	var properties strings.Builder
	for i := 0; properties.Len() < 10<<20; i++ {
		fmt.Fprintf(&properties, `"property_%d":{"type":"string","description":"%s"},`, i, strings.Repeat("describes ", 10))
	}
	return []tool{said("huge", "Has a schema of 10 MiB.", schema(strings.TrimSuffix(properties.String(), ","))), said("beside_huge", "Has a small one.", schema(""))}
}

// longTools are one whose description has 100,000 characters, and one with a schema of as many.
func longTools() []tool {
	var properties strings.Builder
	for i := 0; properties.Len() < 100_000; i++ {
		fmt.Fprintf(&properties, `"colour_%d":{"type":"string"},`, i)
	}
	return []tool{said("paints", "Paints a wall. "+strings.Repeat("long ", 20_000), schema("")), said("mixes", "Mixes dyes.", schema(strings.TrimSuffix(properties.String(), ",")))}
}

// deepSchemas are tools whose schemas are 10,000 levels deep, and one beside them.
func deepSchemas() []tool {
	const levels = 10_000
	object := strings.Repeat(`{"type":"object","properties":{"x":`, levels) + "{}" + strings.Repeat("}}", levels)
	all := strings.Repeat(`{"allOf":[`, levels) + "{}" + strings.Repeat("]}", levels)
	return []tool{said("deep", "Has a deep schema.", `"inputSchema":`+object), said("deep_all", "Has another.", schema(`"x":`+all)), said("beside_deep", "Has a flat one.", schema(""))}
}

// judging are tools that decide for themselves what they accept, and answer what they got.
func judging() []tool {
	var bomb strings.Builder
	bomb.WriteString(`"inputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/d60"}},"$defs":{"d0":{"type":"string"}`)
	for i := range 60 {
		fmt.Fprintf(&bomb, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i+1, i, i)
	}
	bomb.WriteString("}}")
	got := func(c *call) (string, error) {
		arguments := string(c.params["arguments"])
		if strings.Contains(arguments, "wrong") {
			return failure("scale must be css or device"), nil
		}
		return text(arguments), nil
	}
	return []tool{
		{"bomb", "Has a schema that is 2 KiB, and endless when it is expanded.", bomb.String(), got},
		{"shot", "Takes a picture.", schema(`"scale":{"type":"string","enum":["css","device"],"default":"css"},"full":{"type":"boolean"},`+
			`"n":{"type":"integer"},"f":{"type":"number"},"l":{"type":"array","items":{"type":"string"}},"o":{"type":"object"}`, "scale"), got},
		{"issues", "Returns issues.", schema(""), func(*call) (string, error) {
			return text(`{"items":[{"id":1.50,"name":"a","body":"long"},{"id":2,"name":"b"}]}`), nil
		}},
	}
}
