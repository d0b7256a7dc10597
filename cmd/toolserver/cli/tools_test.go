package cli

import "testing"

func TestStrictSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{},"additionalProperties":false}`: `{"type":"object","properties":{},"required":[],"additionalProperties":false}`,
		`{"type":"object","properties":{"b":{"type":"string","description":"B.","minLength":1,"maxLength":9},"a":{"type":"integer","description":"A.","default":3,"minimum":1},` +
			`"c":{"type":"string","enum":["x","y"]},"d":{"type":"string","default":"{"}},"required":["b"],"additionalProperties":false}`: //
		`{"type":"object","properties":{"b":{"type":"string","description":"B."},"a":{"type":["integer","null"],"minimum":1,"description":"A. Default: 3."},` +
			`"c":{"type":["string","null"],"enum":["x","y",null]},"d":{"type":["string","null"],"description":"Default: \"{\"."}},"required":["b","a","c","d"],"additionalProperties":false}`,
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"boolean"}},"additionalProperties":false},"minItems":1}},"required":["l"],"additionalProperties":false}`://
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":["boolean","null"]}},"required":["x"],"additionalProperties":false},"minItems":1}},"required":["l"],"additionalProperties":false}`,
		`{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string"}}},"additionalProperties":false}`: "",
		`{"type":"object","properties":{}}`:                                                                  "",
		`{"type":"object","properties":{"x":{}},"additionalProperties":false}`:                               "",
		`{"type":"object","properties":{"x":{"type":["string","null"]}},"additionalProperties":false}`:       "",
		`{"type":"object","properties":{"x":{"anyOf":[{"type":"string"}]}},"additionalProperties":false}`:    "",
		`{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{},"additionalProperties":false}`:  "",
		`{"type":"object","properties":{"x":true},"additionalProperties":false}`:                             "",
		`{"type":"object","properties":{"x":{"type":"string"}},"required":"x","additionalProperties":false}`: "",
	} {
		got, err := strictSchema([]byte(schema), false)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", schema, got, err, want)
		}
	}
}
