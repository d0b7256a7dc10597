package upstream

import (
	"encoding/json"
	"errors"
	"fmt"

	"toolserver/domain"
	"toolserver/rawjson"
)

// toolResult reads the result of a tool call. What it has reaches the client byte for
// byte, unless it is in the form of the V2 contract; see [v2].
func toolResult(raw json.RawMessage) (r domain.ToolResult, err error) {
	var structured json.RawMessage
	err = rawjson.Object(raw, func(name, value []byte) (err error) {
		switch string(name) {
		case "content":
			err = rawjson.Array(value, func(block []byte) error {
				c, err := contentBlock(block)
				r.Content = append(r.Content, c)
				return err
			})
		case "structuredContent":
			if string(value) != "null" {
				structured = value
			}
		case "isError":
			r.IsError = string(value) == "true"
		case "_meta":
			if len(value) > 0 && value[0] == '{' && string(value) != "{}" {
				r.Meta = json.RawMessage(value)
			}
		case "resultType":
		default:
			if r.Extra == nil {
				r.Extra = json.RawMessage("{}")
			}
			r.Extra = rawjson.With(r.Extra, string(name), value)
		}
		return err
	})
	if err != nil {
		return r, err
	}
	if structured != nil {
		r.Results = structured
	}
	if c, ok := contractOf(structured, r.Content); ok && !r.IsError {
		return c.result(r), nil
	}
	return r, nil
}

var errNoBlock = errors.New("a content block is no object")

// contentBlock reads a content block. One of plain text is kept as the text alone.
func contentBlock(raw json.RawMessage) (c domain.Content, err error) {
	if len(raw) == 0 || raw[0] != '{' {
		return c, errNoBlock
	}
	members, simple := 0, true
	err = rawjson.Object(raw, func(name, value []byte) (err error) {
		members++
		var text string
		if string(value) == "null" { // as some servers write what is absent
			simple = false
			return nil
		}
		switch string(name) {
		case "type":
			text, err = rawjson.String(value)
			c.Type = domain.ContentType(text)
		case "text":
			c.Text, err = rawjson.String(value)
		case "uri":
			c.URI, err = rawjson.String(value)
		case "name":
			c.Name, err = rawjson.String(value)
		case "resource":
			c.Text, _ = rawjson.String(rawjson.Member(value, "text")) // counts as text of the result
			simple = false
		case "mimeType":
			c.MIMEType, err = rawjson.String(value)
		default:
			simple = false
		}
		return err
	})
	if err != nil {
		return c, fmt.Errorf("a content block: %w", err)
	}
	if c.Type != domain.TextContent || members != 2 || !simple {
		c.Raw = raw
	}
	return c, nil
}

// contents returns the documents that resources/read has returned. What has the address
// that was asked for gets the one that clients know.
func contents(raw json.RawMessage, asked, shown string) (all []domain.Content, err error) {
	err = rawjson.Array(rawjson.Member(raw, "contents"), func(document []byte) error {
		if len(document) == 0 || document[0] != '{' {
			return errors.New("a document is no object")
		}
		c := domain.Content{Type: domain.ResourceContent, Raw: document}
		if c.URI, _ = rawjson.String(rawjson.Member(document, "uri")); c.URI == asked {
			c.URI, c.Raw = shown, rawjson.With(document, "uri", rawjson.AppendString(nil, shown))
		}
		all = append(all, c)
		return nil
	})
	return all, err
}

// promptResult reads the result of prompts/get.
func promptResult(raw json.RawMessage) (p domain.PromptResult, err error) {
	p.Description, _ = rawjson.String(rawjson.Member(raw, "description"))
	err = rawjson.Array(rawjson.Member(raw, "messages"), func(message []byte) error {
		role, err := rawjson.String(rawjson.Member(message, "role"))
		if err != nil {
			return fmt.Errorf("the role of a message: %w", err)
		}
		block, err := contentBlock(rawjson.Member(message, "content"))
		p.Messages = append(p.Messages, domain.PromptMessage{Role: role, Content: block})
		return err
	})
	return p, err
}
