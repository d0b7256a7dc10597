package gmail

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	gmailapi "google.golang.org/api/gmail/v1"
	"google.golang.org/api/googleapi"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/tools/google/api"
)

type sendInput struct {
	composeInput `json:",inline"`
	Draft        bool `json:"draft" default:"false" doc:"Whether to save it in Drafts for the user to send."`
	DryRun       bool `json:"dryRun" default:"false" doc:"Whether to only show it."`
}

// sendResult is the structured content of gmail_send and gmail_draft.
type sendResult struct {
	ID       string   `json:"id,omitempty" doc:"ID of the message; absent after a dry run."`
	DraftID  string   `json:"draftId,omitempty" doc:"ID of the draft."`
	ThreadID string   `json:"threadId,omitempty" doc:"ID of its thread."`
	LabelIDs []string `json:"labelIds,omitempty" doc:"IDs of its labels."`
	To       []string `json:"to" doc:"Addresses it goes to."`
	Cc       []string `json:"cc" doc:"Addresses that get a copy."`
	Bcc      []string `json:"bcc" doc:"Addresses that get a blind copy."`
	Subject  string   `json:"subject" doc:"Subject, as it was composed."`
	Bytes    int      `json:"bytes" doc:"Size of the mail."`
	DryRun   bool     `json:"dryRun,omitempty" doc:"Whether nothing was sent."`
	Notes    []string `json:"notes,omitempty" doc:"What should be known about the mail."`
}

// sendTime bounds the upload of a mail on a slow line, which may not pause.
const sendTime = 10 * time.Minute

const sendFailing = "Error sending email"

func (t *toolset) sendTool(held sandbox.Capabilities) domain.Tool {
	c := &composer{toolset: t, tool: sendName, failing: sendFailing, files: held.Reader(), recipients: held.Recipients()}
	tool := define(t, sendFailing, domain.Tool{
		Name: sendName, Target: []string{"to", "cc", "bcc", "from", "replyToMessageId", "attachments", "draft", "dryRun"},
		Annotations: domain.Annotations{}, Final: true,
		Output:  schema.OutputOf[sendResult](),
		Timeout: sendTime,
	}, c.send)
	tool.Preview, tool.Explain = c.preview, c.explain
	return tool
}

func (c *composer) send(ctx context.Context, in sendInput) (domain.ToolResult, error) {
	if c = c.of(in); in.Draft && !in.DryRun {
		ctx, err := c.signedIn(ctx, need(draftName, c.failing+": a draft requires another permission"))
		if err != nil {
			return domain.ToolResult{}, err
		}
		return c.draft(ctx, draftInput{composeInput: in.composeInput})
	}
	out, err := c.compose(ctx, in.composeInput)
	if err != nil {
		return domain.ToolResult{}, err
	}
	if in.DryRun {
		return out.result("Dry run: nothing was sent.\n\n"+out.show(), sendResult{DryRun: true}), nil
	}
	m := &gmailapi.Message{ThreadId: out.thread}
	call := c.service().Users.Messages.Send("me", m).Fields("id", "threadId", "labelIds")
	if out.large() {
		call.Media(bytes.NewReader(out.raw), googleapi.ContentType("message/rfc822"), googleapi.ChunkSize(0))
	} else {
		m.Raw = base64.URLEncoding.EncodeToString(out.raw)
	}
	sent, err := api.Write(ctx, c.client, call.Context(ctx).Do)
	if why := unknown(err, sent == nil || sent.Id == ""); why != "" {
		query := "in:sent newer_than:1d to:" + addresses(out.to, out.cc, out.bcc)[0]
		return domain.Failure("unknown_outcome", "It is not known whether the mail was sent: "+why+"; look in Sent before sending again",
			fmt.Sprintf("Call %s(query=%q) first, and send again only if the mail is not there.", SearchName, query)), nil
	}
	if err != nil {
		return domain.ToolResult{}, err
	}
	return out.result(fmt.Sprintf("Email sent successfully (ID: %s)\n%s", sent.Id, out.summary(sent.ThreadId)),
		sendResult{ID: sent.Id, ThreadID: sent.ThreadId, LabelIDs: sent.LabelIds}), nil
}

