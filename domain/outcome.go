package domain

import "unicode/utf8"

// Outcome is what came of a request that did not fail. What is set depends on
// what was asked for.
type Outcome struct {
	Tool     ToolResult   // of a tool
	Contents []Content    // of a resource
	Prompt   PromptResult // of a prompt
	Values   []string     // of a completion
}

// textLen returns how many bytes of text the outcome has.
func (o *Outcome) textLen() int {
	n := o.Tool.TextLen()
	for i := range o.Contents {
		n += len(o.Contents[i].Text) + len(o.Contents[i].Data)
	}
	for i := range o.Prompt.Messages {
		n += len(o.Prompt.Messages[i].Content.Text) + len(o.Prompt.Messages[i].Content.Data)
	}
	for _, v := range o.Values {
		n += len(v)
	}
	return n
}

// clip cuts s to at most n bytes, between runes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
