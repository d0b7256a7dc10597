package google

import (
	"slices"
	"strconv"
)

// threads returns the IDs of the threads, that with the newest message first.
func (b *mailbox) threads() (ids []string) {
	for _, m := range slices.Backward(b.messages) {
		if !slices.Contains(ids, m.thread) {
			ids = append(ids, m.thread)
		}
	}
	return ids
}

// inThread returns the messages of a thread, the oldest first.
func (c *call) inThread(id string) ([]*message, *Answer) {
	if _, err := strconv.ParseUint(id, 16, 64); err != nil {
		return nil, invalid("invalidArgument", "Invalid id value")
	}
	var found []*message
	for _, m := range c.user.messages {
		if m.thread == id {
			found = append(found, m)
		}
	}
	if found == nil {
		missing := NotFound("gmail")
		return nil, &missing
	}
	return found, nil
}

func newest(messages []*message) (history uint64) {
	for _, m := range messages {
		history = max(history, m.history)
	}
	return history
}

func (c *call) listThreads() (any, *Answer) {
	found, refusal := c.selected()
	if refusal != nil {
		return nil, refusal
	}
	var ids []string
	for _, m := range found {
		if !slices.Contains(ids, m.thread) {
			ids = append(ids, m.thread)
		}
	}
	answer := map[string]any{}
	ids, refusal = paged(c, ids, answer)
	var rows []any
	for _, id := range ids {
		messages, _ := c.inThread(id)
		rows = append(rows, map[string]any{
			"id": id, "snippet": messages[len(messages)-1].snippet, "historyId": strconv.FormatUint(newest(messages), 10),
		})
	}
	if rows != nil {
		answer["threads"] = rows
	}
	return answer, refusal
}

func (c *call) getThread() (any, *Answer) {
	messages, refusal := c.inThread(c.path["id"])
	if refusal != nil {
		return nil, refusal
	}
	var shown []any
	for _, m := range messages {
		one, refusal := c.show(m, c.query.Get("format"))
		if refusal != nil {
			return nil, refusal
		}
		shown = append(shown, one)
	}
	return map[string]any{"id": c.path["id"], "historyId": strconv.FormatUint(newest(messages), 10), "messages": shown}, nil
}

func (c *call) modifyThread() (any, *Answer) {
	if refusal := c.checkLabels(); refusal != nil {
		return nil, refusal
	}
	return c.relabelThread(texts(c.body, "addLabelIds"), texts(c.body, "removeLabelIds"))
}

func (c *call) trashThread() (any, *Answer) { return c.relabelThread(c.trashing()) }

func (c *call) relabelThread(add, remove []string) (any, *Answer) {
	messages, refusal := c.inThread(c.path["id"])
	if refusal != nil {
		return nil, refusal
	}
	var shown []any
	for _, m := range messages {
		c.user.relabel(m, add, remove)
		shown = append(shown, map[string]any{"id": m.id, "threadId": m.thread, "labelIds": m.labels})
	}
	return map[string]any{"id": c.path["id"], "historyId": strconv.FormatUint(newest(messages), 10), "messages": shown}, nil
}
