package upstream

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
)

func TestToolResult(t *testing.T) {
	r, err := toolResult(json.RawMessage(`{"resultType":"complete","content":[{"type":"text","text":"a\u00e9\n"},{"type":"text","text":"b","annotations":{"priority":0.50}},
		{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"resource","resource":{"uri":"a://b","text":"x"}},{"type":"new","x":1}],
		"structuredContent":{"n":1.50,"big":12345678901234567890},"isError":true,"_meta":{"ui":{"a":1}},"extra":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.Content[0].Text != "aé\n" || r.Content[0].Raw != nil || string(r.Content[1].Raw) != `{"type":"text","text":"b","annotations":{"priority":0.50}}` ||
		r.Content[4].Type != domain.TextContent || !strings.HasSuffix(r.Content[4].Text, `{"type":"new","x":1}`) || r.Content[2].MIMEType != "image/png" || len(r.Content) != 5 {
		t.Errorf("content: %+v", r.Content)
	}
	if s, _ := r.Results.(json.RawMessage); string(s) != `{"n":1.50,"big":12345678901234567890}` || !r.IsError {
		t.Errorf("structured: %s", s)
	}
	if m, _ := r.Meta.(json.RawMessage); string(m) != `{"ui":{"a":1}}` {
		t.Errorf("_meta: %s", m)
	}
	if string(r.Extra) != `{"extra":1}` {
		t.Errorf("further members: %s", r.Extra)
	}
	for _, bad := range []string{`[]`, `null`, `7`, `{"content":[`, `{"content":[{"type":"text","text":]}]}`, `{`} {
		if _, err := toolResult(json.RawMessage(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// TestContract has results in the form of the V2 contract, and nearly so.
func TestContract(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("some data ", 20)))
	text := func(s string) string {
		b, _ := json.Marshal(s)
		return `{"content":[{"type":"text","text":` + string(b) + `}]}`
	}
	for _, test := range []struct {
		name, raw string
		artifacts []string // name and media type
		want      string   // in the structured content
	}{
		{"structured", `{"content":[{"type":"text","text":"done"}],"structuredContent":{"results":{"n":1},"artifacts":[{"name":"a.pdf","b64":"` + b64 + `","mime":"application/pdf","size":1,"description":"d","viewer":"pdf"}],"display":{"open_canvas":true,"primary_file":"a.pdf","mode":"replace","viewer_hint":"pdf","title":"T"},"meta_data":{"ms":5}}}`,
			[]string{"a.pdf application/pdf"}, `"open_canvas":true,"primary_file":"a.pdf","mode":"replace","viewer_hint":"pdf","title":"T"`},
		{"text", text(`{"results":{"n":1},"artifacts":[{"name":"dir/../../b.png","b64":"` + b64 + `"}]}`), []string{"b.png image/png"}, `"n":1`},
		{"legacy files", text(`{"result":"ok","returned_file_names":["x.csv"],"returned_file_contents":["` + b64 + `","` + b64 + `"],"meta-data":{"a":1}}`),
			[]string{"x.csv text/csv; charset=utf-8", "artifact-2 application/octet-stream"}, `"value":"ok"`},
		{"text repeats it", `{"content":[{"type":"text","text":"here: ` + b64 + `."}],"structuredContent":{"results":{},"artifacts":[{"name":"a","b64":"` + b64 + `","mime":"x"}]}}`,
			[]string{"a application/octet-stream"}, `"size":200`},
		{"no results", text(`{"rows":[1],"artifacts":[{"name":"a.txt","b64":"` + b64 + `"}]}`), []string{"a.txt text/plain; charset=utf-8"}, `"results":{"rows":[1]}`},
		{"by address", text(`{"results":{},"artifacts":[{"name":"a.bin","url":"https://example.com/a","size":"7"}]}`), []string{"a.bin application/octet-stream"}, `"uri":"https://example.com/a"`},
		{"odd display", text(`{"results":[1],"display":"canvas","meta_data":{"a":1}}`), nil, `"value":[1]`},
		{"iframe", text(`{"results":{},"display":{"type":"iframe","url":"https://example.com","title":"T","sandbox":"allow-scripts"}}`), nil, `"type":"iframe","url":"https://example.com","sandbox":"allow-scripts"`},
		{"odd entries", text(`{"results":{},"artifacts":[{"b64":"` + b64 + `"},{"name":"x.pdf"},7,null,{"name":["y"],"b64":"` + b64 + `","mime":1}]}`),
			[]string{"artifact-1 application/octet-stream", "artifact-2 application/octet-stream"}, "x.pdf was left out"},
		{"not base64", text(`{"results":{},"artifacts":[{"name":"a","b64":"***"},{"name":"b","b64":"QQ"}]}`), []string{"b application/octet-stream"}, "a was left out"},
	} {
		r, err := toolResult(json.RawMessage(test.raw))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		structured, _ := json.Marshal(r.Structured())
		var got []string
		for _, a := range r.Artifacts {
			got = append(got, a.Name+" "+a.MIME)
		}
		if strings.Join(got, ",") != strings.Join(test.artifacts, ",") || !strings.Contains(string(structured), test.want) {
			t.Errorf("%s: artifacts %v, structured content %s", test.name, got, structured)
		}
		all := string(structured)
		for _, c := range r.Content {
			all += c.Text + string(c.Raw)
		}
		if strings.Contains(all, b64) || strings.Contains(all, "***") {
			t.Errorf("%s: base64 is left: %s", test.name, all)
		}
	}
	for _, raw := range []string{
		text(`{"display":7}`), text(`{"total_count":1,"artifacts":[{"id":1,"name":"x","url":"https://example.com"}]}`), text(`{"display":{"title":"x"},"rows":[1]}`), text(`{"result":1,"display":2}`),
		text(`{"results":{}}`), text(`"artifacts"`), text(`{"artifacts":"none"}`),
		`{"content":[],"structuredContent":{"results":[],"total":1}}`, `{"isError":true,"content":[{"type":"text","text":"{\"artifacts\":[]}"}]}`,
	} {
		if r, err := toolResult(json.RawMessage(raw)); err != nil || r.Artifacts != nil || r.Display != nil || len(r.Content) > 0 && !strings.Contains(raw, strings.Trim(string(quoted(r.Content[0].Text)), `"`)) {
			t.Errorf("%s is taken for the contract: %+v, %v", raw, r, err)
		}
	}
}

func quoted(s string) []byte { b, _ := json.Marshal(s); return b }

// FuzzToolResult checks that no result does more than fail, and that what is accepted
// reaches the client: valid, and in the form of the contract without base64.
func FuzzToolResult(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"a"}],"structuredContent":{"results":{},"artifacts":[{"name":"..","b64":"QUJD"}]}}`)
	f.Add(`{"content":[{"type":"text","text":"{\"returned_file_contents\":[\"QUJD\"],\"result\":1}"}]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		r, err := toolResult(json.RawMessage(raw))
		if err != nil {
			return
		}
		if _, err := json.Marshal(r.Structured()); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		for _, a := range r.Artifacts {
			if a.Name == "" || strings.ContainsAny(a.Name, `/\`) || a.Name == ".." {
				t.Errorf("artifact %q", a.Name)
			}
		}
		for _, c := range r.Content {
			if c.Raw != nil && !json.Valid(c.Raw) {
				t.Errorf("a block is %s", c.Raw)
			}
		}
	})
}

func TestPromptAndContents(t *testing.T) {
	p, err := promptResult(json.RawMessage(`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"x"}},{"role":"assistant","content":{"type":"image","data":"AAAA","mimeType":"image/png"}}]}`))
	if err != nil || p.Description != "d" || p.Messages[0].Content.Text != "x" || p.Messages[1].Role != "assistant" || p.Messages[1].Content.Raw == nil {
		t.Errorf("%+v, %v", p, err)
	}
	r, err := contents(json.RawMessage(`{"contents":[{"uri":"a://b","text":"x","_meta":{"n":1.50}},{"uri":"a://c","blob":"AAAA"}],"_meta":{"r":1},"x":2,"ttlMs":3}`), "a://b", "mcp://s/a://b")
	c := r.Content
	if err != nil || string(c[0].Raw) != `{"uri":"mcp://s/a://b","text":"x","_meta":{"n":1.50}}` || string(c[1].Raw) != `{"uri":"a://c","blob":"AAAA"}` || string(r.Meta.(json.RawMessage)) != `{"r":1}` || string(r.Extra) != `{"x":2}` {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestNull has members that say nothing, as some servers write what is absent.
func TestNull(t *testing.T) {
	const block = `{"type":"resource_link","uri":"a://b","name":"b","mimeType":null,"text":null}`
	r, err := toolResult([]byte(`{"content":[` + block + `]}`))
	if err != nil || len(r.Content) != 1 || string(r.Content[0].Raw) != `{"type":"resource_link","uri":"a://b","name":"b","text":null}` || r.Content[0].URI != "a://b" {
		t.Errorf("%+v, %v", r, err)
	}
}
