package gmail

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/tools/google/api"
)

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
	return t.several(ctx, heading+"\n\n", threadMeta{ID: in.ThreadID, Total: len(thread.Messages)}, ids, func(ctx context.Context, id string) (string, readMeta, error) {
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
