package google_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/gmail/v1"
	"google.golang.org/api/googleapi"

	"github.com/toolserver/toolserver/test/fakes/google"
)

func mail(subject, body string) []byte {
	return fmt.Appendf(nil, "From: Bob <%s>\r\nTo: %s\r\nSubject: %s\r\nMessage-ID: <%s@example.com>\r\n\r\n%s", bob, alice, subject, strings.ReplaceAll(subject, " ", "."), body)
}

func raw(text string) *gmail.Message {
	return &gmail.Message{Raw: base64.RawURLEncoding.EncodeToString([]byte(text))}
}

func decode(t *testing.T, data string) string {
	t.Helper()
	return string(must[[]byte](t)(base64.URLEncoding.DecodeString(data)))
}

func ids(list *gmail.ListMessagesResponse) (all []string) {
	for _, m := range list.Messages {
		all = append(all, m.Id)
	}
	return all
}

func TestMessagesList(t *testing.T) {
	w := newWorld(t, google.Options{})
	users := w.gmail(alice, readonly)
	if _, body := w.do(w.client(alice, readonly), "GET", "/gmail/v1/users/me/messages", ""); strings.Contains(body, "messages") {
		t.Errorf("an empty mailbox: %s", body)
	}
	var want []string
	for i := range 120 {
		want = append([]string{w.fake.Deliver(alice, mail(fmt.Sprint("Subject ", i), "text"))}, want...)
	}
	first := must[*gmail.ListMessagesResponse](t)(users.Messages.List("me").Do())
	if !slices.Equal(ids(first), want[:100]) || first.NextPageToken == "" || first.ResultSizeEstimate == 0 {
		t.Errorf("got %d messages, token %q", len(first.Messages), first.NextPageToken)
	}
	second := must[*gmail.ListMessagesResponse](t)(users.Messages.List("me").PageToken(first.NextPageToken).Do())
	if !slices.Equal(ids(second), want[100:]) || second.NextPageToken != "" {
		t.Errorf("then got %d messages, token %q", len(second.Messages), second.NextPageToken)
	}
	_, err := users.Messages.List("me").PageToken("x").Do()
	refused(t, err, 400, "invalidArgument")
	_, err = users.Messages.List("me").LabelIds("Label_9").Do()
	refused(t, err, 400, "invalidArgument")
	_, err = users.Messages.List("me").Q("subject").PageToken(first.NextPageToken).Do()
	refused(t, err, 400, "invalidArgument")
}

func TestSearch(t *testing.T) {
	w := newWorld(t, google.Options{})
	users := w.gmail(alice, readonly)
	names := map[string]string{
		w.fake.Deliver(alice, mail("Invoice May", "Please pay 20 euros")): "invoice",
		w.fake.Deliver(alice, mail("Lunch", "at the old mill"), "INBOX"):  "lunch",
		w.fake.Deliver(alice, mail("Offer", "You won"), "SPAM"):           "spam",
		w.fake.Deliver(alice, []byte("From: carol@example.com\r\nTo: alice@example.com\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n"+
			"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nSee file\r\n--b\r\nContent-Disposition: attachment; filename=\"plan.pdf\"\r\n\r\nx\r\n--b--")): "file",
	}
	for q, want := range map[string]string{
		"pay": "invoice", "from:carol": "file", "from:bob -subject:lunch": "invoice", "subject:grüße": "file", "has:attachment": "file",
		"filename:pdf": "file", "is:unread": "file invoice", "in:inbox old": "lunch", "in:spam": "spam", `"old mill"`: "lunch", `"mill old"`: "",
		"pay OR mill": "lunch invoice", "to:alice": "file lunch invoice", "label:unread invoice": "invoice", "rfc822msgid:Lunch@example.com": "lunch",
		"newer_than:1d pay": "invoice", "older_than:1d": "", "in:anywhere won": "spam", "nothing": "",
	} {
		var got []string
		for _, id := range ids(must[*gmail.ListMessagesResponse](t)(users.Messages.List("me").Q(q).Do())) {
			got = append(got, names[id])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", q, got, want)
		}
	}
}

