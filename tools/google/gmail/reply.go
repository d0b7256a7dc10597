package gmail

import (
	"context"
	"fmt"
	netmail "net/mail"
	"slices"
	"strings"

	gmailapi "google.golang.org/api/gmail/v1"

	"toolserver/tools/google/api"
	"toolserver/tools/mail"
)

// reply makes the mail a reply to the message that in names: to whom that asks for, in its thread. Gmail and other programs go
// by the header fields and the subject.
func (c *composer) reply(ctx context.Context, in composeInput, out *outgoing) error {
	ctx, refusal, err := c.signedIn(ctx, need(readName, c.failing+": a reply requires that the original can be read"))
	if err != nil {
		return err
	}
	if refusal != nil {
		return &failedCall{*refusal}
	}
	original, err := api.Read(ctx, c.client, c.service().Users.Messages.Get("me", in.ReplyToMessageID).Format("metadata").
		MetadataHeaders("Message-ID", "References", "Subject", "From", "Reply-To", "To", "Cc").
		Fields("id", "threadId", "payload/headers").Context(ctx).Do)
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
		return failure("too_large", fmt.Sprintf("%s: the reply would go to %d recipients; 1 to %d are allowed", c.failing, n, maxRecipients),
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
