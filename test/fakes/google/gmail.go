package google

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mailbox is what Gmail keeps for a user.
type mailbox struct {
	messages []*message // the oldest first
	drafts   []*draft
	labels   []*label // of the user
	history  uint64
	sent     []Sent
}

// message is a mail in a mailbox.
type message struct {
	id, thread string
	labels     []string
	raw        []byte
	root       *part
	snippet    string
	at         time.Time
	history    uint64
}

type draft struct {
	id      string
	message *message
}

type label struct{ id, name, list, message string }

// attachment is what an attachment ID leads to.
type attachment struct {
	message *message
	data    []byte
}

func newMailbox() mailbox { return mailbox{history: 1000} }

// systemLabels are in every mailbox.
var systemLabels = []string{
	"CHAT", "SENT", "INBOX", "IMPORTANT", "TRASH", "DRAFT", "SPAM", "CATEGORY_FORUMS", "CATEGORY_UPDATES", "CATEGORY_PERSONAL",
	"CATEGORY_PROMOTIONS", "CATEGORY_SOCIAL", "STARRED", "UNREAD",
}

// unchangeable are labels that no request adds or removes.
var unchangeable = []string{"SENT", "DRAFT", "CHAT"}

func (f *Fake) gmailHandlers() {
	for id, handle := range map[string]func(*call) (any, *Answer){
		"getProfile": (*call).profile, "messages.list": (*call).listMessages, "messages.get": (*call).getMessage,
		"messages.attachments.get": (*call).getAttachment, "messages.send": (*call).sendMessage, "messages.modify": (*call).modifyMessage,
		"messages.trash": (*call).trashMessage, "messages.untrash": (*call).trashMessage, "threads.list": (*call).listThreads,
		"threads.get": (*call).getThread, "threads.modify": (*call).modifyThread, "threads.trash": (*call).trashThread,
		"threads.untrash": (*call).trashThread, "labels.list": (*call).listLabels, "labels.get": (*call).getLabel,
		"labels.create": (*call).createLabel, "drafts.create": (*call).createDraft, "drafts.get": (*call).getDraft,
		"drafts.list": (*call).listDrafts, "drafts.update": (*call).updateDraft, "drafts.delete": (*call).deleteDraft,
		"drafts.send": (*call).sendDraft, "settings.sendAs.list": (*call).listSendAs,
		"labels.patch": (*call).patchLabel, "labels.delete": (*call).deleteLabel, "settings.filters.list": (*call).listFilters,
	} {
		f.handlers["gmail.users."+id] = handle
	}
}

// Deliver puts a mail into a mailbox, with labels, or INBOX and UNREAD if there are none, and returns its ID. It panics if there
// is no such user.
func (f *Fake) Deliver(email string, raw []byte, labels ...string) (id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deliver(f.mustUser(email), raw, labels).id
}

func (f *Fake) deliver(u *user, raw []byte, labels []string) *message {
	if len(labels) == 0 {
		labels = []string{"UNREAD", "INBOX"}
	}
	m := f.newMessage(u, raw, labels)
	if earlier := u.answered(m.root, ""); earlier != nil {
		m.thread = earlier.thread
	}
	u.messages = append(u.messages, m)
	return m
}

// newMessage returns a message that begins a thread, and is not yet in the mailbox. Messages get times that differ, as lists
// are ordered by time.
func (f *Fake) newMessage(u *user, raw []byte, labels []string) *message {
	id := fmt.Sprintf("%016x", 0x18c0000000000000+f.next()*0x9e3779b1)
	m := &message{id: id, thread: id, labels: slices.Clone(labels), raw: raw, root: parsePart(raw), at: f.o.Now()}
	m.snippet = m.root.snippet()
	if n := len(u.messages); n > 0 && !m.at.After(u.messages[n-1].at) {
		m.at = u.messages[n-1].at.Add(time.Millisecond)
	}
	u.touch(m)
	return m
}

// touch notes that a message has changed.
func (b *mailbox) touch(m *message) {
	b.history += 3
	m.history = b.history
}

// answered returns the message of a thread, or of any if it is "", that a mail replies to: its headers name it, and the subjects
// are the same. Nil if there is none.
func (b *mailbox) answered(p *part, thread string) *message {
	named := p.header("In-Reply-To") + " " + p.header("References")
	for _, m := range b.messages {
		id := m.root.header("Message-Id")
		if (thread == "" || m.thread == thread) && id != "" && slices.Contains(strings.Fields(named), id) && subject(m.root) == subject(p) {
			return m
		}
	}
	return nil
}

// subject returns that of a mail without what replying adds.
func subject(p *part) string {
	s := strings.ToLower(strings.TrimSpace(decodeHeader(p.header("Subject"))))
	for {
		rest, ok := strings.CutPrefix(s, "re:")
		if !ok {
			return strings.Join(strings.Fields(s), " ")
		}
		s = strings.TrimSpace(rest)
	}
}

// findMessage returns a message by its ID.
func (c *call) findMessage(id string) (*message, *Answer) {
	if _, err := strconv.ParseUint(id, 16, 64); err != nil {
		return nil, invalid("invalidArgument", "Invalid id value")
	}
	for _, m := range c.user.messages {
		if m.id == id {
			return m, nil
		}
	}
	missing := NotFound("gmail")
	return nil, &missing
}

