package server

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// takesBoth reports whether models see the text of results that have structured content, too:
// Claude Code shows them that instead.
func takesBoth(client string) bool {
	return !strings.HasPrefix(client+" ", "claude-code ")
}

// formOf returns the form of the results of a tool, for a client that takes both halves or not.
func formOf(t *domain.Tool, c *domain.Catalog, both bool) string {
	return cmp.Or(t.Structured, c.Settings.StructuredContent, map[bool]string{true: domain.FormBoth, false: domain.FormText}[both])
}

// halves returns the content and the structured content that the client gets. Nothing of
// structured content is lost where only text is sent: that of this server says all of it,
// and to that of others it is added, unless it is there. A tool execution error has both.
func (e encoder) halves(r *domain.ToolResult) (blocks []domain.Content, structured any) {
	blocks, structured = r.Told(), r.Structured()
	if structured == nil || e.catalog == nil {
		return blocks, structured
	}
	form := formOf(cmp.Or(r.From, &domain.Tool{}), e.catalog, takesBoth(e.client))
	isText := func(c domain.Content) bool { return c.Type == domain.TextContent }
	raw, _ := structured.(json.RawMessage)
	switch noObject := len(raw) > 0 && raw[0] != '{'; {
	case noObject && !e.modern, form == domain.FormText && !r.IsError:
		encoded := jsonrpc.AppendValue(nil, structured)
		said := func(c domain.Content) bool { return isText(c) && says(c.Text, encoded) }
		if r.From != nil && !slices.ContainsFunc(blocks, said) {
			blocks = append(slices.Clip(blocks), domain.Content{Type: domain.TextContent, Text: string(encoded)})
		}
		return blocks, nil
	case form == domain.FormStructured && !r.IsError:
		return slices.DeleteFunc(slices.Clone(blocks), isText), structured
	}
	return blocks, structured
}

// says reports whether a text is the same as JSON, or as its one member result, where
// frameworks put what is no object.
func says(text string, encoded json.RawMessage) bool {
	value, err := rawjson.Decode(encoded)
	object, _ := value.(map[string]any)
	said, noJSON := rawjson.Decode([]byte(text))
	if noJSON != nil {
		said = text
	}
	result := object["result"]
	return err == nil && (reflect.DeepEqual(said, value) || len(object) == 1 && result != nil && (reflect.DeepEqual(said, result) || text == result))
}
