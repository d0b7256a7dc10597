package mcpshape

import (
	"encoding/base64"
	"net/http"
	"sync"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// results are what content blocks may be, by their type, and the other parts of results.
var results = sync.OnceValue(func() (r struct {
	blocks                     map[string]*shape
	document, completion, meta *shape
}) {
	text, anything, link := &shape{value: isText}, &shape{members: map[string]*shape{}}, lists().resource.members
	data := &shape{value: func(raw []byte) bool {
		s, err := rawjson.String(raw)
		_, wrong := base64.StdEncoding.DecodeString(s)
		_, unpadded := base64.RawStdEncoding.DecodeString(s)
		return err == nil && (wrong == nil || unpadded == nil)
	}}
	of := func(members map[string]*shape, required ...string) *shape {
		members["annotations"], members["_meta"] = link["annotations"], anything
		return &shape{members: members, required: required}
	}
	r.document = of(map[string]*shape{"uri": text, "mimeType": text, "text": text, "blob": data}, "uri")
	media := of(map[string]*shape{"data": data, "mimeType": text}, "data", "mimeType")
	r.completion = &shape{members: map[string]*shape{"total": link["size"], "hasMore": {value: isFlag}}}
	r.meta = &shape{members: map[string]*shape{"progressToken": {}, "io.modelcontextprotocol/related-task": {}}} // of requests that are not passed on
	r.blocks = map[string]*shape{
		"text": of(map[string]*shape{"text": text}, "text"), "image": media, "audio": media,
		"resource_link": {members: link, required: []string{"uri", "name"}}, "resource": of(map[string]*shape{"resource": r.document}, "resource"),
	}
	return r
})

// fitting returns what of a part of a result is valid, or nil.
func fitting(s *shape, raw []byte) []byte {
	if s != nil && raw[0] == '{' {
		if out, ok := new(repair).fit(s, raw); ok {
			return out
		}
	}
	return nil
}

// Meta repairs the _meta of a result; nil if there is none.
func Meta(raw []byte) []byte { return fitting(results().meta, raw) }

// Completion repairs the members of a completion beside its values; nil if it is no object.
func Completion(raw []byte) []byte {
	return fitting(results().completion, rawjson.Without(raw, "values"))
}

// Block repairs a content block. What cannot be repaired becomes a text block with its JSON.
func Block(raw []byte) []byte {
	kind, _ := rawjson.String(rawjson.Member(raw, "type"))
	meant := raw
	switch kind {
	case "":
		kind, meant = "text", rawjson.With(raw, "type", []byte(`"text"`))
	case "text":
		if string(rawjson.Member(raw, "text")) == "null" {
			meant = rawjson.With(raw, "text", []byte(`""`))
		}
	case "image", "audio":
		data, _ := rawjson.String(rawjson.Member(raw, "data"))
		start, _ := base64.StdEncoding.DecodeString(data[:min(len(data), 1024)/4*4])
		meant = textIn(raw, "mimeType", http.DetectContentType(start))
	case "resource_link":
		uri, _ := rawjson.String(rawjson.Member(raw, "uri"))
		meant = textIn(raw, "name", uri)
	}
	if out := fitting(results().blocks[kind], meant); out != nil && (kind != "resource" || hasContent(rawjson.Member(out, "resource"))) {
		return out
	}
	return textIn([]byte(`{"type":"text"}`), "text", asText(raw))
}

// Document repairs a document of resources/read, as [Block] does. One without an address has
// uri.
func Document(raw []byte, uri string) []byte {
	out := fitting(results().document, textIn(raw, "uri", uri))
	if out == nil {
		out = textIn([]byte("{}"), "uri", uri)
	}
	if hasContent(out) {
		return out
	}
	return textIn(out, "text", asText(raw))
}

// textIn returns an object with a member that is a text, unless it has one.
func textIn(object []byte, name, text string) []byte {
	if v := rawjson.Member(object, name); v != nil && isText(v) {
		return object
	}
	return rawjson.With(object, name, rawjson.AppendString(nil, text))
}

func hasContent(document []byte) bool {
	return rawjson.Member(document, "text") != nil || rawjson.Member(document, "blob") != nil
}

// asText returns what clients do not accept as text: a string as it is.
func asText(raw []byte) string {
	if text, err := rawjson.String(raw); err == nil {
		return text
	}
	return "[not valid in MCP, as the server sent it]\n" + string(raw)
}
