package domain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/redact"
)

// ToolResult is what a tool produced. Content is what the model reads; Results,
// Artifacts, Display and MetaData are the structured half of the V2 contract
// and may be empty.
//
// Each half is self-sufficient, because some clients show the model only one. A
// tool whose answer is one long text has no structured half at all.
type ToolResult struct {
	Content   []Content
	Results   any // primary data; must marshal to a JSON object
	Artifacts []Artifact
	Display   *Display
	MetaData  map[string]any      // of the V2 contract: small facts about the run
	Meta      any                 // MCP's _meta: details for programs; nil if there are none
	IsError   bool                // the tool ran, and reports an error
	Empty     string              // what models read where the text is empty; "[no output]" if unset
	Made      map[string][]string // what came of the call that its arguments do not say, for the record: the ID of what it sent
	Refused   []Refusal           // what policy did not allow meanwhile, for the record
	// Extra has further members of the result of another server, as a JSON object.
	Extra json.RawMessage
	// From is the tool of another server that the result comes from; nil for one of this
	// server, whose halves say the same.
	From *Tool

	Encoded json.RawMessage // Results, if they have been marshalled already
	Listed  bool            // it is that of a list of many entries
}

// Refusal is something that policy did not allow, for the record.
type Refusal struct {
	Rule   string `json:"rule,omitempty"`  // as explanations and messages have it; in the record, the setting that decides
	Entry  string `json:"entry,omitempty"` // of its list, and
	Line   string `json:"line,omitempty"`  // FILE:LINE where it stands, empty for a default: filled in for the record
	Reason string `json:"reason"`          // one sentence
}

// The forms of results that have structured content: which half clients get.
const (
	FormBoth       = "both"
	FormText       = "text"
	FormStructured = "structured"
)

// ContentType says which fields of a [Content] count.
type ContentType string

// The content blocks of MCP.
const (
	TextContent     ContentType = "text"          // Text
	ImageContent    ContentType = "image"         // Data, MIMEType
	AudioContent    ContentType = "audio"         // Data, MIMEType
	LinkContent     ContentType = "resource_link" // URI, Name, MIMEType
	ResourceContent ContentType = "resource"      // URI, MIMEType, and Text or Data
)

// Content is one block of a result, in MCP's terms.
type Content struct {
	Type     ContentType
	Text     string
	Data     []byte // decoded: base64 is made of it on the wire
	MIMEType string
	URI      string
	Name     string
	// Raw is the block as another server wrote it, a JSON object that says at
	// least what the fields above say. It reaches the client as it is.
	Raw json.RawMessage
}

// WithoutSecrets returns the block as clients see it.
func (c Content) WithoutSecrets(r *redact.Redactor) Content {
	c.Text, c.URI, c.Name, c.Raw = r.Text(c.Text), r.Text(c.URI), r.Text(c.Name), r.JSON(c.Raw)
	if c.Data != nil && strings.HasPrefix(c.MIMEType, "text/") {
		c.Data = []byte(r.Text(string(c.Data)))
	}
	return c
}

// Artifact is a file a tool generated. It reaches the client as a content
// block; structured content only describes it, so that base64 never fills a
// model's context.
type Artifact struct {
	Name        string `json:"name"` // a base name
	Data        []byte `json:"-"`    // nil if the file is at URI
	MIME        string `json:"mime"`
	Size        int64  `json:"size"` // of a file at URI
	URI         string `json:"uri"`
	Description string `json:"description,omitempty"`
	Viewer      string `json:"viewer,omitempty"` // a hint how to show it
}

// Display hints how a user interface should show the result.
type Display struct {
	OpenCanvas  bool   `json:"open_canvas,omitempty"`
	PrimaryFile string `json:"primary_file,omitempty"`
	Mode        string `json:"mode,omitempty"`
	ViewerHint  string `json:"viewer_hint,omitempty"`
	Title       string `json:"title,omitempty"`

	Type    string `json:"type,omitempty"`    // iframe, for a page to show
	URL     string `json:"url,omitempty"`     // of the page
	Sandbox string `json:"sandbox,omitempty"` // its attribute of that name
}

