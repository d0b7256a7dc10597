package call

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolserver/toolserver/approval"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// This file puts questions about a call to a person. What they read is what runs: all of it, with what cannot be seen spelled out.

// question is a question about a call.
type question struct {
	*Call
	about   string // what is agreed to, for the record
	refused string // what of it policy refuses, if that is why it is asked
	session bool   // the answer may hold for the session
	policy  any    // as long as this is in force; see [Liftable]
}

// Asked is what a person was asked about a call, and what they said.
type Asked struct {
	About    string `json:"about"`              // "confirm", or what policy refuses: "command git push"
	Answer   string `json:"answer"`             // once, session, never, no, canceled, pending; or earlier, of an answer that holds for the session
	By       string `json:"by,omitempty"`       // who has decided elsewhere, by ID; empty for the user of the client
	Approval string `json:"approval,omitempty"` // what they have decided, by its ID
}

// The answers of [Asked].
const (
	answerOnce     = approval.Once
	answerSession  = approval.Session
	answerNever    = approval.Never
	answerNo       = approval.No
	answerCanceled = "canceled"
	answerEarlier  = "earlier"
	answerPending  = "pending"
)

// maxQuestion bounds a question, in bytes: no person reads more before they agree.
const maxQuestion = 64 << 10

// consult asks a person to agree to the call, at the client or elsewhere. The refusal is what it is answered with if they do not.
func (q *question) consult(ctx context.Context) (said Asked, refusal *domain.ToolResult, err error) {
	text, args, refusal, err := q.text(ctx)
	if err != nil || refusal != nil {
		return said, refusal, err
	}
	if len(text) > maxQuestion {
		refused := domain.Failure("too_large", fmt.Sprintf("%s was not run: a person has to agree to it, and the question would have %d bytes; "+
			"at most %d are shown, and nothing is left out", q.Name, len(text), maxQuestion), "Do it in several smaller calls.")
		return said, &refused, nil
	}
	if said, refusal, err = q.ask(ctx, text, args); err != nil {
		return said, nil, err
	}
	q.root().Record.asked(said)
	switch {
	case refusal != nil:
		return said, refusal, nil
	case said.Answer == answerOnce || said.Answer == answerSession:
		return said, nil, nil
	}
	problem := q.Name + " was not run: the user did not agree to it"
	if said.Answer == answerNever {
		problem = q.Name + " was not run: the user never agrees to it (" + said.Approval + ")"
	}
	if q.refused != "" {
		problem += " (it needs what policy does not allow: " + q.refused + ")"
	}
	refused := domain.Failure("denied", problem, "Ask the user what to do instead; do not try the same call again.")
	return said, &refused, nil
}

// ask asks the user of the client or, if that cannot be or is not enough, somebody elsewhere.
func (q *question) ask(ctx context.Context, text string, args []byte) (said Asked, refusal *domain.ToolResult, err error) {
	a := approvalsOf(q.Call)
	if a == nil {
		said.About = q.about
		said.Answer, err = q.elicit(ctx, text)
		return said, nil, err
	}
	asked := q.request(text, args)
	if !asked.Second && CanAsk(ctx, AskElicitation) {
		if said, err = q.never(ctx, a, asked); err != nil || said.Answer != "" {
			return said, nil, err
		}
		said.Answer, err = q.elicit(ctx, text)
		if domain.CodeOf(err) != domain.CodeMissingCapability { // or it can ask, but not during this call
			return said, nil, err
		}
	}
	return q.askElsewhere(ctx, a, asked)
}

// elicit asks the user of the client, and returns their answer.
func (q *question) elicit(ctx context.Context, text string) (answer string, err error) {
	asked := Elicitation{Message: text}
	if q.session {
		asked.Schema = sessionChoice(Visible(q.refused))
	}
	name := "confirm"
	if q.refused != "" || q.outer != nil || q.Tool.Preview != nil { // not the only question, so the answer is one to this text
		sum := sha256.Sum256([]byte(text))
		name += " " + hex.EncodeToString(sum[:8])
	}
	said, err := Elicit(ctx, name, asked)
	return said.choice(q.session), err
}

