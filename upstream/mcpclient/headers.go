package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// setHeaders sets the headers in which the modern version repeats parts of a
// message: the method, the name of what it is about, and the arguments that a tool
// marks with x-mcp-header.
func setHeaders(h http.Header, out *outgoing) {
	if out.method == "" { // a response
		return
	}
	h[mcp.HeaderMethod] = []string{out.method}
	member := ""
	switch mcp.MCPMethod(out.method) {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		member = "name"
	case mcp.MethodResourcesRead:
		member = "uri"
	case mcp.MethodTasksGet, methodTasksUpdate, mcp.MethodTasksCancel:
		member = "taskId"
	}
	if member != "" {
		if name, err := rawjson.String(rawjson.Member(out.params, member)); err == nil {
			value, _ := mcp.EncodeHeaderValue(name)
			h[mcp.HeaderName] = []string{value}
		}
	}
	if bytes.Contains(out.schema, []byte("x-mcp-header")) {
		for name, value := range mcp.GenerateParamHeaders(&mcp.Tool{RawInputSchema: out.schema}, json.RawMessage(out.params)) {
			h.Set(name, value)
		}
	}
}

// CheckHeaders returns why clients have to reject a tool over HTTP, in 2026-07-28: for an
// x-mcp-header that is invalid. It returns nil for others.
func CheckHeaders(tool json.RawMessage) error {
	if !bytes.Contains(tool, []byte("x-mcp-header")) {
		return nil
	}
	err := mcp.ValidateParamHeaderAnnotations(&mcp.Tool{RawInputSchema: rawjson.Member(tool, "inputSchema")})
	if err == nil {
		return nil
	}
	name, _ := rawjson.String(rawjson.Member(tool, "name"))
	return fmt.Errorf("tool %.100q: %w", name, err)
}
