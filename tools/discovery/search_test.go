package discovery

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestSearchIsShort bounds what a search for five tools takes of a model's context.
func TestSearchIsShort(t *testing.T) {
	registry, err := domain.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	read := func(file string, v any) {
		b, err := os.ReadFile("../../upstream/search/testdata/" + file)
		if err == nil {
			err = json.Unmarshal(b, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var servers []struct {
		Server string
		Tools  []struct {
			Name, Description string
			Schema            json.RawMessage
		}
	}
	read("tools.json", &servers)
	for _, s := range servers {
		var tools []string
		for _, tool := range s.Tools {
			b, err := json.Marshal(map[string]any{"name": tool.Name, "description": tool.Description, "inputSchema": tool.Schema})
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, string(b))
		}
		registry.Register(domain.FixedSource(s.Server, offered(t, s.Server, tools...), nil))
	}
	tools := tooltest.Tools(t, Family(registry.Catalog, nil, nil), declare.From[Options]{Config: Options{Servers: true}})
	registry.Register(domain.FixedSource("own", domain.Offer{Tools: tools}, nil))
	exec := call.NewExecutor(registry, call.NewResultStore(0), domain.Settings{}, func(*call.Record) {})
	var texts, structured []int
	for _, file := range []string{"queries.json", "paraphrases.json"} {
		var questions []struct{ Query string }
		read(file, &questions)
		for _, q := range questions {
			r, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: SearchName, Arguments: fmt.Appendf(nil, `{"query":%q}`, q.Query)})
			if err != nil {
				t.Fatalf("%s: %v", q.Query, err)
			}
			b, _ := json.Marshal(r.Structured())
			texts, structured = append(texts, r.TextLen()), append(structured, len(b))
			if strings.Count(r.Content[0].Text, "arguments: ") > 1 || strings.Count(string(b), "input_schema") > 1 {
				t.Errorf("%s: more than one schema: %s", q.Query, r.Content[0].Text)
			}
		}
	}
	slices.Sort(texts)
	slices.Sort(structured)
	t.Logf("%d searches: text p50 %d, p90 %d, most %d bytes; structured p50 %d, most %d",
		len(texts), texts[len(texts)/2], texts[len(texts)*9/10], texts[len(texts)-1], structured[len(structured)/2], structured[len(structured)-1])
	if texts[len(texts)/2] > 900 || texts[len(texts)-1] > 1700 || structured[len(structured)-1] > 2000 {
		t.Error("that is too long")
	}
}

// TestSignature has a signature of each kind of argument, and of many.
func TestSignature(t *testing.T) {
	many := `"properties":{`
	for i := range 100 {
		many += fmt.Sprintf(`"argument_%d":{"type":"string"},`, i)
	}
	for text, want := range map[string]string{
		`{"type":"object"}`: "",
		`{"type":"object","required":["title","owner"],"properties":{"labels":{"type":"array"},"owner":{"type":"string"},"title":{},"to":{"anyOf":[{"type":"array"},{"type":"null"}]},"point":{"$ref":"#/$defs/p"}},"$defs":{"p":{"type":"object"}}}`: "owner, title, labels?[], to?[], point?{}",
		`{"type":"object",` + many + `"last":{"type":"object"}},"required":["last"]}`: "last{}, argument_0?, ",
	} {
		s, err := schema.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Signature(); !strings.HasPrefix(got, want) || len(got) > 300 || len(text) > 1000 && !strings.HasSuffix(got, "...") {
			t.Errorf("%.200s: %s", text, got)
		}
	}
}
