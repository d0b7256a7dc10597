package mcpshape

import (
	"encoding/base64"
	"net/http"

	"github.com/toolserver/toolserver/wire/rawjson"
)

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
func Meta(raw []byte) []byte { return fitting(shapes()["meta"], raw) }

// Completion repairs the members of a completion beside its values; nil if it is no object.
func Completion(raw []byte) []byte {
	return fitting(shapes()["completion"], rawjson.Without(raw, "values"))
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
	if out := fitting(shapes()["block."+kind], meant); out != nil && (kind != "resource" || hasContent(rawjson.Member(out, "resource"))) {
		return out
	}
	return textIn([]byte(`{"type":"text"}`), "text", asText(raw))
}

// Document repairs a document of resources/read, as [Block] does. One without an address has
// uri.
func Document(raw []byte, uri string) []byte {
	out := fitting(shapes()["document"], textIn(raw, "uri", uri))
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