func TestMessagesGet(t *testing.T) {
	w := newWorld(t, google.Options{InlineBody: 50})
	users := w.gmail(alice, readonly)
	text := "From: bob@example.com\r\nTo: alice@example.com\r\nSubject: A\r\n  folded one\r\nContent-Type: multipart/mixed; boundary=o\r\n\r\npreamble\r\n" +
		"--o\r\nContent-Type: multipart/alternative; boundary=\"i\"\r\n\r\n--i\r\nContent-Type: text/plain; charset=windows-1252\r\n" +
		"Content-Transfer-Encoding: quoted-printable\r\n\r\nGr=FC=DFe & <more>\r\n--i\r\nContent-Type: text/html\r\n\r\n" + strings.Repeat("<p>long</p>", 9) +
		"\r\n--i--\r\n--o\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\naGVsbG8=\r\n--o--\r\n"
	id := w.fake.Deliver(alice, []byte(text))
	full := must[*gmail.Message](t)(users.Messages.Get("me", id).Do())
	p := full.Payload
	if full.InternalDate != now.UnixMilli() || full.HistoryId == 0 || full.SizeEstimate != int64(len(text)) || full.Snippet != "Grüße &amp; &lt;more&gt;" {
		t.Errorf("got %+v", full)
	}
	inner, file := p.Parts[0], p.Parts[1]
	if p.PartId != "" || inner.PartId != "0" || inner.Parts[1].PartId != "0.1" || file.PartId != "1" || p.Headers[2].Value != "A folded one" {
		t.Errorf("got parts %+v", p)
	}
	if got := decode(t, inner.Parts[0].Body.Data); got != "Gr\xfc\xdfe & <more>" {
		t.Errorf("the text is %q", got)
	}
	for _, part := range []*gmail.MessagePart{inner.Parts[1], file} {
		if part.Body.Data != "" || part.Body.AttachmentId == "" {
			t.Errorf("part %s has %+v", part.PartId, part.Body)
		}
		again := must[*gmail.Message](t)(users.Messages.Get("me", id).Do()).Payload.Parts[1].Body.AttachmentId
		if again == part.Body.AttachmentId {
			t.Error("the attachment ID stays")
		}
	}
	body := must[*gmail.MessagePartBody](t)(users.Messages.Attachments.Get("me", id, file.Body.AttachmentId).Do())
	if decode(t, body.Data) != "hello" || body.Size != 5 || file.Filename != "a.pdf" {
		t.Errorf("the attachment is %+v", body)
	}
	_, err := users.Messages.Attachments.Get("me", id, "x").Do()
	refused(t, err, 400, "invalidArgument")
	if m := must[*gmail.Message](t)(users.Messages.Get("me", id).Format("raw").Do()); decode(t, m.Raw) != text || m.Payload != nil {
		t.Error("the raw message differs")
	}
	m := must[*gmail.Message](t)(users.Messages.Get("me", id).Format("metadata").MetadataHeaders("subject", "To").Do())
	if len(m.Payload.Headers) != 2 || m.Payload.Parts != nil {
		t.Errorf("got %+v", m.Payload)
	}
	if m := must[*gmail.Message](t)(users.Messages.Get("me", id).Format("minimal").Do()); m.Payload != nil || m.Snippet == "" {
		t.Errorf("got %+v", m)
	}
	_, err = users.Messages.Get("me", "18c0000000000000").Do()
	refused(t, err, 404, "notFound")
	_, err = users.Messages.Get("me", "no hex").Do()
	refused(t, err, 400, "invalidArgument")
}

