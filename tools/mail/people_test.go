package mail

import (
	"fmt"
	"testing"
)

func TestParsePeople(t *testing.T) {
	for text, want := range map[string]string{
		``:                             "[]",
		`a@x.org, Bo Li <b@x.org>`:     "[{ a@x.org false} {Bo Li b@x.org false}]",
		`["a@x.org","B <b@x.org>"]`:    "[{ a@x.org false} {B b@x.org false}]",
		`[{"email":"a@x.org"}]`:        "[{ a@x.org false}]",
		`[{"emailAddress":"a@x.org"}]`: "[{ a@x.org false}]",
		`["a@x.org",{"email":"b@x.org","displayName":"Li, Bo","optional":true,"responseStatus":"needsAction"}]`: "[{ a@x.org false} {Li, Bo b@x.org true}]",
		`[{"email":"a@x.org","name":"x\r\nBcc: e@x.org"}]`:                                                      "[] invalid",
		`[{"email":"a@x.org","responseStatus":"accepted"}]`:                                                     "[] invalid",
		`[{"email":"a@x.org","resource":true}]`:                                                                 "[] invalid",
		`[{"name":"A"}]`:                                                                                        "[] invalid",
		`[7]`:                                                                                                   "[] invalid",
		`[["a@x.org"]]`:                                                                                         "[] invalid",
		`[{"email":"a@x.org, b@x.org","name":"A"}]`:                                                             "[] invalid",
	} {
		people, err := ParsePeople("to", text)
		got := fmt.Sprint(people)
		if err != nil {
			got += " invalid"
		}
		if got != want {
			t.Errorf("%s: %s (%v); want %s", text, got, err, want)
		}
	}
}
