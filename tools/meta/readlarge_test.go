package meta_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/meta"
)

// TestTable calls as nobody in particular, whose results are the empty
// principal's.
func TestTable(t *testing.T) {
	store := call.NewResultStore(4)
	defer store.Close()
	id := store.Keep(domain.Principal{}, "abcdefghij").ID
	one := store.Keep(domain.Principal{}, "abc").ID
	alien := store.Keep(domain.Principal{ID: "ann", Name: "ann"}, "secret").ID
	args := func(id string, page int) string { return fmt.Sprintf(`{"id":%q,"page":%d}`, id, page) }
	more := func(text string, page int) string {
		return fmt.Sprintf("%s\n[Page %d of 3; to read on: read_large_result(id=%q, page=%d)]", text, page, id, page+1)
	}
	tooltest.Run(t, meta.ReadTool(store, nil), []tooltest.Case{
		{Name: "first", Args: args(id, 1), Exact: more("abcd", 1), Check: metaIs(`{"id":"` + id + `","page":1,"pages":3,"next_page":2}`)},
		{Name: "default", Args: fmt.Sprintf(`{"id":%q}`, id), Exact: more("abcd", 1)},
		{Name: "in quotes", Args: fmt.Sprintf(`{"id":%q,"page":"2"}`, id), Exact: more("efgh", 2)},
		{Name: "last", Args: args(id, 3), Exact: "ij\n[Page 3 of 3, the last]", Check: metaIs(`{"id":"` + id + `","page":3,"pages":3}`)},
		{Name: "past the end", Args: args(id, 4), ErrorType: "page_out_of_range",
			Exact: fmt.Sprintf("there is no page 4: result %q has 3 pages", id),
			Check: hintHas(fmt.Sprintf("read_large_result(id=%q, page=3)", id))},
		{Name: "only one", Args: args(one, 2), ErrorType: "page_out_of_range", Want: "has 1 page"},
		{Name: "far past the end", Args: args(id, 1_000_000_000), ErrorType: "page_out_of_range", Want: "has 3 pages"},
		{Name: "unknown", Args: args("lr_000000000000", 1), ErrorType: "unknown_id", Want: "expire after 30 minutes", Wants: []string{"repeat the call"}},
		{Name: "of another", Args: args(alien, 1), ErrorType: "unknown_id", Want: "there is no result"},
		{Name: "page zero", Args: args(id, 0), Code: domain.CodeInvalidParams, Want: "page must be at least 1"},
		{Name: "too far", Args: args(id, 1_000_000_001), Code: domain.CodeInvalidParams, Want: "page must be at most"},
		{Name: "no id", Args: `{}`, Code: domain.CodeInvalidParams, Want: "id is required"},
		{Name: "empty id", Args: `{"id":""}`, Code: domain.CodeInvalidParams, Want: "id must not be empty"},
	})
}

func metaIs(want string) func(*testing.T, domain.ToolResult) {
	return func(t *testing.T, res domain.ToolResult) {
		if got, err := json.Marshal(res.Meta); err != nil || string(got) != want {
			t.Errorf("_meta is %s, %v; want %s", got, err, want)
		}
	}
}

func hintHas(want string) func(*testing.T, domain.ToolResult) {
	return func(t *testing.T, res domain.ToolResult) {
		got, err := json.Marshal(res.Structured())
		if quoted, _ := json.Marshal(want); err != nil || !strings.Contains(string(got), strings.Trim(string(quoted), `"`)) {
			t.Errorf("structured content is %s, %v; want a hint with %s", got, err, want)
		}
	}
}

// TestPagesAreTheWhole reads a result back that the executor cut, as a model
// would: with the call the marker holds, until there is no next page.
func TestPagesAreTheWhole(t *testing.T) {
	for _, maxChars := range []int{200, 301, 1000, 0} {
		for name, whole := range map[string]string{
			"ascii": strings.Repeat("0123456789", 20_000),
			"wide":  strings.Repeat("日本語😀é", 12_000),
			"bytes": strings.Repeat("\xff\xfe", 40_000),
		} {
			if maxChars == 200 {
				whole = whole[:6000] // a page is a hundred bytes, and a call each
			}
			t.Run(fmt.Sprint(name, maxChars), func(t *testing.T) { readBack(t, whole, maxChars) })
		}
	}
}

func readBack(t *testing.T, whole string, maxChars int) {
	store := call.NewResultStore(domain.PageBytes(maxChars))
	defer store.Close()
	type none struct{}
	long := domain.Define(domain.Tool{Name: "long", Description: "Long."}, func(context.Context, none) (domain.ToolResult, error) {
		return domain.Text(whole), nil
	})
	registry, err := domain.NewRegistry(meta.ReadTool(store, nil), long)
	if err != nil {
		t.Fatal(err)
	}
	exec := call.NewExecutor(registry, store, domain.Settings{Limits: domain.Limits{MaxResultChars: maxChars}}, nil)
	call := func(tool, args string) domain.ToolResult {
		res, err := exec.Call(t.Context(), call.ExecuteToolCommand{
			Tool: tool, Arguments: json.RawMessage(args), Session: domain.Session{Principal: domain.Principal{ID: "ann", Name: "ann"}},
		})
		if err != nil || res.IsError {
			t.Fatalf("%s(%s): %v, %v", tool, args, res, err)
		}
		return res
	}
	_, marker, found := strings.Cut(tooltest.Text(call("long", `{}`)), `read_large_result(id="`)
	id, _, _ := strings.Cut(marker, `"`)
	if !found || id == "" {
		t.Fatal("the executor did not cut the result")
	}
	var all strings.Builder
	for page := 1; page != 0; {
		res := call("read_large_result", fmt.Sprintf(`{"id":%q,"page":%d}`, id, page))
		all.WriteString(res.Content[0].Text)
		if len(res.Content) != 2 || !strings.HasPrefix(res.Content[1].Text, fmt.Sprintf("\n[Page %d of ", page)) {
			t.Errorf("page %d: %q", page, res.Content[1:])
		}
		var m struct {
			Next int `json:"next_page"`
		}
		b, err := json.Marshal(res.Meta)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		page = m.Next
	}
	if all.String() != whole {
		t.Errorf("the pages come to %d bytes that differ from the whole, %d bytes", all.Len(), len(whole))
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := call.NewResultStore(100)
		defer store.Close()
		tool := meta.ReadTool(store, nil)
		args := fmt.Sprintf(`{"id":%q}`, store.Keep(domain.Principal{}, "text").ID)
		time.Sleep(call.KeptFor - time.Second)
		if res := tooltest.Call(t, tool, args); res.IsError || res.Content[0].Text != "text" {
			t.Errorf("before it expires: %v", res)
		}
		time.Sleep(2 * time.Second)
		if res := tooltest.Call(t, tool, args); res.ErrorType() != "unknown_id" {
			t.Errorf("after it has expired: %v", res)
		}
	})
}

// brokenFile is a kept result whose disk has failed.
type brokenFile struct{}

func (brokenFile) ReadAt([]byte, int64) (int, error) { return 0, fmt.Errorf("disk failure") }
func (brokenFile) Close() error                      { return nil }

func TestBrokenStore(t *testing.T) {
	store := call.NewResultStore(100)
	defer store.Close()
	id := store.KeepFile(domain.Principal{}, brokenFile{}, 1000).ID
	tooltest.Run(t, meta.ReadTool(store, nil), []tooltest.Case{
		{Name: "broken", Args: fmt.Sprintf(`{"id":%q}`, id), Code: domain.CodeExecutionFailed, Want: "disk failure"},
	})
}
