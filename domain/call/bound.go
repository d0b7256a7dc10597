package call

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// maxOutcomeBytes bounds one answer, with its pictures and documents.
const maxOutcomeBytes = 32 << 20

// size returns how many bytes the outcome has, but for structured results.
func (o *outcome) size() int {
	n := o.Tool.TextLen() + len(o.Tool.Extra) + len(o.Prompt.Extra) + len(o.Prompt.Meta) + len(o.Completions.Extra)
	for i := range o.Tool.Content {
		n += len(o.Tool.Content[i].Data) + len(o.Tool.Content[i].Raw)
	}
	for i := range o.Tool.Artifacts {
		n += len(o.Tool.Artifacts[i].Data)
	}
	for i := range o.Prompt.Messages {
		n += len(o.Prompt.Messages[i].Content.Text) + len(o.Prompt.Messages[i].Content.Data)
	}
	for _, v := range o.Completions.Values {
		n += len(v)
	}
	return n
}

// bound moves what is too long for one answer of a tool to the result store, and
// refuses what cannot be cut.
func (c *Call) bound(out outcome) (outcome, error) {
	if c.Tool != nil {
		b := c.bounds()
		if err := b.result(&out.Tool, c.catalog.Settings.Limits.ResultChars(c.Tool.MaxResultChars)); err != nil {
			return out, err
		}
	}
	n := out.size()
	if n > maxOutcomeBytes {
		return out, domain.Errorf(domain.CodeExecutionFailed, "%s: the answer has %s bytes; at most %s are allowed",
			c.Name, brief.Thousands(n), brief.Thousands(maxOutcomeBytes))
	}
	c.Record.ResultBytes = n
	return out, nil
}

// bounds keep what is too long of a tool's result in the store, and put in its place what
// says how to read it.
type bounds struct {
	name   string // of the call
	strict bool   // clients hold results to a schema of another server
	marks  *marks
	store  *ResultStore // nil if there is none
	owner  domain.Principal
}

func (c *Call) bounds() bounds {
	b := bounds{name: c.Name, strict: c.Tool != nil && c.Tool.StrictOutput(), marks: &c.root().marks, owner: c.Session.Principal}
	if c.exec != nil {
		b.store = c.exec.Results
	}
	return b
}

func (b *bounds) result(r *domain.ToolResult, maxChars int) error {
	if r.TextLen() > maxChars && b.cut(r, maxChars) || r.Results == nil || r.IsError {
		return nil
	}
	encoded, raw := r.Results.(json.RawMessage) // of a [List], or of another server, which has been read already
	if !raw {
		var err error
		if encoded, err = json.Marshal(r.Results); err != nil {
			return fmt.Errorf("structured content: %w", err)
		}
	}
	n := utf8.RuneCount(encoded)
	if n <= maxChars || r.Listed && n <= StructuredShare*maxChars {
		r.Encoded = encoded
		return nil
	}
	kept := b.keep(string(encoded))
	if b.strict {
		r.Content = append(slices.Clone(r.Content), domain.Content{Type: domain.TextContent, Text: fmt.Sprintf(
			"%s: the structured result has %s characters; at most %s are allowed. Read it with %s.",
			b.name, brief.Thousands(n), brief.Thousands(maxChars), kept.Call(1))})
	}
	b.replace(r, kept)
	return nil
}

// keep stores a text of the call for its principal, with the marks that are in it.
func (b *bounds) keep(text string) KeptResult {
	return b.store.keepText(b.owner, text, b.marks.spans(text))
}

// cut moves the text of r to the store if it is too long, and leaves its first
// page, with a marker that says how to read on.
func (b *bounds) cut(r *domain.ToolResult, maxChars int) bool {
	var texts []string
	chars, all, content := 0, 0, []domain.Content{{Type: domain.TextContent}}
	for _, block := range r.Content {
		n := utf8.RuneCountInString(block.Text)
		chars += n
		if block.Type == domain.TextContent || len(block.Text) > maxChars { // also a document that is too long by itself
			texts = append(texts, block.Text)
			all += n
		} else {
			content = append(content, block)
		}
	}
	if chars <= maxChars {
		return false
	}
	text := strings.Join(texts, "") // not copied if it is one
	kept := b.keep(text)
	first := text[:kept.first]
	_, closing := marksAround(kept.spans, 0, kept.first)
	content[0].Text = first + closing + fmt.Sprintf("\n\n[Output truncated: showing %s of %s characters from %s. Page 1 of %d; to read on: %s]",
		brief.Thousands(utf8.RuneCountInString(first)), brief.Thousands(all), b.name, kept.Pages, kept.Call(2))
	r.Content = content
	if failure, ok := r.Results.(domain.FailureEnvelope); ok {
		failure.Message = content[0].Text
		r.Results = failure
	} else if r.Results != nil {
		b.replace(r, kept)
	}
	return true
}

// truncatedResults stands for structured content that is too long.
type truncatedResults struct {
	Truncated bool   `json:"truncated"`
	ResultID  string `json:"result_id"`
	Pages     int    `json:"pages"`
	Message   string `json:"message"`
}

// replace puts a pointer to the store in place of structured content. One
// that would not fit the tool's output schema becomes a tool execution error,
// which clients do not hold to the schema.
func (b *bounds) replace(r *domain.ToolResult, kept KeptResult) {
	if !b.strict || r.IsError {
		r.Results = truncatedResults{true, kept.ID, kept.Pages, "The result is too long for one answer; read it with " + kept.Call(1) + "."}
		return
	}
	r.IsError, r.Extra = true, rawjson.Without(r.Extra, "isError")
	r.Results = domain.FailureEnvelope{
		IsError: true, ErrorType: "too_large", Message: "the result is too long for one answer", Hint: "Read on as the text says, or ask for less.",
	}
}
