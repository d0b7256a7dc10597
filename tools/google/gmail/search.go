package gmail

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	gmailapi "google.golang.org/api/gmail/v1"
	"google.golang.org/api/googleapi"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/outbound/httpcall"
	texts "github.com/toolserver/toolserver/text/html"
	"github.com/toolserver/toolserver/text/mail"
	"github.com/toolserver/toolserver/tools/google/api"
)

type searchInput struct {
	Query            string   `json:"query" max:"2000"`
	MaxResults       int64    `json:"maxResults" default:"10" min:"1" max:"100"`
	PageToken        string   `json:"pageToken,omitempty" max:"1000"`
	IncludeSpamTrash bool     `json:"includeSpamTrash" default:"false"`
	LabelIDs         []string `json:"labelIds,omitempty" max:"20" list:"true"`
}

func (searchInput) Words() string { return arguments }

// searchResult is the structured content of gmail_search.
type searchResult struct {
	Messages           []found    `json:"messages" doc:"Messages, the newest first."`
	NextPageToken      string     `json:"nextPageToken,omitempty" doc:"The pageToken of a call that goes on from here; absent if there is no more."`
	ResultSizeEstimate int64      `json:"resultSizeEstimate" doc:"Gmail's estimate of how many messages match."`
	Failed             []unopened `json:"failed,omitempty" doc:"Messages that match and could not be read."`
}

// found is a message that a search has found.
type found struct {
	ID            string   `json:"id" doc:"The messageId of gmail_read."`
	ThreadID      string   `json:"threadId" doc:"ID of its thread."`
	Date          string   `json:"date,omitempty" doc:"When Gmail received it, in RFC 3339."`
	From          string   `json:"from" doc:"Sender, as the mail says."`
	To            string   `json:"to" doc:"Recipients, as the mail says."`
	Subject       string   `json:"subject" doc:"Subject."`
	Snippet       string   `json:"snippet" doc:"Beginning of the text."`
	Labels        []string `json:"labels" doc:"IDs of its labels."`
	Unread        bool     `json:"unread" doc:"Whether it is unread."`
	HasAttachment bool     `json:"hasAttachment" doc:"Whether files are attached, which gmail_read lists."`
	SizeEstimate  int64    `json:"sizeEstimate" doc:"Size in bytes, about."`
	Link          string   `json:"link" doc:"Address of its thread in Gmail."`
}

// unopened is a message about which Gmail gave no answer.
type unopened struct {
	ID     string `json:"id" doc:"ID of the message."`
	Reason string `json:"reason" doc:"Why."`
}

func missed(id string, err error) unopened { return unopened{id, httpcall.Explain(err).Message} }

// maxSearchChars is room for as many messages as a call may ask for.
const maxSearchChars = 120_000

