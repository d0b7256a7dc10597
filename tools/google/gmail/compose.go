package gmail

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	netmail "net/mail"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/text/mail"
	"github.com/toolserver/toolserver/tools/google/api"
)

// composeInput is the mail that gmail_send and gmail_draft are given.
type composeInput struct {
	To               string   `json:"to,omitempty" max:"20000" list:"true"`
	Cc               string   `json:"cc,omitempty" max:"20000" list:"true"`
	Bcc              string   `json:"bcc,omitempty" max:"20000" list:"true"`
	Subject          string   `json:"subject,omitempty" max:"2000"`
	Body             string   `json:"body" max:"5000000"`
	HTML             string   `json:"html,omitempty" max:"5000000"`
	ReplyToMessageID string   `json:"replyToMessageId,omitempty" pattern:"^[0-9A-Za-z_-]{0,200}$"`
	ReplyAll         bool     `json:"replyAll" default:"false"`
	From             string   `json:"from,omitempty" max:"1000"`
	IncludeQuoted    bool     `json:"includeQuoted" default:"true"`
	IncludeSignature bool     `json:"includeSignature" default:"true"`
	Attachments      []string `json:"attachments,omitempty" max:"50" list:"true"`
}

func (composeInput) Words() string { return arguments }

// Bounds of a mail.
const (
	maxRecipients  = 100
	maxAttachments = 25 << 20 // bytes of all of them
)

// composer makes mails for one of the tools that do.
type composer struct {
	*toolset
	tool       string
	failing    string // begins the message of a failure
	files      *sandbox.Reader
	recipients *sandbox.Recipients
	drafts     bool // mails without recipients are all right
}

// outgoing is a mail that is ready to be sent.
type outgoing struct {
	mail.Message
	to, cc, bcc []*netmail.Address
	raw         []byte
	account     string // whose mail it is
	thread      string // of the mail that it replies to
	quote, rich string // that mail below the text and the HTML
	notes       []string
}

// compose returns the mail of a call. Whatever the arguments alone decide is decided before any request.
func (c *composer) compose(ctx context.Context, in composeInput) (*outgoing, error) {
	out, err := c.parse(in)
	if err != nil {
		return nil, err
	}
	if out.Attachments, err = c.attachments(in.Attachments); err != nil {
		return nil, err
	}
	if err := c.finish(out); err != nil {
		return nil, err
	}
	if err := c.permit(out); err != nil {
		return nil, err
	}
	if in.ReplyToMessageID != "" {
		if err := c.reply(ctx, in, out); err != nil {
			return nil, err
		}
		if err := c.permit(out); err != nil {
			return nil, err
		}
	}
	if err := c.sign(ctx, in, out); err != nil {
		return nil, err
	}
	if in.ReplyToMessageID != "" || out.Text != in.Body {
		if err := c.finish(out); err != nil {
			return nil, err
		}
	}
	if shown := call.Previewed(ctx); shown != "" && !strings.HasSuffix(shown, out.show()) { // it was composed before to ask a person
		return nil, api.Refusal("conflict", c.failing+": a file that is attached, or the mail that it replies to, has changed since the user agreed",
			"Call the tool again, so that the user sees it as it is now.")
	}
	return out, nil
}

// parse returns the mail as far as the arguments say it, without attachments.
func (c *composer) parse(in composeInput) (*outgoing, error) {
	out := &outgoing{Message: mail.Message{From: in.From, Subject: in.Subject, Text: in.Body, HTML: in.HTML}}
	for _, f := range []struct {
		name, text string
		list       *[]*netmail.Address
	}{{"to", in.To, &out.to}, {"cc", in.Cc, &out.cc}, {"bcc", in.Bcc, &out.bcc}} {
		if strings.TrimSpace(f.text) == "" {
			continue
		}
		list, err := mail.ParseAddresses(f.name, []string{f.text})
		if err != nil {
			return nil, c.invalid(err)
		}
		*f.list = list
	}
	n := len(out.to) + len(out.cc) + len(out.bcc)
	switch {
	case in.ReplyAll && in.ReplyToMessageID == "":
		return nil, domain.InvalidArgument(c.tool, "replyAll", "is for replies only: pass replyToMessageId too")
	case n == 0 && in.ReplyToMessageID == "" && !c.drafts:
		return nil, domain.InvalidArgument(c.tool, "to", "must name a recipient")
	case n > maxRecipients:
		return nil, domain.InvalidArgument(c.tool, "to", fmt.Sprintf("names %d recipients with cc and bcc; at most %d are allowed", n, maxRecipients))
	}
	return out, nil
}

// invalid returns the error of an argument that cannot be part of a mail.
func (c *composer) invalid(err error) error {
	if bad, ok := errors.AsType[*mail.InputError](err); ok {
		return domain.InvalidArgument(c.tool, bad.Field, bad.Problem)
	}
	return err
}

