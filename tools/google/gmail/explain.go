package gmail

import (
	"context"
	"errors"

	"toolserver/domain"
	"toolserver/sandbox"
)

// explain says what the policy makes of a mail, without a request: of its recipients, and of the files that are attached.
func (c *composer) explain(_ context.Context, args domain.Arguments) (domain.Explanation, error) {
	in, err := composed(args)
	if err != nil {
		return domain.Explanation{}, err
	}
	out, err := c.parse(in)
	if err != nil {
		return domain.Explanation{}, err
	}
	to := addresses(out.to, out.cc, out.bcc)
	if refused, ok := errors.AsType[*sandbox.RecipientError](c.recipients.Check(to...)); ok {
		return domain.Explanation{Rule: refused.Rule, Reason: refused.Error()}, nil
	}
	if _, err := c.attachments(in.Attachments); err != nil {
		return domain.Explanation{Reason: err.Error()}, nil
	}
	reason := "no list denies a recipient"
	if in.ReplyToMessageID != "" {
		reason += "; those that a reply takes from the original are checked when it is read"
	}
	return domain.Explanation{Allowed: true, Reason: reason}, nil
}
