package websearch_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/search"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestConformance holds every service to the same behaviour. They all search the same corpus.
func TestConformance(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			for _, c := range answers() {
				t.Run(c.Name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						tool, _ := inProcess(t, fake.Options{}, name)
						compare(t, tool, c)
					})
				})
			}
			for _, c := range troubles {
				t.Run(string(c.trouble), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { c.run(t, name) })
				})
			}
		})
	}
}

// numbered returns the text of the results that have numbers.
func numbered(query, site string, from, to int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Search: \"%s\"\nResults: %d\n", query, to-from+1)
	for n := from; n <= to; n++ {
		fmt.Fprintf(&b, "\n%d. Page %d of %s\n   https://%s.example/%d\n   Page %d is about %s.\n", n-from+1, n, site, site, n, n, site)
	}
	return b.String()
}

// more returns a check of what follows the results.
func more(want bool) func(*testing.T, domain.ToolResult) {
	return func(t *testing.T, res domain.ToolResult) {
		if out := structured(t, res); out.More != want {
			t.Errorf("more_available is %v; want %v", out.More, want)
		}
	}
}

// answers are the calls that every service has the same results for.
func answers() []tooltest.Case {
	return []tooltest.Case{
		{Name: "first page", Args: `{"query":"many"}`, Exact: numbered("many", "many", 1, 5), Check: more(true)},
		{Name: "second page", Args: `{"query":"many","page":1}`, Exact: numbered("many", "many", 6, 10), Check: more(true)},
		{Name: "fourth page of four", Args: `{"query":"many","count":4,"page":3}`, Exact: numbered("many", "many", 13, 16), Check: more(true)},
		{Name: "count 1", Args: `{"query":"many","count":1}`, Exact: numbered("many", "many", 1, 1), Check: more(true)},
		{Name: "count 19", Args: `{"query":"many","count":19}`, Exact: numbered("many", "many", 1, 19), Check: more(true)},
		{Name: "count 20", Args: `{"query":"many","count":20}`, Exact: numbered("many", "many", 1, 20)},
		{Name: "count 0", Args: `{"query":"many","count":0}`, Exact: numbered("many", "many", 1, 1)},
		{Name: "count -3", Args: `{"query":"many","count":-3}`, Exact: numbered("many", "many", 1, 1)},
		{Name: "count 99", Args: `{"query":"many","count":99}`, Exact: numbered("many", "many", 1, 20)},
		{Name: "count in quotes", Args: `{"query":"many","count":"2"}`, Exact: numbered("many", "many", 1, 2)},
		{Name: "count 2.5", Args: `{"query":"many","count":2.5}`, Code: domain.CodeInvalidParams, Want: "count"},
		{Name: "page -1", Args: `{"query":"many","page":-1}`, Code: domain.CodeInvalidParams, Want: "page"},
		{Name: "page 10", Args: `{"query":"many","page":10}`, Code: domain.CodeInvalidParams, Want: "page"},
		{Name: "few", Args: `{"query":"few"}`, Exact: numbered("few", "few", 1, 3), Check: more(false)},
		{Name: "last page", Args: `{"query":"few","count":2,"page":1}`, Exact: numbered("few", "few", 3, 3), Check: more(false)},
		{Name: "exactly all", Args: `{"query":"few","count":3}`, Exact: numbered("few", "few", 1, 3), Check: more(false)},
		{Name: "beyond the last page", Args: `{"query":"few","count":3,"page":3}`, Exact: "No results found for: few", Check: more(false)},
		{Name: "nothing", Args: `{"query":"nothing"}`, Exact: "No results found for: nothing", Check: more(false)},
		{Name: "trimmed", Args: `{"query":" \n\tfew\u0000 "}`, Exact: numbered("few", "few", 1, 3)},
		{Name: "empty query", Args: `{"query":""}`, ErrorType: "invalid_query", Exact: "Error: query must not be empty"},
		{Name: "blank query", Args: `{"query":" \n "}`, ErrorType: "invalid_query", Exact: "Error: query must not be empty"},
		{Name: "no query", Args: `{}`, Code: domain.CodeInvalidParams, Want: "query"},
		{Name: "unicode", Args: `{"query":"unicode"}`, Exact: "Search: \"unicode\"\nResults: 3\n" +
			"\n1. 日本語の検索 🔍\n   https://例え.example/検索?q=ü\n   Grüße aus Zürich — naïve café, עברית, العربية\n" +
			"\n2. evil gnp.exe title\n   https://example.com/bidi\n   zerowidth and isolates\n" +
			"\n3. e\u0301 combining\n   https://example.com/%E2%82%AC\n   𝔘𝔫𝔦𝔠𝔬𝔡𝔢\n"},
		{Name: "markup", Args: `{"query":"markup"}`, Exact: "Search: \"markup\"\nResults: 4\n" +
			"\n1. Tom & Jerry: \"if a < b && b > c\"\n   https://example.com/a?x=1&y=2\n   Why &amp; is written &amp;amp; in HTML\n" +
			"\n2. Use of the <b> tag\n   https://example.com/b\n   <script>alert(1)</script> is how it starts\n" +
			"\n3. A bold title\n   https://example.com/c\n   line one line two end !\n" +
			"\n4. https://example.com/untitled\n   https://example.com/untitled\n"},
		{Name: "twins", Args: `{"query":"twins"}`, Exact: "Search: \"twins\"\nResults: 2\n" +
			"\n1. One\n   https://example.com/page\n   the first\n\n2. Another\n   https://example.com/page?id=2\n   not the same\n"},
		{Name: "schemes", Args: `{"query":"schemes","count":20}`, Exact: "Search: \"schemes\"\nResults: 2\n" +
			"\n1. good\n   https://example.com/good\n   x\n\n2. plain\n   http://example.com/plain\n   x\n"},
		{Name: "no bang", Args: `{"query":"!g few"}`, Wants: []string{"Search: \"!g few\"\nResults: 5\n"}},
		{Name: "long query", Args: `{"query":"` + strings.Repeat("ü ", 300) + `"}`, Wants: []string{"Results: 5\n", "ü ü"}, Check: func(t *testing.T, res domain.ToolResult) {
			if q := structured(t, res).Query; len([]rune(q)) != 399 { // the 400th is a blank
				t.Errorf("the query has %d characters", len([]rune(q)))
			}
		}},
		{Name: "of the last week", Args: `{"query":"few","freshness":"week"}`, Exact: numbered("few", "few", 1, 3)},
		{Name: "any age", Args: `{"query":"few","freshness":"","country":""}`, Exact: numbered("few", "few", 1, 3)},
		{Name: "old", Args: `{"query":"few","freshness":"decade"}`, Code: domain.CodeInvalidParams, Want: "freshness"},
		{Name: "no such day", Args: `{"query":"few","freshness":"2026-02-01to2026-02-30"}`, ErrorType: "invalid_query", Want: "there is no day 2026-02-30"},
		{Name: "backwards", Args: `{"query":"few","freshness":"2026-02-02to2026-02-01"}`, ErrorType: "invalid_query", Want: "the first day comes after the last"},
		{Name: "country", Args: `{"query":"few","country":"de"}`, Exact: numbered("few", "few", 1, 3)},
		{Name: "the United Kingdom", Args: `{"query":"few","country":"uk"}`, Exact: numbered("few", "few", 1, 3)},
		{Name: "no country", Args: `{"query":"few","country":"XX"}`, ErrorType: "unsupported_option", Want: "cannot search with country=XX"},
		{Name: "not a country", Args: `{"query":"few","country":"Germany"}`, Code: domain.CodeInvalidParams, Want: "country"},
		{Name: "no such safe search", Args: `{"query":"few","safesearch":"max"}`, Code: domain.CodeInvalidParams, Want: "safesearch"},
	}
}

