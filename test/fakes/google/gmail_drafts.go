package google

import (
	"fmt"
	"slices"
)

// findDraft returns a draft by its ID.
func (c *call) findDraft(id string) (*draft, *Answer) {
	for _, d := range c.user.drafts {
		if d.id == id {
			return d, nil
		}
	}
	missing := NotFound("gmail")
	return nil, &missing
}

// draftMessage returns the message of a draft that a request has.
func (c *call) draftMessage() (*message, *Answer) {
	given := object(c.body, "message")
	raw, refusal := c.content(given)
	if refusal != nil {
		return nil, refusal
	}
	m := c.f.newMessage(c.user, c.f.completed(c.user, raw), []string{"DRAFT"})
	return m, c.place(m, text(given, "threadId"))
}

func (d *draft) shown() map[string]any {
	m := d.message
	return map[string]any{"id": d.id, "message": map[string]any{"id": m.id, "threadId": m.thread, "labelIds": m.labels}}
}

func (c *call) createDraft() (any, *Answer) {
	m, refusal := c.draftMessage()
	if refusal != nil {
		return nil, refusal
	}
	d := &draft{fmt.Sprintf("r%d", 1_000_000_000_000_000+c.f.next()), m}
	c.user.drafts = append(c.user.drafts, d)
	c.user.messages = append(c.user.messages, m)
	return d.shown(), nil
}

func (c *call) getDraft() (any, *Answer) {
	d, refusal := c.findDraft(c.path["id"])
	if refusal != nil {
		return nil, refusal
	}
	shown, refusal := c.show(d.message, c.query.Get("format"))
	return map[string]any{"id": d.id, "message": shown}, refusal
}

func (c *call) listDrafts() (any, *Answer) {
	wanted := parseQuery(c.query.Get("q"), c.f.o.Now())
	var found []*draft
	for _, d := range slices.Backward(c.user.drafts) {
		if wanted.matches(c.user, d.message) {
			found = append(found, d)
		}
	}
	answer := map[string]any{}
	found, refusal := paged(c, found, answer)
	var rows []any
	for _, d := range found {
		rows = append(rows, map[string]any{"id": d.id, "message": map[string]any{"id": d.message.id, "threadId": d.message.thread}})
	}
	if rows != nil {
		answer["drafts"] = rows
	}
	return answer, refusal
}

// drop removes a message for good.
func (b *mailbox) drop(m *message) {
	b.messages = slices.DeleteFunc(b.messages, func(other *message) bool { return other == m })
}

func (c *call) updateDraft() (any, *Answer) {
	d, refusal := c.findDraft(c.path["id"])
	if refusal != nil {
		return nil, refusal
	}
	m, refusal := c.draftMessage()
	if refusal != nil {
		return nil, refusal
	}
	if text(object(c.body, "message"), "threadId") == "" {
		m.thread = d.message.thread
	}
	c.user.drop(d.message)
	c.user.messages = append(c.user.messages, m)
	d.message = m
	return d.shown(), nil
}

func (c *call) deleteDraft() (any, *Answer) {
	d, refusal := c.findDraft(c.path["id"])
	if refusal == nil {
		c.remove(d)
	}
	return nil, refusal
}

func (c *call) remove(d *draft) {
	c.user.drop(d.message)
	c.user.drafts = slices.DeleteFunc(c.user.drafts, func(other *draft) bool { return other == d })
}

// sendDraft sends a draft, changed if the request has a message.
func (c *call) sendDraft() (any, *Answer) {
	d, refusal := c.findDraft(text(c.body, "id"))
	if refusal != nil {
		return nil, refusal
	}
	raw, thread := d.message.raw, d.message.thread
	if given := object(c.body, "message"); c.media != nil || text(given, "raw") != "" {
		if raw, refusal = c.content(given); refusal != nil {
			return nil, refusal
		}
	}
	answer, refusal := c.send(raw, thread)
	if refusal == nil {
		c.remove(d)
	}
	return answer, refusal
}
