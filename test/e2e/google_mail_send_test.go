//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	netmail "net/mail"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/google"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// mailPayloads are what people and attackers put into the fields of a mail.
func mailPayloads() []string {
	return []string{
		"plain", "two words", " leading", "trailing ", "double  space", "tab\there", "", " ",
		"a\r\nBcc: evil@example.com", "a\nBcc: evil@example.com", "a\rBcc: evil@example.com", "a\r\n Bcc: evil@example.com", "a\r\n\r\n<p>body",
		"\r\n", "\n", "a\x00b", "a\x01b", "a\x0bb", "a\x0cb", "a\x1bb", "a\x7fb", "a\ufffdb", "a\u0085Bcc: evil@example.com", "a\u2028Bcc: evil@example.com",
		"a\u2029b", "a\u00a0b", "a\u200bb", "\ufeffa", "a\u202eb", "=?utf-8?q?=0d=0aBcc:_evil@example.com?=", "=?utf-8?b?DQpCY2M6IGV2aWxAZXhhbXBsZS5jb20=?=",
		"=?utf-8?q?a?= =?utf-8?q?b?=", "=?", "?=", "=?x", "=?utf-8?q?open", "=?utf-8?Q?J=C3=B6rg?=", "%0d%0aBcc: evil@example.com", `\r\nBcc: evil@example.com`,
		`quote " in`, `"quoted"`, `back \ slash`, `\`, `\"`, `angle <evil@example.com>`, "<", ">", "(comment)", "a (b", "group: a@example.com;", "a, b", ";", ":", "@",
		".", "a.b.", "[x]", "'single'", "`tick`", "$(x)", "{{x}}", "100%", "=3D", "=", "_under_", "a*0*=utf-8''x", "filename=\"x\"; a=b",
		"Jörg Müller", "日本語の件名", "Здравствуйте", "שלום עולם", "e\u0301\u0302\u0303", "👩‍👩‍👧‍👦", "mixed ASCII and ü at the end ü",
		strings.Repeat("x", 1990), strings.Repeat("ü", 900), strings.Repeat("😀", 450), strings.Repeat("word ", 390) + "end", strings.Repeat("a", 997),
		strings.Repeat("x", 2001), strings.Repeat("a", 70), "--boundary", "--", "\r\n.\r\n", ".", "From the start", "\nFrom me", "To: x@example.com", "Re: Re: x", "Subject: y",
		"text/html\r\nX-Injected: 1", "<id@example.com>", "user@example.com", "User <user@example.com>", "user@bücher.example", "üser@example.com",
		"user@example.com, other@example.com", "user@", "@example.com", "user@[127.0.0.1]", `"a b"@example.com`, `"a\"b"@example.com`, "user@ex ample.com",
		"user@example.com\x00", "a@example.com\r\nX-Injected: 1", "undisclosed-recipients:;", "Doe, John <j@example.com>", "user@example.com (Comment ü)",
		"=?utf-8?q?=0d=0aX:_y?= <user@example.com>", "=?utf-8?q?J=C3=B6rg?= <user@example.com>", strings.Repeat("l", 65) + "@example.com", "user@example.com.", "user@-example.com",
	}
}

// fieldsOf returns the header fields of a mail, in small letters, each as often as it is there.
func fieldsOf(t *testing.T, raw []byte) (names []string, header netmail.Header) {
	t.Helper()
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	must(t, err)
	for name, values := range m.Header {
		for range values {
			names = append(names, strings.ToLower(name))
		}
	}
	slices.Sort(names)
	return names, m.Header
}

// TestGoogleMailSendPayloads puts every payload into every text of a mail: it is rejected before any request, or exactly the mail
// that was meant is sent.
func TestGoogleMailSendPayloads(t *testing.T) {
	t.Parallel()
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for field, value := range map[string]func(p string) string{
		"to": nil, "cc": nil, "bcc": nil, "from": nil, "subject": nil, "body": nil, "html": nil,
		"to name":   func(p string) string { return `"` + quote.Replace(p) + `" <name@example.com>` },
		"cc bare":   func(p string) string { return p + " <name@example.com>" },
		"from name": func(p string) string { return `"` + quote.Replace(p) + `" <alias@example.com>` },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			argument, _, _ := strings.Cut(field, " ")
			g, b := newMailGround(t, "")
			sent, rejected := 0, 0
			for _, p := range mailPayloads() {
				text := p
				if value != nil {
					text = value(p)
				}
				args := map[string]any{"to": "to@example.com", "subject": "subject", "body": "text"}
				args[argument] = text
				before := len(g.google.Requests())
				o := b.call("gmail_send", args)
				list := g.google.Sent(alice)
				if o.errorType == "-32602" {
					rejected++
					if !strings.Contains(o.text, argument) || len(list) != sent || len(g.google.Requests()) != before || strings.ContainsAny(o.text, "\r\n\x00") {
						t.Errorf("%.100q: %v", text, o)
					}
					continue
				}
				if o.failed || len(list) != sent+1 {
					t.Errorf("%.100q: %d sent: %v", text, len(list)-sent, o)
					sent = len(list)
					continue
				}
				sent++
				checkSent(t, argument, text, args, list[sent-1])
			}
			t.Logf("%d sent, %d rejected", sent, rejected)
			if sent < 10 || rejected < 2 {
				t.Errorf("%d sent, %d rejected", sent, rejected)
			}
		})
	}
}

