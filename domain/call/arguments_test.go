package call

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
)

type rangeInput struct {
	From int `json:"from" min:"0" doc:"First."`
	To   int `json:"to,omitempty" doc:"Last."`
}

type searchInput struct {
	Query  string            `json:"query" min:"1" max:"400" doc:"What to look for, in words."`
	Count  int               `json:"count" default:"5" min:"1" max:"20" doc:"How many results."`
	Sites  []string          `json:"sites,omitempty" max:"3" doc:"Only these sites."`
	Safe   bool              `json:"safe" default:"true" doc:"Leave out adult content."`
	Sort   string            `json:"sort" default:"relevance" enum:"relevance|date" doc:"Order."`
	Ratio  *float64          `json:"ratio" doc:"A ratio."`
	Ranges []rangeInput      `json:"ranges,omitempty" doc:"Ranges."`
	Env    map[string]string `json:"env,omitempty" doc:"Environment."`
}

// run executes tool once with args, alone in a registry.
func run(t *testing.T, tool domain.Tool, args string) (domain.ToolResult, error) {
	t.Helper()
	registry, err := domain.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	exec := NewExecutor(registry, NewResultStore(domain.PageBytes(0)), domain.Settings{}, nil)
	return exec.Call(t.Context(), ExecuteToolCommand{Tool: tool.Name, Arguments: json.RawMessage(args)})
}

