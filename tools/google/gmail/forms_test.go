package gmail

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestForms gives each list in every form that models write lists in.
func TestForms(t *testing.T) {
	s := serve(t)
	tools := s.tools(t)
	held, _ := box(t, sandbox.Policy{}, map[string]string{"a.txt": "a", "b.txt": "b", "one, two.txt": "c"})
	var got map[string]any
	for _, c := range []struct {
		field string
		more  string // other arguments
		forms []string
		want  string
	}{
		{field: "to", more: `"body":"x"`, forms: []string{`"a@x.example, Bo <b@x.example>"`, `["a@x.example","Bo <b@x.example>"]`, `"[\"a@x.example\",\"Bo <b@x.example>\"]"`,
			`[{"email":"a@x.example"},{"name":"Bo","email":"b@x.example"}]`, `["a@x.example",{"name":"Bo","address":"b@x.example"}]`}, want: "[a@x.example b@x.example]"},
		{field: "cc", more: `"to":"me@x.example","body":"x"`, forms: []string{`"a@x.example"`, `["a@x.example"]`, `{"name":"A","email":"a@x.example"}`, `"[{\"email\":\"a@x.example\"}]"`}, want: "[a@x.example]"},
		{field: "bcc", more: `"to":"me@x.example","body":"x"`, forms: []string{`"a@x.example"`, `["a@x.example"]`, `{"email":"a@x.example"}`}, want: "[a@x.example]"},
		{field: "attachments", more: `"to":"me@x.example","body":"x"`, forms: []string{`"a.txt,b.txt"`, `"a.txt, b.txt"`, `["a.txt","b.txt"]`, `"[\"a.txt\",\"b.txt\"]"`, `[{"path":"a.txt"},{"path":"b.txt"}]`}, want: "a.txt b.txt"},
		{field: "attachments", more: `"to":"me@x.example","body":"x"`, forms: []string{`["one, two.txt"]`, `"[\"one, two.txt\"]"`}, want: "one, two.txt"},
	} {
		for _, form := range c.forms {
			composer := &composer{toolset: tools, tool: sendName, failing: sendFailing, files: held.For(sendName).Reader(), recipients: held.For(sendName).Recipients()}
			res, err := run(t, tools.sendTool(held.For(sendName)), func(ctx context.Context, in sendInput) (domain.ToolResult, error) {
				out, err := composer.compose(ctx, in.composeInput)
				if err != nil {
					return domain.ToolResult{}, err
				}
				var names []string
				for _, a := range out.Attachments {
					names = append(names, a.Name)
				}
				got = map[string]any{"to": fmt.Sprint(addresses(out.to)), "cc": fmt.Sprint(addresses(out.cc)), "bcc": fmt.Sprint(addresses(out.bcc)), "attachments": fmt.Sprint(names)}
				return out.result("", sendResult{}), nil
			}, `{"`+c.field+`":`+form+`,`+c.more+`}`)
			want := c.want
			if c.field == "attachments" {
				want = "[" + c.want + "]"
			}
			if err != nil || res.IsError || got[c.field] != want {
				t.Errorf("%s %s: %v %s; got %v", c.field, form, err, tooltest.Text(res), got[c.field])
			}
		}
	}
	for _, form := range []string{`"INBOX,UNREAD"`, `"INBOX, UNREAD"`, `["INBOX","UNREAD"]`, `"[\"INBOX\",\"UNREAD\"]"`, `[{"id":"INBOX"},{"id":"UNREAD"}]`} {
		if _, err := s.search(t, `{"query":"x","labelIds":`+form+`}`); err != nil || !strings.Contains(s.query(-1), "labelIds=INBOX&labelIds=UNREAD") {
			t.Errorf("labelIds %s: %v %s", form, err, s.query(-1))
		}
	}
	s.put("a1", "", "Subject", "x")
	s.put("a2", "", "Subject", "x")
	for _, form := range []string{`"a1,a2"`, `"a1, a2"`, `["a1","a2"]`, `"[\"a1\",\"a2\"]"`, `[{"id":"a1"},{"id":"a2"}]`} {
		for _, label := range []string{`"Travel,UNREAD"`, `["travel","UNREAD"]`, `"[\"Travel\",\"UNREAD\"]"`, `[{"name":"Travel"},{"id":"UNREAD"}]`} {
			s.messages["a1"].LabelIds, s.messages["a2"].LabelIds = nil, nil
			res, err := run(t, tools.made(modifyName), tools.modify, `{"messageIds":`+form+`,"add":`+label+`}`)
			if err != nil || res.IsError || len(s.messages["a2"].LabelIds) != 2 {
				t.Errorf("messageIds %s, add %s: %v %s", form, label, err, tooltest.Text(res))
			}
		}
	}
	for _, form := range []string{`"m1"`, `["m1"]`, `"[\"m1\"]"`, `"m1,m2"`, `["m1","m2"]`, `"[\"m1\",\"m2\"]"`} {
		res, err := s.read(t, `{"messageId":`+form+`}`)
		if domain.CodeOf(err) == domain.CodeInvalidParams {
			t.Errorf("messageId %s: %v %s", form, err, tooltest.Text(res))
		}
	}
	s.withFiles("f1", "note.txt", "in the note")
	for _, form := range []string{`1`, `"1"`, `"note.txt"`} {
		if res, err := s.read(t, `{"messageId":"f1","attachment":`+form+`}`); err != nil || res.IsError {
			t.Errorf("attachment %s: %v %s", form, err, tooltest.Text(res))
		}
	}
}