// about is the description of a numbered page.
var about = regexp.MustCompile(`   Page \d+ is about \w+\.\n`)

// complete adds to a text what differs between services: the dates of pages, which Tavily does not tell, and whether there are
// more.
func complete(text string, out output) string {
	if out.Provider != "tavily" {
		text = about.ReplaceAllString(text, "$0   Date: 2026-10-01\n")
	}
	var notes []string
	if out.Page > 0 {
		notes = append(notes, fmt.Sprintf("This is page=%d.", out.Page))
	}
	if out.More {
		notes = append(notes, fmt.Sprintf("For more results call again with page=%d.", out.Page+1))
	}
	if notes != nil {
		text += "\n[" + strings.Join(notes, " ") + "]"
	}
	return text
}

// compare makes one call, which [tooltest.Run] cannot do in a bubble of synctest, where there are no subtests.
func compare(t *testing.T, tool domain.Tool, c tooltest.Case) {
	t.Helper()
	res, err := runSearch(t.Context(), t, tooltest.Executor(t, tool), c.Args)
	text := tooltest.Text(res)
	if err != nil {
		text = err.Error()
	} else {
		tooltest.Verify(t, tool, res)
	}
	if domain.CodeOf(err) != c.Code || res.ErrorType() != c.ErrorType {
		t.Fatalf("%s: code %d, error type %q; want %d, %q; it says:\n%s", c.Args, domain.CodeOf(err), res.ErrorType(), c.Code, c.ErrorType, text)
	}
	if c.Exact != "" && c.ErrorType == "" {
		c.Exact = complete(c.Exact, structured(t, res))
	}
	if c.Exact != "" && text != c.Exact {
		t.Errorf("%s:\n got %q\nwant %q", c.Args, text, c.Exact)
	}
	for _, want := range append(c.Wants, c.Want) {
		if !strings.Contains(text, want) {
			t.Errorf("%s:\n got %q\nwant something with %q", c.Args, text, want)
		}
	}
	if c.Check != nil {
		c.Check(t, res)
	}
}

