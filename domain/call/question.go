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

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// This file puts questions about a call to a person. What they read is what
// runs: all of it, with what cannot be seen spelled out.

// question is a question about a call.
type question struct {
	about   string // what is agreed to, for the record
	refused string // what of it policy refuses, if that is why it is asked
	session bool   // the answer may hold for the session
}

// Asked is what a person was asked about a call, and what they said.
type Asked struct {
	About  string `json:"about"`  // "confirm", or what policy refuses: "command git push"
	Answer string `json:"answer"` // once, session, no, canceled; or earlier, of an answer that holds for the session
}

// The answers of [Asked].
const (
	answerOnce     = "once"
	answerSession  = "session"
	answerNo       = "no"
	answerCanceled = "canceled"
	answerEarlier  = "earlier"
)

// maxQuestion bounds a question, in bytes: no person reads more before they agree.
const maxQuestion = 64 << 10

// consult asks a person to agree to the call. The refusal is what the call is
// answered with if they do not.
func (c *Call) consult(ctx context.Context, q question) (answer string, refusal *domain.ToolResult, err error) {
	text, refusal, err := c.question(ctx, q)
	if err != nil || refusal != nil {
		return "", refusal, err
	}
	if len(text) > maxQuestion {
		refused := domain.Failure("too_large", fmt.Sprintf("%s was not run: a person has to agree to it, and the question would have %d bytes; "+
			"at most %d are shown, and nothing is left out", c.Name, len(text), maxQuestion), "Do it in several smaller calls.")
		return "", &refused, nil
	}
	asked := Elicitation{Message: text}
	if q.session {
		asked.Schema = sessionChoice(Visible(q.refused))
	}
	name := "confirm"
	if q.refused != "" || c.outer != nil || c.Tool.Preview != nil { // not the only question, so the answer is one to this text
		sum := sha256.Sum256([]byte(text))
		name += " " + hex.EncodeToString(sum[:8])
	}
	said, err := Elicit(ctx, name, asked)
	if err != nil {
		return "", nil, err
	}
	answer = said.choice(q.session)
	c.root().Record.asked(q.about, answer)
	if answer == answerOnce || answer == answerSession {
		return answer, nil, nil
	}
	problem := c.Name + " was not run: the user did not agree to it"
	if q.refused != "" {
		problem += " (it needs what policy does not allow: " + q.refused + ")"
	}
	refused := domain.Failure("denied", problem, "Ask the user what to do instead; do not try the same call again.")
	return answer, &refused, nil
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

// question returns what a person is asked. Secrets are taken out before what is
// odd is spelled out, which would hide them from the redactor.
func (c *Call) question(ctx context.Context, q question) (text string, refusal *domain.ToolResult, err error) {
	var b bytes.Buffer
	if q.refused != "" {
		b.WriteString("Policy does not allow this: " + Visible(c.catalog.Redactor.Text(q.refused)) + ". ")
	}
	if c.Tool.Preview != nil {
		text, refusal, err = c.Tool.Preview(ctx, c.args)
		c.previewed = text
		b.WriteString("Allow " + c.Name + "?\n")
		for line := range strings.Lines(c.catalog.Redactor.Text(text)) {
			b.WriteString(Visible(strings.TrimSuffix(line, "\n")) + "\n")
		}
		return b.String(), refusal, err
	}
	args := c.Raw
	if c.Tool.RunRaw == nil {
		if args, err = c.args.JSON(); err != nil {
			return "", nil, err
		}
	}
	var call bytes.Buffer
	call.WriteString("Allow " + c.Name + " with ")
	if err := appendReadable(&call, c.catalog.Redactor.JSON(args)); err != nil {
		return "", nil, err
	}
	return b.String() + Visible(call.String()+"?"), nil, nil
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
