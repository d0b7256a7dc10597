package gmail

import (
	"context"
	"fmt"
	"slices"
	"strings"

	gmailapi "google.golang.org/api/gmail/v1"
	"google.golang.org/api/googleapi"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/text/mail"
	"github.com/toolserver/toolserver/tools/files/content"
	"github.com/toolserver/toolserver/tools/google/api"
)

type readInput struct {
	MessageID     string `json:"messageId" max:"500" pattern:"^[0-9A-Za-z_-]+(, ?[0-9A-Za-z_-]+)*$" list:"true"`
	Format        string `json:"format" default:"text" enum:"text|html|raw|headers"`
	IncludeQuoted bool   `json:"includeQuoted" default:"true"`
	Attachment    string `json:"attachment,omitempty" max:"2000" list:"true"`
}

func (readInput) Words() string { return arguments }

// readMeta is the _meta of a message that was read.
type readMeta struct {
	ID          string       `json:"id"`
	ThreadID    string       `json:"threadId"`
	MessageID   string       `json:"messageIdHeader,omitempty"`
	Date        string       `json:"date,omitempty"` // when Gmail received it
	Labels      []string     `json:"labels"`
	Link        string       `json:"link"`
	BodySource  string       `json:"bodySource,omitempty"` // the part that the text is from
	Warnings    []string     `json:"warnings,omitempty"`
	Attachments []attachment `json:"attachments,omitempty"`
}

// attachment is a file in a message. Gmail's own IDs of attachments are valid for a while only, so the index stands for it.
type attachment struct {
	Index    int    `json:"index"`
	Name     string `json:"filename"`
	MIMEType string `json:"mimeType"`
	Size     int64  `json:"sizeBytes"`
	Inline   bool   `json:"inline,omitempty"`
}

// maxRaw bounds a mail that is returned as it is, in bytes.
const maxRaw = 8 << 20

func (t *toolset) readTool(held sandbox.Capabilities) domain.Tool {
	return define(t, "Error reading email", domain.Tool{
		Name: readName, Target: []string{"messageId", "attachment"},
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
	}, (&attachmentReader{t, content.NewReader(held.Filters())}).read)
}

// message fields of a mail that is read, or of one whose source is read apart.
var (
	fullFields   = []googleapi.Field{"id", "threadId", "labelIds", "internalDate", "payload"}
	sourceFields = []googleapi.Field{"id", "threadId", "labelIds", "internalDate", "sizeEstimate", "payload/headers"}
)

func (t *toolset) read(ctx context.Context, in readInput) (domain.ToolResult, error) {
	ids := strings.FieldsFunc(in.MessageID, func(r rune) bool { return r == ',' || r == ' ' })
	if len(ids) > 1 {
		return t.several(ctx, "", threadMeta{Total: len(ids)}, ids, func(ctx context.Context, id string) (string, readMeta, error) { return t.one(ctx, id, in) })
	}
	text, meta, err := t.one(ctx, ids[0], in)
	if err != nil {
		return domain.ToolResult{}, err
	}
	res := domain.Text(text)
	res.Meta = meta
	return res, nil
}

// one returns a message as it is read, and what is known of it.
func (t *toolset) one(ctx context.Context, id string, in readInput) (string, readMeta, error) {
	call := t.service().Users.Messages.Get("me", id).Format("full").Fields(fullFields...)
	if in.Format == "headers" || in.Format == "raw" {
		call.Format("metadata").Fields(sourceFields...)
	}
	m, err := api.Read(ctx, t.client, call.Context(ctx).Do)
	if err != nil {
		return "", readMeta{}, err
	}
	meta, body := metaOf(ctx, m), mail.Body{}
	switch {
	case in.Format == "headers":
		body.Text = allHeaders(m.Payload)
	case in.Format == "raw":
		body.Text, err = t.source(ctx, m)
	case in.Format == "html" || in.IncludeQuoted:
		body, err = mail.Read(ctx, m.Payload, t.fetch(m.Id), in.Format == "html")
	default:
		body, err = mail.ReadWritten(ctx, m.Payload, t.fetch(m.Id))
	}
	if err != nil {
		return "", meta, err
	}
	meta.BodySource, meta.Warnings = body.Source, append(meta.Warnings, body.Warnings...)
	for _, a := range body.Attachments {
		meta.Attachments = append(meta.Attachments, attachment{a.Index, a.Name, line(a.Type), a.Size, a.Inline})
	}
	return message(ctx, m, meta, body.Text), meta, nil
}

// fetch returns what loads those parts of a message that Gmail does not send with it.
func (t *toolset) fetch(messageID string) mail.Fetch {
	return func(ctx context.Context, attachmentID string) ([]byte, error) {
		part, err := api.Read(ctx, t.client, t.service().Users.Messages.Attachments.Get("me", messageID, attachmentID).Context(ctx).Do)
		if err != nil {
			return nil, err
		}
		return mail.Decode(part.Data)
	}
}

