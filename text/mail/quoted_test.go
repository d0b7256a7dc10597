package mail

import (
	"encoding/base64"
	"strings"
	"testing"

	"google.golang.org/api/gmail/v1"
)

// history is what somebody wrote before, of which nothing may be shown.
const history = "OLDER one\nOLDER two is longer\nOLDER three\nOLDER four\nOLDER five, the last\n"

func quoteOf(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ") + "\n"
}

func breaks(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "<br>") }

// TestReadWritten has the replies of many programs.
func TestReadWritten(t *testing.T) {
	long := strings.Repeat(history, 20)
	const outlook = "From: Bo Li &lt;bo@example.com&gt;<br>Sent: Monday, 23 November 2026 10:00<br>To: Amy<br>Subject: Lunch<br>"
	for name, c := range map[string]struct {
		html, text, subject string
		want                []string // in the result
		not                 []string
		whole               bool // nothing is left out
	}{
		"gmail": {html: `<div dir="ltr">NEW</div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">On Mon, Nov 23, 2026 at 10:00 AM Bo Li &lt;<a href="mailto:bo@example.com">bo@example.com</a>&gt; wrote:<br></div><blockquote class="gmail_quote" style="margin:0"><div>` + breaks(long) + `<blockquote class="gmail_quote">OLDER still</blockquote></div></blockquote></div>`,
			want: []string{"NEW\n\n[quoted text left out: "}, not: []string{"OLDER", "wrote"}},
		"gmail, German": {html: `<div>NEU</div><div class="gmail_quote"><div class="gmail_attr">Am Mo., 23. Nov. 2026 um 10:00 Uhr schrieb Bo Li &lt;bo@example.com&gt;:<br></div><blockquote class="gmail_quote">` + breaks(long) + `</blockquote></div>`,
			want: []string{"NEU"}, not: []string{"OLDER", "schrieb"}},
		"gmail, inline": {html: `<div class="gmail_quote"><div class="gmail_attr">On Mon, Nov 23, 2026 at 10:00 AM Bo wrote:</div><blockquote class="gmail_quote">` + breaks(long) + `<br>Is Tuesday right?</blockquote><div>YES, TUESDAY</div><blockquote class="gmail_quote">` + breaks(long) + `</blockquote></div>`,
			want: []string{"> Is Tuesday right?\n\nYES, TUESDAY", "[quoted text left out"}, not: []string{"OLDER one"}},
		"gmail, forwarded": {html: `<div>SEE</div><div class="gmail_quote"><div class="gmail_attr">---------- Forwarded message ---------<br>From: <b>Bo</b> &lt;bo@example.com&gt;<br>Date: Mon, Nov 23, 2026 at 10:00 AM<br>Subject: Lunch<br>To: &lt;amy@example.com&gt;<br></div><br>KEPT</div>`, whole: true},
		"own indentation":  {html: `<div>NEW</div><blockquote style="margin:0 0 0 40px;border:none;padding:0px">KEPT</blockquote>`, whole: true},
		"outlook, web": {html: `<div>NEW</div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg" dir="ltr"><font>` + outlook + `</font></div><div>` + breaks(long) + `</div>`,
			want: []string{"NEW\n\n[quoted"}, not: []string{"OLDER", "Sent:"}},
		"outlook, desktop, French": {html: `<div class="WordSection1"><p>NOUVEAU</p><div><div style='border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0cm 0cm 0cm'><p class="MsoNormal"><b>De&nbsp;:</b> Bo Li &lt;bo@example.com&gt; <br><b>Envoyé&nbsp;:</b> lundi 23 novembre 2026 10:00<br><b>À&nbsp;:</b> Amy<br><b>Objet&nbsp;:</b> Repas</p></div></div><p>` + breaks(long) + `</p></div>`,
			want: []string{"NOUVEAU"}, not: []string{"OLDER", "Envoyé"}},
		"outlook, forwarded":  {subject: "WG: Lunch", html: `<div>SEE</div><div id="divRplyFwdMsg">` + outlook + `</div><div>KEPT</div>`, whole: true},
		"a rule is no header": {html: `<p>NEW</p><div style="border-top:solid #eee 1px">KEPT<br>Phone: 1234</div>`, whole: true},
		"apple": {html: `<div>NEW</div><div><br><blockquote type="cite"><div>On 23 Nov 2026, at 10:00, Bo Li &lt;bo@example.com&gt; wrote:</div><br><div>` + breaks(long) + `</div></blockquote></div>`,
			want: []string{"NEW"}, not: []string{"OLDER", "wrote"}},
		"apple, forwarded": {html: `<div>SEE</div><div>Begin forwarded message:</div><blockquote type="cite"><div><b>From: </b>Bo Li</div><div><b>Subject: </b>Lunch</div><div><b>Date: </b>23 November 2026</div><div><b>To: </b>Amy</div><br><div>KEPT</div></blockquote>`, whole: true},
		"yahoo": {html: `<div>NEW</div><div id="ydp1yahoo_quoted_1" class="ydp1yahoo_quoted"><div><div>On Monday, November 23, 2026 at 10:00:00 AM GMT, Bo &lt;bo@example.com&gt; wrote:</div><div>` + breaks(long) + `</div></div></div>`,
			want: []string{"NEW"}, not: []string{"OLDER", "wrote"}},
		"thunderbird": {html: `<div class="moz-cite-prefix">On 23/11/2026 10:00, Bo Li wrote:<br></div><blockquote type="cite" cite="mid:1@example.com">` + breaks(long) + `</blockquote><p>BELOW</p>`,
			want: []string{"BELOW"}, not: []string{"OLDER one"}},
		"thunderbird, forwarded": {html: `<p>SEE</p><div class="moz-forward-container">-------- Forwarded Message --------<table><tr><th>Subject: </th><td>Lunch</td></tr><tr><th>Date: </th><td>Mon, 23 Nov 2026</td></tr><tr><th>From: </th><td>Bo</td></tr></table>KEPT</div>`, whole: true},
		"plain":                  {text: "NEW\n\nOn Mon, Nov 23, 2026 at 10:00 AM Bo Li <bo@example.com> wrote:\n\n" + quoteOf(long), want: []string{"NEW\n\n[quoted"}, not: []string{"OLDER", "wrote"}},
		"plain, folded": {text: "NEW\nOn Mon, Nov 23, 2026 at 10:00 AM Bo Li with a long name\n<bo@example.com> wrote:\n" + quoteOf(long) + "\n-- \nAmy",
			want: []string{"NEW\n[quoted", "Amy"}, not: []string{"OLDER", "long name"}},
		"plain, Japanese":   {text: "新しい\n\n2026年11月23日(月) 10:00 Bo Li <bo@example.com>:\n\n" + quoteOf(long), want: []string{"新しい"}, not: []string{"OLDER", "2026年"}},
		"plain, Chinese":    {text: "新的\n\nBo Li <bo@example.com> 于2026年11月23日周一 10:00写道：\n\n" + quoteOf(long), want: []string{"新的"}, not: []string{"OLDER", "写道"}},
		"gmx":               {html: `<div>NEU</div><div name="quote" style="border-left:2px solid #C3D9E5;"><div><b>Gesendet:</b> Montag, 23. November 2026<br><b>Von:</b> Bo<br><b>An:</b> Amy<br><b>Betreff:</b> Essen</div><div name="quoted-content">` + breaks(long) + `</div></div>`, want: []string{"NEU"}, not: []string{"OLDER", "Betreff"}},
		"mail.ru":           {html: `<p>НОВОЕ</p><blockquote style="border-left:1px solid #0857A6; margin:10px">Понедельник, 23 ноября 2026, 10:00 +03:00 от Bo &lt;bo@example.com&gt;:<br>` + breaks(long) + `</blockquote>`, want: []string{"НОВОЕ"}, not: []string{"OLDER"}},
		"mutt":              {text: "NEW\n\nOn Mon, Nov 23, 2026 at 10:00:00AM +0000, Bo Li wrote:\n" + quoteOf(long), want: []string{"NEW"}, not: []string{"OLDER", "wrote"}},
		"no attribution":    {text: "Prices for 2026:\n\n" + quoteOf(long), want: []string{"Prices for 2026:"}, not: []string{"OLDER"}},
		"plain, below":      {text: "On Mon, Nov 23, 2026 at 10:00 AM Bo wrote:\n" + quoteOf(long) + "BELOW\n", want: []string{"BELOW", "> OLDER five, the last"}, not: []string{"OLDER one"}},
		"plain, inline":     {text: "> Tuesday?\nYES\n> At noon?\nNO\n", whole: true},
		"plain, quote only": {text: quoteOf(long), whole: true},
		"plain, original": {text: "NEW\n\n-----Ursprüngliche Nachricht-----\nVon: Bo Li\nGesendet: Montag, 23. November 2026\nAn: Amy\nBetreff: Essen\n\n" + long,
			want: []string{"NEW"}, not: []string{"OLDER", "Betreff"}},
		"plain, outlook":          {text: "NEW\n\n________________________________\nFrom: Bo Li <bo@example.com>\nSent: Monday, November 23, 2026\nTo: Amy\nSubject: Lunch\n\n" + long, want: []string{"NEW"}, not: []string{"OLDER", "Sent"}},
		"plain, forwarded":        {text: "SEE\n\n---------- Forwarded message ---------\nFrom: Bo <bo@example.com>\nDate: Mon, Nov 23, 2026\nSubject: Lunch\nTo: Amy\n\nKEPT\n", whole: true},
		"plain, apple, forwarded": {text: "SEE\n\nBegin forwarded message:\n\n" + quoteOf("From: Bo\nSubject: Lunch\nDate: 23 November 2026\nTo: Amy\n\nKEPT"), whole: true},
		"a journey":               {text: "My journey:\n\nFrom: London\nTo: Paris\nDate: 12 Jan 2026, 10:00\nSeat: 12\n\nKEPT\n", whole: true},
		"a list":                  {text: "In 2026 I need:\n\n- bread\n- 1000 eggs\n", whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			media, content := "text/plain", c.text
			if c.html != "" {
				media, content = "text/html", c.html
			}
			root := &gmail.MessagePart{MimeType: media, Body: &gmail.MessagePartBody{Data: base64.URLEncoding.EncodeToString([]byte(content))},
				Headers: []*gmail.MessagePartHeader{{Name: "Subject", Value: c.subject}, {Name: "Content-Type", Value: media + "; charset=utf-8"}}}
			body, err := ReadWritten(t.Context(), root, nil)
			whole, _ := Read(t.Context(), root, nil, false)
			if err != nil || c.whole && body.Text != whole.Text || !c.whole && !strings.Contains(body.Text, leftOut) {
				t.Errorf("%v; of %q: %q", err, whole.Text, body.Text)
			}
			for _, want := range c.want {
				if !strings.Contains(body.Text, want) {
					t.Errorf("no %q in %q", want, body.Text)
				}
			}
			for _, not := range c.not {
				if strings.Contains(body.Text, not) {
					t.Errorf("%q in %q", not, body.Text)
				}
			}
			if strings.ContainsAny(body.Text, quoteBegins+quoteEnds+restQuoted) {
				t.Errorf("marks in %q", body.Text)
			}
		})
	}
}

// TestWrittenHostile reads what takes for ever if it takes more than time for each line.
func TestWrittenHostile(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("> a\n\n", 50_000), strings.Repeat("> a\nb\n", 50_000), strings.Repeat("\n", 500_000), strings.Repeat("From: a\n", 50_000),
		strings.Repeat("> a\n"+strings.Repeat("\n", 50), 10_000), strings.Repeat("From: a\n\n\n", 50_000), strings.Repeat(quoteBegins, 50_000),
	} {
		Written(text)
	}
}