// Text returns a result the model reads as s.
func Text(s string) ToolResult {
	return ToolResult{Content: []Content{{Type: TextContent, Text: s}}}
}

// Answer returns a text, with structured data that says the same.
func Answer(text string, results any) ToolResult {
	r := Text(text)
	r.Results = results
	return r
}

// JSON returns v, which must marshal to a JSON object, as structured data, and
// as text for models and clients that read only text.
func JSON(v any) (ToolResult, error) {
	return JSONText(v, v)
}

// JSONText is [JSON] with another value as the text.
func JSONText(structured, text any) (ToolResult, error) {
	b, err := json.Marshal(text)
	if err != nil {
		return ToolResult{}, fmt.Errorf("result: %w", err)
	}
	return Answer(string(b), structured), nil
}

// Structured returns the structured content of the result: Results alone, or
// the V2 contract if any other part of it is set. It is nil if there is none.
func (r ToolResult) Structured() any {
	results := r.Results
	if r.Encoded != nil {
		results = r.Encoded
	}
	if len(r.Artifacts) == 0 && r.Display == nil && r.MetaData == nil {
		return results
	}
	return struct {
		Results   any            `json:"results"`
		Artifacts []Artifact     `json:"artifacts,omitempty"`
		Display   *Display       `json:"display,omitempty"`
		MetaData  map[string]any `json:"meta_data,omitempty"`
	}{results, redact.Each(r.Artifacts, Artifact.described), r.Display, r.MetaData}
}

// described returns the artifact with the size of its data, and a URI.
func (a Artifact) described() Artifact {
	if a.Data != nil {
		a.Size = int64(len(a.Data))
	}
	a.URI = cmp.Or(a.URI, "artifact:///"+a.Name)
	return a
}

// empty is what models read in place of a text that is empty: they and some clients take
// that for a failure.
const empty = "[no output]"

// Told returns the blocks of the result with words for an empty text. People and programs,
// who see an empty output for what it is, get [ToolResult.Blocks].
func (r ToolResult) Told() []Content {
	blocks := r.Blocks()
	if len(blocks) > 0 && blocks[0].Type == TextContent && blocks[0].Text == "" && blocks[0].Raw == nil {
		blocks = slices.Clone(blocks)
		blocks[0].Text = cmp.Or(r.Empty, empty)
	}
	return blocks
}

// Blocks returns the content of the result with a block for each artifact.
func (r ToolResult) Blocks() []Content {
	blocks := slices.Clip(r.Content)
	for _, a := range r.Artifacts {
		c := Content{Type: ResourceContent, Data: a.Data, MIMEType: a.MIME, URI: a.described().URI, Name: a.Name}
		switch {
		case a.Data == nil:
			c.Type = LinkContent
		case strings.HasPrefix(a.MIME, "image/"):
			c.Type = ImageContent
		case strings.HasPrefix(a.MIME, "audio/"):
			c.Type = AudioContent
		}
		blocks = append(blocks, c)
	}
	return blocks
}

// TextLen returns how many bytes of text the result has.
func (r ToolResult) TextLen() (n int) {
	for i := range r.Content {
		n += len(r.Content[i].Text)
	}
	return n
}

// SaysNothing reports whether the content is empty.
func (r ToolResult) SaysNothing() bool {
	return !slices.ContainsFunc(r.Content, func(c Content) bool { return c.Type != TextContent || c.Text != "" || c.Raw != nil })
}

// FirstText is what a model reads first.
func (r ToolResult) FirstText() string {
	i := slices.IndexFunc(r.Content, func(c Content) bool { return c.Type == TextContent })
	if i < 0 {
		return ""
	}
	return r.Content[i].Text
}
