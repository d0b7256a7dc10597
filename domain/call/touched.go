package call

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/redact"
)

// This file notes in the record of a call what it touched, and what policy did not allow.

// Bounds of what is recorded of one call.
const (
	maxTarget  = 500 // bytes of a value
	maxTargets = 50  // of one name
)

// targets notes what arguments of a tool say that the call touches, or would touch.
func (r *Record) targets(t *domain.Tool, args domain.Arguments) {
	r.Server = t.Origin
	for _, name := range t.Target {
		switch v := args[name].(type) {
		case string:
			r.touches(&r.Target, name, v)
		case bool:
			r.touches(&r.Target, name, map[bool]string{true: "true"}[v])
		case []any:
			for _, element := range v {
				s, _ := element.(string)
				r.touches(&r.Target, name, s)
			}
		}
	}
}

// touches notes a value without secrets, bounded, unless it is empty.
func (r *Record) touches(in *map[string][]string, name, value string) {
	if value == "" || len((*in)[name]) == maxTargets {
		return
	}
	if strings.Contains(value, "://") {
		if u, err := url.Parse(value); err == nil && u.User != nil {
			u.User = url.User(redact.Mark)
			value = u.String()
		}
	}
	if *in == nil {
		*in = map[string][]string{}
	}
	(*in)[name] = append((*in)[name], brief.Clip(r.redactor.Text(value), maxTarget))
}

// asked notes an answer of a person.
func (r *Record) asked(a Asked) {
	a.About = Visible(r.redactor.Text(a.About))
	r.Asked = append(r.Asked, a)
}

// noteRefusals notes what kept the call from its work, or a part of it.
func (c *Call) noteRefusals(result *domain.ToolResult, failed *domain.Error) {
	var why []domain.Refusal
	switch {
	case failed == nil && !result.IsError:
	case failed != nil:
		if t, ok := c.catalog.Tool(c.Name); c.Tool == nil && ok {
			args, _ := t.Input.Arguments(c.Raw) // nil if they are invalid
			c.Record.targets(t, args)
		}
		if r := c.limitedBy(failed); r.Reason != "" {
			why = append(why, r)
		}
	case result.ErrorType() == denied:
		why = append(why, c.explained(result))
	}
	for _, r := range append(why, result.Refused...) {
		r.Reason = brief.Clip(Visible(c.catalog.Redactor.Text(r.Reason)), maxTarget)
		c.Record.Refused = append(c.Record.Refused, r)
	}
}

// denied is the error type of what policy does not allow.
const denied = "denied"

// limitedBy returns the setting that an error is about; the zero value if it is about none.
func (c *Call) limitedBy(err *domain.Error) domain.Refusal {
	switch t, ok := c.catalog.Tool(c.Name); {
	case err.Code == domain.CodeToolNotFound && ok: // which the caller is not told
		return domain.Refusal{Rule: "tools." + cmp.Or(t.Offered, t.Name) + ".groups", Reason: c.catalog.Why(c.Session.Principal, c.Name)}
	case err.Code == domain.CodeToolDisabled:
		return domain.Refusal{Rule: "tools." + c.Name + ".enabled", Reason: err.Message}
	case err.Code == domain.CodeRateLimited:
		return domain.Refusal{Rule: "limits.rate_per_minute", Reason: err.Message}
	case err.Data["error_type"] == denied: // of a resource
		return domain.Refusal{Reason: err.Message}
	}
	return domain.Refusal{}
}

// explained returns what the tool's own explanation says of a call that was denied or, where that is known only while
// it works, its message.
func (c *Call) explained(result *domain.ToolResult) domain.Refusal {
	if c.Tool != nil && c.Tool.Explain != nil && c.args != nil {
		if e, err := c.Tool.Explain(&c.context, c.args); err == nil && !e.Allowed {
			return domain.Refusal{Rule: e.Rule, Reason: e.Reason}
		}
	}
	message := ""
	if len(result.Content) > 0 {
		message = result.Content[0].Text
	}
	return domain.Refusal{Reason: message}
}