// choice returns what the answer says. Agreement without a choice is for this once.
func (a ElicitationAnswer) choice(session bool) string {
	var chosen struct{ Allow *string }
	switch a.Action {
	case Canceled:
		return answerCanceled
	case Accepted:
	default:
		return answerNo
	}
	if len(a.Content) > 0 && json.Unmarshal(a.Content, &chosen) != nil {
		return answerNo
	}
	switch {
	case chosen.Allow == nil || *chosen.Allow == answerOnce:
		return answerOnce
	case *chosen.Allow == answerSession && session:
		return answerSession
	}
	return answerNo
}

// sessionChoice is the schema of a question whose answer may hold for the session.
func sessionChoice(what string) json.RawMessage {
	b := []byte(`{"type":"object","properties":{"allow":{"type":"string","title":"Allow it","enum":["once","session","no"],"description":`)
	b = rawjson.AppendString(b, "once: this call only; session: until the session ends, "+what+"; no: not at all")
	return append(b, `}},"required":["allow"]}`...)
}

// text returns what a person is asked, and the arguments. Secrets are taken out before what is
// odd is spelled out, which would hide them from the redactor.
func (q *question) text(ctx context.Context) (text string, args []byte, refusal *domain.ToolResult, err error) {
	var b bytes.Buffer
	if q.refused != "" {
		b.WriteString("Policy does not allow this: " + Visible(q.catalog.Redactor.Text(q.refused)) + ". ")
	}
	if args = q.Raw; q.Tool.RunRaw == nil {
		if args, err = q.args.JSON(); err != nil {
			return "", nil, nil, err
		}
	}
	if q.Tool.Preview != nil {
		text, refusal, err = q.Tool.Preview(ctx, q.args)
		q.previewed = text
		b.WriteString("Allow " + q.Name + "?\n")
		for line := range strings.Lines(q.catalog.Redactor.Text(text)) {
			b.WriteString(Visible(strings.TrimSuffix(line, "\n")) + "\n")
		}
		return b.String(), args, refusal, err
	}
	var call bytes.Buffer
	call.WriteString("Allow " + q.Name + " with ")
	if err := appendReadable(&call, q.catalog.Redactor.JSON(args)); err != nil {
		return "", nil, nil, err
	}
	return b.String() + Visible(call.String()+"?"), args, nil, nil
}

// appendReadable writes arguments on one line, with no more escapes than they need:
// escapes are a way to write what people do not read.
func appendReadable(b *bytes.Buffer, args json.RawMessage) error {
	var compact bytes.Buffer
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if err := json.Compact(&compact, args); err != nil {
		return err
	}
	b.Write(rawjson.ReplaceStrings(compact.Bytes(), func(s string, _ int) (string, bool) { return s, true }))
	return nil
}

// maxBlank is how many spaces in a row are shown as they are: more would move what
// follows out of sight.
const maxBlank = 16

// Visible returns a text that others have written as it can be shown to a person: with
// characters that people cannot see, or that change how others are shown, as escapes.
func Visible(s string) string {
	var b strings.Builder
	blank := 0
	for _, r := range s {
		if blank++; r != ' ' {
			blank = 0
		}
		switch {
		case blank <= maxBlank && !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden reports whether a character leaves nothing to see, or not where it is:
// controls, formats such as marks of direction, tags, spaces but the common one,
// fillers, selectors of variants, and what Unicode does not define.
func hidden(r rune) bool {
	const brailleBlank = '\u2800'
	return !strconv.IsPrint(r) || r == brailleBlank || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// root returns the call that others are made within, which is this one if it is not
// made within another.
func (c *Call) root() *Call {
	for c.outer != nil {
		c = c.outer
	}
	return c
}
