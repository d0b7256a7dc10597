package gmail

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	gomail "github.com/emersion/go-message/mail"
	gmailapi "google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/google/api"
)

// sender returns gmail_send, whose sandbox has a policy and files.
func (s *gmailServer) sender(t testing.TB, p sandbox.Policy, content map[string]string) (domain.Tool, *composer) {
	t.Helper()
	all, _ := box(t, p, content)
	held := all.For(sendName)
	tools := s.tools(t)
	return tools.sendTool(held), &composer{toolset: tools, tool: sendName, failing: sendFailing, files: held.Reader(), recipients: held.Recipients()}
}

func (s *gmailServer) send(t testing.TB, args string) (domain.ToolResult, error) {
	t.Helper()
	tool, c := s.sender(t, sandbox.Policy{}, nil)
	return run(t, tool, c.send, args)
}

// header returns the field of a mail, "" if there is none.
func header(raw, name string) string {
	head, _, _ := strings.Cut(raw, "\r\n\r\n")
	for _, l := range strings.Split(strings.ReplaceAll(head, "\r\n ", " "), "\r\n") {
		if n, v, _ := strings.Cut(l, ":"); strings.EqualFold(n, name) {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func TestSend(t *testing.T) {
	s := serve(t)
	res, err := s.send(t, `{"to":"Amy <amy@example.com>, bo@example.com","cc":"cy@example.com","bcc":"di@example.com","subject":"Lunch","body":"At noon?"}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Email sent successfully (ID: s1)\n  To: \"Amy\" <amy@example.com>, bo@example.com\n  Cc: cy@example.com\n  Bcc: di@example.com\n  Subject: Lunch\n  Thread: t-sent"; tooltest.Text(res) != want {
		t.Errorf("got  %q\nwant %q", tooltest.Text(res), want)
	}
	r := structured[sendResult](t, res)
	if len(s.mails()) != 1 || len(s.asked("")) != 2 || s.asked("")[1] != "POST /gmail/v1/users/me/messages/send" {
		t.Fatalf("requests %v", s.asked(""))
	}
	raw := s.mails()[0].Raw
	if r.ID != "s1" || r.ThreadID != "t-sent" || !slices.Equal(r.LabelIDs, []string{"SENT"}) || !slices.Equal(r.To, []string{"amy@example.com", "bo@example.com"}) ||
		!slices.Equal(r.Cc, []string{"cy@example.com"}) || !slices.Equal(r.Bcc, []string{"di@example.com"}) || r.Subject != "Lunch" || r.Bytes != len(raw) || r.DryRun {
		t.Errorf("%+v", r)
	}
	if header(raw, "Bcc") != "di@example.com" && header(raw, "Bcc") != "<di@example.com>" || header(raw, "Subject") != "Lunch" || !strings.Contains(raw, "At noon?") {
		t.Errorf("%s", raw)
	}
}

func TestSendDryRun(t *testing.T) {
	s := serve(t)
	tool, c := s.sender(t, sandbox.Policy{}, map[string]string{"menu.pdf": "%PDF"})
	args := `{"to":"amy@example.com","cc":"\"boss@example.com\" <eve@example.com>","subject":"Lunch","body":"At noon?","html":"<p>At noon?","attachments":["menu.pdf"],"dryRun":true}`
	res, err := run(t, tool, c.send, args)
	if err != nil {
		t.Fatal(err)
	}
	r := structured[sendResult](t, res)
	want := fmt.Sprintf("To: amy@example.com\nCc: \"boss@example.com\" <eve@example.com>\nSubject: Lunch\nSize: %s bytes\nAttachments (1):\n"+
		"  - menu.pdf (4 bytes, SHA-256 315d429b7714cedb)\n\nAt noon?\n\nThe same as HTML, which most programs show instead:\n<p>At noon?", brief.Thousands(r.Bytes))
	if got := tooltest.Text(res); got != "Dry run: nothing was sent.\n\n"+want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if !r.DryRun || r.ID != "" || r.Bytes < 100 {
		t.Errorf("%+v", r)
	}
	shown, refusal, err := c.preview(t.Context(), domain.Arguments{"to": "amy@example.com", "cc": `"boss@example.com" <eve@example.com>`, "subject": "Lunch",
		"body": "At noon?", "html": "<p>At noon?", "attachments": []any{"menu.pdf"}, "replyAll": false, "dryRun": false})
	if shown != want || refusal != nil || err != nil {
		t.Errorf("preview %q, %v, %v", shown, refusal, err)
	}
	if len(s.asked("POST")) != 0 {
		t.Errorf("requests %v", s.asked(""))
	}
}

// TestSendRejects makes calls that must not lead to any request.
func TestSendRejects(t *testing.T) {
	s := serve(t)
	policy := sandbox.Policy{Tools: map[string]sandbox.ToolPolicy{
		sendName: {AllowedRecipients: []string{"@example.com"}, DeniedRecipients: []string{"boss@example.com"}}},
	}
	tool, c := s.sender(t, policy, map[string]string{"big": strings.Repeat("x", maxAttachments+1), "half": strings.Repeat("x", maxAttachments/2+1)})
	const invalid, denied = "invalid_arguments", "denied"
	many := strings.TrimSuffix(strings.Repeat("a@example.com,", maxRecipients+1), ",")
	for _, c2 := range []struct{ args, errorType, want string }{
		{`{"body":"x"}`, invalid, "to must name a recipient"},
		{`{"to":" ","subject":"s","body":"x"}`, invalid, "to must"},
		{`{"to":"amy","subject":"s","body":"x"}`, invalid, "to "},
		{`{"to":"amy@example.com","cc":"@","subject":"s","body":"x"}`, invalid, "cc "},
		{`{"to":"amy@example.com\r\nBcc: eve@example.com","subject":"s","body":"x"}`, invalid, "to "},
		{`{"to":"amy@example.com","subject":"s\r\nBcc: eve@example.com","body":"x"}`, invalid, "subject "},
		{`{"to":"amy@example.com","subject":"s","body":"x","from":"a@example.com\nBcc: eve@example.com"}`, invalid, "from "},
		{`{"to":"amy@example.com","subject":"s","body":"x","replyAll":true}`, invalid, "replyAll "},
		{`{"replyToMessageId":"a1","subject":"s\nX: y","body":"x"}`, invalid, "subject "},
		{`{"to":"` + many + `","subject":"s","body":"x"}`, invalid, "101 recipients"},
		{`{"to":"amy@example.com","subject":"s"}`, invalid, "body"},
		{`{"to":"amy@example.com, eve@other.example","subject":"s","body":"x"}`, denied, "eve@other.example is not in tools.gmail_send.allowed_recipients, which allows *@example.com"},
		{`{"to":"amy@example.com","bcc":"Boss <BOSS@example.com>","subject":"s","body":"x"}`, denied, "tools.gmail_send.denied_recipients"},
		{`{"cc":"eve@other.example","replyToMessageId":"a1","body":"x"}`, denied, "eve@other.example"},
		{`{"to":"eve@other.example","subject":"s","body":"x","dryRun":true}`, denied, "eve@other.example"},
		{`{"to":"amy@example.com","subject":"s","body":"x","attachments":["/etc/passwd"]}`, denied, "/etc/passwd"},
		{`{"to":"amy@example.com","subject":"s","body":"x","attachments":["../x"]}`, denied, "../x"},
		{`{"to":"amy@example.com","subject":"s","body":"x","attachments":[".env"]}`, denied, ".env"},
		{`{"to":"amy@example.com","subject":"s","body":"x","attachments":["none.txt"]}`, "not_found", "none.txt"},
		{`{"to":"amy@example.com","subject":"s","body":"x","attachments":["."]}`, "not_a_file", "."},
		{`{"to":"amy@example.com","subject":"s","body":"x","attachments":["big"]}`, "too_large", "26,214,400 bytes"},
		{`{"to":"amy@example.com","subject":"s","body":"x","attachments":["half","half"]}`, "too_large", "with half the attachments"},
	} {
		res, err := run(t, tool, c.send, c2.args)
		errorType, text := res.ErrorType(), tooltest.Text(res)
		if err != nil {
			errorType, text = domain.CodeOf(err).Type(), err.Error()
		}
		if errorType != c2.errorType || !strings.Contains(text, c2.want) {
			t.Errorf("%.120s: %s, %s; want %s, %s", c2.args, errorType, text, c2.errorType, c2.want)
		}
	}
	if len(s.asked("")) != 0 {
		t.Errorf("requests %v", s.asked(""))
	}
}

func TestReply(t *testing.T) {
	all := []string{"Message-ID", "<2@example.com>", "References", "<0@example.com> <1@example.com>", "Subject", "Lunch  on\tMonday",
		"From", "Amy <amy@example.com>", "To", "ME@example.com, Bo <bo@example.com>", "Cc", "cy@example.com, amy@example.com"}
	own := []string{"Message-ID", "<2@example.com>", "Subject", "RE: Lunch", "From", "me@example.com", "To", "amy@example.com"}
	for _, c := range []struct {
		name, args string
		original   []string
		to, cc     string
		subject    string
		notes      int
	}{
		{"sender", `{"body":"x"}`, all, "amy@example.com", "", "Re: Lunch on Monday", 0},
		{"all", `{"body":"x","replyAll":true}`, all, "amy@example.com", "bo@example.com cy@example.com", "Re: Lunch on Monday", 0},
		{"own to", `{"body":"x","to":"cy@example.com","replyAll":true}`, all, "cy@example.com", "bo@example.com amy@example.com", "Re: Lunch on Monday", 0},
		{"alias", `{"body":"x","from":"Bo@example.com","replyAll":true}`, all, "amy@example.com", "cy@example.com", "Re: Lunch on Monday", 0},
		{"reply-to", `{"body":"x"}`, append([]string{"Reply-To", "list@example.com"}, all...), "list@example.com", "", "Re: Lunch on Monday", 0},
		{"own mail", `{"body":"x"}`, own, "amy@example.com", "", "Re: Lunch", 0},
		{"to oneself", `{"body":"x"}`, []string{"From", "me@example.com", "To", "me@example.com", "Subject", "Note", "Message-ID", "<2@example.com>"}, "me@example.com", "", "Re: Note", 0},
		{"same subject", `{"body":"x","subject":"Re: lunch"}`, own, "amy@example.com", "", "Re: lunch", 0},
		{"other subject", `{"body":"x","subject":"Dinner"}`, own, "amy@example.com", "", "Dinner", 1},
		{"no id", `{"body":"x"}`, all[2:], "amy@example.com", "", "Re: Lunch on Monday", 1},
		{"bad cc", `{"body":"x","replyAll":true}`, append([]string{"Cc", "undisclosed"}, own...), "amy@example.com", "", "Re: Lunch", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t)
			s.put("a1", "", c.original...)
			res, err := s.send(t, `{"replyToMessageId":"a1",`+c.args[1:])
			if err != nil || len(s.mails()) != 1 {
				t.Fatalf("%v, %s", err, tooltest.Text(res))
			}
			r, raw := structured[sendResult](t, res), s.mails()[0].Raw
			if got := strings.Join(r.To, " "); got != c.to {
				t.Errorf("to %q; want %q", got, c.to)
			}
			if got := strings.Join(r.Cc, " "); got != c.cc {
				t.Errorf("cc %q; want %q", got, c.cc)
			}
			if got := header(raw, "Subject"); got != c.subject || r.Subject != c.subject || len(r.Notes) != c.notes {
				t.Errorf("subject %q, %q, notes %v; want %q, %d", got, r.Subject, r.Notes, c.subject, c.notes)
			}
			wantID, wantReferences := "<2@example.com>", "<2@example.com>"
			if slices.Contains(c.original, "References") {
				wantReferences = "<0@example.com> <1@example.com> <2@example.com>"
			}
			if !slices.Contains(c.original, "Message-ID") {
				wantID, wantReferences = "", ""
			}
			if header(raw, "In-Reply-To") != wantID || header(raw, "References") != wantReferences || s.mails()[0].ThreadId != "t-a1" {
				t.Errorf("thread %s, %s", s.mails()[0].ThreadId, raw)
			}
			if n := len(s.asked("messages/send")); n != 1 {
				t.Errorf("%d requests to send", n)
			}
		})
	}
}

func TestReplyRefused(t *testing.T) {
	s := serve(t)
	s.put("a1", "", "From", "eve@other.example", "Subject", "Lunch", "Message-ID", "<2@example.com>")
	tool, c := s.sender(t, sandbox.Policy{Tools: map[string]sandbox.ToolPolicy{sendName: {AllowedRecipients: []string{"@example.com"}}}}, nil)
	res, err := run(t, tool, c.send, `{"replyToMessageId":"a1","body":"x"}`)
	if err != nil || res.ErrorType() != "denied" || !strings.Contains(tooltest.Text(res), "eve@other.example") {
		t.Errorf("%v, %s", err, tooltest.Text(res))
	}
	_, refusal, err := c.preview(t.Context(), domain.Arguments{"replyToMessageId": "a1", "body": "x"})
	if err != nil || refusal == nil || refusal.ErrorType() != "denied" {
		t.Errorf("preview: %v, %v", refusal, err)
	}
	if _, _, err = c.preview(t.Context(), domain.Arguments{"to": "amy", "body": "x"}); domain.CodeOf(err) != domain.CodeInvalidParams {
		t.Errorf("preview: %v", err)
	}
	_, refusal, err = c.preview(t.Context(), domain.Arguments{"replyToMessageId": "gone", "body": "x"})
	if err != nil || refusal == nil || refusal.ErrorType() != "not_found" {
		t.Errorf("preview: %v, %v", refusal, err)
	}
	if res, err = run(t, tool, c.send, `{"replyToMessageId":"a1","to":"amy@example.com","body":"x","dryRun":true}`); err != nil || !structured[sendResult](t, res).DryRun {
		t.Errorf("%v, %s", err, tooltest.Text(res))
	}
	if sent := s.asked("messages/send"); len(sent) != 0 {
		t.Errorf("requests %v", sent)
	}
}

// TestReplyUnreadable replies with a grant that does not cover reading.
func TestReplyUnreadable(t *testing.T) {
	s := serve(t)
	tool, c := s.sender(t, sandbox.Policy{}, nil)
	c.signedIn = func(ctx context.Context, n api.Need) (context.Context, error) {
		if slices.Contains(n.Scopes, gmailapi.GmailSendScope) {
			return ctx, nil
		}
		return ctx, api.Refusal("sign_in_required", n.Failing+": "+n.Scopes[0], "Sign in again.")
	}
	res, err := run(t, tool, c.send, `{"replyToMessageId":"a1","body":"x"}`)
	if want := "Error sending email: a reply requires that the original can be read: " + gmailapi.GmailReadonlyScope; err != nil ||
		res.ErrorType() != "sign_in_required" || tooltest.Text(res) != want {
		t.Errorf("%v, %s", err, tooltest.Text(res))
	}
	if _, refusal, err := c.preview(t.Context(), domain.Arguments{"replyToMessageId": "a1", "body": "x"}); err != nil || refusal == nil {
		t.Errorf("preview: %v, %v", refusal, err)
	}
	if len(s.asked("")) != 0 {
		t.Errorf("requests %v", s.asked(""))
	}
}

// TestSendUnknown has Gmail not say what became of a mail. It is sent once, whatever happens.
func TestSendUnknown(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  func(w http.ResponseWriter)
		unknown bool
	}{
		{"connection", hangUp, true},
		{"500", func(w http.ResponseWriter) { refuse(w, 500, "backendError") }, true},
		{"503", func(w http.ResponseWriter) { w.Header().Set("Retry-After", "0"); refuse(w, 503, "backendError") }, true},
		{"no id", func(w http.ResponseWriter) { _, _ = w.Write([]byte("{}")) }, true},
		{"not JSON", func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) }, true},
		{"429", func(w http.ResponseWriter) { w.Header().Set("Retry-After", "0"); refuse(w, 429, "rateLimitExceeded") }, false},
		{"400", func(w http.ResponseWriter) { refuse(w, 400, "invalidArgument") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t)
			s.before = func(w http.ResponseWriter, _ *http.Request) bool { c.answer(w); return true }
			_, sender := s.sender(t, sandbox.Policy{}, nil)
			res, err := sender.send(t.Context(), sendInput{composeInput: composeInput{To: "amy@example.com", Subject: "secret subject", Body: "secret body"}})
			text := tooltest.Text(res)
			switch {
			case c.unknown && (err != nil || res.ErrorType() != "unknown_outcome" || !strings.HasPrefix(text, "It is not known whether the mail was sent: ") ||
				!strings.HasSuffix(text, "; look in Sent before sending again")):
				t.Errorf("%v, %s", err, text)
			case !c.unknown && (err == nil || res.Content != nil):
				t.Errorf("%v, %s", err, text)
			case strings.Contains(text+fmt.Sprint(err), "secret"):
				t.Errorf("the answer has the mail in it: %s, %v", text, err)
			}
			if len(s.asked("")) != 1 {
				t.Errorf("requests %v", s.asked(""))
			}
		})
	}
}

func TestSendCanceled(t *testing.T) {
	s := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body) // or it is not noticed that the client has gone
		cancel()
		<-r.Context().Done()
		return true
	}
	_, sender := s.sender(t, sandbox.Policy{}, nil)
	res, err := sender.send(ctx, sendInput{composeInput: composeInput{To: "amy@example.com", Body: "x"}})
	if err != nil || res.ErrorType() != "unknown_outcome" || len(s.asked("")) != 1 {
		t.Errorf("%v, %s", err, tooltest.Text(res))
	}
}

func TestSendUpload(t *testing.T) {
	s := serve(t)
	s.put("a1", "", "From", "amy@example.com", "Message-ID", "<2@example.com>")
	tool, c := s.sender(t, sandbox.Policy{}, map[string]string{"big.bin": strings.Repeat("0123456789", 600_000), "small.bin": "x"})
	res, err := run(t, tool, c.send, `{"replyToMessageId":"a1","body":"here","attachments":["big.bin","small.bin"]}`)
	if err != nil || len(s.mails()) != 1 {
		t.Fatalf("%v, %s", err, tooltest.Text(res))
	}
	if up := s.asked("POST"); !slices.Equal(up, []string{"POST /upload/gmail/v1/users/me/messages/send"}) || !strings.Contains(s.query(-1), "uploadType=multipart") {
		t.Errorf("requests %v, %v", up, s.query(-1))
	}
	r := structured[sendResult](t, res)
	if got := s.mails()[0]; got.ThreadId != "t-a1" || len(got.Raw) != r.Bytes || r.Bytes < 8_000_000 || !strings.Contains(got.Raw, "big.bin") {
		t.Errorf("thread %s, %d bytes of %d", got.ThreadId, len(got.Raw), r.Bytes)
	}
}

// TestReplyQuotes replies as Gmail does, with the original and the signature of the sender.
func TestReplyQuotes(t *testing.T) {
	s := serve(t)
	s.sendAs[0].Signature, s.sendAs[1].Signature = "<b>Me</b><br>Example Ltd", "Alias"
	m := s.put("a1", "First <b>line</b>\n\n> before", "From", "Amy <amy@example.com>", "Date", "Mon, 23 Nov 2026 10:05:00 +0100", "Subject", "Lunch", "Message-ID", "<2@example.com>")
	tool, c := s.sender(t, sandbox.Policy{}, nil)
	const quote = "\n\nOn Mon, Nov 23, 2026 at 10:05 AM Amy <amy@example.com> wrote:\n\n> First <b>line</b>\n> \n> > before\n"
	for name, test := range map[string]struct{ args, text, html, note string }{
		"new":              {`"to":"a@example.com","subject":"s","body":"Hi\n"`, "Hi\n\n-- \nMe\nExample Ltd", "", ""},
		"reply":            {`"replyToMessageId":"a1","body":"Yes"`, "Yes\n\nMe\nExample Ltd" + quote, "", ""},
		"alias":            {`"replyToMessageId":"a1","body":"Yes","from":"Al <alias@example.com>"`, "Yes\n\nAlias" + quote, "", ""},
		"neither":          {`"replyToMessageId":"a1","body":"Yes","includeQuoted":false,"includeSignature":false`, "Yes", "", ""},
		"has both":         {`"replyToMessageId":"a1","body":"Yes\nMe\nExample Ltd\n\nOn Mon, Nov 23, 2026 Amy wrote:\n> First"`, "Yes\nMe\nExample Ltd\n\nOn Mon, Nov 23, 2026 Amy wrote:\n> First", "", ""},
		"html":             {`"replyToMessageId":"a1","body":"Yes","html":"<p>Yes</p>"`, "Yes\n\nMe\nExample Ltd" + quote, `<p>Yes</p><br><div class="gmail_signature"><b>Me</b><br>Example Ltd</div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">On Mon, Nov 23, 2026 at 10:05 AM Amy &lt;amy@example.com&gt; wrote:<br></div><blockquote class="gmail_quote" style="margin:0px 0px 0px 0.8ex;border-left:1px solid rgb(204,204,204);padding-left:1ex">First &lt;b&gt;line&lt;/b&gt;<br><br>&gt; before</blockquote></div>`, ""},
		"foreign from":     {`"to":"a@example.com","subject":"s","body":"Hi","from":"ceo@other.example"`, "Hi\n\n-- \nMe\nExample Ltd", "", "Gmail replaces the sender ceo@other.example by the account's address"},
		"foreign, no sign": {`"to":"a@example.com","subject":"s","body":"Hi","from":"ceo@other.example","includeSignature":false`, "Hi", "", "Gmail replaces the sender"},
	} {
		before := len(s.mails())
		for _, more := range []string{`,"dryRun":true`, ``} {
			res, err := run(t, tool, c.send, "{"+test.args+more+"}")
			if err != nil || res.IsError || strings.Contains(tooltest.Text(res), "Note:") != (test.note != "") || !strings.Contains(tooltest.Text(res), test.note) || more != "" && strings.Contains(tooltest.Text(res), "> before") {
				t.Errorf("%s: %v, %s", name, err, tooltest.Text(res))
			}
		}
		sent := s.mails()[before:]
		if len(sent) != 1 {
			t.Fatalf("%s: %d mails", name, len(sent))
		}
		text, html := "", ""
		r, err := gomail.CreateReader(strings.NewReader(sent[0].Raw))
		for p, err := r.NextPart(); err == nil; p, err = r.NextPart() {
			b, _ := io.ReadAll(p.Body)
			if strings.HasPrefix(p.Header.Get("Content-Type"), "text/html") {
				html = string(b)
			} else {
				text = strings.ReplaceAll(string(b), "\r\n", "\n")
			}
		}
		if err != nil || text != test.text || html != test.html {
			t.Errorf("%s: %v\ngot  %q %q\nwant %q %q", name, err, text, html, test.text, test.html)
		}
	}
	m.Payload.Body.Data = encode(strings.Repeat("long ", maxCited/4))
	if res, err := run(t, tool, c.send, `{"replyToMessageId":"a1","body":"Yes"}`); err != nil || !strings.Contains(tooltest.Text(res), "Note: The original is not quoted: it is too long.") {
		t.Errorf("%v, %s", err, tooltest.Text(res))
	}
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "sendAs") {
			refuse(w, 403, "insufficientPermissions")
			return true
		}
		return false
	}
	if res, err := run(t, tool, c.send, `{"to":"a@example.com","body":"Hi"}`); err != nil || res.IsError || !strings.Contains(tooltest.Text(res), "Note: The account's signature was not added: ") {
		t.Errorf("%v, %s", err, tooltest.Text(res))
	}
}

// TestSendDraft saves drafts with gmail_send, and asks for the permission.
func TestSendDraft(t *testing.T) {
	s := serve(t)
	tool, c := s.sender(t, sandbox.Policy{}, nil)
	s.put("a1", "old", "From", "amy@example.com", "Subject", "Lunch", "Message-ID", "<2@example.com>")
	for _, args := range []string{`{"body":"no recipient yet","draft":true}`, `{"replyToMessageId":"a1","body":"x","draft":true}`} {
		res, err := run(t, tool, c.send, args)
		if got := structured[sendResult](t, res); err != nil || got.DraftID != "d1" || !strings.HasPrefix(tooltest.Text(res), "Draft saved successfully (ID: d1)") {
			t.Errorf("%v, %s", err, tooltest.Text(res))
		}
	}
	if got := s.asked("POST"); len(got) != 2 || got[1] != "POST /gmail/v1/users/me/drafts" || s.mails()[1].ThreadId != "t-a1" {
		t.Errorf("requests %v", got)
	}
	if text, _, err := c.preview(t.Context(), domain.Arguments{"body": "x", "draft": true}); err != nil || !strings.HasPrefix(text, "Draft: nothing is sent.\n\n") {
		t.Errorf("%v, %s", err, text)
	}
	c.signedIn = func(ctx context.Context, n api.Need) (context.Context, error) {
		return ctx, api.Refusal("sign_in_required", n.Failing, strings.Join(n.Scopes, " "))
	}
	if res, err := run(t, tool, c.send, `{"body":"x","draft":true}`); err != nil || res.ErrorType() != "sign_in_required" || len(s.asked("POST")) != 2 {
		t.Errorf("%v, %s", err, tooltest.Text(res))
	}
}
