package server

import (
	"encoding/base64"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/domain"
	"toolserver/jsonrpc"
	"toolserver/rawjson"
)

// buffer is a byte slice that is used again.
type buffer struct{ bytes []byte }

// maxKeptBuffer bounds what an idle buffer may hold on to, until the garbage
// collector comes round.
const maxKeptBuffer = 1 << 20

var buffers = sync.Pool{New: func() any { return &buffer{bytes: make([]byte, 0, 4096)} }}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

func (b *buffer) free() {
	if cap(b.bytes) <= maxKeptBuffer {
		b.bytes = b.bytes[:0]
		buffers.Put(b)
	}
}

// appendValue appends v as JSON.
func appendValue(b []byte, v any) []byte { return jsonrpc.AppendValue(b, v) }

// appendResult appends a CallToolResult. Text goes to the wire from where the
// tool put it, without being copied or read again.
func (x *exchange) appendResult(b []byte, r *domain.ToolResult) []byte {
	blocks := r.Blocks()
	b = slices.Grow(b, r.TextLen()+r.TextLen()/8+512)
	b = append(b, `{"content":[`...)
	for i := range blocks {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendBlock(b, &blocks[i])
	}
	b = append(b, ']')
	if structured := r.Structured(); structured != nil {
		b = appendValue(append(b, `,"structuredContent":`...), structured)
	}
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	return x.appendMeta(b, r.Meta)
}

// appendMeta appends the end of a result: its _meta, and what protocol version
// 2026-07-28 requires of every result.
func (x *exchange) appendMeta(b []byte, meta any) []byte {
	if x.meta.modern {
		b = append(b, `,"resultType":"complete"`...)
	}
	return x.appendMetaMember(b, meta)
}

// appendMetaMember appends the _meta of a result, and the result's end.
func (x *exchange) appendMetaMember(b []byte, meta any) []byte {
	if meta == nil && !x.meta.modern {
		return append(b, '}')
	}
	b = append(b, `,"_meta":`...)
	start := len(b)
	if meta == nil {
		b = append(b, "{}"...)
	} else {
		b = appendValue(b, meta)
	}
	if x.meta.modern && b[start] == '{' {
		b = b[:len(b)-1]
		if len(b) > start+1 {
			b = append(b, ',')
		}
		b = append(b, `"`+mcp.MetaKeyServerInfo+`":`...)
		b = append(append(b, x.server.info...), '}')
	}
	return append(b, '}')
}

func appendBlock(b []byte, c *domain.Content) []byte {
	if c.Raw != nil {
		return appendValue(b, c.Raw)
	}
	b = append(append(append(b, `{"type":"`...), c.Type...), '"')
	switch c.Type {
	case domain.TextContent:
		b = rawjson.AppendString(append(b, `,"text":`...), c.Text)
	case domain.ImageContent, domain.AudioContent:
		b = appendBase64(append(b, `,"data":"`...), c.Data)
		b = appendMember(append(b, '"'), "mimeType", c.MIMEType)
	case domain.LinkContent:
		b = appendMember(b, "uri", c.URI)
		b = appendMember(b, "name", c.Name)
		b = appendOptional(b, "mimeType", c.MIMEType)
	case domain.ResourceContent:
		b = appendContents(append(b, `,"resource":`...), c)
	}
	return append(b, '}')
}

// appendContents appends a document, as a block or resources/read has it.
func appendContents(b []byte, c *domain.Content) []byte {
	if c.Raw != nil {
		return appendValue(b, c.Raw)
	}
	b = rawjson.AppendString(append(b, `{"uri":`...), c.URI)
	b = appendOptional(b, "mimeType", c.MIMEType)
	if c.Data != nil {
		b = append(appendBase64(append(b, `,"blob":"`...), c.Data), '"')
	} else {
		b = appendMember(b, "text", c.Text)
	}
	return append(b, '}')
}

func appendMember(b []byte, name, value string) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return rawjson.AppendString(b, value)
}

func appendOptional(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendMember(b, name, value)
}

func appendBase64(b, data []byte) []byte { return base64.StdEncoding.AppendEncode(b, data) }

// MarshalResult returns r as tools/call answers it.
func MarshalResult(r domain.ToolResult) []byte {
	x := exchange{message: &message{}}
	return x.appendResult(nil, &r)
}
