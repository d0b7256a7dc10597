package gmail

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	gmailapi "google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/google/api"
)

func (s *gmailServer) search(t testing.TB, args string) (domain.ToolResult, error) {
	t.Helper()
	tools := s.tools(t)
	return run(t, tools.made(SearchName), tools.search, args)
}

func (s *gmailServer) mustSearch(t testing.TB, args string) (domain.ToolResult, searchResult) {
	t.Helper()
	res, err := s.search(t, args)
	if err != nil || res.IsError {
		t.Fatalf("gmail_search(%s): %v, %s", args, err, tooltest.Text(res))
	}
	return res, structured[searchResult](t, res)
}

func TestSearchText(t *testing.T) {
	s := serve(t)
	m := s.put("a1", "", "From", "Amy <amy@example.com>", "To", "me@example.com", "Subject", "Lunch\u202e &amp; <b>tea</b>", "Date", "Mon, 23 Nov 2026 10:00:00 +0100")
	m.Snippet, m.LabelIds, m.SizeEstimate = "Fish &amp; chips &lt;here&gt;, it&#39;s \u200b\u034fon", []string{"INBOX", "UNREAD"}, 1234
	m.Payload.MimeType = "multipart/mixed"
	m.Payload.Parts = []*gmailapi.MessagePart{{PartId: "0", MimeType: "application/pdf", Filename: "menu.pdf", Body: &gmailapi.MessagePartBody{AttachmentId: "x"}}}
	s.put("a2", "", "From", "bo@example.com", "Subject", "Re: Lunch")
	s.list.NextPageToken, s.list.ResultSizeEstimate = "next 2", 201
	res, r := s.mustSearch(t, `{"query":"from:amy","maxResults":2,"pageToken":"p1","includeSpamTrash":true,"labelIds":["INBOX","UNREAD"]}`)
	want := "ID: a1\n  Date: Mon, 23 Nov 2026 10:00:00 +0100\n  From: Amy <amy@example.com>\n  Subject: Lunch &amp; <b>tea</b>\n  Snippet: Fish & chips <here>, it's on\n  To: me@example.com\n  Labels: INBOX UNREAD\n  Attachment: yes\n\n" +
		"ID: a2\n  Date: 2026-11-18T11:06:40Z\n  From: bo@example.com\n  Subject: Re: Lunch\n  Snippet: \n\n" +
		`[There are more: call gmail_search again with the same arguments and pageToken="next 2"]`
	if got := tooltest.Text(res); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	first, _ := json.Marshal(r.Messages[0])
	if want := `{"id":"a1","threadId":"t-a1","date":"2026-11-18T11:06:40Z","from":"Amy \u003camy@example.com\u003e","to":"me@example.com",` +
		`"subject":"Lunch \u0026amp; \u003cb\u003etea\u003c/b\u003e","snippet":"Fish \u0026 chips \u003chere\u003e, it's on","labels":["INBOX","UNREAD"],` +
		`"unread":true,"hasAttachment":true,"sizeEstimate":1234,"link":"https://mail.google.com/mail/#all/t-a1"}`; string(first) != want {
		t.Errorf("got  %s\nwant %s", first, want)
	}
	if r.NextPageToken != "next 2" || r.ResultSizeEstimate != 201 || len(r.Failed) != 0 || r.Messages[1].HasAttachment {
		t.Errorf("%+v", r)
	}
	list := s.query(0)
	for _, part := range []string{"q=from%3Aamy", "maxResults=2", "pageToken=p1", "includeSpamTrash=true", "labelIds=INBOX", "labelIds=UNREAD", "fields=messages%28id%2CthreadId%29%2CnextPageToken%2CresultSizeEstimate"} {
		if !strings.Contains(list, part) {
			t.Errorf("the list was asked for with %s; want %s in it", list, part)
		}
	}
	for _, part := range []string{"format=full", "body%28attachmentId%2Csize%29"} {
		if !strings.Contains(s.query(1), part) {
			t.Errorf("a message was asked for with %s; want %s in it", s.query(1), part)
		}
	}
}

func TestSearchNothing(t *testing.T) {
	s := serve(t)
	res, r := s.mustSearch(t, `{"query":"from:nobody"}`)
	if got := tooltest.Text(res); got != "No emails found matching your query." || r.Messages == nil || len(s.asked("")) != 1 {
		t.Errorf("%q, %+v, %v", got, r, s.asked(""))
	}
	if !strings.Contains(s.query(0), "maxResults=10") || strings.Contains(s.query(0), "pageToken") {
		t.Errorf("asked with %s", s.query(0))
	}
}