func TestArguments(t *testing.T) {
	var got searchInput
	tool := domain.Define(domain.Tool{Name: "search", Description: "Searches."}, func(_ context.Context, in searchInput) (domain.ToolResult, error) {
		got = in
		return domain.Text("ok"), nil
	})
	const defaults = `"safe":true,"sort":"relevance","ratio":null}`
	for _, test := range []struct {
		args string
		want string // the input as the handler gets it, as JSON
		err  string // or the whole message
	}{
		{args: `{"query":"go"}`, want: `{"query":"go","count":5,` + defaults},
		{args: `{"query":"go","count":"7"}`, want: `{"query":"go","count":7,` + defaults},
		{args: `{"query":"go","count":7.0}`, want: `{"query":"go","count":7,` + defaults},
		{args: `{"query":"go","count":1e1}`, want: `{"query":"go","count":10,` + defaults},
		{args: `{"query":"go","count":null,"sites":null}`, want: `{"query":"go","count":5,` + defaults},
		{args: `{"query":"go","safe":"false"}`, want: `{"query":"go","count":5,"safe":false,"sort":"relevance","ratio":null}`},
		{args: `{"query":"go","ratio":1.5}`, want: `{"query":"go","count":5,"safe":true,"sort":"relevance","ratio":1.5}`},
		{args: `{"query":"go","sites":["a","b"]}`, want: `{"query":"go","count":5,"sites":["a","b"],` + defaults},
		{args: `{"query":"go","ranges":[{"from":"3"}],"env":{"A":"b"}}`,
			want: `{"query":"go","count":5,"safe":true,"sort":"relevance","ratio":null,"ranges":[{"from":3}],"env":{"A":"b"}}`},

		{args: `{"query":"go","sites":"a"}`, want: `{"query":"go","count":5,"sites":["a"],` + defaults},
		{args: `{"query":"go","sites":"[\"a\",\"b\"]"}`, want: `{"query":"go","count":5,"sites":["a","b"],` + defaults},
		{args: `{"query":"go","ranges":{"from":1},"env":"{\"A\":\"b\"}"}`,
			want: `{"query":"go","count":5,"safe":true,"sort":"relevance","ratio":null,"ranges":[{"from":1}],"env":{"A":"b"}}`},
		{args: `{"query":"go","ranges":"{\"from\":\"1\"}","safe":"True"}`, want: `{"query":"go","count":5,"safe":true,"sort":"relevance","ratio":null,"ranges":[{"from":1}]}`},
		{args: `"{\"query\":\"go\"}"`, want: `{"query":"go","count":5,` + defaults},
		{args: `{"query":"[1]"}`, want: `{"query":"[1]","count":5,` + defaults}, // a string where one is wanted
		{args: `{"QUERY":"go","count":"7"}`, want: `{"query":"go","count":7,` + defaults},

		{args: `{}`, err: `search: query is required`},
		{args: `{"query":["go"]}`, err: `search: query must be a string, not an array`},
		{args: `{"query":"go","sites":"['a', 'b']"}`, err: `search: sites must be an array, not the string "['a', 'b']"`},
		{args: `{"query":"go","sites":""}`, err: `search: sites must be an array, not the string ""`},
		{args: `{"query":"go","sites":1}`, err: `search: sites must be an array, not 1`},
		{args: `{"query":"go","ranges":"[{\"from\":1,\"to\":2}` + strings.Repeat(" ", 100) + `"}`, err: `search: ranges must be an array, not a string of 118 bytes`},
		{args: ``, err: `search: query is required`},
		{args: `null`, err: `search: query is required`},
		{args: `{"query":null}`, err: `search: query must be a string, not null`},
		{args: `[]`, err: `search: arguments must be an object, not an array`},
		{args: `"x"`, err: `search: arguments must be an object, not the string "x"`},
		{args: `{`, err: `search: arguments are not JSON at byte 1: expected a string`},
		{args: `{"query":""}`, err: `search: query must not be empty`},
		{args: `{"query":7}`, err: `search: query must be a string, not 7`},
		{args: `{"query":"go","count":21}`, err: `search: count must be at most 20, not 21`},
		{args: `{"query":"go","count":0}`, err: `search: count must be at least 1, not 0`},
		{args: `{"query":"go","count":1.5}`, err: `search: count must be an integer, not 1.5`},
		{args: `{"query":"go","count":"many"}`, err: `search: count must be an integer, not the string "many"`},
		{args: `{"query":"go","sites":[1]}`, err: `search: sites[0] must be a string, not 1`},
		{args: `{"query":"go","sites":["a","b","c","d"]}`, err: `search: sites must have at most 3 items, not 4`},
		{args: `{"query":"go","sort":"dat"}`, err: `search: sort must be one of relevance, date, not the string "dat"; did you mean date?`},
		{args: `{"query":"go","cuont":1}`, err: `search: cuont is not a known argument; did you mean count?`},
		{args: `{"q":"go","to":1,"head_limit":2}`, err: `search: head_limit is not a known argument; known: query, count, sites, safe, sort, ratio, ranges, env; q is not a known argument; query is required; to is not a known argument; did you mean ranges[].to?`},
		{args: `{"query":"go","yyy":1,"zzz":1}`, err: `search: yyy is not a known argument; known: query, count, sites, safe, sort, ratio, ranges, env; zzz is not a known argument`},
		{args: `{"query":"go","zzz":1}`, err: `search: zzz is not a known argument; known: query, count, sites, safe, sort, ratio, ranges, env`},
		{args: `{"query":"go","ranges":[{"from":1},{"form":2}]}`,
			err: `search: ranges[1].form is not a known argument; did you mean from?; ranges[1].from is required`},
		{args: `{"query":"go","env":{"A":1}}`, err: `search: env.A must be a string, not 1`},
		{args: `{"query":"go","ranges":[{"from":99999999999999999999}]}`, err: `search: ranges: 0: from: 99999999999999999999 is too large`},
	} {
		got = searchInput{}
		_, err := run(t, tool, test.args)
		if test.err != "" {
			if domain.CodeOf(err) != domain.CodeInvalidParams || err.Error() != test.err {
				t.Errorf("%s\n got %v\nwant %s", test.args, err, test.err)
			}
			continue
		}
		if b, _ := json.Marshal(got); err != nil || string(b) != test.want {
			t.Errorf("%s\n got %s, error %v\nwant %s", test.args, b, err, test.want)
		}
	}
}

func TestInvalidArgumentsData(t *testing.T) {
	tool := domain.Define(domain.Tool{Name: "search", Description: "Searches."}, func(context.Context, searchInput) (domain.ToolResult, error) { return domain.Text(""), nil })
	_, err := run(t, tool, `{"count":0}`)
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		t.Fatal(err)
	}
	b, _ := json.Marshal(e.Envelope())
	want := `{"error_type":"invalid_arguments","fields":[{"field":"count","problem":"must be at least 1, not 0"},{"field":"query","problem":"is required"}],` +
		`"next_action_hint":"Correct the arguments named in the message and call search again.","tool":"search"}`
	if string(b) != want {
		t.Errorf("got %s\nwant %s", b, want)
	}
}
