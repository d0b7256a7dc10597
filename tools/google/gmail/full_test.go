package gmail

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gmailapi "google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/test/tooltest"
)

func TestDraft(t *testing.T) {
	s := serve(t)
	all, _ := box(t, sandbox.Policy{}, nil)
	held, tools := all.For(draftName), s.tools(t)
	tool := tools.draftTool(held)
	c := &composer{toolset: tools, tool: draftName, failing: "Error saving draft", files: held.Reader(), recipients: held.Recipients(), drafts: true}
	res, err := run(t, tool, c.draft, `{"body":"not yet"}`)
	if err != nil {
		t.Fatal(err)
	}
	if r := structured[sendResult](t, res); r.DraftID != "d1" || r.ID != "m-draft" || r.ThreadID != "t-draft" || len(r.To) != 0 ||
		!strings.HasPrefix(tooltest.Text(res), "Draft saved successfully (ID: d1)\n") || !strings.Contains(s.mails()[0].Raw, "not yet") {
		t.Errorf("%+v, %s", r, tooltest.Text(res))
	}
	s.put("a1", "", "From", "amy@example.com", "Subject", "Lunch", "Message-ID", "<2@example.com>")
	if res, err = run(t, tool, c.draft, `{"draftId":"d7","replyToMessageId":"a1","body":"`+strings.Repeat("long ", 990_000)+`"}`); err != nil {
		t.Fatal(err)
	}
	if got := structured[sendResult](t, res); got.DraftID != "d7" || s.mails()[1].ThreadId != "t-a1" || header(s.mails()[1].Raw, "In-Reply-To") != "<2@example.com>" {
		t.Errorf("%+v, %s", got, s.mails()[1].ThreadId)
	}
	if got := s.asked("drafts"); !slices.Equal(got, []string{"POST /gmail/v1/users/me/drafts", "PUT /upload/gmail/v1/users/me/drafts/d7"}) {
		t.Errorf("requests %v", got)
	}
	s.before = func(w http.ResponseWriter, _ *http.Request) bool { refuse(w, 500, "x"); return true }
	if res, err = run(t, tool, c.draft, `{"body":"x"}`); err != nil || res.ErrorType() != "unknown_outcome" || len(s.asked("drafts")) != 3 {
		t.Errorf("%v, %s", err, tooltest.Text(res))
	}
}

func TestThread(t *testing.T) {
	s := serve(t)
	for _, id := range []string{"a", "b", "c"} {
		s.put(id, "text of "+id, "Subject", id)
	}
	s.threads["t1"] = []string{"a", "gone", "b", "c"}
	tools := s.tools(t)
	res, err := run(t, tools.made(threadName), tools.thread, `{"threadId":"t1","maxMessages":3}`)
	if err != nil {
		t.Fatal(err)
	}
	text, meta := tooltest.Text(res), res.Meta.(threadMeta)
	if !strings.HasPrefix(text, "Thread: t1\nMessages: 4, the newest first, of which these are the newest 3\n\nID: c\n") || !strings.Contains(text, "\n\nID: gone\n  Not read: ") || strings.Contains(text, "text of a") {
		t.Errorf("%s", text)
	}
	if b, c := strings.Index(text, "text of b"), strings.Index(text, "text of c"); c < 0 || b < c || strings.Count(text, " begins: ") != 2 {
		t.Errorf("%s", text)
	}
	if meta.Total != 4 || len(meta.Messages) != 2 || len(meta.Failed) != 1 || meta.Messages[0].ID != "c" {
		t.Errorf("%+v", meta)
	}
}

// withFiles adds a message with attachments: names in pairs with contents. The first is in the message itself.
func (s *gmailServer) withFiles(id string, named ...string) {
	m := s.put(id, "")
	m.Payload.MimeType, m.Payload.Body = "multipart/mixed", nil
	m.Payload.Parts = []*gmailapi.MessagePart{{PartId: "0", MimeType: "text/plain", Body: &gmailapi.MessagePartBody{AttachmentId: "text"}}}
	for i := 0; i < len(named); i += 2 {
		body := &gmailapi.MessagePartBody{Size: int64(len(named[i+1]))}
		if i == 0 {
			body.Data = encode(named[1])
		} else {
			body.AttachmentId = fmt.Sprintf("att-%d", i/2)
			s.parts[body.AttachmentId] = named[i+1]
		}
		m.Payload.Parts = append(m.Payload.Parts, &gmailapi.MessagePart{PartId: fmt.Sprint(i/2 + 1), MimeType: "application/x-test", Filename: named[i], Body: body})
	}
}