// checkSent checks that a mail is the one that was meant.
func checkSent(t *testing.T, argument, text string, args map[string]any, m fake.Sent) {
	t.Helper()
	names, header := fieldsOf(t, m.Raw)
	want := []string{"content-type", "date", "from", "message-id", "mime-version", "to"}
	if argument != "html" || text == "" {
		want = append(want, "content-transfer-encoding")
	}
	for _, name := range []string{"cc", "bcc", "subject"} {
		if s, _ := args[name].(string); strings.TrimSpace(s) != "" || name == "subject" && s != "" {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if !slices.Equal(names, want) || m.Err != nil {
		t.Errorf("%.100q has the fields %q, %v; want %q", text, names, m.Err, want)
	}
	list := func(field string) (all []string) {
		parsed, err := netmail.ParseAddressList(strings.TrimSpace(fmt.Sprint(args[field])))
		if err != nil || args[field] == nil {
			return nil
		}
		for _, a := range parsed {
			all = append(all, a.Address)
		}
		return all
	}
	same := func(field string, got []string) {
		t.Helper()
		if field != argument && !slices.Equal(got, list(field)) {
			t.Errorf("%.100q goes to %q as %s", text, got, field)
		}
		if i := slices.IndexFunc(got, func(a string) bool { return !strings.Contains(text, a) }); field == argument && i >= 0 && !strings.Contains(text, "xn--") && !strings.Contains(text, "ü") && !strings.Contains(text, "\"") {
			t.Errorf("%.100q goes to %q as %s", text, got, field)
		}
	}
	same("to", m.To)
	same("cc", m.Cc)
	same("bcc", m.Bcc)
	newlines := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	if s, _ := args["subject"].(string); m.Subject != s {
		t.Errorf("subject %.100q, not %.100q: %.200q", m.Subject, s, header["Subject"])
	}
	if s, _ := args["body"].(string); newlines.Replace(m.Text) != newlines.Replace(s) {
		t.Errorf("text %.100q, not %.100q", m.Text, s)
	}
	if s, _ := args["html"].(string); newlines.Replace(m.HTML) != newlines.Replace(s) {
		t.Errorf("HTML %.100q, not %.100q", m.HTML, s)
	}
	for line := range strings.SplitSeq(string(m.Raw), "\r\n") {
		if len(line) > 998 || strings.ContainsAny(line, "\r\n\x00") || strings.ContainsFunc(line, func(r rune) bool { return r > 126 }) {
			t.Errorf("%.100q: line of %d bytes: %.100q", text, len(line), line)
		}
	}
}

// sends are the requests that send mail.
func (g *googleGround) sends(n int) (list []fake.Request) {
	for _, r := range g.after(n) {
		if r.Method == http.MethodPost {
			list = append(list, r)
		}
	}
	return list
}

// TestGoogleMailDryRun composes and shows mail, and sends no request.
func TestGoogleMailDryRun(t *testing.T) {
	t.Parallel()
	g, b := newMailGround(t, "")
	g.ground.file("report.txt", "12345", 0o644)
	before := len(g.google.Requests())
	o := b.call("gmail_send", map[string]any{"to": "Bo Li <bo@example.com>", "cc": "carol@example.com", "bcc": "dan@example.com", "subject": "Grüße", "body": "Hello.\nBye.",
		"attachments": []string{"report.txt"}, "dryRun": true})
	if o.failed || o.structure["dryRun"] != true || o.structure["id"] != nil || len(g.sends(before)) != 0 || len(g.google.Sent(alice)) != 0 {
		t.Errorf("%v", o)
	}
	for _, part := range []string{"nothing was sent", "bo@example.com", "carol@example.com", "dan@example.com", "Subject: Grüße", "Hello.\nBye.", "report.txt (5 bytes, SHA-256 "} {
		if !strings.Contains(o.text, part) {
			t.Errorf("does not show %q: %v", part, o)
		}
	}
	if o := b.call("gmail_send", map[string]any{"to": bob, "subject": "s", "body": "b", "dryRun": "true"}); len(g.google.Sent(alice)) != 0 {
		t.Errorf("%v", o)
	}
}

// TestGoogleMailUnknown has Google fail while a mail is sent: it is never sent twice, and what is not known is said.
func TestGoogleMailUnknown(t *testing.T) {
	t.Parallel()
	g, b := newMailGround(t, "")
	for _, test := range []struct {
		name           string
		answer         fake.Answer
		errorType      string
		requests, sent int
	}{
		{"carried out and dropped", fake.Answer{Drop: true, After: true}, "unknown_outcome", 1, 1},
		{"dropped", fake.Answer{Drop: true}, "unknown_outcome", 1, 0},
		{"500", fake.Answer{Status: 500, Reason: "backendError", Message: "m"}, "unknown_outcome", 1, 0},
		{"500 after", fake.Answer{Status: 500, Reason: "backendError", Message: "m", After: true}, "unknown_outcome", 1, 1},
		{"503", fake.BackendError(), "unknown_outcome", 1, 0},
		{"502 of a proxy", fake.Answer{Status: 502, Body: "<html>bad gateway</html>", After: true}, "unknown_outcome", 1, 1},
		{"no JSON", fake.Answer{Status: 200, Body: "<html>hello</html>", After: true}, "unknown_outcome", 1, 1},
		{"no ID", fake.Answer{Status: 200, Body: "{}", After: true}, "unknown_outcome", 1, 1},
		{"429", fake.Answer{Status: 429, Reason: "userRateLimitExceeded", Message: "m", Header: http.Header{"Retry-After": {"0"}}}, "rate_limited", 1, 0},
		{"403 rate", fake.UserRateLimit(403), "rate_limited", 1, 0},
		{"daily", fake.DailyLimit(), "quota_exceeded", 1, 0},
		{"400", fake.Answer{Status: 400, Reason: "invalidArgument", Message: "Invalid To header"}, "invalid_query", 1, 0},
		{"expired token", fake.Unauthenticated(), "", 2, 1},
	} {
		g.google.Fail(to(http.MethodPost, "/messages/send"), 1, test.answer)
		before, had := len(g.google.Requests()), len(g.google.Sent(alice))
		o := b.call("gmail_send", map[string]any{"to": bob, "subject": test.name, "body": "text"})
		if n := len(g.sends(before)); o.errorType != test.errorType || n != test.requests || len(g.google.Sent(alice))-had != test.sent {
			t.Errorf("%s: %d requests, %d sent: %v", test.name, n, len(g.google.Sent(alice))-had, o)
		}
		if o.errorType == "unknown_outcome" && (!o.failed || !strings.Contains(o.text, "not known whether") || !strings.Contains(o.text, "Sent")) {
			t.Errorf("%s: does not say what to do: %v", test.name, o)
		}
	}
	g.google.ExpireTokens() // before the server knows of it
	if o := b.call("gmail_send", map[string]any{"to": bob, "subject": "expired", "body": "text"}); o.failed {
		t.Errorf("%v", o)
	}
	// A client that goes away while it is sent.
	hold, before := make(chan struct{}), len(g.google.Requests())
	g.google.Fail(to(http.MethodPost, "/messages/send"), 1, fake.Answer{Hold: hold})
	p := b.begin("gmail_send", map[string]any{"to": bob, "subject": "canceled", "body": "text"})
	eventually(t, "the mail is being sent", func() bool { return len(g.sends(before)) == 1 })
	p.cancel()
	<-p.over
	b.call("gmail_search", map[string]any{"query": "x"}) // behind the notification
	close(hold)
	if n := len(g.sends(before)); n != 1 {
		t.Errorf("canceled: %d requests", n)
	}
	// The search that the answer recommends finds it.
	if o := b.call("gmail_search", map[string]any{"query": "in:sent newer_than:1d to:" + bob}); !strings.Contains(o.text, "Subject: carried out and dropped") {
		t.Errorf("%v", o)
	}
}

// TestGoogleMailReply threads replies, and leaves out the account itself.
func TestGoogleMailReply(t *testing.T) {
	t.Parallel()
	g, b := newMailGround(t, "")
	original := "From: Amy <amy@example.com>\r\nReply-To: Amy's Desk <desk@example.com>\r\nTo: Alice <ALICE@example.com>, carol@example.com\r\nCc: dan@example.com, desk@example.com, alice@example.com\r\n" +
		"Subject: Re: Größe of the box\r\nMessage-ID: <two@example.com>\r\nReferences: <one@example.com>\r\n\r\nHow big?\r\n"
	id := g.google.Deliver(alice, []byte(original))
	thread := ""
	for _, test := range []struct {
		args   map[string]any
		to, cc []string
	}{
		{map[string]any{}, []string{"desk@example.com"}, nil},
		{map[string]any{"replyAll": true}, []string{"desk@example.com"}, []string{"carol@example.com", "dan@example.com"}},
		{map[string]any{"to": "eve@example.com"}, []string{"eve@example.com"}, nil},
		{map[string]any{"to": "eve@example.com", "cc": "dan@example.com", "replyAll": true}, []string{"eve@example.com"}, []string{"dan@example.com", "carol@example.com", "desk@example.com"}},
	} {
		test.args["replyToMessageId"], test.args["body"] = id, "Two metres."
		o := b.call("gmail_send", test.args)
		if o.failed {
			t.Fatalf("%v: %v", test.args, o)
		}
		all := g.google.Sent(alice)
		m := all[len(all)-1]
		if !slices.Equal(m.To, test.to) || !slices.Equal(m.Cc, test.cc) || m.Bcc != nil {
			t.Errorf("%v: to %q, cc %q, bcc %q", test.args, m.To, m.Cc, m.Bcc)
		}
		if m.Subject != "Re: Größe of the box" || m.InReplyTo != "<two@example.com>" || !slices.Equal(m.References, []string{"<one@example.com>", "<two@example.com>"}) || m.Err != nil {
			t.Errorf("%v: %+v", test.args, m)
		}
		if got, _ := o.structure["threadId"].(string); got != m.Thread || thread != "" && thread != got {
			t.Errorf("%v: thread %s, sent in %s", test.args, got, m.Thread)
		}
		thread = m.Thread
	}
	if o := b.call("gmail_search", map[string]any{"query": "metres"}); strings.Count(fmt.Sprint(o.structure), "threadId:"+thread) != 4 {
		t.Errorf("not all in the thread %s: %v", thread, o.structure)
	}
	for errorType, args := range map[string]map[string]any{
		"not_found": {"replyToMessageId": "ffffffffff", "body": "b"},
		"-32602":    {"replyAll": true, "to": bob, "body": "b"},
	} {
		if o := b.call("gmail_send", args); o.errorType != errorType {
			t.Errorf("%v: %v", args, o)
		}
	}
	// What strangers write into fields that a reply takes over makes no field of its own.
	for i, field := range []string{
		"Reply-To: =?utf-8?q?a=0D=0ABcc:_evil=40example.com?= <x@example.com>", "Message-ID: <a@example.com> <b@example.com>", "References: <a@example.com>\r\n X-Evil: 1",
		"Subject: =?utf-8?q?a=0D=0ABcc:_evil=40example.com?=", "Message-ID: a=?utf-8?q?=0D=0A?=b", "Reply-To: undisclosed-recipients:;", "Reply-To: not an address",
	} {
		had := len(g.google.Sent(alice))
		id := g.google.Deliver(alice, []byte("From: mallory@example.com\r\nTo: "+alice+"\r\n"+field+"\r\n\r\ntext "+strconv.Itoa(i)+"\r\n"))
		o := b.call("gmail_send", map[string]any{"replyToMessageId": id, "body": "b"})
		all := g.google.Sent(alice)
		if o.failed && len(all) == had {
			continue
		}
		m := all[len(all)-1]
		names, _ := fieldsOf(t, m.Raw)
		for _, name := range names {
			if !slices.Contains([]string{"content-transfer-encoding", "content-type", "date", "from", "in-reply-to", "message-id", "mime-version", "references", "subject", "to"}, name) {
				t.Errorf("%q: a field %s", field, name)
			}
		}
		if len(all) != had+1 || len(m.To) != 1 || m.Err != nil {
			t.Errorf("%q: %+v", field, m)
		}
	}
}

// TestGoogleMailFiles attaches files, which the sandbox allows or does not.
func TestGoogleMailFiles(t *testing.T) {
	t.Parallel()
	g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
	g.set("", fmt.Sprintf("tools:\n  google: {tier: full}\n  read_file: {denied_paths: [%s/denied]}\n", g.work))
	b := g.serve()
	g.signInMail(b)
	g.ground.file("report.txt", "the report", 0o644)
	g.ground.file("名前.pdf", "pdf", 0o644)
	g.ground.file(".env", "KEY=verysecret", 0o644)
	g.ground.file("denied/x.txt", "verysecret", 0o644)
	g.ground.file(filepath.Join(g.out, "x.txt"), "verysecret", 0o644)
	must(t, os.Symlink(filepath.Join(g.out, "x.txt"), filepath.Join(g.work, "link.txt")))
	must(t, os.Symlink(filepath.Join(g.work, ".env"), filepath.Join(g.work, "env.txt")))
	must(t, os.Symlink("denied", filepath.Join(g.work, "other")))
	send := func(tool string, files ...string) outcome {
		t.Helper()
		return b.call(tool, map[string]any{"to": bob, "subject": "files", "body": "b", "attachments": files})
	}
	if o := send("gmail_send", "report.txt", filepath.Join(g.work, "名前.pdf")); o.failed {
		t.Fatal(o)
	}
	m := g.google.Sent(alice)[0]
	if want := []fake.SentAttachment{{Name: "report.txt", Type: "text/plain", Data: []byte("the report")}, {Name: "名前.pdf", Type: "application/pdf", Data: []byte("pdf")}}; !reflect.DeepEqual(m.Attachments, want) {
		t.Errorf("%+v", m.Attachments)
	}
	before := len(g.google.Requests())
	for _, tool := range []string{"gmail_send", "gmail_draft"} {
		for _, path := range []string{
			".env", "env.txt", "denied/x.txt", "other/x.txt", "link.txt", filepath.Join(g.out, "x.txt"), "../out/x.txt", "/etc/passwd", "/proc/self/environ", g.file,
			filepath.Join(g.home, ".local/state/toolserver/.gmail-tokens"), g.tokenFiles()[0], ".", "missing.txt", "", "report.txt\x00", "/dev/zero",
		} {
			if o := send(tool, "report.txt", path); !o.failed || strings.Contains(o.text, "verysecret") {
				t.Errorf("%s %s: %v", tool, path, o)
			}
		}
	}
	if n := len(g.google.Requests()) - before; n != 0 {
		t.Errorf("%d requests", n)
	}
	// A large one is uploaded.
	large := bytes.Repeat([]byte("0123456789abcdef"), 6<<20/16)
	g.ground.file("large.bin", string(large), 0o644)
	if o := send("gmail_send", "large.bin"); o.failed {
		t.Fatal(o)
	}
	list := g.sends(before)
	if m := g.google.Sent(alice)[1]; len(list) != 1 || !strings.HasPrefix(list[0].Path, "/upload/gmail/") || len(m.Attachments) != 1 || !bytes.Equal(m.Attachments[0].Data, large) {
		t.Errorf("%d requests: %+v", len(list), list)
	}
	g.google.Fail(func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/upload/") }, 1, fake.BackendError())
	before = len(g.google.Requests())
	if o := send("gmail_send", "large.bin"); o.errorType != "unknown_outcome" || len(g.sends(before)) != 1 {
		t.Errorf("%d requests: %v", len(g.sends(before)), o)
	}
	g.ground.file("toolarge.bin", string(bytes.Repeat(large, 5)), 0o644)
	if o := send("gmail_send", "toolarge.bin"); o.errorType != "too_large" && o.errorType != "-32602" {
		t.Errorf("%v", o)
	}
}

// TestGoogleMailRecipients has the policy refuse recipients before any request: of mail, drafts, replies and invitations.
func TestGoogleMailRecipients(t *testing.T) {
	t.Parallel()
	const lists = "tools:\n  google: {tier: full}\n  gmail_send: {allowed_recipients: ['@example.com', '@*.example.com', boss@partner.example], denied_recipients: [all@example.com, '@secret.example.com']}\n"
	g := newGoogleGround(t, account{"own", os.Geteuid()}, "", lists)
	b := g.serve()
	g.signIn(b, alice)
	original := g.google.Deliver(alice, []byte("From: amy@outside.example\r\nTo: "+alice+", all@example.com\r\nSubject: s\r\nMessage-ID: <x@example.com>\r\n\r\ntext\r\n"))
	inside := g.google.Deliver(alice, []byte("From: amy@example.com\r\nTo: "+alice+", eve@outside.example\r\nSubject: s\r\nMessage-ID: <y@example.com>\r\n\r\ntext\r\n"))
	event := func(attendees, updates string) map[string]any {
		return map[string]any{"summary": "s", "start": "2026-12-01T10:00:00Z", "end": "2026-12-01T11:00:00Z", "attendees": attendees, "sendUpdates": updates}
	}
	mail := func(more ...any) map[string]any {
		args := map[string]any{"subject": "s", "body": "b"}
		for i := 0; i < len(more); i += 2 {
			args[more[i].(string)] = more[i+1]
		}
		return args
	}
	var refused []map[string]any
	for _, who := range []string{
		"eve@outside.example", "bob@example.com, eve@outside.example", "all@example.com", "ALL@Example.COM", `"all"@example.com`, "All <all@example.com>", "bob@example.com <eve@outside.example>",
		"x@secret.example.com", "x@SECRET.example.com", "eve@example.com.outside.example", "eve@notexample.com", "eve@partner.example", "boss@x.partner.example", "bob@example.com.",
		"eve@[127.0.0.1]", `"boss@partner.example"@outside.example`, "group: bob@example.com, eve@outside.example;", "eve@example\u3002outside", "=?utf-8?q?bob=40example.com?= <eve@outside.example>",
	} {
		for _, field := range []string{"to", "cc", "bcc"} {
			args := mail(field, who)
			if field != "to" {
				args["to"] = bob
			}
			refused = append(refused, args)
		}
	}
	refused = append(refused, mail("to", bob, "cc", "carol@a.example.com", "bcc", "eve@outside.example", "dryRun", true))
	for _, args := range refused {
		for _, tool := range []string{"gmail_send", "gmail_draft"} {
			if _, ok := args["dryRun"]; ok && tool == "gmail_draft" {
				continue
			}
			before := len(g.google.Requests())
			o := b.call(tool, args)
			if !o.failed || o.errorType != "denied" && o.errorType != "-32602" || len(g.google.Requests()) != before {
				t.Errorf("%s %q: %v", tool, args, o)
			}
		}
	}
	// Whom a reply goes to is known when the original was read.
	for _, args := range []map[string]any{mail("replyToMessageId", original), mail("replyToMessageId", original, "replyAll", true), mail("replyToMessageId", inside, "replyAll", true)} {
		for _, tool := range []string{"gmail_send", "gmail_draft"} {
			before := len(g.google.Requests())
			if o := b.call(tool, args); o.errorType != "denied" || len(g.sends(before)) != 0 || !strings.Contains(o.text, "tools.gmail_send.") {
				t.Errorf("%s %v: %v", tool, args, o)
			}
		}
	}
	for _, args := range []map[string]any{event("eve@outside.example", "all"), event("bob@example.com, all@example.com", "externalOnly"), event("bob@example.com,eve@outside.example", "none")} {
		before := len(g.google.Requests())
		if o := b.call("calendar_create_event", args); o.errorType != "denied" || len(g.google.Requests()) != before {
			t.Errorf("%v: %v", args, o)
		}
	}
	if n := len(g.google.Sent(alice)); n != 0 {
		t.Errorf("%d mails were sent", n)
	}
	for _, args := range []map[string]any{
		mail("to", "Bob <BOB@EXAMPLE.COM>", "cc", "carol@a.b.example.com", "bcc", "boss@partner.example"), mail("replyToMessageId", inside), mail("replyToMessageId", original, "to", bob),
	} {
		if o := b.call("gmail_send", args); o.failed {
			t.Errorf("%v: %v", args, o)
		}
	}
	made := b.call("calendar_create_event", event("bob@example.com", "all"))
	if made.failed {
		t.Fatal(made)
	}
	more := map[string]any{"eventId": made.structure["id"], "addAttendees": "carol@example.com, eve@outside.example", "sendUpdates": "all"}
	if o := b.call("calendar_update_event", more); o.errorType != "denied" {
		t.Errorf("%v", o)
	}
	// A new policy holds for the next mail, and the sign-in stays.
	g.reload(b, strings.Replace(lists, "['@example.com', ", "[", 1))
	before := len(g.google.Requests())
	if o := b.call("gmail_send", mail("to", bob)); o.errorType != "denied" || len(g.google.Requests()) != before {
		t.Errorf("reloaded: %v", o)
	}
	g.reload(b, strings.Replace(lists, "gmail_send: {", "gmail_send: {enabled: false, ", 1)) // others that mail keep to the lists of a tool that is disabled
	for tool, args := range map[string]map[string]any{"gmail_draft": mail("to", "eve@outside.example"), "calendar_create_event": event("eve@outside.example", "all")} {
		if o := b.call(tool, args); o.errorType != "denied" {
			t.Errorf("%s: %v", tool, o)
		}
	}
	g.reload(b, "tools: {gmail_send: {allowed_recipients: []}}\n")
	if o := b.call("gmail_send", mail("to", "boss@partner.example")); o.errorType != "denied" {
		t.Errorf("nobody is allowed: %v", o)
	}
	g.reload(b, "")
	if o := b.call("gmail_send", mail("to", "eve@outside.example")); o.failed {
		t.Errorf("everybody is allowed: %v", o)
	}
}

// reload configures a server anew and waits until that is in force.
func (g *googleGround) reload(b *box, settings string) {
	g.t.Helper()
	count := func() int { return strings.Count(b.log(), "configuration reloaded") }
	before := count()
	g.set("", settings)
	eventually(g.t, "the configuration is reloaded", func() bool { return count() > before })
}

// asking connects a client whose user answers forms, to a server on which alice has signed in to Gmail.
func (g *googleGround) asking(user *asked, version, transport string) *toolClient {
	g.t.Helper()
	var c *toolClient
	if transport == "http" {
		s := launchHTTP(g.t, []string{"HOME=" + g.home}, binary(), "--insecure-no-auth", "--config", g.file)
		client, err := mcpclient.ConnectHTTP(g.t.Context(), http.DefaultClient, s.url, nil, user.options(version))
		must(g.t, err)
		g.t.Cleanup(client.Close)
		c = &toolClient{program: s.program, mcp: client}
	} else {
		c = (&askGround{ground: g.ground, file: g.file}).serve(user, version, setup{})
	}
	first := c.call("gmail_search", map[string]any{"query": "x"})
	newVisitor(g.t).allows(g.address(text(first)), alice)
	return c
}

// TestGoogleMailConfirmed has a person agree to mail, or not.
func TestGoogleMailConfirmed(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, version, transport string) {
		g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "tools: {gmail_send: {confirm: true, denied_recipients: ['@denied.example']}}\n")
		original := g.google.Deliver(alice, []byte("From: Amy <amy@example.com>\r\nTo: "+alice+", carol@example.com\r\nSubject: Lunch\r\nMessage-ID: <x@example.com>\r\n\r\ntext\r\n"))
		user := &asked{}
		c := g.asking(user, version, transport)
		args := map[string]any{"to": "Bo Li <bo@example.com>", "cc": "carol@example.com", "bcc": "dan@example.com", "subject": "Invoice \u202egpj", "body": "First line.\nSecond\u200b line\x1b[2J."}
		for _, no := range []string{sayNo, `{"action":"cancel"}`} {
			user.saying(no)
			if a := c.call("gmail_send", args); !a.failed() || len(user.was()) != 1 || len(g.google.Sent(alice)) != 0 {
				t.Errorf("%s: asked %q: %+v", no, user.was(), a)
			}
		}
		question := strings.Join(user.was(), "")
		for _, part := range []string{`To: "Bo Li" <bo@example.com>`, "\nCc: carol@example.com\n", "\nBcc: dan@example.com\n", `Subject: Invoice \u202egpj`, "\nSize: ", " bytes\n", "First line.\nSecond\\u200b line\\u001b[2J."} {
			if !strings.Contains(question, part) {
				t.Errorf("the question has no %q: %s", part, question)
			}
		}
		if strings.ContainsAny(question, "\u202e\u200b\x1b") {
			t.Errorf("the question has characters that cannot be seen: %q", question)
		}
		user.saying(sayOnce)
		if a := c.call("gmail_send", args); a.failed() || len(g.google.Sent(alice)) != 1 || len(user.was()) != 1 {
			t.Errorf("agreed: asked %q, %d sent: %+v", user.was(), len(g.google.Sent(alice)), a)
		}
		user.saying(sayNo)
		reply := map[string]any{"replyToMessageId": original, "replyAll": true, "body": "Yes."}
		if a := c.call("gmail_send", reply); !a.failed() || len(g.google.Sent(alice)) != 1 {
			t.Errorf("reply: %+v", a)
		}
		if question := strings.Join(user.was(), ""); !strings.Contains(question, "amy@example.com") || !strings.Contains(question, "Cc: carol@example.com") || !strings.Contains(question, "Subject: Re: Lunch") {
			t.Errorf("reply: asked %s", question)
		}
		user.saying(sayOnce)
		if a := c.call("gmail_send", reply); a.failed() || len(g.google.Sent(alice)) != 2 {
			t.Errorf("reply: %+v", a)
		}
		user.saying(sayOnce)
		if a := c.call("gmail_send", map[string]any{"to": "nobody", "subject": "s", "body": "b"}); a.Error == nil || a.Error.Code != -32602 || len(user.was()) != 0 {
			t.Errorf("asked %q about what cannot be sent: %+v", user.was(), a)
		}
		if a := c.call("gmail_send", map[string]any{"to": "x@denied.example", "subject": "s", "body": "b"}); a.errorType() != "denied" || len(user.was()) != 0 {
			t.Errorf("asked %q about what is denied: %+v", user.was(), a)
		}
		if a := c.call("gmail_send", map[string]any{"to": bob, "subject": "s", "body": "b", "dryRun": true}); a.failed() || !strings.Contains(a.text(), "Dry run: nothing was sent.") || len(user.was()) != 0 {
			t.Errorf("asked %q about a dry run: %+v", user.was(), a)
		}
		user.saying(sayOnce)
		if a := c.call("gmail_send", map[string]any{"to": bob, "subject": "s", "body": strings.Repeat("word ", 14_000)}); a.errorType() != "too_large" || len(user.was()) != 0 || len(g.google.Sent(alice)) != 2 {
			t.Errorf("asked %.300q about more than a person reads: %+v", user.was(), a)
		}
	})
	t.Run("nobody to ask", func(t *testing.T) {
		t.Parallel()
		g, b := newMailGround(t, "tools: {gmail_send: {confirm: true}}\n")
		before := len(g.google.Requests())
		if o := b.call("gmail_send", map[string]any{"to": bob, "subject": "s", "body": "b"}); !o.failed || len(g.google.Sent(alice)) != 0 || len(g.sends(before)) != 0 || !strings.Contains(o.text, "elicitation") && !strings.Contains(o.text, "ask") {
			t.Errorf("%v", o)
		}
	})
}

