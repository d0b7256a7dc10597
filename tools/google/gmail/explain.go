package gmail

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
)

// This file says what the policy makes of calls that are not made.

// explain is about the recipients and the files that the arguments name. Whom a reply goes to is known only when its original
// was read.
func (c *composer) explain(_ context.Context, args domain.Arguments) (domain.Explanation, error) {
	in, err := composed(args)
	if err != nil {
		return domain.Explanation{}, err
	}
	out, err := c.of(in).parse(in.composeInput)
	if err != nil {
		return domain.Explanation{}, err
	}
	if refused, ok := errors.AsType[*sandbox.RecipientError](c.recipients.Check(addresses(out.to, out.cc, out.bcc)...)); ok {
		return domain.Explanation{Rule: refused.Rule, Reason: refused.Error()}, nil
	}
	for _, path := range in.Attachments {
		if decision, err := c.files.Check(path); err != nil || !decision.Allowed {
			return domain.Explanation{Rule: decision.Rule, Reason: decision.Reason, Path: decision.Resolved}, err
		}
	}
	reason := "no rule denies its recipients and attachments"
	if in.ReplyToMessageID != "" {
		reason += "; those that the reply takes from the original are checked when it is read"
	}
	return domain.Explanation{Allowed: true, Reason: reason}, nil
}

// composed returns the mail of arguments.
func composed(args domain.Arguments) (in sendInput, err error) {
	raw, err := args.JSON()
	if err == nil {
		err = json.Unmarshal(raw, &in)
	}
	return in, err
}

// explain is about the directory that an attachment is saved in.
func (s *saver) explain(_ context.Context, args domain.Arguments) (domain.Explanation, error) {
	directory, _ := args["directory"].(string) // a schema's default where it is left out
	decision, err := s.files.Check(directory)
	return domain.Explanation{Allowed: decision.Allowed, Rule: decision.Rule, Reason: decision.Reason, Path: decision.Resolved}, err
}
