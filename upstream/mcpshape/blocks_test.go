package mcpshape

import "testing"

// TestBlock repairs blocks and documents; test/clients/oddresults.mjs has real clients judge all
// that may be wrong with them.
func TestBlock(t *testing.T) {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	note := func(raw string) string {
		return `{"type":"text","text":"[not valid in MCP, as the server sent it]\n` + raw + `"}`
	}
	for _, test := range []struct{ raw, want string }{
		{`{ "type":"text", "text":"a\u00e9", "x":1.0 }`, `{ "type":"text", "text":"a\u00e9", "x":1.0 }`},
		{`{"type":"text","text":null}`, `{"type":"text","text":""}`},
		{`{"type":"text","text":"a","annotations":null,"_meta":[]}`, `{"type":"text","text":"a"}`},
		{`{"type":"text","text":"a","annotations":{"audience":["user","bot"],"priority":2,"x":1}}`, `{"type":"text","text":"a","annotations":{"audience":["user"],"x":1}}`},
		{`{"text":"a"}`, `{"text":"a","type":"text"}`},
		{`{"type":"text","text":7}`, note(`{\"type\":\"text\",\"text\":7}`)},
		{`{"type":"json","json":{}}`, note(`{\"type\":\"json\",\"json\":{}}`)},
		{`{"type":"\u0000document","uri":"x"}`, note(`{\"type\":\"\\u0000document\",\"uri\":\"x\"}`)},
		{`{"type":"image","data":"` + png + `"}`, `{"type":"image","data":"` + png + `","mimeType":"image/png"}`},
		{`{"type":"image","data":"***","mimeType":"image/png"}`, note(`{\"type\":\"image\",\"data\":\"***\",\"mimeType\":\"image/png\"}`)},
		{`{"type":"resource_link","uri":"a:b","size":-1}`, `{"type":"resource_link","uri":"a:b","name":"a:b"}`},
		{`{"type":"resource","resource":{"uri":"a:b"}}`, note(`{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\"}}`)},
		{`"text"`, `{"type":"text","text":"text"}`},
		{`null`, note(`null`)},
	} {
		if got := string(Block([]byte(test.raw))); got != test.want {
			t.Errorf("%s: got %s; want %s", test.raw, got, test.want)
		}
	}
	for _, test := range []struct{ raw, want string }{
		{`{"uri":"a:b","text":"t","_meta":{"n":1.0}}`, `{"uri":"a:b","text":"t","_meta":{"n":1.0}}`},
		{`{"text":"t","mimeType":null}`, `{"text":"t","uri":"asked:x"}`},
		{`{"uri":"a:b","text":null}`, `{"uri":"a:b","text":"[not valid in MCP, as the server sent it]\n{\"uri\":\"a:b\",\"text\":null}"}`},
		{`"t"`, `{"uri":"asked:x","text":"t"}`},
	} {
		if got := string(Document([]byte(test.raw), "asked:x")); got != test.want {
			t.Errorf("document %s: got %s; want %s", test.raw, got, test.want)
		}
	}
}