// TestGoogleMailLog does all kinds of things and looks for them in the log of the server.
func TestGoogleMailLog(t *testing.T) {
	t.Parallel()
	g, b := newMailGround(t, "logging: {level: debug}\ntools: {gmail_send: {denied_recipients: ['@denied.example']}}\n")
	id := g.google.Deliver(alice, mailText("Sender Zebra <zebra@correspondent.example>", "Quagga subject", "Okapi body"))
	secrets := []string{"Zebra", "zebra@", "correspondent.example", "Quagga", "Okapi", "Giraffe", "Gazelle", "denied.example", "recipient.example", "attachmentname", googleSecret}
	mail := map[string]any{"to": "Giraffe <someone@recipient.example>", "subject": "Gazelle", "body": "Okapi"}
	with := func(key string, value any) map[string]any {
		all := map[string]any{key: value}
		for k, v := range mail {
			if k != key {
				all[k] = v
			}
		}
		return all
	}
	b.call("gmail_search", map[string]any{"query": "Quagga"})
	b.call("gmail_search", map[string]any{"query": "Quagga", "pageToken": "Giraffe"})
	for _, format := range []string{"text", "html", "raw", "headers"} {
		b.call("gmail_read", map[string]any{"messageId": id, "format": format})
	}
	b.call("gmail_send", mail)
	b.call("gmail_send", with("dryRun", true))
	b.call("gmail_send", with("to", "x@denied.example"))
	b.call("gmail_send", with("to", "Giraffe"))
	b.call("gmail_send", with("subject", "Gazelle\r\nX: y"))
	b.call("gmail_send", with("attachments", []string{"attachmentname.txt"}))
	b.call("gmail_send", map[string]any{"replyToMessageId": id, "body": "Okapi"})
	for _, answer := range []fake.Answer{{Drop: true}, fake.BackendError(), {Status: 400, Reason: "invalidArgument", Message: "Invalid Quagga Okapi"}, {Status: 200, Body: "Okapi"}, {Status: 500, Body: "Quagga"}, fake.Unauthenticated()} {
		g.google.Fail(to(http.MethodPost, "/messages/send"), 1, answer)
		b.call("gmail_send", mail)
	}
	g.google.Fail(to(http.MethodGet, "/messages"), 1, fake.Answer{Status: 400, Reason: "invalidArgument", Message: "Invalid Quagga"})
	b.call("gmail_search", map[string]any{"query": "Quagga"})
	b.call("gmail_search", map[string]any{"query": "Quagga", "nonsense": "Okapi"})
	g.google.ExpireTokens()
	b.call("gmail_search", map[string]any{"query": "x"})
	for _, r := range g.google.Requests() {
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && token != "" && !slices.Contains(secrets, token) {
			secrets = append(secrets, token)
		}
	}
	for _, file := range g.tokenFiles() {
		var kept map[string]any
		must(t, json.Unmarshal([]byte(read(t, file)), &kept))
		token, _ := kept["refresh_token"].(string)
		if token == "" {
			t.Fatalf("no refresh token in %s", file)
		}
		secrets = append(secrets, token)
	}
	b.stop()
	log := b.log()
	if !strings.Contains(log, "gmail_send") {
		t.Fatalf("nothing in the log: %s", log)
	}
	for _, secret := range append(secrets, alice) {
		if list := lines(log, secret); len(list) > 0 {
			t.Errorf("the log has %q: %.500q", secret, list[0])
		}
	}
}

