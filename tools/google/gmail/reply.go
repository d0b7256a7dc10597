package gmail

import (
	"context"
	"errors"
	"fmt"
	"html"
	netmail "net/mail"
	"slices"
	"strings"
	"time"

	gmailapi "google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/outbound/httpcall"
	texts "github.com/toolserver/toolserver/text/html"
	"github.com/toolserver/toolserver/text/mail"
	"github.com/toolserver/toolserver/tools/google/api"
)

// reply makes the mail a reply to the message that in names: to whom that asks for, in its thread. Gmail and other programs go
// by the header fields and the subject.
func (c *composer) reply(ctx context.Context, in composeInput, out *outgoing) error {
	ctx, err := c.signedIn(ctx, need(readName, c.failing+": a reply requires that the original can be read"))
	if err != nil {
		return err
	}
	original, err := api.Read(ctx, c.client, c.service().Users.Messages.Get("me", in.ReplyToMessageID).Format("full").
		Fields("id", "threadId", "internalDate", "payload").Context(ctx).Do)
	if err != nil {
		return err
	}
	own, err := c.own(ctx)
	if err != nil {
		return err
	}
	out.thread = original.ThreadId
	out.address(in, original.Payload, own)
	if n := len(out.to) + len(out.cc) + len(out.bcc); n == 0 || n > maxRecipients {
		return api.Refusal("too_large", fmt.Sprintf("%s: the reply would go to %d recipients; 1 to %d are allowed", c.failing, n, maxRecipients),
			"Pass to, and leave replyAll out.")
	}
	subject := mail.Reply(mail.Header(original.Payload, "Subject"))
	switch {
	case in.Subject == "":
		out.Subject = subject
	case !strings.EqualFold(mail.Reply(in.Subject), subject):
		out.notes = append(out.notes, "The subject is not that of the original, so other programs may not show the mail in its thread.")
	}
	id := mail.Header(original.Payload, "Message-ID")
	if references := mail.References(mail.Header(original.Payload, "References"), id); slices.Contains(references, id) {
		out.InReplyTo, out.References = id, references
	} else {
		out.notes = append(out.notes, "The original has no valid Message-ID, so other programs may not show the mail in its thread.")
	}
	return c.cite(ctx, in, out, original)
}

// maxCited bounds an original that is quoted, in bytes.
const maxCited = 500_000

// cite has a reply quote its original, as Gmail does.
func (c *composer) cite(ctx context.Context, in composeInput, out *outgoing, m *gmailapi.Message) error {
	if _, n := mail.Written(in.Body); !in.IncludeQuoted || n > 0 { // it does so itself
		return nil
	}
	body, err := mail.Read(ctx, m.Payload, c.fetch(m.Id), false)
	rich := body
	if err == nil && in.HTML != "" {
		rich, err = mail.Read(ctx, m.Payload, c.fetch(m.Id), true)
	}
	if err != nil {
		return err
	}
	if len(body.Text)+len(rich.Text) > maxCited {
		out.notes = append(out.notes, "The original is not quoted: it is too long.")
		return nil
	}
	at, err := netmail.ParseDate(mail.Header(m.Payload, "Date"))
	if err != nil {
		at = time.UnixMilli(m.InternalDate).UTC()
	}
	said := "On " + at.Format("Mon, Jan 2, 2006 at 3:04 PM ") + mail.Header(m.Payload, "From") + " wrote:"
	out.quote = "\n\n" + said + "\n" + strings.ReplaceAll("\n"+body.Text, "\n", "\n> ") + "\n"
	if rich.Source != "text/html" {
		rich.Text = strings.ReplaceAll(html.EscapeString(rich.Text), "\n", "<br>")
	}
	out.rich = `<br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">` + html.EscapeString(said) +
		`<br></div><blockquote class="gmail_quote" style="margin:0px 0px 0px 0.8ex;border-left:1px solid rgb(204,204,204);padding-left:1ex">` +
		rich.Text + "</blockquote></div>"
	return nil
}

