package domain

import (
	"encoding/json"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode/utf8"
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
	MetaData  map[string]any // of the V2 contract: small facts about the run
	Meta      any            // MCP's _meta: details for programs; nil if there are none
	IsError   bool           // the tool ran, and reports an error

	encoded json.RawMessage // Results, if they have been marshalled already
}

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

// Artifact is a file a tool generated. It reaches the client as a content
// block; structured content only describes it, so that base64 never fills a
// model's context.
type Artifact struct {
	Name        string // a base name
	Data        []byte // nil if the file is at URI
	URI         string
	MIME        string
	Size        int64
	Description string
}

// Display hints how a user interface should show the result.
type Display struct {
	OpenCanvas  bool   `json:"open_canvas,omitempty"`
	PrimaryFile string `json:"primary_file,omitempty"`
	Mode        string `json:"mode,omitempty"`
	ViewerHint  string `json:"viewer_hint,omitempty"`
	Title       string `json:"title,omitempty"`
}

// maxArtifactBytes bounds the data of one artifact.
const maxArtifactBytes = 16 << 20

// Text returns a result the model reads as s.
func Text(s string) ToolResult {
	return ToolResult{Content: []Content{{Type: TextContent, Text: s}}}
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
	r := Text(string(b))
	r.Results = structured
	return r, nil
}

// failureEnvelope is the structured content of a tool execution error.
type failureEnvelope struct {
	IsError   bool           `json:"is_error"`
	ErrorType string         `json:"error_type"`
	Message   string         `json:"message"`
	Hint      string         `json:"next_action_hint"`
	Code      Code           `json:"code,omitempty"`
	Data      map[string]any `json:"data,omitempty"`
}

// Failure returns a result that tells the model what went wrong. The message
// must be complete in itself; hint says what to do next. ErrorType is one of
// the small vocabulary in docs/errors.md.
func Failure(errorType, message, hint string) ToolResult {
	r := Text(message)
	r.Results = failureEnvelope{IsError: true, ErrorType: errorType, Message: message, Hint: hint}
	r.IsError = true
	return r
}

// ErrorType returns the error type of a tool execution error, or "". Results other
// than those of [Failure] have one if they have a FailureType method.
func (r ToolResult) ErrorType() string {
	switch results := r.Results.(type) {
	case failureEnvelope:
		return results.ErrorType
	case interface{ FailureType() string }:
		return results.FailureType()
	}
	return ""
}

// TextLen returns how many bytes of text the result has.
func (r ToolResult) TextLen() (n int) {
	for i := range r.Content {
		n += len(r.Content[i].Text)
	}
	return n
}

// dataLen returns how many bytes of pictures and the like the result has.
func (r ToolResult) dataLen() (n int) {
	for i := range r.Content {
		n += len(r.Content[i].Data) + len(r.Content[i].Raw)
	}
	for i := range r.Artifacts {
		n += len(r.Artifacts[i].Data)
	}
	return n
}

// textChars returns how many characters of text the result has.
func (r ToolResult) textChars() (n int) {
	for i := range r.Content {
		n += utf8.RuneCountInString(r.Content[i].Text)
	}
	return n
}

// textLen returns how many bytes of text the outcome has.
func (o *outcome) textLen() int {
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

// Structured returns the structured content of the result: Results alone, or
// the V2 contract if any other part of it is set. It is nil if there is none.
func (r ToolResult) Structured() any {
	results := r.Results
	if r.encoded != nil {
		results = r.encoded
	}
	if len(r.Artifacts) == 0 && r.Display == nil && r.MetaData == nil {
		return results
	}
	c := contract{Results: results, Display: r.Display, MetaData: r.MetaData}
	for _, a := range r.Artifacts {
		c.Artifacts = append(c.Artifacts, descriptor{a.Name, a.MIME, a.size(), a.uri(), a.Description})
	}
	return c
}

// Blocks returns the content of the result with a block for each artifact.
func (r ToolResult) Blocks() []Content {
	blocks := r.Content
	for _, a := range r.Artifacts {
		blocks = append(blocks[:len(blocks):len(blocks)], a.block())
	}
	return blocks
}

// contract is version 2 of the tool result contract, on the wire.
type contract struct {
	Results   any            `json:"results"`
	Artifacts []descriptor   `json:"artifacts,omitempty"`
	Display   *Display       `json:"display,omitempty"`
	MetaData  map[string]any `json:"meta_data,omitempty"`
}

type descriptor struct {
	Name        string `json:"name"`
	MIME        string `json:"mime"`
	Size        int64  `json:"size"`
	URI         string `json:"uri"`
	Description string `json:"description,omitempty"`
}

func (a *Artifact) size() int64 {
	if a.Data != nil {
		return int64(len(a.Data))
	}
	return a.Size
}

func (a *Artifact) uri() string {
	if a.URI == "" {
		return "artifact:///" + a.Name
	}
	return a.URI
}

func (a *Artifact) block() Content {
	c := Content{Data: a.Data, MIMEType: a.MIME, URI: a.uri(), Name: a.Name}
	switch {
	case a.Data == nil:
		c.Type = LinkContent
	case strings.HasPrefix(a.MIME, "image/"):
		c.Type = ImageContent
	case strings.HasPrefix(a.MIME, "audio/"):
		c.Type = AudioContent
	default:
		c.Type = ResourceContent
	}
	return c
}

// check reports what is wrong with the artifact.
func (a *Artifact) check() error {
	if a.Name == "" || a.Name == "." || a.Name == ".." || path.Base(a.Name) != a.Name || strings.ContainsAny(a.Name, "\\\x00") {
		return fmt.Errorf("artifact name %q is not a base name", a.Name)
	}
	if _, _, err := mime.ParseMediaType(a.MIME); err != nil || !strings.Contains(a.MIME, "/") {
		return fmt.Errorf("artifact %s: %q is not a media type", a.Name, a.MIME)
	}
	if len(a.Data) > maxArtifactBytes {
		return fmt.Errorf("artifact %s has %d bytes; at most %d are allowed", a.Name, len(a.Data), maxArtifactBytes)
	}
	return nil
}
