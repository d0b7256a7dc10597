package google

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func (b *mailbox) hasLabel(id string) bool {
	return slices.Contains(systemLabels, id) || slices.ContainsFunc(b.labels, func(l *label) bool { return l.id == id })
}

// showLabel returns a label; with numbers of messages, as only get has them.
func (b *mailbox) showLabel(id string, counts bool) map[string]any {
	shown := map[string]any{"id": id, "name": id, "type": "system"}
	for _, l := range b.labels {
		if l.id == id {
			shown = map[string]any{"id": id, "name": l.name, "type": "user", "labelListVisibility": l.list, "messageListVisibility": l.message}
		}
	}
	if !counts {
		return shown
	}
	var total, unread int
	threads, unreadThreads := map[string]bool{}, map[string]bool{}
	for _, m := range b.messages {
		if !slices.Contains(m.labels, id) {
			continue
		}
		total++
		threads[m.thread] = true
		if slices.Contains(m.labels, "UNREAD") {
			unread++
			unreadThreads[m.thread] = true
		}
	}
	shown["messagesTotal"], shown["messagesUnread"], shown["threadsTotal"], shown["threadsUnread"] = total, unread, len(threads), len(unreadThreads)
	return shown
}

func (c *call) listLabels() (any, *Answer) {
	var list []any
	for _, id := range systemLabels {
		list = append(list, c.user.showLabel(id, false))
	}
	for _, l := range c.user.labels {
		list = append(list, c.user.showLabel(l.id, false))
	}
	return map[string]any{"labels": list}, nil
}

func (c *call) getLabel() (any, *Answer) {
	if !c.user.hasLabel(c.path["id"]) {
		missing := NotFound("gmail")
		return nil, &missing
	}
	return c.user.showLabel(c.path["id"], true), nil
}

func (c *call) createLabel() (any, *Answer) {
	name := text(c.body, "name")
	if name == "" {
		return nil, invalid("invalidArgument", "Invalid label name")
	}
	if refusal := c.nameTaken(name); refusal != nil {
		return nil, refusal
	}
	l := &label{fmt.Sprintf("Label_%d", c.f.next()), name, "labelShow", "show"}
	if v := text(c.body, "labelListVisibility"); v != "" {
		l.list = v
	}
	if v := text(c.body, "messageListVisibility"); v != "" {
		l.message = v
	}
	c.user.labels = append(c.user.labels, l)
	return c.user.showLabel(l.id, false), nil
}

// nameTaken returns the refusal of a name that a label has.
func (c *call) nameTaken(name string) *Answer {
	taken := func(l *label) bool { return strings.EqualFold(l.name, name) }
	if slices.ContainsFunc(systemLabels, func(l string) bool { return strings.EqualFold(l, name) }) || slices.ContainsFunc(c.user.labels, taken) {
		return &Answer{Status: http.StatusConflict, Reason: "aborted", Canonical: "ABORTED", Message: "Label name exists or conflicts"}
	}
	return nil
}

// ownLabel returns a label of the user by the ID in the path. Gmail's own cannot be changed.
func (c *call) ownLabel() (*label, *Answer) {
	id := c.path["id"]
	if slices.Contains(systemLabels, id) {
		return nil, invalid("invalidArgument", "Cannot modify system label")
	}
	i := slices.IndexFunc(c.user.labels, func(l *label) bool { return l.id == id })
	if i < 0 {
		missing := NotFound("gmail")
		return nil, &missing
	}
	return c.user.labels[i], nil
}

func (c *call) patchLabel() (any, *Answer) {
	l, refusal := c.ownLabel()
	if refusal != nil {
		return nil, refusal
	}
	if name := text(c.body, "name"); name != "" && name != l.name {
		if refusal := c.nameTaken(name); refusal != nil && !strings.EqualFold(name, l.name) {
			return nil, refusal
		}
		l.name = name
	}
	return c.user.showLabel(l.id, false), nil
}

// deleteLabel takes a label from all messages, too.
func (c *call) deleteLabel() (any, *Answer) {
	l, refusal := c.ownLabel()
	if refusal != nil {
		return nil, refusal
	}
	c.user.labels = slices.DeleteFunc(c.user.labels, func(other *label) bool { return other == l })
	for _, m := range c.user.messages {
		c.user.relabel(m, nil, []string{l.id})
	}
	return nil, nil
}

func (c *call) listFilters() (any, *Answer) {
	var list []any
	for _, f := range c.user.Filters {
		list = append(list, map[string]any{"id": f.ID, "criteria": f.Criteria, "action": f.Action})
	}
	if list == nil {
		return map[string]any{}, nil
	}
	return map[string]any{"filter": list}, nil
}

// checkLabels returns the refusal of labels that cannot be added or removed.
func (c *call) checkLabels() *Answer {
	for _, id := range append(texts(c.body, "addLabelIds"), texts(c.body, "removeLabelIds")...) {
		if !c.user.hasLabel(id) {
			return invalid("invalidArgument", "Invalid label: "+id)
		}
		if slices.Contains(unchangeable, id) {
			return invalid("invalidArgument", "Cannot modify label: "+id)
		}
	}
	return nil
}

// relabel adds labels to a message and removes others.
func (b *mailbox) relabel(m *message, add, remove []string) {
	m.labels = slices.DeleteFunc(m.labels, func(id string) bool { return slices.Contains(remove, id) })
	for _, id := range add {
		if !slices.Contains(m.labels, id) {
			m.labels = append(m.labels, id)
		}
	}
	b.touch(m)
}

func (c *call) modifyMessage() (any, *Answer) {
	m, refusal := c.findMessage(c.path["id"])
	if refusal == nil {
		refusal = c.checkLabels()
	}
	if refusal != nil {
		return nil, refusal
	}
	c.user.relabel(m, texts(c.body, "addLabelIds"), texts(c.body, "removeLabelIds"))
	return map[string]any{"id": m.id, "threadId": m.thread, "labelIds": m.labels}, nil
}

// trashing returns the labels that a method to trash or to untrash adds and removes.
func (c *call) trashing() (add, remove []string) {
	if c.method.ID == "gmail.users.messages.trash" || c.method.ID == "gmail.users.threads.trash" {
		return []string{"TRASH"}, []string{"INBOX", "SPAM"}
	}
	return nil, []string{"TRASH"}
}

func (c *call) trashMessage() (any, *Answer) {
	m, refusal := c.findMessage(c.path["id"])
	if refusal != nil {
		return nil, refusal
	}
	add, remove := c.trashing()
	c.user.relabel(m, add, remove)
	return map[string]any{"id": m.id, "threadId": m.thread, "labelIds": m.labels}, nil
}