// of returns what composes the mail of a call: drafts need no recipients.
func (c *composer) of(in sendInput) *composer {
	of := *c
	of.drafts = c.drafts || in.Draft
	return &of
}

// maxInline bounds a mail that is sent within JSON, in bytes; Gmail takes larger ones as an upload.
const maxInline = 5_000_000

func (out *outgoing) large() bool { return len(out.raw) >= maxInline }

// unknown says why it is not known whether a request was carried out that failed with err or was answered without the ID of
// what it made; "" if it is known.
func unknown(err error, noID bool) string {
	switch {
	case err != nil && api.Unknown(err):
		return httpcall.Explain(err).Message
	case err == nil && noID:
		return "Gmail's answer has no ID"
	}
	return ""
}

// summary says where a mail goes, one field a line.
func (out *outgoing) summary(thread string) string {
	var b strings.Builder
	for _, f := range []struct{ name, value string }{
		{"To", people(out.to)}, {"Cc", people(out.cc)}, {"Bcc", people(out.bcc)}, {"Subject", out.Subject}, {"Thread", thread},
	} {
		if f.value != "" {
			b.WriteString("  " + f.name + ": " + f.value + "\n")
		}
	}
	for _, note := range out.notes {
		b.WriteString("  Note: " + note + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// result returns a text, and what r and the mail say.
func (out *outgoing) result(text string, r sendResult) domain.ToolResult {
	r.To, r.Cc, r.Bcc = addresses(out.to), addresses(out.cc), addresses(out.bcc)
	r.Subject, r.Bytes, r.Notes = out.Subject, len(out.raw), out.notes
	res := domain.Answer(text, r)
	// Recipients of a reply are those of the original.
	res.Made = map[string][]string{"id": {r.ID}, "draftId": {r.DraftID}, "threadId": {r.ThreadID}, "recipient": addresses(out.to, out.cc, out.bcc)}
	return res
}

// preview shows a person the mail that a call would send or draft: as [composer.send] composes it, replies too.
func (c *composer) preview(ctx context.Context, args domain.Arguments) (text string, refusal *domain.ToolResult, err error) {
	in, err := composed(args)
	if err != nil {
		return "", nil, err
	}
	var out *outgoing
	if ctx, err = c.signedIn(ctx, need(c.tool, c.failing)); err == nil {
		out, err = c.of(in).compose(ctx, in.composeInput)
	}
	refused, isRefused := errors.AsType[*api.Refused](err)
	_, invalid := errors.AsType[*domain.Error](err)
	_, asking := errors.AsType[*call.InputRequired](err)
	switch {
	case err == nil && args["dryRun"] == true:
		return "Dry run: nothing is sent.\n\n" + out.show(), nil, nil
	case err == nil && in.Draft:
		return "Draft: nothing is sent.\n\n" + out.show(), nil, nil
	case err == nil:
		return out.show(), nil, nil
	case isRefused:
		return "", &refused.ToolResult, nil
	case invalid || asking || ctx.Err() != nil:
		return "", nil, err
	}
	why := httpcall.Explain(err)
	return "", new(domain.Failure(why.Type, c.failing+": "+why.Message, why.Hint)), nil
}

type draftInput struct {
	composeInput `json:",inline"`
	DraftID      string `json:"draftId,omitempty" pattern:"^[0-9A-Za-z_-]{0,200}$" doc:"ID of the draft to replace as a whole; left out, a new one is made."`
}

func (t *toolset) draftTool(held sandbox.Capabilities) domain.Tool {
	const failing = "Error saving draft"
	c := &composer{toolset: t, tool: draftName, failing: failing, files: held.Reader(), recipients: held.Recipients(), drafts: true}
	tool := define(t, failing, domain.Tool{
		Name: draftName, Target: []string{"to", "cc", "bcc", "from", "replyToMessageId", "attachments", "draftId"},
		Annotations: domain.Annotations{Destructive: true}, // of a draft that is replaced
		Output:      schema.OutputOf[sendResult](),
		Timeout:     sendTime,
	}, c.draft)
	tool.Preview, tool.Explain = c.preview, c.explain
	return tool
}

func (c *composer) draft(ctx context.Context, in draftInput) (domain.ToolResult, error) {
	out, err := c.compose(ctx, in.composeInput)
	if err != nil {
		return domain.ToolResult{}, err
	}
	saved, err := api.Write(ctx, c.client, c.saving(ctx, in.DraftID, out))
	if why := unknown(err, saved == nil || saved.Id == ""); why != "" {
		return domain.Failure("unknown_outcome", "It is not known whether the draft was saved: "+why+"; look in Drafts before saving it again",
			fmt.Sprintf("Call %s(query=%q) first, and save it again only if it is not there.", SearchName, "in:drafts newer_than:1d")), nil
	}
	if err != nil {
		return domain.ToolResult{}, err
	}
	r := sendResult{DraftID: saved.Id, ThreadID: out.thread}
	if saved.Message != nil {
		r.ID, r.ThreadID, r.LabelIDs = saved.Message.Id, saved.Message.ThreadId, saved.Message.LabelIds
	}
	return out.result(fmt.Sprintf("Draft saved successfully (ID: %s)\n%s", saved.Id, out.summary(r.ThreadID)), r), nil
}

// saving returns the request that saves a mail as a new draft, or in the place of one.
func (c *composer) saving(ctx context.Context, id string, out *outgoing) func(...googleapi.CallOption) (*gmailapi.Draft, error) {
	fields := []googleapi.Field{"id", "message(id,threadId,labelIds)"}
	d := &gmailapi.Draft{Id: id, Message: &gmailapi.Message{ThreadId: out.thread}}
	media := []googleapi.MediaOption{googleapi.ContentType("message/rfc822"), googleapi.ChunkSize(0)}
	if !out.large() {
		d.Message.Raw = base64.URLEncoding.EncodeToString(out.raw)
	}
	if id == "" {
		call := c.service().Users.Drafts.Create("me", d).Fields(fields...)
		if out.large() {
			call.Media(bytes.NewReader(out.raw), media...)
		}
		return call.Context(ctx).Do
	}
	call := c.service().Users.Drafts.Update("me", id, d).Fields(fields...)
	if out.large() {
		call.Media(bytes.NewReader(out.raw), media...)
	}
	return call.Context(ctx).Do
}

// explain is about the recipients and the files that the arguments name. Whom a reply goes to is known only when its original
// was read.
func (c *composer) explain(_ context.Context, args domain.Arguments) (domain.Explanation, error) {
	in, err := composed(args)
	if err != nil {
		return domain.Explanation{}, err
	}
	out, err := c.of(in).parse(in.composeInput)
	if err != nil {
		return domain.Explanation{}, err
	}
	if refused, ok := errors.AsType[*sandbox.RecipientError](c.recipients.Check(addresses(out.to, out.cc, out.bcc)...)); ok {
		return domain.Explanation{Rule: refused.Rule, Reason: refused.Error()}, nil
	}
	for _, path := range in.Attachments {
		if decision, err := c.files.Check(path); err != nil || !decision.Allowed {
			return domain.Explanation{Rule: decision.Rule, Reason: decision.Reason, Path: decision.Resolved}, err
		}
	}
	reason := "no rule denies its recipients and attachments"
	if in.ReplyToMessageID != "" {
		reason += "; those that the reply takes from the original are checked when it is read"
	}
	return domain.Explanation{Allowed: true, Reason: reason}, nil
}

// composed returns the mail of arguments.
func composed(args domain.Arguments) (in sendInput, err error) {
	raw, err := args.JSON()
	if err == nil {
		err = json.Unmarshal(raw, &in)
	}
	return in, err
}