func TestSend(t *testing.T) {
	w := newWorld(t, google.Options{})
	users := w.gmail(alice, gmail.GmailModifyScope)
	text := "To: Bob <bob@example.com>\r\nCc: carol@example.com\r\nBcc: dave@example.com\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n" +
		"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHallo\r\n" +
		"--b\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\nfile\r\n--b--\r\n"
	for name, send := range map[string]func() (*gmail.Message, error){
		"JSON": func() (*gmail.Message, error) { return users.Messages.Send("me", raw(text)).Do() },
		"media": func() (*gmail.Message, error) {
			return users.Messages.Send("me", &gmail.Message{}).Media(bytes.NewBufferString(text), googleapi.ContentType("message/rfc822")).Do()
		},
	} {
		m := must[*gmail.Message](t)(send())
		all := w.fake.Sent(alice)
		s := all[len(all)-1]
		if m.Id != s.ID || m.ThreadId != m.Id || !slices.Equal(m.LabelIds, []string{"SENT"}) {
			t.Errorf("%s: got %+v", name, m)
		}
		if s.Err != nil || s.From != alice || s.To[0] != bob || s.Cc[0] != "carol@example.com" || s.Bcc[0] != "dave@example.com" || s.Subject != "Grüße" ||
			strings.TrimSpace(s.Text) != "Hallo" || s.Attachments[0].Name != "a.txt" || s.MessageHeader == "" {
			t.Errorf("%s: sent %+v", name, s)
		}
	}
	if got := must[*gmail.ListMessagesResponse](t)(w.gmail(bob, readonly).Messages.List("me").Do()); len(got.Messages) != 2 {
		t.Errorf("bob has %d messages", len(got.Messages))
	}
	for from, want := range map[string]string{"Al <alias@example.com>": "alias@example.com", "boss@example.com": alice} {
		must[*gmail.Message](t)(users.Messages.Send("me", raw("From: "+from+"\r\nTo: bob@example.com\r\n\r\nx")).Do())
		if all := w.fake.Sent(alice); all[len(all)-1].From != want {
			t.Errorf("from %s: sent from %s", from, all[len(all)-1].From)
		}
	}
	for _, text := range []string{
		"To: not an address\r\n\r\nx", "To: a@example.com\r\nBcc: <\r\n\r\nx", "Subject: x\r\n\r\nx", "To: a@example.com" + strings.Repeat(", a@example.com", 500) + "\r\n\r\nx",
	} {
		_, err := users.Messages.Send("me", raw(text)).Do()
		refused(t, err, 400, "invalidArgument")
	}
	_, err := users.Messages.Send("me", raw("")).Do()
	refused(t, err, 400, "invalidArgument")
	_, err = users.Messages.Send("me", &gmail.Message{}).Media(bytes.NewReader(append([]byte("To: bob@example.com\r\n\r\n"), make([]byte, 36_700_160)...)), googleapi.ChunkSize(0)).Do()
	refused(t, err, 413, "uploadTooLarge")
	if n := len(w.fake.Sent(alice)); n != 4 {
		t.Errorf("%d mails are sent", n)
	}
	if list := must[*gmail.ListSendAsResponse](t)(users.Settings.SendAs.List("me").Do()); len(list.SendAs) != 2 || !list.SendAs[0].IsPrimary {
		t.Errorf("got %+v", list.SendAs)
	}
}

func TestThreads(t *testing.T) {
	w := newWorld(t, google.Options{})
	users := w.gmail(alice, gmail.GmailModifyScope)
	first := w.fake.Deliver(alice, mail("Plan", "What do you think?"))
	reply := func(subject, to, thread string) string {
		m := raw("To: bob@example.com\r\nSubject: " + subject + "\r\nIn-Reply-To: " + to + "\r\nReferences: " + to + "\r\n\r\nGood")
		m.ThreadId = thread
		return must[*gmail.Message](t)(users.Messages.Send("me", m).Do()).ThreadId
	}
	if got := reply("Re: Plan", "<Plan@example.com>", first); got != first {
		t.Errorf("a reply is in thread %s", got)
	}
	for _, got := range []string{reply("Re: Other", "<Plan@example.com>", first), reply("Re: Plan", "<x@example.com>", first), reply("Re: Plan", "<Plan@example.com>", "")} {
		if got == first {
			t.Error("a mail that is no reply is in the thread")
		}
	}
	m := raw("To: bob@example.com\r\n\r\nx")
	m.ThreadId = "18c0000000000000"
	_, err := users.Messages.Send("me", m).Do()
	refused(t, err, 404, "notFound")
	thread := must[*gmail.Thread](t)(users.Threads.Get("me", first).Format("metadata").Do())
	if len(thread.Messages) != 2 || thread.Messages[0].Id != first {
		t.Errorf("got %+v", thread)
	}
	list := must[*gmail.ListThreadsResponse](t)(users.Threads.List("me").Q("subject:plan").Do())
	if len(list.Threads) != 3 || list.Threads[2].Id != first || list.Threads[2].Snippet != "Good" {
		t.Errorf("got %d threads", len(list.Threads))
	}
	changed := must[*gmail.Thread](t)(users.Threads.Modify("me", first, &gmail.ModifyThreadRequest{AddLabelIds: []string{"STARRED"}}).Do())
	if !slices.Contains(changed.Messages[1].LabelIds, "STARRED") {
		t.Errorf("got %+v", changed.Messages[1])
	}
	must[*gmail.Thread](t)(users.Threads.Trash("me", first).Do())
	if list := must[*gmail.ListThreadsResponse](t)(users.Threads.List("me").Do()); len(list.Threads) != 3 {
		t.Errorf("got %d threads after trashing one", len(list.Threads))
	}
}

