package upstream

import (
	"encoding/json"
	"fmt"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/upstream/mcpshape"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// toolResult reads the result of a tool call. What it has reaches the client byte for
// byte, unless clients reject it ([mcpshape.Block]), or it is in the form of the V2 contract;
// see [v2].
func toolResult(raw json.RawMessage) (r domain.ToolResult, err error) {
	var structured json.RawMessage
	err = rawjson.Read(raw, func(v rawjson.Value) error {
		return v.Object(func(name []byte, v rawjson.Value) error {
			if string(name) == "content" {
				r.Content = nil // the last of a name counts
				return blocks(v, func(c domain.Content) { r.Content = append(r.Content, c) })
			}
			value, err := v.Raw()
			switch text := string(value); {
			case err != nil:
				return err
			case string(name) == "structuredContent":
				if text != "null" {
					structured = value
				}
			case string(name) == "isError" && text != "false":
				r.IsError = text == "true" || text == `"true"`
			default:
				return further(&r.Meta, &r.Extra, name, value)
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

// further notes a member that results of all methods may have, unless it is one that this
// server writes itself.
func further(meta *any, extra *json.RawMessage, name, value []byte) error {
	switch string(name) {
	case "_meta":
		if fitting := mcpshape.Meta(value); len(fitting) > len("{}") {
			*meta = json.RawMessage(fitting)
		}
	case "resultType", "ttlMs", "cacheScope":
	default:
		if *extra == nil {
			*extra = json.RawMessage("{}")
		}
		*extra = rawjson.With(*extra, string(name), value)
	}
	return nil
}

// blocks reads content, as [each] does.
func blocks(v rawjson.Value, add func(domain.Content)) error {
	if v.Kind() == '[' {
		return v.Array(func(v rawjson.Value) error {
			c, err := contentBlock(v)
			add(c)
			return err
		})
	}
	c, err := contentBlock(v)
	if v.Kind() != 'n' {
		add(c)
	}
	return err
}

// each visits the elements of a list or, as some servers write it, one or null.
func each(list []byte, visit func(element []byte) error) error {
	switch {
	case list[0] == '[':
		return rawjson.Array(list, visit)
	case string(list) == "null":
		return nil
	}
	return visit(list)
}

// contentBlock reads a content block. One of plain text is kept as the text alone.
func contentBlock(v rawjson.Value) (c domain.Content, err error) {
	members, texts := 0, 0
	if v.Kind() == '{' {
		err = v.Object(func(name []byte, value rawjson.Value) (err error) {
			members++
			if to := string(name); value.Kind() == '"' && (to == "type" || to == "text") {
				var text string
				if text, err = value.String(); to == "type" {
					c.Type = domain.ContentType(text)
				} else {
					c.Text = text
				}
				texts++
			}
			return err
		})
	}
	if err != nil || c.Type == domain.TextContent && members == 2 && texts == 2 {
		return c, err
	}
	raw, err := v.Raw()
	if err != nil {
		return c, err
	}
	c.Raw = mcpshape.Block(raw)
	text := func(object []byte, name string) string {
		s, _ := rawjson.String(rawjson.Member(object, name))
		return s
	}
	c.Type = domain.ContentType(text(c.Raw, "type"))
	at := []byte(c.Raw)
	if c.Type == domain.ResourceContent {
		at = rawjson.Member(at, "resource") // whose text counts as text of the result
	}
	c.Text, c.URI, c.Name, c.MIMEType = text(at, "text"), text(at, "uri"), text(at, "name"), text(at, "mimeType")
	return c, nil
}

// contents returns the documents that resources/read has returned. What has the address
// that was asked for, or none, gets the one that clients know.
func contents(raw json.RawMessage, asked, shown string) (r domain.ToolResult, err error) {
	add := func(document []byte) error {
		document = mcpshape.Document(document, asked)
		c := domain.Content{Type: domain.ResourceContent, Raw: document}
		if c.URI, _ = rawjson.String(rawjson.Member(document, "uri")); c.URI == asked {
			c.URI, c.Raw = shown, rawjson.With(document, "uri", rawjson.AppendString(nil, shown))
		}
		r.Content = append(r.Content, c)
		return nil
	}
	err = rawjson.Object(raw, func(name, value []byte) error {
		if string(name) != "contents" {
			return further(&r.Meta, &r.Extra, name, value)
		}
		return each(value, add)
	})
	return r, err
}

// promptResult reads the result of prompts/get.
func promptResult(raw json.RawMessage) (p domain.PromptResult, err error) {
	var meta any
	err = rawjson.Object(raw, func(name, value []byte) error {
		switch {
		case string(name) == "description":
			p.Description, _ = rawjson.String(value)
		case string(name) != "messages":
			return further(&meta, &p.Extra, name, value)
		default:
			return each(value, func(message []byte) error {
				role, _ := rawjson.String(rawjson.Member(message, "role"))
				if role != "assistant" {
					role = "user"
				}
				content := rawjson.Member(message, "content")
				if content == nil {
					content = message
				}
				return rawjson.Read(content, func(v rawjson.Value) error {
					return blocks(v, func(c domain.Content) { p.Messages = append(p.Messages, domain.PromptMessage{Role: role, Content: c}) })
				})
			})
		}
		return nil
	})
	if p.Meta, _ = meta.(json.RawMessage); err != nil {
		err = fmt.Errorf("its messages: %w", err)
	}
	return p, err
}
