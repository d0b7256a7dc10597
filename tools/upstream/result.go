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
	err = rawjson.Read(raw, func(v rawjson.Value) error {
		return v.Object(func(name []byte, v rawjson.Value) error {
			if string(name) == "content" {
				return v.Array(func(v rawjson.Value) error {
					c, err := contentBlock(v)
					r.Content = append(r.Content, c)
					return err
				})
			}
			value, err := v.Raw()
			if err != nil {
				return err
			}
			switch string(name) {
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
			return nil
		})
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
func contentBlock(v rawjson.Value) (c domain.Content, err error) {
	if v.Kind() != '{' {
		return c, errNoBlock
	}
	members, simple := 0, true
	err = v.Object(func(name []byte, value rawjson.Value) (err error) {
		members++
		var text string
		if value.Kind() == 'n' { // as some servers write what is absent
			simple = false
			return nil
		}
		switch string(name) {
		case "type":
			text, err = value.String()
			c.Type = domain.ContentType(text)
		case "text":
			c.Text, err = value.String()
		case "uri":
			c.URI, err = value.String()
		case "name":
			c.Name, err = value.String()
		case "resource":
			simple = false
			raw, err := value.Raw()
			if err != nil {
				return err
			}
			c.Text, _ = rawjson.String(rawjson.Member(raw, "text")) // counts as text of the result
		case "mimeType":
			c.MIMEType, err = value.String()
		default:
			simple = false
		}
		return err
	})
	if err != nil {
		return c, fmt.Errorf("a content block: %w", err)
	}
	if c.Type != domain.TextContent || members != 2 || !simple {
		c.Raw, err = v.Raw()
	}
	return c, err
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
		return rawjson.Read(rawjson.Member(message, "content"), func(v rawjson.Value) error {
			block, err := contentBlock(v)
			p.Messages = append(p.Messages, domain.PromptMessage{Role: role, Content: block})
			return err
		})
	})
	return p, err
}