// TestSearchOrder answers the messages of a search in the reverse order, as far as they are asked for together.
func TestSearchOrder(t *testing.T) {
	s := serve(t)
	const n = 35
	gates := make([]chan struct{}, n)
	for i := range n {
		s.put(fmt.Sprintf("m%02d", i), "", "Subject", fmt.Sprint(i))
		gates[i] = make(chan struct{})
	}
	var waiting atomic.Int32
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		var i int
		if _, err := fmt.Sscanf(r.URL.Path, "/gmail/v1/users/me/messages/m%d", &i); err != nil {
			return false
		}
		if group := i / api.PerGrant * api.PerGrant; i < n/api.PerGrant*api.PerGrant { // the last few do not wait
			if int(waiting.Add(1))%api.PerGrant == 0 {
				close(gates[group+api.PerGrant-1])
			}
			<-gates[i]
			if i > group {
				defer close(gates[i-1])
			}
		}
		return false
	}
	_, r := s.mustSearch(t, `{"query":"","maxResults":100}`)
	for i, m := range r.Messages {
		if m.Subject != fmt.Sprint(i) {
			t.Errorf("message %d is %s", i, m.ID)
		}
	}
	if len(r.Messages) != n || s.most() != api.PerGrant {
		t.Errorf("%d messages, %d requests at a time; want %d, %d", len(r.Messages), s.most(), n, api.PerGrant)
	}
}

func TestSearchPartial(t *testing.T) {
	s := serve(t)
	for _, id := range []string{"a", "gone", "limited", "b"} {
		s.put(id, "", "Subject", id)
	}
	delete(s.messages, "gone")
	var tries atomic.Int32
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/limited") && tries.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			refuse(w, 429, "rateLimitExceeded")
			return true
		}
		return false
	}
	res, r := s.mustSearch(t, `{"query":"x"}`)
	if len(r.Messages) != 3 || len(r.Failed) != 1 || r.Failed[0].ID != "gone" || r.Failed[0].Reason == "" || tries.Load() != 2 {
		t.Errorf("%+v after %d tries", r, tries.Load())
	}
	if text := tooltest.Text(res); !strings.Contains(text, "ID: gone\n  Not read: "+r.Failed[0].Reason+"\n\nID: limited\n  Date: ") {
		t.Errorf("%s", text)
	}
}

// TestSearchFails has everything fail, or the grant end midway.
func TestSearchFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		only   string
		most   int // requests
	}{{"list", 404, "/messages", 1}, {"all messages", 404, "/messages/", 31}, {"grant", 401, "/messages/m07", 31}} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t)
			for i := range 30 {
				s.put(fmt.Sprintf("m%02d", i), "")
			}
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, c.only) || c.most > 1 && strings.Contains(r.URL.Path, c.only) {
					refuse(w, c.status, "x")
					return true
				}
				return false
			}
			tools := s.tools(t)
			_, err := tools.search(t.Context(), searchInput{Query: "x", MaxResults: 100})
			if err == nil || !strings.Contains(err.Error(), fmt.Sprint(c.status)) || len(s.asked("")) > c.most {
				t.Errorf("%v after %d requests", err, len(s.asked("")))
			}
		})
	}
}

func TestSearchCanceled(t *testing.T) {
	s := serve(t)
	for i := range 40 {
		s.put(fmt.Sprintf("m%02d", i), "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/messages/") {
			cancel()
			<-r.Context().Done()
			return true
		}
		return false
	}
	_, err := s.tools(t).search(ctx, searchInput{MaxResults: 100})
	if err != context.Canceled {
		t.Errorf("error %v", err)
	}
	if n := len(s.asked("/messages/")); n > api.PerGrant {
		t.Errorf("%d messages were asked for", n)
	}
}

func BenchmarkSearch(b *testing.B) {
	s := serve(b)
	for i := range 25 {
		m := s.put(fmt.Sprintf("m%02d", i), "", "From", "Amy <amy@example.com>", "To", "me@example.com", "Subject", "Lunch on Monday", "Date", "Mon, 23 Nov 2026 10:00:00 +0100")
		m.Snippet = strings.Repeat("Fish &amp; chips ", 10)
	}
	tools := s.tools(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tools.search(b.Context(), searchInput{MaxResults: 25}); err != nil {
			b.Fatal(err)
		}
	}
}