func (t *toolset) search(ctx context.Context, in searchInput) (domain.ToolResult, error) {
	messages := t.service().Users.Messages
	request := messages.List("me").Q(in.Query).MaxResults(in.MaxResults).IncludeSpamTrash(in.IncludeSpamTrash).
		Fields("messages(id,threadId)", "nextPageToken", "resultSizeEstimate")
	if in.PageToken != "" {
		request.PageToken(in.PageToken)
	}
	if len(in.LabelIDs) > 0 {
		request.LabelIds(in.LabelIDs...)
	}
	list, err := api.Read(ctx, t.client, request.Context(ctx).Do)
	if err != nil {
		return domain.ToolResult{}, err
	}
	read := make([]*gmailapi.Message, len(list.Messages))
	failed, err := api.Each(ctx, len(read), func(ctx context.Context, i int) (err error) {
		read[i], err = api.Read(ctx, t.client, messages.Get("me", list.Messages[i].Id).Format("full").
			Fields("id", "threadId", "labelIds", "snippet", "internalDate", "sizeEstimate", googleapi.Field("payload("+partFields(6)+")")).Context(ctx).Do)
		return err
	})
	if err != nil {
		return domain.ToolResult{}, err
	}
	hits := make([]hit, len(read))
	for i, m := range read {
		if failed[i] != nil {
			hits[i].missed = new(missed(list.Messages[i].Id, failed[i]))
		} else {
			hits[i].found = hitOf(ctx, m)
			hits[i].date = cmp.Or(mail.Header(m.Payload, "Date"), hits[i].Date)
			if to := mail.Addresses(m.Payload, "To"); len(to) == 1 && strings.EqualFold(to[0].Address, api.Email(ctx)) {
				hits[i].own = true
			}
		}
	}
	token := func(shown []hit) string { // which cannot go on in the middle of a page
		if len(shown) < len(hits) {
			return ""
		}
		return list.NextPageToken
	}
	return call.List[hit]{
		Entries: hits,
		Text: func(shown []hit) string {
			var parts []string
			for _, h := range shown {
				parts = append(parts, h.text())
			}
			if len(hits) == 0 {
				parts = append(parts, "No emails found matching your query.")
			}
			if next := token(shown); next != "" {
				parts = append(parts, fmt.Sprintf("[There are more: call %s again with the same arguments and pageToken=%q]", SearchName, next))
			}
			return strings.Join(parts, "\n\n")
		},
		Results: func(shown []hit, _ int) any {
			r := searchResult{Messages: []found{}, NextPageToken: token(shown), ResultSizeEstimate: list.ResultSizeEstimate}
			for _, h := range shown {
				if h.missed != nil {
					r.Failed = append(r.Failed, *h.missed)
				} else {
					r.Messages = append(r.Messages, h.found)
				}
			}
			return r
		},
		Next: func(next int) string {
			return fmt.Sprintf("call again with maxResults=%d, and go on with the pageToken of that answer", next)
		},
	}.Result(ctx)
}

// hit is a message of a search, or why it could not be read.
type hit struct {
	found
	date   string // as the mail says
	own    bool   // it is to the account alone
	missed *unopened
}

func (h hit) text() string {
	if h.missed != nil {
		return fmt.Sprintf("ID: %s\n  Not read: %s", h.missed.ID, h.missed.Reason)
	}
	// What most mails have is not said, as people read this and models pay for it.
	labels := slices.DeleteFunc(slices.Clone(h.Labels), func(l string) bool { return l == "IMPORTANT" || strings.HasPrefix(l, "CATEGORY_") })
	more := ""
	if h.To != "" && !h.own {
		more = "\n  To: " + h.To
	}
	if len(labels) > 0 {
		more += "\n  Labels: " + strings.Join(labels, " ")
	}
	if h.HasAttachment {
		more += "\n  Attachment: yes"
	}
	return fmt.Sprintf("ID: %s\n  Date: %s\n  From: %s\n  Subject: %s\n  Snippet: %s%s", h.ID, h.date, h.From, h.Subject, h.Snippet, more)
}

// partFields returns the fields of parts without their content, so many deep: a mask has no other way to say all.
func partFields(depth int) string {
	const fields = "partId,mimeType,filename,headers,body(attachmentId,size)"
	if depth == 0 {
		return fields
	}
	return fields + ",parts(" + partFields(depth-1) + ")"
}

func hitOf(ctx context.Context, m *gmailapi.Message) found {
	hit := found{
		ID: m.Id, ThreadID: m.ThreadId, Date: received(m), Snippet: texts.Line(m.Snippet), // which Gmail escapes
		From: mail.Header(m.Payload, "From"), To: mail.Header(m.Payload, "To"), Subject: mail.Header(m.Payload, "Subject"),
		Labels: append([]string{}, m.LabelIds...), Unread: slices.Contains(m.LabelIds, "UNREAD"), SizeEstimate: m.SizeEstimate,
		Link: link(ctx, m.ThreadId),
	}
	hit.HasAttachment = slices.ContainsFunc(mail.Attachments(m.Payload), func(a mail.AttachmentInfo) bool { return !a.Inline })
	return hit
}

// received returns when Gmail received a message, or "".
func received(m *gmailapi.Message) string {
	if m.InternalDate == 0 {
		return ""
	}
	return time.UnixMilli(m.InternalDate).UTC().Format(time.RFC3339)
}

// link returns the address of a thread in Gmail, for the account of the grant.
func link(ctx context.Context, thread string) string {
	account := ""
	if email := api.Email(ctx); email != "" {
		account = "?authuser=" + url.QueryEscape(email)
	}
	return "https://mail.google.com/mail/" + account + "#all/" + url.PathEscape(thread)
}
