package domain

import (
	"encoding/json"
	"testing"

	"github.com/toolserver/toolserver/domain/schema"
)

// TestPeople has lists of people in the forms of other APIs stand for texts with commas.
func TestPeople(t *testing.T) {
	type input struct {
		To string `json:"to" list:"true" doc:"People."`
	}
	schema := schema.Of[input]()
	for form, want := range map[string]string{
		`"a@x.org"`:                    "a@x.org",
		`["a@x.org","b@x.org"]`:        "a@x.org, b@x.org",
		`"[\"a@x.org\", \"b@x.org\"]"`: "a@x.org, b@x.org",
		`{"email":"a@x.org"}`:          "a@x.org",
		`[{"emailAddress":"a@x.org","displayName":"Li, Bo","optional":true},"b@x.org"]`: `"Li, Bo" <a@x.org> (optional), b@x.org`,
		`[{"email":"a@x.org","responseStatus":"needsAction","optional":false}]`:         "a@x.org",
		`[{"email":"a@x.org","responseStatus":"accepted"}]`:                             "",
		`[{"name":"Bo"}]`:       "",
		`[["a@x.org"]]`:         "",
		`"[no list"`:            "",
		`"[{\"phone\":\"1\"}]"`: "",
	} {
		args, err := schema.Arguments(json.RawMessage(`{"to":` + form + `}`))
		if got, _ := args["to"].(string); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v; want %q", form, got, err, want)
		}
	}
}