// TestGoogleMailParallel sends many mails at a time, each once.
func TestGoogleMailParallel(t *testing.T) {
	t.Parallel()
	g, b := newMailGround(t, "limits: {per_tool: 100}\n")
	var calls []*pending
	for i := range 40 {
		calls = append(calls, b.begin("gmail_send", map[string]any{"to": bob, "subject": strconv.Itoa(i), "body": "b"}))
	}
	ids := map[string]string{}
	for i, p := range calls {
		o := b.finish(p)
		id, _ := o.structure["id"].(string)
		if o.failed || ids[id] != "" {
			t.Errorf("%d: %v", i, o)
		}
		ids[id] = strconv.Itoa(i)
	}
	list := g.google.Sent(alice)
	if len(list) != len(calls) {
		t.Errorf("%d mails were sent", len(list))
	}
	for _, m := range list {
		if ids[m.ID] != m.Subject {
			t.Errorf("%s has the subject %s, not %s", m.ID, m.Subject, ids[m.ID])
		}
	}
}

// TestGoogleMailDrafts makes and replaces drafts, and sends none.
func TestGoogleMailDrafts(t *testing.T) {
	t.Parallel()
	g, b := newMailGround(t, "tools: {google: {tier: full}}\n")
	o := b.call("gmail_draft", map[string]any{"to": bob, "subject": "Grüße", "body": "first"})
	id, _ := o.structure["draftId"].(string)
	if o.failed || id == "" {
		t.Fatalf("%v %v", o, o.structure)
	}
	if o := b.call("gmail_draft", map[string]any{"draftId": id, "subject": "Grüße", "body": "second"}); o.failed || o.structure["draftId"] != id {
		t.Errorf("%v", o)
	}
	if o := b.call("gmail_search", map[string]any{"query": "in:drafts"}); strings.Count(o.text, "ID: ") != 1 || !strings.Contains(o.text, "Snippet: second") {
		t.Errorf("%v", o)
	}
	if o := b.call("gmail_draft", map[string]any{"draftId": "nosuch", "body": "third"}); o.errorType != "not_found" && o.errorType != "invalid_query" {
		t.Errorf("%v", o)
	}
	for _, answer := range []fake.Answer{{Drop: true, After: true}, fake.BackendError()} {
		before := len(g.google.Requests())
		g.google.Fail(to(http.MethodPost, "/drafts"), 1, answer)
		if o := b.call("gmail_draft", map[string]any{"to": bob, "subject": "s", "body": "b"}); o.errorType != "unknown_outcome" || len(g.sends(before)) != 1 {
			t.Errorf("%v", o)
		}
	}
	if n := len(g.google.Sent(alice)); n != 0 {
		t.Errorf("%d sent", n)
	}
}

