package server

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/rawjson"
)

// identity is what the server says of itself, ready to send.
type identity struct {
	info         json.RawMessage
	instructions string
}

// capabilities are those of the server, in both eras.
const capabilities = `{"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},` +
	`"tools":{"listChanged":true},"completions":{}}`

func newIdentity(opts Options) identity {
	info, err := json.Marshal(mcp.Implementation{Name: opts.Name, Version: opts.Version})
	if err != nil {
		panic(err) // two strings are JSON
	}
	return identity{info, opts.Instructions}
}

// initialize serves the handshake of the era with sessions.
func (x *exchange) initialize() {
	var p struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
	}
	if x.msg.params != nil && json.Unmarshal(x.msg.params, &p) != nil {
		x.fail(invalidParams(`"protocolVersion" of initialize must be a string`))
		return
	}
	version := mcp.NegotiateLegacyVersion(p.Version)
	x.session.shakeHands(version, p.Capabilities)
	x.answer(func(b []byte) []byte {
		b = rawjson.AppendString(append(b, `{"protocolVersion":`...), version)
		b = append(b, `,"capabilities":`+capabilities...)
		b = append(append(b, `,"serverInfo":`...), x.server.self.info...)
		return append(appendOptional(b, "instructions", x.server.self.instructions), '}')
	})
}

// discover serves server/discover, by which the modern era finds out the same
// without a handshake.
func (x *exchange) discover() {
	x.answer(func(b []byte) []byte {
		b = appendJSON(append(b, `{"supportedVersions":`...), mcp.ValidProtocolVersions)
		b = append(b, `,"capabilities":`+capabilities...)
		b = appendOptional(b, "instructions", x.server.self.instructions)
		return x.appendMeta(appendCaching(b, listTTL, false), nil)
	})
}
