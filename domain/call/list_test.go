package call

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/domain/schema"
)

type named struct {
	Name string   `json:"name"`
	Tags []string `json:"tags,omitempty"`
}

type nameList struct {
	Names []named `json:"names"`
	Next  int     `json:"next_offset,omitempty"`
}

// listing returns a tool that lists all, with a line for each.
func listing(all []named) domain.Tool {
	type input struct {
		Offset int `json:"offset" default:"0" min:"0" max:"1000000"`
	}
	return domain.Define(domain.Tool{Name: "names", Description: "List names.", Output: schema.OutputOf[nameList]()}, func(ctx context.Context, in input) (domain.ToolResult, error) {
		l := ListFrom(all, in.Offset)
		l.None = "no names"
		l.Text = func(shown []named) string {
			var lines []string
			for _, n := range shown {
				lines = append(lines, n.Name)
			}
			return strings.Join(lines, "\n")
		}
		l.Results = func(shown []named, next int) any { return nameList{shown, next} }
		return l.Result(ctx)
	})
}

// TestListPages reads lists of all lengths to their ends: the pages have every entry once, the same
// in both forms, and none is longer than a result may be.
func TestListPages(t *testing.T) {
	for _, count := range []int{0, 1, 2, 3000} {
		var all []named
		for i := range count {
			all = append(all, named{fmt.Sprintf("name%04d%s", i, strings.Repeat("ü", i%30)), strings.Fields(strings.Repeat("tag ", i%50))})
		}
		exec := executor(t, domain.Settings{Limits: domain.Limits{MaxResultChars: 2000}}, nil, listing(all)) // tags are only in structured content
		read := func(offset int) (text string, shown nameList) {
			res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "names", Arguments: fmt.Appendf(nil, `{"offset":%d}`, offset)})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range res.Told() {
				text += c.Text
			}
			if err := json.Unmarshal(encoded(t, res.Structured()), &shown); err != nil || len([]rune(text)) > 2000 {
				t.Fatalf("%v: %s", err, text)
			}
			return text, shown
		}
		seen := 0
		for next := 0; next >= 0; {
			text, page := read(next)
			for i, n := range page.Names {
				if lines := strings.Split(text, "\n"); n.Name != all[seen].Name || lines[i] != n.Name {
					t.Fatalf("entry %d of %d is %q, %q", seen, count, n.Name, lines[i])
				}
				seen++
			}
			says := fmt.Sprintf("of %s; there are more: call again with offset=%d]", brief.Thousands(count), page.Next)
			if (page.Next > 0) != strings.HasSuffix(text, says) {
				t.Errorf("at %d of %d: %s", next, count, text)
			}
			if next = page.Next; next == 0 {
				next = -1
			}
		}
		if seen != count {
			t.Errorf("%d of %d entries", seen, count)
		}
		want := "[no names after the first 5,000]"
		if count > 0 {
			want = "[no names at offset 5,000: there are " + brief.Thousands(count) + "]"
		}
		if text, page := read(5000); text != want || len(page.Names) != 0 {
			t.Errorf("beyond the end of %d: %q", count, text)
		}
		if text, _ := read(0); count == 0 && text != "[no names]" {
			t.Errorf("of none: %q", text)
		}
	}
}

// TestLongEntry has an entry that fits no result by itself: what is long of it is cut in both
// forms, which say so, and all of it can be read. A secret is not cut to what nothing finds.
func TestLongEntry(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	long := strings.Repeat("x", 690) + secret + strings.Repeat(`"ü`, 40_000)
	all := []named{{Name: "short"}, {Name: long}, {Name: "last"}}
	exec := executor(t, domain.Settings{Secrets: []string{secret}, Limits: domain.Limits{MaxResultChars: 1000}}, nil, listing(all))
	res, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: "names", Arguments: []byte(`{"offset":1}`)})
	if err != nil || len(res.Content) != 2 {
		t.Fatal(res, err)
	}
	line, notes, structured := res.Content[0].Text, res.Content[1].Text, string(encoded(t, res.Structured()))
	cut, found := strings.CutSuffix(line, "...")
	if !found || len(line) > 1000 || !strings.HasPrefix(long, cut) && !strings.Contains(line, redact.Mark) {
		t.Errorf("text: %s", line)
	}
	if !strings.Contains(structured, `..."}],"next_offset":2}`) || len(structured) > 2000 || strings.Contains(line+structured, secret[:8]) {
		t.Errorf("structured content: %s", structured)
	}
	if !strings.Contains(notes, "call again with offset=2") || !strings.Contains(notes, "is cut; all of it: read_large_result(id=") {
		t.Errorf("notes: %s", notes)
	}
	whole, _, err := exec.Results.Page(domain.Principal{}, notes[strings.Index(notes, "lr_"):][:len("lr_0123456789ab")], 1)
	if err != nil || !strings.HasPrefix(whole, `{"names":[{"name":"xxx`) || strings.Contains(whole, secret[:8]) {
		t.Errorf("whole: %.100s, %v", whole, err)
	}
	// What has too many values is kept as any other result that is too long.
	many := listing([]named{{Name: "many", Tags: strings.Fields(strings.Repeat("tag ", 1000))}})
	res, err = executor(t, domain.Settings{Limits: domain.Limits{MaxResultChars: 1000}}, nil, many).Call(t.Context(), ExecuteToolCommand{Tool: "names", Arguments: []byte(`{}`)})
	if got := string(encoded(t, res.Structured())); err != nil || !strings.Contains(got, `"truncated":true`) {
		t.Errorf("%s, %v", got, err)
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