// finish composes the mail.
func (c *composer) finish(out *outgoing) (err error) {
	out.To, out.Cc, out.Bcc = written(out.to), written(out.cc), written(out.bcc)
	m := out.Message
	if m.Text += out.quote; m.HTML != "" {
		m.HTML += out.rich
	}
	if out.raw, err = m.Compose(); err != nil {
		return c.invalid(err)
	}
	return nil
}

func written(list []*netmail.Address) []string {
	var texts []string
	for _, a := range list {
		texts = append(texts, a.String())
	}
	return texts
}

// addresses returns the bare addresses of lists, each once.
func addresses(lists ...[]*netmail.Address) []string {
	all := []string{}
	for _, a := range slices.Concat(lists...) {
		if !slices.ContainsFunc(all, func(s string) bool { return strings.EqualFold(s, a.Address) }) {
			all = append(all, a.Address)
		}
	}
	return all
}

// permit asks the policy whether the mail may go to its recipients.
func (c *composer) permit(out *outgoing) error {
	if err := c.recipients.Check(addresses(out.to, out.cc, out.bcc)...); err != nil {
		return api.Refusal("denied", err.Error(), "Write to allowed recipients only; only the operator can allow others.")
	}
	return nil
}

// attachments reads files to attach.
func (c *composer) attachments(paths []string) (all []mail.Attachment, err error) {
	left := int64(maxAttachments)
	for _, path := range paths {
		data, err := c.file(path, left)
		if refused, ok := errors.AsType[*pathguard.Error](err); ok {
			return nil, fileFailure(c.failing, refused)
		}
		if err != nil {
			return nil, err
		}
		left -= int64(len(data))
		all = append(all, mail.Attachment{Name: filepath.Base(path), Data: data})
	}
	return all, nil
}

func (c *composer) file(path string, limit int64) ([]byte, error) {
	f, err := c.files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, api.Refusal("io_error", c.failing+": "+path+" cannot be read", "Try again, or attach another file.")
	case int64(len(data)) > limit:
		return nil, api.Refusal("too_large", fmt.Sprintf("%s: with %s the attachments have more than %s bytes", c.failing, path, brief.Thousands(maxAttachments)),
			"Attach less, or send a link to the file.")
	}
	return data, nil
}

// fileFailure returns what a call is answered with if the sandbox refuses a file.
func fileFailure(failing string, refused *pathguard.Error) error {
	errorType, hint := string(refused.Kind), "Correct the path."
	switch {
	case refused.Kind == pathguard.KindIO:
		errorType, hint = "io_error", "Try again, choose another path, or tell the operator."
	case refused.Kind == pathguard.KindDenied && len(refused.Allowed) > 0:
		hint = "Choose a path beneath one of: " + strings.Join(refused.Allowed, ", ") + "; no rule may deny it."
	case refused.Kind == pathguard.KindDenied:
		hint = "The policy allows this tool no path at all; ask the operator."
	}
	return api.Refusal(errorType, failing+": "+refused.Error(), hint)
}

// show returns the mail as a person reads it before it goes: all of it but the content of attachments.
func (out *outgoing) show() string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	field("Account", out.account)
	field("From", out.From)
	field("To", people(out.to))
	field("Cc", people(out.cc))
	field("Bcc", people(out.bcc))
	b.WriteString("Subject: " + out.Subject + "\n")
	field("Reply in thread", out.thread)
	for _, note := range out.notes {
		field("Note", note)
	}
	field("Size", brief.Thousands(len(out.raw))+" bytes")
	if len(out.Attachments) > 0 {
		fmt.Fprintf(&b, "Attachments (%d):\n", len(out.Attachments))
	}
	for _, a := range out.Attachments {
		fmt.Fprintf(&b, "  - %s (%s bytes, SHA-256 %.8x)\n", a.Name, brief.Thousands(len(a.Data)), sha256.Sum256(a.Data))
	}
	b.WriteString("\n" + out.Text)
	if out.HTML != "" {
		b.WriteString("\n\nThe same as HTML, which most programs show instead:\n" + out.HTML)
	}
	if out.quote != "" {
		fmt.Fprintf(&b, "\n\n[Below it the original is quoted: %s characters]", brief.Thousands(utf8.RuneCountInString(out.quote)))
	}
	return b.String()
}

// bare returns an address as a mail has it: what could pass for several stands in quotes.
func bare(a *netmail.Address) string {
	return strings.Trim((&netmail.Address{Address: a.Address}).String(), "<>")
}

// people returns addresses as people read them: a name stands in quotes, so that it cannot pass for another address.
func people(list []*netmail.Address) string {
	var all []string
	for _, a := range list {
		if a.Name == "" {
			all = append(all, bare(a))
		} else {
			all = append(all, fmt.Sprintf("%q <%s>", line(a.Name), bare(a)))
		}
	}
	return strings.Join(all, ", ")
}