// A troubleCase is what a call comes to when a service goes wrong.
type troubleCase struct {
	trouble   fake.Trouble
	errorType map[string]string // by service; "" is for the others
	want      string
}

func all(errorType string) map[string]string { return map[string]string{"": errorType} }

var troubles = []troubleCase{
	{fake.BadJSON, all("bad_answer"), "sent something else than search results"},
	{fake.OtherJSON, all("bad_answer"), "sent something else than search results"},
	{fake.Page, all("blocked"), "it sent a page for people"},
	{fake.Forbidden, map[string]string{"": "blocked", "searxng": "http_status"}, ""},
	{fake.Broken, all("http_status"), "Error: HTTP 500 from "},
	{fake.BrokenOnce, all(""), "Results: 3"},
	{fake.Overloaded, all("overloaded"), "Error: HTTP 503 from "},
	{fake.Redirect, all("http_status"), "Error: HTTP 302 from "},
	{fake.Large, all("too_large"), "more than 4194304 bytes"},
	{fake.Hang, all("timed_out"), "Error: Search request timed out"},
	{fake.Drip, all("timed_out"), "Error: Search request timed out"},
}

func (c troubleCase) run(t *testing.T, name string) {
	tool, fakes := inProcess(t, fake.Options{}, name)
	fakes[name].SetTrouble(c.trouble)
	began := time.Now()
	res := tooltest.Call(t, tool, `{"query":"few"}`)
	want, ok := c.errorType[name]
	if !ok {
		want = c.errorType[""]
	}
	text := tooltest.Text(res)
	if res.ErrorType() != want || !strings.Contains(text, c.want) {
		t.Errorf("%s: %q; want %s with %q", res.ErrorType(), text, want, c.want)
	}
	if want != "" && !strings.HasPrefix(text, "Error: ") {
		t.Errorf("it does not begin with Error: %q", text)
	}
	if strings.ContainsAny(text, "<>") {
		t.Errorf("markup in %q", text)
	}
	structured(t, res)
	if took := time.Since(began); took > 31*time.Second {
		t.Errorf("it took %v", took)
	}
}