func (c *call) profile() (any, *Answer) {
	return map[string]any{
		"emailAddress": c.user.Email, "messagesTotal": len(c.user.messages), "threadsTotal": len(c.user.threads()),
		"historyId": strconv.FormatUint(c.user.history, 10),
	}, nil
}

// metadataOnly reports whether the token has the scope that hides content, whatever other scopes it has.
func (c *call) metadataOnly() bool {
	return slices.Contains(c.scopes, "https://www.googleapis.com/auth/gmail.metadata")
}

// selected returns the messages that a list is to have, the newest first.
func (c *call) selected() ([]*message, *Answer) {
	if c.metadataOnly() && c.query.Get("q") != "" {
		return nil, &Answer{Status: http.StatusForbidden, Reason: "forbidden", Message: "Metadata scope does not support 'q' parameter"}
	}
	for _, id := range c.query["labelIds"] {
		if !c.user.hasLabel(id) {
			return nil, invalid("invalidArgument", "Invalid label: "+id)
		}
	}
	wanted := parseQuery(c.query.Get("q"), c.f.o.Now())
	var found []*message
	for _, m := range slices.Backward(c.user.messages) {
		hidden := (slices.Contains(m.labels, "SPAM") || slices.Contains(m.labels, "TRASH")) && !wanted.anywhere
		if hidden && !c.flag("includeSpamTrash") || !wanted.matches(c.user, m) {
			continue
		}
		if !slices.ContainsFunc(c.query["labelIds"], func(id string) bool { return !slices.Contains(m.labels, id) }) {
			found = append(found, m)
		}
	}
	return found, nil
}

// paged returns a page of items, and adds to answer what lists have besides: the token of the next one.
func paged[T any](c *call, items []T, answer map[string]any) ([]T, *Answer) {
	p, ok := c.f.turn(c.query.Get("pageToken"), c.pageKey())
	if !ok || p.offset > len(items) {
		return nil, invalid("invalidArgument", "Invalid pageToken")
	}
	end := min(p.offset+c.size(100, 500), len(items))
	if end < len(items) {
		answer["nextPageToken"] = c.f.nextPage(page{key: p.key, offset: end, number: p.number + 1})
	}
	answer["resultSizeEstimate"] = len(items)
	return items[p.offset:end], nil
}

func (c *call) listMessages() (any, *Answer) {
	found, refusal := c.selected()
	if refusal != nil {
		return nil, refusal
	}
	answer := map[string]any{}
	found, refusal = paged(c, found, answer)
	var rows []any
	for _, m := range found {
		rows = append(rows, map[string]any{"id": m.id, "threadId": m.thread})
	}
	if rows != nil {
		answer["messages"] = rows
	}
	return answer, refusal
}

func (c *call) getMessage() (any, *Answer) {
	m, refusal := c.findMessage(c.path["id"])
	if refusal != nil {
		return nil, refusal
	}
	return c.show(m, c.query.Get("format"))
}

// show returns a message in a format.
func (c *call) show(m *message, format string) (map[string]any, *Answer) {
	if format == "" {
		format = "full"
	}
	if c.metadataOnly() && (format == "full" || format == "raw") {
		return nil, &Answer{Status: http.StatusForbidden, Reason: "forbidden", Message: "Metadata scope doesn't allow format " + strings.ToUpper(format)}
	}
	shown := map[string]any{
		"id": m.id, "threadId": m.thread, "labelIds": m.labels, "snippet": m.snippet, "historyId": strconv.FormatUint(m.history, 10),
		"internalDate": strconv.FormatInt(m.at.UnixMilli(), 10), "sizeEstimate": len(m.raw),
	}
	switch format {
	case "full":
		shown["payload"] = c.showPart(m, m.root, "")
	case "raw":
		shown["raw"] = encode64(m.raw)
	case "metadata":
		shown["payload"] = map[string]any{"mimeType": m.root.mediaType, "headers": m.root.shown(c.query["metadataHeaders"])}
	}
	return shown, nil
}

// showPart returns a part. Attachments and large texts have an ID instead of their data, another one each time.
func (c *call) showPart(m *message, p *part, id string) map[string]any {
	body := map[string]any{"size": len(p.body)}
	switch {
	case p.parts != nil && p.mediaType != "message/rfc822":
		body["size"] = 0
	case p.attached() || len(p.body) > c.f.o.InlineBody:
		name := "ANGjdJ" + secret(90)
		c.f.attachments[name] = attachment{m, p.body}
		body["attachmentId"] = name
	case len(p.body) > 0:
		body["data"] = encode64(p.body)
	}
	shown := map[string]any{"partId": id, "mimeType": p.mediaType, "filename": p.filename, "headers": p.shown(nil), "body": body}
	var parts []any
	for i, child := range p.parts {
		parts = append(parts, c.showPart(m, child, strings.TrimPrefix(fmt.Sprintf("%s.%d", id, i), ".")))
	}
	if parts != nil {
		shown["parts"] = parts
	}
	return shown
}

func (c *call) getAttachment() (any, *Answer) {
	m, refusal := c.findMessage(c.path["messageId"])
	if refusal != nil {
		return nil, refusal
	}
	a, ok := c.f.attachments[c.path["id"]]
	if !ok || a.message != m {
		return nil, invalid("invalidArgument", "Invalid attachment token")
	}
	return map[string]any{"size": len(a.data), "data": encode64(a.data)}, nil
}