// TestGoogleMailInternational has addresses of domains beyond ASCII, and a policy about them.
func TestGoogleMailInternational(t *testing.T) {
	t.Parallel()
	g, b := newMailGround(t, "tools: {gmail_send: {allowed_recipients: ['@bücher.example'], denied_recipients: ['boss@xn--bcher-kva.example']}}\n")
	for who, errorType := range map[string]string{
		"user@bücher.example": "", "user@xn--bcher-kva.example": "", "user@BÜCHER.example": "", "user@XN--BCHER-KVA.example": "",
		"boss@bücher.example": "denied", "BOSS@Bücher.Example": "denied", "boss@xn--bcher-kva.example": "denied", "user@bucher.example": "denied", "user@b\u00fccher.example.test": "denied",
	} {
		had := len(g.google.Sent(alice))
		o := b.call("gmail_send", map[string]any{"to": who, "subject": "s", "body": "b"})
		if o.errorType != errorType || (errorType == "") != (len(g.google.Sent(alice)) == had+1) {
			t.Errorf("%s: %v", who, o)
		}
	}
	for _, m := range g.google.Sent(alice) {
		if len(m.To) != 1 || !strings.EqualFold(m.To[0], "user@xn--bcher-kva.example") && m.To[0] != "user@bücher.example" || m.Err != nil {
			t.Errorf("to %q, %v", m.To, m.Err)
		}
	}
}

