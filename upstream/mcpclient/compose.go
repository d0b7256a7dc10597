package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// compose writes the message of a request: its parameters as they were given, with
// what the protocol sets in _meta.
func (p *peer) compose(out *outgoing, req *Request, id int64) error {
	given, err := givenParams(req.Params)
	if err != nil {
		return fmt.Errorf("the parameters of %s: %w", req.Method, err)
	}
	b := append(make([]byte, 0, len(given)+len(p.about)+len(p.capabilities)+256), `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = rawjson.AppendString(append(b, `,"method":`...), req.Method)
	b = append(b, `,"params":`...)
	start := len(b)
	if b, err = p.appendParams(b, req, given, id); err != nil {
		return fmt.Errorf("the parameters of %s: %w", req.Method, err)
	}
	out.params = b[start:]
	out.msg = append(b, '}')
	return nil
}

// givenParams returns parameters as an object on one line.
func givenParams(params any) ([]byte, error) {
	raw, isRaw := params.(json.RawMessage)
	switch {
	case params == nil:
		raw = []byte("{}")
	case !isRaw:
		encoded, err := json.Marshal(params)
		if err != nil {
			return nil, err
		}
		raw = encoded
	case bytes.ContainsAny(raw, "\r\n"):
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return nil, err
		}
		raw = line.Bytes()
	}
	raw = bytes.Trim(raw, " \t")
	if len(raw) < 2 || raw[0] != '{' || raw[len(raw)-1] != '}' {
		return nil, fmt.Errorf("%.100q is no object", raw)
	}
	return raw, nil
}

// appendParams appends the parameters of a request.
func (p *peer) appendParams(b []byte, req *Request, given []byte, id int64) ([]byte, error) {
	meta := rawjson.Member(given, "_meta")
	switch {
	case meta != nil:
		given = rawjson.Without(given, "_meta")
	case !p.modern && req.Progress == nil:
		return append(b, given...), nil
	default:
		meta = []byte("{}")
	}
	logLevel := p.logLevel
	meta, err := rawjson.Edit(meta, func(name, value []byte) []byte {
		switch string(name) {
		case "progressToken":
			return nil
		case mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities:
			if p.modern {
				return nil
			}
		case mcp.MetaKeyLogLevel:
			logLevel = nil // that of this request
		}
		return value
	})
	if err != nil {
		return nil, fmt.Errorf("_meta: %w", err)
	}
	b = append(b, bytes.TrimRight(given[:len(given)-1], " \t")...)
	b = append(appendMember(b, []byte("_meta"), nil), meta[:len(meta)-1]...)
	if req.Progress != nil {
		b = strconv.AppendInt(appendMember(b, []byte("progressToken"), nil), id, 10)
	}
	if p.modern {
		b = append(appendComma(b), p.about...)
		capabilities := p.capabilities
		if req.Tasks && p.taking != nil {
			capabilities = p.taking
		}
		b = appendMember(b, []byte(mcp.MetaKeyClientCapabilities), capabilities)
		if logLevel != nil {
			b = appendMember(b, []byte(mcp.MetaKeyLogLevel), logLevel)
		}
	}
	return append(b, '}', '}'), nil
}

// appendMember appends a member to an object that is not closed yet. Without a
// value, that has to follow.
func appendMember(b, name, value []byte) []byte {
	b = rawjson.AppendString(appendComma(b), name)
	return append(append(b, ':'), value...)
}

func appendComma(b []byte) []byte {
	if b[len(b)-1] == '{' {
		return b
	}
	return append(b, ',')
}
