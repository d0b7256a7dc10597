package mcpshape

import "testing"

// BenchmarkNewTool takes a tool as servers have them.
func BenchmarkNewTool(b *testing.B) {
	raw := []byte(`{"name":"create_issue","description":"Create an issue.","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"owner":{"type":"string","description":"Who owns the repository"},"repo":{"type":"string","description":"The repository"},"title":{"type":"string","minLength":1},"labels":{"type":"array","items":{"type":"string"}},"state":{"type":"string","enum":["open","closed"]}},"required":["owner","repo","title"],"additionalProperties":false},"annotations":{"readOnlyHint":false}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewTool(raw); err != nil {
			b.Fatal(err)
		}
	}
}
