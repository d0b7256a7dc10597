package upstream

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// contract is a result in the form of the V2 contract, in which a tool returns files in
// its JSON, with the keys that older tools use instead.
type contract struct {
	Results   json.RawMessage `json:"results"`
	Artifacts []contractFile  `json:"artifacts"`
	Display   json.RawMessage `json:"display"`
	MetaData  map[string]any  `json:"meta_data"`

	Result    json.RawMessage `json:"result"`
	MetaDash  map[string]any  `json:"meta-data"`
	Metadata  map[string]any  `json:"metadata"`
	FileNames []string        `json:"returned_file_names"`
	Files     []string        `json:"returned_file_contents"`

	content []domain.Content
}

// contractFile is a file in a contract.
type contractFile struct{ name, b64, mime, description, viewer, uri string }

// UnmarshalJSON reads what it can of a file: what is odd about one costs no other.
func (f *contractFile) UnmarshalJSON(raw []byte) error {
	for member, to := range map[string]*string{
		"name": &f.name, "b64": &f.b64, "mime": &f.mime, "description": &f.description, "viewer": &f.viewer, "url": &f.uri, "uri": &f.uri,
	} {
		if text, err := rawjson.String(rawjson.Member(raw, member)); err == nil && text != "" {
			*to = text
		}
	}
	return nil
}

// contractKeys are the keys that tell the contract from other JSON.
var contractKeys = [...]string{`"artifacts"`, `"display"`, `"meta_data"`, `"meta-data"`, `"returned_file_names"`, `"returned_file_contents"`}

// contractOf reads a result in the form of the contract: its structured content or, without
// that, a text that is JSON.
func contractOf(structured json.RawMessage, content []domain.Content) (c contract, ok bool) {
	read := func(raw []byte) bool {
		if !slices.ContainsFunc(contractKeys[:], func(key string) bool { return bytes.Contains(raw, []byte(key)) }) {
			return false
		}
		c = contract{}
		return json.Unmarshal(raw, &c) == nil && c.valid(raw)
	}
	if structured != nil {
		ok = read(structured)
	} else {
		for _, block := range content {
			text := strings.TrimSpace(block.Text)
			if block.Type == domain.TextContent && strings.HasPrefix(text, "{") && read([]byte(text)) {
				ok = true
				break
			}
		}
	}
	c.content = content
	return c, ok
}

// valid reports whether JSON that has some of the keys is meant so: it has files in it, or
// results beside one of the other keys.
func (c *contract) valid(raw []byte) bool {
	embedded := c.Files != nil
	for _, a := range c.Artifacts {
		embedded = embedded || a.b64 != ""
	}
	c.Results = json.RawMessage(cmp.Or(string(c.Results), string(c.Result)))
	if len(c.Results) == 0 && embedded { // all the rest is results
		c.Results = json.RawMessage(raw)
		for _, key := range contractKeys {
			c.Results = rawjson.Without(c.Results, strings.Trim(key, `"`))
		}
	}
	display := len(c.Display) > 0 && c.Display[0] == '{'
	return embedded || len(c.Results) > 0 && (c.Artifacts != nil || display || c.MetaData != nil || c.MetaDash != nil || c.FileNames != nil)
}

// maxArtifact is the most that an artifact may have, in bytes.
const maxArtifact = 16 << 20

// result returns the result with its files as artifacts. Base64 is in neither its text nor
// its structured content.
func (c *contract) result(r domain.ToolResult) domain.ToolResult {
	var notes []string
	encoded := map[string]string{} // what a text may repeat, and what stands there instead
	add := func(a domain.Artifact, b64 string) {
		a.Name = path.Base(strings.ReplaceAll(a.Name, `\`, "/"))
		if a.Name == "." || a.Name == "/" || a.Name == ".." {
			a.Name = fmt.Sprintf("artifact-%d", len(r.Artifacts)+1)
		}
		if _, _, err := mime.ParseMediaType(a.MIME); err != nil || !strings.Contains(a.MIME, "/") {
			a.MIME = cmp.Or(mime.TypeByExtension(path.Ext(a.Name)), "application/octet-stream")
		}
		if b64 != "" {
			data, err := decodeBase64(b64)
			encoded[b64] = "[artifact " + a.Name + "]"
			switch {
			case err != nil:
				notes = append(notes, a.Name+" was left out: it is not valid base64")
				return
			case len(data) > maxArtifact:
				notes = append(notes, fmt.Sprintf("%s was left out: it has %d bytes, and at most %d are passed on", a.Name, len(data), maxArtifact))
				return
			}
			a.Data = data
		} else if a.URI == "" {
			notes = append(notes, a.Name+" was left out: it has no data")
			return
		}
		r.Artifacts = append(r.Artifacts, a)
	}
	for _, a := range c.Artifacts {
		add(domain.Artifact{Name: a.name, MIME: a.mime, URI: a.uri, Description: a.description, Viewer: a.viewer}, a.b64)
	}
	for i, b64 := range c.Files {
		name := ""
		if i < len(c.FileNames) {
			name = c.FileNames[i]
		}
		add(domain.Artifact{Name: name}, b64)
	}
	if len(c.Display) > 0 && c.Display[0] == '{' {
		r.Display = new(domain.Display)
		_ = json.Unmarshal(c.Display, r.Display) // a hint of another type is left out
	}
	for _, m := range []map[string]any{c.Metadata, c.MetaDash, c.MetaData} {
		if m != nil && r.MetaData == nil {
			r.MetaData = map[string]any{}
		}
		maps.Copy(r.MetaData, m)
	}
	if notes != nil {
		if r.MetaData == nil {
			r.MetaData = map[string]any{}
		}
		r.MetaData["notes"] = notes
	}
	r.Results = object(string(c.Results))
	structured, err := json.Marshal(r.Structured())
	if err != nil {
		structured = []byte("{}")
	}
	r.Content = slices.Clone(c.content)
	for i := range r.Content {
		block := &r.Content[i]
		if block.Type != domain.TextContent {
			continue
		}
		if _, same := contractOf(nil, []domain.Content{*block}); same {
			*block = domain.Content{Type: domain.TextContent, Text: string(structured)}
			continue
		}
		for b64, name := range encoded {
			if strings.Contains(block.Text, b64) {
				*block = domain.Content{Type: domain.TextContent, Text: strings.ReplaceAll(block.Text, b64, name)}
			}
		}
	}
	return r
}

// object returns JSON as the object that structured content has to be.
func object(raw string) json.RawMessage {
	switch {
	case raw == "" || raw == "null":
		return json.RawMessage("{}")
	case raw[0] != '{':
		return json.RawMessage(`{"value":` + raw + `}`)
	}
	return json.RawMessage(raw)
}

// decodeBase64 decodes the standard alphabet or that of URLs, with or without padding and
// line breaks.
func decodeBase64(text string) ([]byte, error) {
	text = strings.TrimRight(strings.Map(func(r rune) rune {
		switch r {
		case '\r', '\n', ' ', '\t':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, text), "=")
	return base64.RawStdEncoding.DecodeString(text)
}
