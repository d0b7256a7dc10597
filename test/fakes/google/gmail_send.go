package google

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/mail"
	"slices"
	"strings"

	_ "github.com/emersion/go-message/charset" // so that it reads all charsets
	gomail "github.com/emersion/go-message/mail"
)

// Gmail's limits of a mail.
const (
	maxMail       = 36_700_160 // bytes
	maxRecipients = 500
)

// Sent is a mail that a user has sent, as an independent reader of mail understands it.
type Sent struct {
	ID, Thread    string
	Raw           []byte // as it went out
	From          string
	To, Cc, Bcc   []string // addresses
	Subject       string
	Text, HTML    string
	Attachments   []SentAttachment
	InReplyTo     string
	References    []string
	MessageHeader string // Message-ID
	Err           error  // of the reader
}

// SentAttachment is an attachment of a mail that was sent.
type SentAttachment struct {
	Name, Type string
	Data       []byte
}

// Sent returns what a user has sent, the first one first.
func (f *Fake) Sent(email string) []Sent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.mustUser(email).sent)
}

// content returns the mail in a request: uploaded, or in the JSON of a message.
func (c *call) content(message map[string]any) ([]byte, *Answer) {
	raw := c.media
	if raw == nil {
		raw, _ = decode64(text(message, "raw")) // was checked with its schema
	}
	if len(raw) == 0 {
		return nil, invalid("invalidArgument", "'raw' RFC822 payload message string or uploading message via /upload/* URL required")
	}
	if len(raw) > maxMail {
		return nil, &Answer{Status: http.StatusRequestEntityTooLarge, Reason: "uploadTooLarge", Message: "Message exceeds the maximum size."}
	}
	return raw, nil
}

// recipients returns the addresses that a mail goes to.
func recipients(p *part) (all []string, refusal *Answer) {
	for _, name := range []string{"To", "Cc", "Bcc"} {
		for _, h := range p.headers {
			if !strings.EqualFold(h.name, name) || h.value == "" {
				continue
			}
			parser := mail.AddressParser{WordDecoder: wordDecoder()}
			list, err := parser.ParseList(h.value)
			if err != nil {
				return nil, invalid("invalidArgument", "Invalid "+name+" header")
			}
			for _, a := range list {
				all = append(all, strings.ToLower(a.Address))
			}
		}
	}
	switch {
	case len(all) == 0:
		return nil, invalid("invalidArgument", "Recipient address required")
	case len(all) > maxRecipients:
		return nil, invalid("invalidArgument", "Too many recipients: the limit is 500")
	}
	return all, nil
}

// completed returns a mail with what Gmail adds: From, if the sender may not use its own, Date, and a Message-ID of Gmail's.
func (f *Fake) completed(u *user, raw []byte) []byte {
	p := parsePart(raw)
	var add strings.Builder
	drop := []string{"Message-Id"}
	if from, err := mail.ParseAddress(p.header("From")); err != nil || !u.maySendAs(from.Address) {
		drop = append(drop, "From")
		add.WriteString("From: " + u.Email + "\r\n")
	}
	if p.header("Date") == "" {
		drop = append(drop, "Date")
		add.WriteString("Date: " + f.o.Now().Format("Mon, 2 Jan 2006 15:04:05 -0700") + "\r\n")
	}
	fmt.Fprintf(&add, "Message-ID: <CA%s@mail.gmail.com>\r\n", secret(16))
	return append([]byte(add.String()), without(raw, drop...)...)
}

func (u *user) maySendAs(address string) bool {
	return strings.EqualFold(address, u.Email) || slices.ContainsFunc(u.SendAs, func(a string) bool { return strings.EqualFold(a, address) })
}

// without returns a mail without some fields of its header. The rest stays as it is, byte by byte.
func without(raw []byte, names ...string) []byte {
	var kept []byte
	dropping := false
	for len(raw) > 0 {
		end := bytes.IndexByte(raw, '\n') + 1
		if end == 0 {
			end = len(raw)
		}
		line := raw[:end]
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
		if line[0] != ' ' && line[0] != '\t' {
			name, _, _ := strings.Cut(string(line), ":")
			dropping = slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, strings.TrimSpace(name)) })
		}
		if !dropping {
			kept = append(kept, line...)
		}
		raw = raw[end:]
	}
	return append(kept, raw...)
}