// TestGoogleMailSwapped has a file change while a person reads what is to be sent: what they have not seen is not sent.
func TestGoogleMailSwapped(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, version, transport string) {
		g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "tools: {gmail_send: {confirm: true}}\n")
		path := g.ground.file("report.txt", "five5", 0o600)
		user := &asked{}
		c := g.asking(user, version, transport)
		user.meanwhile = func() { g.ground.file("report.txt", "other", 0o600) } // of the same size
		user.saying(sayOnce)
		args := map[string]any{"to": "bo@example.com", "subject": "s", "body": "b", "attachments": []string{path}}
		a := c.call("gmail_send", args)
		questions, sent := user.was(), len(g.google.Sent(alice))
		if version == modernVersion { // the client calls again, and is asked about what the file is by then
			if a.failed() || sent != 1 || len(questions) != 2 || questions[0] == questions[1] {
				t.Errorf("asked %q, %d sent: %+v", questions, sent, a)
			}
			return
		}
		if a.errorType() != "conflict" || sent != 0 || len(questions) != 1 {
			t.Errorf("asked %q, %d sent: %+v", questions, sent, a)
		}
		if a := c.call("gmail_send", args); a.failed() || len(g.google.Sent(alice)) != 1 {
			t.Errorf("again: %+v", a)
		}
	})
}