func TestSaveAttachment(t *testing.T) {
	s := serve(t)
	s.withFiles("a1", "one.pdf", "first", "../../evil.sh", "second", "one.pdf", "third", ".bashrc", "alias ls=rm", "..", "fifth")
	all, dir := box(t, sandbox.Policy{}, map[string]string{"kept.pdf": "mine"})
	tools := s.tools(t)
	tool, save := tools.saveTool(all.For(saveName)), &saver{tools, all.For(saveName).Writer()}
	if err := os.Symlink(filepath.Join(dir, "kept.pdf"), filepath.Join(dir, "link.pdf")); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct{ args, path, content string }{
		{`"attachmentId":"1"`, "attachments/one.pdf", "first"},
		{`"attachmentId":"1"`, "attachments/one (1).pdf", "first"},
		{`"attachmentId":"3"`, "attachments/one (2).pdf", "third"},
		{`"attachmentId":"att-2","directory":"in/box"`, "in/box/one.pdf", "third"},
		{`"attachmentId":"1","directory":".","filename":"kept.pdf"`, "kept (1).pdf", "first"},
		{`"attachmentId":"1","directory":".","filename":"link.pdf"`, "link (1).pdf", "first"},
		{`"attachmentId":"1","filename":"../../up.pdf"`, "attachments/up.pdf", "first"},
		{`"attachmentId":"1","filename":"C:\\dir\\back.pdf"`, "attachments/back.pdf", "first"},
	} {
		res, err := run(t, tool, save.save, `{"messageId":"a1",`+c.args+`}`)
		if err != nil || res.IsError {
			t.Errorf("%s: %v, %s", c.args, err, tooltest.Text(res))
			continue
		}
		got, err := os.ReadFile(filepath.Join(dir, c.path))
		sum := sha256.Sum256([]byte(c.content))
		want := saveResult{filepath.FromSlash(c.path), int64(len(c.content)), hex.EncodeToString(sum[:]), "application/x-test"}
		if r := structured[saveResult](t, res); r != want || string(got) != c.content {
			t.Errorf("%s: %+v, %q, %v; want %+v", c.args, r, got, err, want)
		}
	}
	for _, index := range []string{"2", "4", "5"} { // names that lead elsewhere, or are hidden
		res, err := run(t, tool, save.save, `{"messageId":"a1","attachmentId":"`+index+`"}`)
		if err != nil || res.IsError {
			t.Errorf("%s: %v, %s", index, err, tooltest.Text(res))
			continue
		}
		if r := structured[saveResult](t, res); filepath.Dir(r.Path) != "attachments" || strings.HasPrefix(filepath.Base(r.Path), ".") {
			t.Errorf("saved to %s", r.Path)
		}
	}
	if kept, _ := os.ReadFile(filepath.Join(dir, "kept.pdf")); string(kept) != "mine" {
		t.Errorf("overwritten: %s", kept)
	}
	if loaded := s.asked("/attachments/text"); len(loaded) != 0 {
		t.Errorf("the text was loaded: %v", loaded)
	}
}

func TestSaveRefused(t *testing.T) {
	s := serve(t)
	s.withFiles("a1", "one.pdf", "first", "two.pdf", "second", "one.pdf", "third")
	s.put("none", "")
	s.withFiles("large", "small", "", "big", "")
	s.messages["large"].Payload.Parts[2].Body.Size = maxSaved + 1
	all, dir := box(t, sandbox.Policy{}, nil)
	tools := s.tools(t)
	tool, save := tools.saveTool(all.For(saveName)), &saver{tools, all.For(saveName).Writer()}
	for _, c := range []struct{ args, errorType, hint string }{
		{`"messageId":"a1","attachmentId":"4"`, "not_found", "1 (one.pdf), 2 (two.pdf), 3 (one.pdf)"},
		{`"messageId":"a1","attachmentId":"one.pdf"`, "not_found", "1 (one.pdf)"},
		{`"messageId":"none","attachmentId":"1"`, "not_found", "no attachments"},
		{`"messageId":"large","attachmentId":"2"`, "too_large", ""},
		{`"messageId":"a1","attachmentId":"1","directory":"/"`, "denied", ""},
		{`"messageId":"a1","attachmentId":"1","directory":"../x"`, "denied", ""},
		{`"messageId":"a1","attachmentId":"1","directory":".git/hooks"`, "denied", ""},
	} {
		res, err := run(t, tool, save.save, `{`+c.args+`}`)
		b, _ := json.Marshal(res.Structured())
		if err != nil || res.ErrorType() != c.errorType || !strings.Contains(string(b), c.hint) {
			t.Errorf("%s: %v, %s", c.args, err, b)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v", left)
	}
	if loaded := s.asked("/attachments/"); len(loaded) != 0 {
		t.Errorf("requests %v", loaded)
	}
}

func TestLabels(t *testing.T) {
	s := serve(t)
	tools := s.tools(t)
	for _, id := range []string{"a", "b"} {
		s.put(id, "").LabelIds = []string{"INBOX", "UNREAD"}
	}
	res, err := run(t, tools.made(labelsName), tools.listLabels, `{}`)
	if want := "INBOX (ID: INBOX, system)\nUNREAD (ID: UNREAD, system)\nTravel (ID: Label_7, user)"; err != nil || tooltest.Text(res) != want {
		t.Errorf("%v, %q", err, tooltest.Text(res))
	}
	modify := tools.made(modifyName)
	res, err = run(t, modify, tools.modify, `{"messageIds":["a","gone","b"],"add":["travel"],"remove":["INBOX"]}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Labels modified on 2 of 3 messages.\nID: a\n  Labels: UNREAD, Label_7\nID: gone\n  Not modified: "; !strings.HasPrefix(tooltest.Text(res), want) {
		t.Errorf("got %q; want %q", tooltest.Text(res), want)
	}
	if r := structured[modifyResult](t, res); len(r.Modified) != 2 || len(r.Failed) != 1 || !slices.Equal(r.Modified[1].Labels, []string{"UNREAD", "Label_7"}) {
		t.Errorf("%+v", r)
	}
	before := len(s.asked("/modify"))
	for args, want := range map[string]string{
		`{"messageIds":["a"],"add":["Nope"]}`: "not_found", `{"messageIds":["a"]}`: "invalid_arguments", `{"messageIds":["../x"],"add":["INBOX"]}`: "invalid_arguments",
		`{"messageIds":[],"add":["INBOX"]}`: "invalid_arguments",
	} {
		res, err := run(t, modify, tools.modify, args)
		got := res.ErrorType()
		if err != nil {
			got = domain.CodeOf(err).Type()
		}
		if got != want {
			t.Errorf("%s: %s, %v", args, got, err)
		}
	}
	if after := len(s.asked("/modify")); after != before {
		t.Errorf("%d requests", after-before)
	}
}