// sign adds the signature of the sender, and notes one whom Gmail would replace. It is no reason to fail that this is not known.
func (c *composer) sign(ctx context.Context, in composeInput, out *outgoing) error {
	if out.account = api.Email(ctx); !in.IncludeSignature && in.From == "" {
		return nil
	}
	why, granted, list := "the sign-in does not cover reading it", api.Scopes(ctx), &gmailapi.ListSendAsResponse{}
	if len(granted) == 0 || slices.ContainsFunc(need(readName, "").Scopes, func(s string) bool { return slices.Contains(granted, s) }) {
		known, err := api.Read(ctx, c.client, c.service().Users.Settings.SendAs.List("me").Context(ctx).Do)
		if f, ok := errors.AsType[*httpcall.Failure](err); ok {
			why = f.Message
		} else if err != nil {
			return err
		} else {
			list = known
		}
	}
	var sender *gmailapi.SendAs // by default, or the alias that is asked for
	from, _ := netmail.ParseAddress(in.From)
	found := from == nil || len(list.SendAs) == 0
	for _, s := range list.SendAs {
		alias := from != nil && strings.EqualFold(s.SendAsEmail, from.Address) && (s.IsPrimary || s.VerificationStatus == "accepted")
		if alias || s.IsDefault && sender == nil {
			sender, found = s, found || alias
		}
	}
	if !found {
		out.notes = append(out.notes, "Gmail replaces the sender "+bare(from)+" by the account's address, because it is none of its verified aliases.")
	}
	switch {
	case !in.IncludeSignature:
		return nil
	case sender == nil:
		out.notes = append(out.notes, "The account's signature was not added: "+why+".")
		return nil
	}
	text, rule := texts.Text(texts.Source(sender.Signature), texts.Options{}), "-- \n"
	if text == "" || strings.Contains(in.Body, text) {
		return nil
	}
	if in.ReplyToMessageID != "" {
		rule = "" // what is below a rule some programs do not show, and the original is
	}
	out.Text = strings.TrimRight(in.Body, "\n") + "\n\n" + rule + text
	if in.HTML != "" {
		out.HTML += `<br><div class="gmail_signature">` + sender.Signature + "</div>"
	}
	return nil
}

// own returns the account's address.
func (c *composer) own(ctx context.Context) (string, error) {
	if email := api.Email(ctx); email != "" {
		return email, nil
	}
	profile, err := api.Read(ctx, c.client, c.service().Users.GetProfile("me").Fields("emailAddress").Context(ctx).Do)
	if err != nil {
		return "", err
	}
	return profile.EmailAddress, nil
}

// address adds whom a reply goes to: the arguments come first. The account itself is not among them, unless it wrote to
// itself alone.
func (out *outgoing) address(in composeInput, original *gmailapi.MessagePart, own string) {
	listed := func(name string) []*netmail.Address {
		list := mail.Addresses(original, name)
		note := "The original's " + name + " cannot be understood, and was left out."
		if text := mail.Header(original, name); list == nil && text != "" && !strings.HasSuffix(text, ":;") && !slices.Contains(out.notes, note) {
			out.notes = append(out.notes, note)
		}
		return list
	}
	taken := append(addresses(out.to, out.cc, out.bcc), own)
	if from, err := netmail.ParseAddress(out.From); err == nil {
		taken = append(taken, from.Address)
	}
	others := func(list []*netmail.Address) (rest []*netmail.Address) {
		for _, a := range list {
			if !slices.ContainsFunc(taken, func(t string) bool { return strings.EqualFold(t, a.Address) }) {
				rest = append(rest, a)
				taken = append(taken, a.Address)
			}
		}
		return rest
	}
	if len(out.to) == 0 {
		sender := listed("Reply-To")
		if len(sender) == 0 {
			sender = listed("From")
		}
		if out.to = others(sender); len(out.to) == 0 {
			out.to = others(listed("To")) // the account's own mail is followed up
		}
		if len(out.to) == 0 && len(out.cc) == 0 && len(out.bcc) == 0 {
			out.to = sender
		}
	}
	if in.ReplyAll {
		out.cc = append(out.cc, others(slices.Concat(listed("To"), listed("Cc")))...)
	}
}
