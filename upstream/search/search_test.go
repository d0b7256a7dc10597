package search

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// few are tools that are easily confused.
var few = []Tool{
	{Server: "code", Name: "create_issue", Description: "Create an issue in a repository of GitHub.",
		Schema: json.RawMessage(`{"properties":{"title":{},"labels":{}}}`)},
	{Server: "code", Name: "delete_issue", Description: "Delete an issue in a repository of GitHub."},
	{Server: "code", Name: "list_issues", Description: "List the issues of a repository of GitHub."},
	{Server: "code", Name: "get_issue", Description: "Read one issue of a repository of GitHub."},
	{Server: "code", Name: "list_pull_requests", Description: "List pull requests of a repository of GitHub."},
	{Server: "files", Name: "moveFile", Description: "Move a file or change its name."},
	{Server: "files", Name: "readFile", Description: "Return what is in a file."},
	{Server: "files", Name: "make_dir", Title: "New directory", Description: "Make a directory."},
	{Server: "shop", Name: "order_write", Description: "Operations on orders.", Schema: json.RawMessage(`{
		"$defs":{"op":{"oneOf":[{"const":"ship"},{"properties":{"kind":{"enum":["zeppelin"]}}}]}},
		"anyOf":[{"properties":{"tracking_number":{"type":"string","description":"Number of the parcel."}}}],
		"properties":{"op":{"$ref":"#/$defs/op"}}}`)},
	{Server: "wetter", Name: "forecast", Description: "Weather of the next days."},
	{Server: "doubt", Name: "long", Description: "Something else. " + strings.Repeat("It mentions an issue, a file, an order and a directory. ", 50)},
}

func TestSearchFinds(t *testing.T) {
	tools := slices.Clone(few)
	for _, tool := range readTools(t, "testdata/tools.json") {
		if slices.Contains([]string{"redis", "spotify", "figma", "home-assistant"}, tool.Server) {
			tools = append(tools, tool)
		}
	}
	ix := New(tools)
	for _, test := range []struct{ query, want string }{
		{"create issue", "create_issue"},
		{"please open a new ticket", "create_issue"},
		{"CREATE_ISSUE", "create_issue"},
		{"code__create_issue", "create_issue"},
		{"get rid of an issue", "delete_issue"},
		{"which issues are there?", "list_issues"},
		{"show me a bug", "get_issue"},
		{"list PRs", "list_pull_requests"},
		{"merge requests", "list_pull_requests"},
		{"pullrequests", "list_pull_requests"},
		{"git hub pull requests", "list_pull_requests"},
		{"move file", "moveFile"},
		{"rename a document", "moveFile"},
		{"read a document", "readFile"},
		{"mkdir", "make_dir"},
		{"new folder", "make_dir"},
		{"creat an isue", "create_issue"},        // spelling
		{"isssues lisst", "list_issues"},         // of both words
		{"Fehler löschen", "delete_issue"},       // German
		{"renommer un fichier", "moveFile"},      // French
		{"crear una carpeta", "make_dir"},        // Spanish
		{"создать папку", "make_dir"},            // Russian
		{"删除问题", "delete_issue"},                 // Chinese
		{"天気", "forecast"},                       // Japanese
		{"Dateiverzeichnis anlegen", "make_dir"}, // a compound
		{"tracking number", "order_write"},       // a parameter within anyOf
		{"zeppelin", "order_write"},              // an enum within $defs
		{"ship", "order_write"},                  // a const
		{"parcel", "order_write"},                // a description of a parameter
		{"issue", "get_issue"},
		{"a file", "readFile"}, // not the long description that mentions files most
	} {
		hits, got := ix.Search(test.query, Options{}).Hits, ""
		if len(hits) > 0 {
			got = tools[hits[0].Tool].Name
		}
		if got != test.want {
			t.Errorf("%q finds %q first, want %q", test.query, got, test.want)
		}
	}
}

func TestSearchFindsNothing(t *testing.T) {
	ix := New(few)
	for _, query := range []string{"", "   ", "the of and", "12345", "xqzvwk", "\xff\xfe", "💥", strings.Repeat("x", 10000)} {
		if r := ix.Search(query, Options{}); len(r.Hits) > 0 || !r.Weak {
			t.Errorf("%.20q finds %v", query, r)
		}
	}
	if r := New(nil).Search("create an issue", Options{Files: []string{"a.pdf"}}); len(r.Hits) > 0 || !r.Weak {
		t.Errorf("no tools: %v", r)
	}
}

func TestOptions(t *testing.T) {
	ix := New(few)
	for _, h := range ix.Search("issue or file", Options{Server: "FILES"}).Hits {
		if few[h.Tool].Server != "files" {
			t.Errorf("found %s, which is of another server", few[h.Tool].Name)
		}
	}
	if n := len(ix.Search("issue", Options{Limit: 2}).Hits); n != 2 {
		t.Errorf("limit 2 gives %d hits", n)
	}
	if r := ix.Search("issue", Options{Server: "nobody"}); len(r.Hits) > 0 || len(r.Narrow) > 0 {
		t.Errorf("no such server: %v", r)
	}
}

