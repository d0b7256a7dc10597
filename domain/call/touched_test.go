package call

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
)

// TestTouched checks what the record of a call says that it touched, and when it is told that a call begins.
func TestTouched(t *testing.T) {
	type in struct {
		Path  string   `json:"path,omitempty" doc:"A."`
		URL   string   `json:"url,omitempty" doc:"A."`
		To    []string `json:"to,omitempty" doc:"A."`
		Dry   bool     `json:"dry,omitempty" doc:"A."`
		Words string   `json:"words,omitempty" doc:"A."`
	}
	define := func(name string, a domain.Annotations, r domain.ToolResult) domain.Tool {
		return domain.Define(domain.Tool{Name: name, Description: "d", Annotations: a, Target: []string{"path", "url", "to", "dry"}}, func(context.Context, in) (domain.ToolResult, error) { return r, nil })
	}
	made := domain.Text("t")
	made.Made = map[string][]string{"id": {"1", "sk-12345678", ""}}
	made.Refused = []domain.Refusal{{Reason: "sk-12345678 is refused"}}
	off := define("off", domain.Annotations{}, domain.Text(""))
	off.Disabled = true
	secret := define("staff", domain.Annotations{}, domain.Text(""))
	secret.Groups = []string{"staff"}
	explained := define("explained", domain.Annotations{}, domain.Failure("denied", "not this", "hint"))
	explained.Explain = func(_ context.Context, args domain.Arguments) (domain.Explanation, error) {
		return domain.Explanation{Rule: "the rule", Reason: fmt.Sprint("because of ", args["path"])}, nil
	}
	for _, test := range []struct{ name, args, target, made, refused, begun string }{
		{"reads", `{"path":"a sk-12345678","words":"secret words"}`, "map[path:[a [redacted]]]", "map[]", "[]", ""},
		{"fetches", `{"url":"https://me:pass@x/"}`, "map[url:[https://%5Bredacted%5D@x/]]", "map[]", "[]", "fetches"},
		{"writes", `{"to":["a","b"],"dry":true}`, "map[dry:[true] to:[a b]]", "map[id:[1 [redacted]]]", "[{   [redacted] is refused}]", "writes"},
		{"off", `{"path":"a"}`, "map[path:[a]]", "map[]", `[{tools.off.enabled   tool "off" is disabled in the server's configuration}]`, ""},
		{"staff", `{"path":"a"}`, "map[path:[a]]", "map[]", "[{tools.staff.groups   staff is not for : its groups or its compliance level exclude them}]", ""},
		{"explained", `{"path":"a"}`, "map[path:[a]]", "map[]", "[{the rule   because of a}]", "explained"},
		{"none", `{"path":"a"}`, "map[]", "map[]", "[]", ""},
		{"reads", `{"path":5}`, "map[]", "map[]", "[]", ""},
	} {
		var rec Record
		exec := executor(t, domain.Settings{Secrets: []string{"sk-12345678"}}, func(r *Record) { rec = *r },
			define("reads", domain.Annotations{ReadOnly: true, Idempotent: true}, domain.Text("")), define("fetches", domain.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true}, domain.Text("")),
			define("writes", domain.Annotations{}, made), off, secret, explained)
		begun := ""
		exec.Begun = func(r *Record) error { begun += r.Tool; return nil }
		_, err := exec.Call(t.Context(), ExecuteToolCommand{Tool: test.name, Arguments: json.RawMessage(test.args)})
		got := fmt.Sprintf("%v %v %v %s", rec.Target, rec.Made, rec.Refused, begun)
		if want := fmt.Sprintf("%s %s %s %s", test.target, test.made, test.refused, test.begun); got != want {
			t.Errorf("%s %s: %s\nwant %s", test.name, test.args, got, want)
		}
		if err != nil && strings.Contains(err.Error(), "groups") {
			t.Errorf("the caller learns of the tool: %v", err)
		}
	}
}