// source returns a message as it was sent.
func (t *toolset) source(ctx context.Context, m *gmailapi.Message) (string, error) {
	if m.SizeEstimate > maxRaw {
		return "", api.Refusal("too_large", fmt.Sprintf("Error reading email: the mail has %s bytes; at most %s are returned raw",
			brief.Thousands(m.SizeEstimate), brief.Thousands(maxRaw)), "Read it with format=text, which leaves attachments out.")
	}
	raw, err := api.Read(ctx, t.client, t.service().Users.Messages.Get("me", m.Id).Format("raw").Fields("id", "raw").Context(ctx).Do)
	if err != nil {
		return "", err
	}
	b, err := mail.Decode(raw.Raw)
	if err != nil {
		return "", api.Refusal("bad_answer", "Error reading email: Gmail's answer is not base64", "Read it with format=text.")
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}

func metaOf(ctx context.Context, m *gmailapi.Message) readMeta {
	meta := readMeta{
		ID: m.Id, ThreadID: m.ThreadId, MessageID: mail.Header(m.Payload, "Message-ID"), Date: received(m),
		Labels: append([]string{}, m.LabelIds...), Link: link(ctx, m.ThreadId),
	}
	for _, folder := range []struct{ label, warning string }{
		{"SPAM", "Gmail has put this mail in Spam."}, {"TRASH", "This mail is in Trash."}, {"DRAFT", "This is a draft, which was not sent."},
	} {
		if slices.Contains(m.LabelIds, folder.label) {
			meta.Warnings = append(meta.Warnings, folder.warning)
		}
	}
	return meta
}

// allHeaders returns the header fields of a message, one a line.
func allHeaders(p *gmailapi.MessagePart) string {
	if p == nil {
		return ""
	}
	var b strings.Builder
	for _, h := range p.Headers {
		b.WriteString(line(h.Name) + ": " + line(mail.DecodeField(h.Name, h.Value)) + "\n")
	}
	return b.String()
}

// message returns a message as it is read: what a program knows of it on single lines, and the body between marks with a word
// that its sender cannot know.
func message(ctx context.Context, m *gmailapi.Message, meta readMeta, body string) string {
	var b strings.Builder
	for _, name := range []string{"From", "To", "Date", "Subject"} {
		b.WriteString(name + ": " + mail.Header(m.Payload, name) + "\n")
	}
	for _, name := range []string{"Cc", "Bcc", "Reply-To"} {
		if v := mail.Header(m.Payload, name); v != "" {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	for _, warning := range meta.Warnings {
		b.WriteString("Note: " + line(warning) + "\n")
	}
	if len(meta.Attachments) > 0 { // in front of the text, whose end may be on another page
		fmt.Fprintf(&b, "Attachments (%d):\n", len(meta.Attachments))
	}
	for _, a := range meta.Attachments {
		fmt.Fprintf(&b, "  - %s (%s, %d bytes) [attachmentId: %d]\n", a.Name, a.MIMEType, a.Size, a.Index)
	}
	b.WriteString("\n")
	if body = strings.TrimSpace(body); body == "" {
		b.WriteString("(no text content)")
	} else {
		b.WriteString(call.Untrusted(ctx, "Mail", "its sender", body))
	}
	return b.String()
}

type threadInput struct {
	ThreadID      string `json:"threadId" pattern:"^[0-9A-Za-z_-]{1,200}$" doc:"ID of the thread, as gmail_search returns it."`
	MaxMessages   int    `json:"maxMessages" default:"20" min:"1" max:"100" doc:"Maximum number of messages to return, the newest ones."`
	IncludeQuoted bool   `json:"includeQuoted" default:"false" doc:"Whether to include what replies quote."`
}

// threadMeta is the _meta of a thread.
type threadMeta struct {
	ID       string     `json:"id,omitempty"`
	Total    int        `json:"total"`
	Messages []readMeta `json:"messages"`
	Failed   []unopened `json:"failed,omitempty"`
}

func (t *toolset) thread(ctx context.Context, in threadInput) (domain.ToolResult, error) {
	thread, err := api.Read(ctx, t.client, t.service().Users.Threads.Get("me", in.ThreadID).Format("minimal").Fields("id", "messages/id").Context(ctx).Do)
	if err != nil {
		return domain.ToolResult{}, err
	}
	if len(thread.Messages) == 0 {
		return domain.ToolResult{}, api.Refusal("not_found", "Error reading thread: the thread has no messages", "Call "+SearchName+" for threads.")
	}
	var ids []string // the newest first
	for _, m := range slices.Backward(thread.Messages[max(0, len(thread.Messages)-in.MaxMessages):]) {
		ids = append(ids, m.Id)
	}
	heading := fmt.Sprintf("Thread: %s\nMessages: %d, the newest first", in.ThreadID, len(thread.Messages))
	if len(ids) < len(thread.Messages) {
		heading += fmt.Sprintf(", of which these are the newest %d", len(ids))
	}
	return t.several(ctx, heading+"\n\n", threadMeta{ID: in.ThreadID, Total: len(thread.Messages)}, ids,
		func(ctx context.Context, id string) (string, readMeta, error) {
			// What the first one quotes is not in the thread.
			return t.one(ctx, id, readInput{IncludeQuoted: in.IncludeQuoted || id == thread.Messages[0].Id})
		})
}

// several returns messages below a heading, one below the other.
func (t *toolset) several(ctx context.Context, heading string, meta threadMeta, ids []string,
	one func(ctx context.Context, id string) (string, readMeta, error)) (domain.ToolResult, error) {
	texts, metas := make([]string, len(ids)), make([]readMeta, len(ids))
	failed, err := api.Each(ctx, len(ids), func(ctx context.Context, i int) (err error) {
		texts[i], metas[i], err = one(ctx, ids[i])
		return err
	})
	if err != nil {
		return domain.ToolResult{}, err
	}
	meta.Messages = []readMeta{}
	for i, id := range ids {
		if failed[i] == nil {
			meta.Messages = append(meta.Messages, metas[i])
		} else {
			miss := missed(id, failed[i])
			meta.Failed = append(meta.Failed, miss)
			texts[i] = "  Not read: " + miss.Reason
		}
		texts[i] = "ID: " + id + "\n" + texts[i]
	}
	res := domain.Text(heading + strings.Join(texts, "\n\n"))
	res.Meta = meta
	return res, nil
}
