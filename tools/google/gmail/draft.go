package gmail

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"

	gmailapi "google.golang.org/api/gmail/v1"
	"google.golang.org/api/googleapi"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/tools/google/api"
)

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
		Uses:        domain.Reads,
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