// place puts a message into the thread that it names, if it is a reply to a message of that.
func (c *call) place(m *message, thread string) *Answer {
	if thread == "" {
		return nil
	}
	if _, refusal := c.inThread(thread); refusal != nil {
		return refusal
	}
	if c.user.answered(m.root, thread) != nil {
		m.thread = thread
	}
	return nil
}

func (c *call) sendMessage() (any, *Answer) {
	raw, refusal := c.content(c.body)
	if refusal != nil {
		return nil, refusal
	}
	return c.send(raw, text(c.body, "threadId"))
}

// send sends a mail, to the users of the fake whom it is for, too.
func (c *call) send(raw []byte, thread string) (any, *Answer) {
	f, u := c.f, c.user
	to, refusal := recipients(parsePart(raw))
	if refusal != nil {
		return nil, refusal
	}
	raw = f.completed(u, raw)
	m := f.newMessage(u, raw, []string{"SENT"})
	if refusal := c.place(m, thread); refusal != nil {
		return nil, refusal
	}
	if slices.Contains(to, strings.ToLower(u.Email)) {
		m.labels = []string{"UNREAD", "SENT", "INBOX"}
	}
	u.messages = append(u.messages, m)
	sent := readSent(raw)
	sent.ID, sent.Thread = m.id, m.thread
	u.sent = append(u.sent, sent)
	for _, other := range f.users {
		if other != u && slices.Contains(to, strings.ToLower(other.Email)) {
			f.deliver(other, without(raw, "Bcc"), nil)
		}
	}
	return map[string]any{"id": m.id, "threadId": m.thread, "labelIds": m.labels}, nil
}

// readSent reads a mail with a library that the fake does not use otherwise.
func readSent(raw []byte) Sent {
	s := Sent{Raw: raw}
	r, err := gomail.CreateReader(bytes.NewReader(raw))
	if err != nil {
		s.Err = err
		return s
	}
	addresses := func(name string) (list []string) {
		all, err := r.Header.AddressList(name)
		if err != nil {
			s.Err = fmt.Errorf("%s: %w", name, err)
		}
		for _, a := range all {
			list = append(list, a.Address)
		}
		return list
	}
	s.From = strings.Join(addresses("From"), ", ")
	s.To, s.Cc, s.Bcc = addresses("To"), addresses("Cc"), addresses("Bcc")
	if s.Subject, err = r.Header.Subject(); err != nil {
		s.Err = err
	}
	s.MessageHeader, s.InReplyTo = r.Header.Get("Message-Id"), r.Header.Get("In-Reply-To")
	s.References = strings.Fields(r.Header.Get("References"))
	for {
		p, err := r.NextPart()
		if err == io.EOF {
			return s
		}
		if err != nil {
			s.Err = err
			return s
		}
		data, err := io.ReadAll(p.Body)
		if err != nil {
			s.Err = err
		}
		s.add(p.Header, data)
	}
}

// add adds a part.
func (s *Sent) add(h gomail.PartHeader, data []byte) {
	switch h := h.(type) {
	case *gomail.AttachmentHeader:
		name, _ := h.Filename()
		kind, _, _ := h.ContentType()
		s.Attachments = append(s.Attachments, SentAttachment{name, kind, data})
	case *gomail.InlineHeader:
		switch kind, parameters, _ := h.ContentType(); kind {
		case "text/html":
			s.HTML += string(data)
		case "text/plain":
			s.Text += string(data)
		default:
			s.Attachments = append(s.Attachments, SentAttachment{parameters["name"], kind, data})
		}
	}
}

func (c *call) listSendAs() (any, *Answer) {
	list := []any{map[string]any{
		"sendAsEmail": c.user.Email, "displayName": "", "replyToAddress": "", "signature": c.user.Signatures[c.user.Email], "isPrimary": true, "isDefault": true,
	}}
	for _, alias := range c.user.SendAs {
		list = append(list, map[string]any{
			"sendAsEmail": alias, "displayName": "", "replyToAddress": "", "signature": c.user.Signatures[alias], "treatAsAlias": true, "verificationStatus": "accepted",
		})
	}
	return map[string]any{"sendAs": list}, nil
}
