package upstream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkOffer makes the tools of a server with 25 of them.
func BenchmarkOffer(b *testing.B) {
	s := testServer(b, "s", Settings{})
	c := catalog{Protocol: "x"}
	for i := range 25 {
		c.Tools = append(c.Tools, json.RawMessage(fmt.Sprintf(`{"name":"tool_%d","description":"Creates an issue.","inputSchema":{"type":"object","properties":{
			"id":{"type":"string","description":"Identifier."},"state":{"type":"string","enum":["open","closed"]},"limit":{"type":"integer","minimum":1,"default":20},
			"labels":{"type":"array","items":{"type":"string"}},"since":{"type":"string","format":"date-time"}},"required":["id"],"additionalProperties":false},"annotations":{"readOnlyHint":false}}`, i)))
	}
	b.ReportAllocs()
	for b.Loop() {
		s.offers.offer(&c, nil)
	}
}

// BenchmarkToolResult reads results as servers send them.
func BenchmarkToolResult(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		raw := json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("0123456789", size/10) + `"}]}`)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := toolResult(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