// What a caller may not know must not show: an index with tools that are not kept
// answers as one without them.
func TestKeepHides(t *testing.T) {
	tools := readTools(t, "testdata/tools.json")
	var questions []question
	readJSON(t, "testdata/paraphrases.json", &questions)
	for _, query := range []string{"playwrigth brwser", "github grafana stripe memory", "x.pdf"} {
		questions = append(questions, question{Query: query})
	}
	whole := New(tools)
	for _, keep := range []func(i int) bool{
		func(i int) bool { return i%2 == 0 },
		func(i int) bool { return tools[i].Server != "github" && tools[i].Server != "playwright" },
		func(i int) bool { return tools[i].Server == "gmail" },
		func(int) bool { return false },
	} {
		var some []Tool
		var place []int
		for i := range tools {
			if keep(i) {
				some, place = append(some, tools[i]), append(place, i)
			}
		}
		part := New(some)
		for _, q := range questions {
			o := Options{Limit: 30, Files: []string{"a.csv"}}
			want := part.Search(q.Query, o)
			for i := range want.Hits {
				want.Hits[i].Tool = place[want.Hits[i].Tool]
			}
			o.Keep = keep
			if got := whole.Search(q.Query, o); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: with hidden tools\n%v\nwithout them\n%v", q.Query, got, want)
			}
		}
	}
}

func TestSearchIsConcurrent(t *testing.T) {
	ix := New(few)
	want := ix.Search("open a ticket", Options{})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				if got := ix.Search("open a ticket", Options{}); !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
	wait.Wait()
}

func TestHelp(t *testing.T) {
	ix := New(few)
	r := ix.Search("frobnicate the isue", Options{})
	if want := []Guess{{"frobnicate", ""}, {"isue", "issue"}}; !reflect.DeepEqual(r.Unknown, want) {
		t.Errorf("unknown words %v, want %v", r.Unknown, want)
	}
	if len(r.Hits) == 0 || !slices.Contains(r.Narrow, "list") || slices.Contains(r.Narrow, "issue") {
		t.Errorf("%v does not tell issues apart", r)
	}
	if r := ix.Search("photosynthesis entanglement of an order", Options{}); !r.Weak || len(r.Hits) == 0 {
		t.Errorf("%v is no near miss", r)
	}
	if r := ix.Search("list pull requests", Options{}); r.Weak || len(r.Unknown) > 0 || len(r.Narrow) > 0 {
		t.Errorf("%v is not convincing", r)
	}
	twins := New([]Tool{{Server: "red", Name: "send_mail"}, {Server: "blue", Name: "send_mail"}})
	if r := twins.Search("send mail", Options{}); !slices.Equal(r.Narrow, []string{"red", "blue"}) {
		t.Errorf("narrow by %v", r.Narrow)
	}
}

// Whatever an upstream sends, it costs only its own place.
func TestHostileTools(t *testing.T) {
	deep := strings.Repeat(`{"anyOf":[`, 500) + `{}` + strings.Repeat(`]}`, 500)
	wide := `{"properties":{`
	for i := range 5000 {
		wide += fmt.Sprintf(`"issue%d":{"enum":["create","delete"],"description":"create issue"},`, i)
	}
	hostile := []Tool{
		{Server: "x", Name: "a", Schema: json.RawMessage(deep)},
		{Server: "x", Name: "b", Schema: json.RawMessage(wide + `"z":{}}}`)},
		{Server: "x", Name: "c", Schema: json.RawMessage(`{"properties":`)},
		{Server: "x", Name: "d", Schema: json.RawMessage(`[1,2]`)},
		{Server: "x", Name: "e", Description: strings.Repeat("create issue ", 1<<17)},
		{Server: "", Name: ""},
		{Server: "\xff", Name: "\xff\x00", Description: "\xc3"},
	}
	ix := New(append(hostile, few...))
	hits := ix.Search("create an issue", Options{Limit: 20}).Hits
	if len(hits) == 0 || hits[0].Tool != len(hostile) {
		t.Errorf("hits %v, want %d first", hits, len(hostile))
	}
}

// A model that knows the name of a tool finds it.
func TestSearchFindsNames(t *testing.T) {
	tools := readTools(t, "testdata/tools.json")
	ix := New(tools)
	for i, tool := range tools {
		for _, query := range []string{tool.Server + "__" + tool.Name, tool.Server + " " + tool.Name, tool.Name} {
			hits := ix.Search(query, Options{Limit: 1}).Hits
			if len(hits) == 0 || hits[0].Tool != i && (query != tool.Name || letters(tools[hits[0].Tool].Name) != letters(tool.Name)) {
				t.Errorf("%q does not find its tool first, but %v", query, tools[hits[0].Tool].Name)
			}
		}
	}
}

func FuzzSearch(f *testing.F) {
	for _, query := range []string{"create issue", "什么", `"a b" https://x.test/y.pdf A-1 #2 @me 1.5,2.5`, "\xff", "Dateiverzeichnis", "'"} {
		f.Add(query, "a.pdf")
	}
	ix := New(few)
	f.Fuzz(func(t *testing.T, query, file string) {
		r := ix.Search(query, Options{Files: []string{file}})
		for i, h := range r.Hits {
			if !(h.Score > 0) || i > 0 && h.Score > r.Hits[i-1].Score {
				t.Errorf("%q: hits out of order: %v", query, r.Hits)
			}
		}
		if again := ix.Search(query, Options{Files: []string{file}}); !reflect.DeepEqual(r, again) {
			t.Errorf("%q: %v, then %v", query, r, again)
		}
	})
}