func TestLabels(t *testing.T) {
	w := newWorld(t, google.Options{})
	users := w.gmail(alice, gmail.GmailModifyScope)
	id := w.fake.Deliver(alice, mail("Hello", "Hi"))
	work := must[*gmail.Label](t)(users.Labels.Create("me", &gmail.Label{Name: "My Work"}).Do())
	_, err := users.Labels.Create("me", &gmail.Label{Name: "My Work"}).Do()
	refused(t, err, 409, "aborted")
	m := must[*gmail.Message](t)(users.Messages.Modify("me", id, &gmail.ModifyMessageRequest{AddLabelIds: []string{work.Id}, RemoveLabelIds: []string{"UNREAD"}}).Do())
	if !slices.Equal(m.LabelIds, []string{"INBOX", work.Id}) {
		t.Errorf("got labels %v", m.LabelIds)
	}
	for _, label := range []string{"Label_9", "SENT"} {
		_, err = users.Messages.Modify("me", id, &gmail.ModifyMessageRequest{AddLabelIds: []string{label}}).Do()
		refused(t, err, 400, "invalidArgument")
	}
	if got := must[*gmail.Label](t)(users.Labels.Get("me", work.Id).Do()); got.MessagesTotal != 1 || got.MessagesUnread != 0 || got.Type != "user" {
		t.Errorf("got %+v", got)
	}
	if got := must[*gmail.ListMessagesResponse](t)(users.Messages.List("me").Q("label:my-work").Do()); len(got.Messages) != 1 {
		t.Errorf("got %d messages", len(got.Messages))
	}
	if got := must[*gmail.ListLabelsResponse](t)(users.Labels.List("me").Do()); len(got.Labels) != 15 {
		t.Errorf("got %d labels", len(got.Labels))
	}
	must[*gmail.Message](t)(users.Messages.Trash("me", id).Do())
	if got := must[*gmail.ListMessagesResponse](t)(users.Messages.List("me").Do()); len(got.Messages) != 0 {
		t.Error("a message in the trash is listed")
	}
	must[*gmail.Message](t)(users.Messages.Untrash("me", id).Do())
	if got := must[*gmail.ListMessagesResponse](t)(users.Messages.List("me").Do()); len(got.Messages) != 1 {
		t.Error("a message that is back is not listed")
	}
}

func TestDrafts(t *testing.T) {
	w := newWorld(t, google.Options{})
	users := w.gmail(alice, gmail.GmailComposeScope, readonly)
	d := must[*gmail.Draft](t)(users.Drafts.Create("me", &gmail.Draft{Message: raw("Subject: One\r\n\r\nx")}).Do())
	if !slices.Equal(d.Message.LabelIds, []string{"DRAFT"}) {
		t.Errorf("got %+v", d.Message)
	}
	_, err := users.Drafts.Send("me", d).Do()
	refused(t, err, 400, "invalidArgument") // nobody to send it to
	changed := must[*gmail.Draft](t)(users.Drafts.Update("me", d.Id, &gmail.Draft{Message: raw("To: bob@example.com\r\nSubject: Two\r\n\r\nx")}).Do())
	if changed.Message.Id == d.Message.Id || changed.Message.ThreadId != d.Message.ThreadId {
		t.Errorf("got %+v", changed.Message)
	}
	got := must[*gmail.Draft](t)(users.Drafts.Get("me", d.Id).Format("metadata").Do())
	list := must[*gmail.ListDraftsResponse](t)(users.Drafts.List("me").Do())
	if len(got.Message.Payload.Headers) != 5 || len(list.Drafts) != 1 {
		t.Errorf("got %+v and %d drafts", got.Message.Payload.Headers, len(list.Drafts))
	}
	sent := must[*gmail.Message](t)(users.Drafts.Send("me", &gmail.Draft{Id: d.Id}).Do())
	if !slices.Equal(sent.LabelIds, []string{"SENT"}) || w.fake.Sent(alice)[0].Subject != "Two" {
		t.Errorf("sent %+v", sent)
	}
	refused(t, users.Drafts.Delete("me", d.Id).Do(), 404, "notFound")
	d = must[*gmail.Draft](t)(users.Drafts.Create("me", &gmail.Draft{Message: raw("Subject: One\r\n\r\nx")}).Do())
	if err := users.Drafts.Delete("me", d.Id).Do(); err != nil {
		t.Error(err)
	}
	if p := must[*gmail.Profile](t)(users.GetProfile("me").Do()); p.MessagesTotal != 1 || p.EmailAddress != alice || p.HistoryId == 0 {
		t.Errorf("got %+v", p)
	}
}
