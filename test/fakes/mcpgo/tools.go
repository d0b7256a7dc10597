package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	png   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	noted = `"annotations":{"audience":["user","assistant"],"priority":0.75,"lastModified":"2026-01-02T03:04:05Z"}`
	icons = `"icons":[{"src":"data:image/png;base64,` + png + `","mimeType":"image/png","sizes":["1x1"],"theme":"light"}]`
	plain = `"inputSchema":{"type":"object","properties":{}}`
)

// addTools adds a tool for each thing that a tool may return or do.
func addTools(s *server.MCPServer) {
	fixed := func(entry, members string) {
		s.AddTool(tool(entry), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result(members) })
	}
	fixed(`{"name":"blocks","title":"All blocks","description":"Returns blocks of all kinds.",`+plain+`,`+icons+`,"annotations":{"title":"Blocks","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`,
		`"content":[{"type":"text","text":"é \u2028 \"quoted\" <b> &",`+noted+`},{"type":"image","data":"`+png+`","mimeType":"image/png"},{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"},`+
			`{"type":"resource","resource":{"uri":"mcpgo://text","mimeType":"text/plain","text":"embedded"}},{"type":"resource_link","uri":"mcpgo://text","name":"text","description":"Linked.","mimeType":"text/plain"}],"_meta":{"example.com/result":{"list":[1,null]}}`)
	fixed(`{"name":"structured","description":"Returns structured content by a schema.",`+plain+`,"outputSchema":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"],"$defs":{"n":{"type":"number"}}}}`,
		`"content":[{"type":"text","text":"{\"n\":1.5}"}],"structuredContent":{"n":1.5}`)
	fixed(`{"name":"app","description":"Has a user interface.",`+plain+`,"_meta":{"ui/resourceUri":"ui://mcpgo/app.html","ui":{"resourceUri":"ui://mcpgo/app.html"}}}`, `"content":[{"type":"text","text":"see the app"}],"_meta":{"ui/resourceUri":"ui://mcpgo/app.html"}`)
	fixed(`{"name":"refuse","description":"Fails with a result.",`+plain+`}`, `"content":[{"type":"text","text":"not today"}],"isError":true`)
	s.AddTool(tool(`{"name":"keywords","description":"Has a schema with many keywords.","inputSchema":{"type":"object","$defs":{"name":{"type":"string","minLength":1}},"properties":{"kind":{"enum":["a","b"]},"name":{"$ref":"#/$defs/name"}},`+
		`"if":{"properties":{"kind":{"const":"a"}},"required":["kind"]},"then":{"required":["name"]},"required":["kind"],"additionalProperties":false,"x-vendor":{"order":["b","a"]}}}`),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(fmt.Sprint(req.Params.Arguments)), nil
		})
	s.AddTool(tool(`{"name":"fail","description":"Fails with an error of the protocol.",`+plain+`}`), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, mcp.URLElicitationRequiredError{Elicitations: []mcp.ElicitationParams{{Mode: mcp.ElicitationModeURL, ElicitationID: "e-1", URL: "https://example.com/sign-in", Message: "Sign in."}}}
	})
	s.AddTool(tool(`{"name":"tell","description":"Reports progress and logs.",`+plain+`}`), tell)
	s.AddTool(tool(`{"name":"wait","description":"Waits until it is canceled, and says so in a file.","inputSchema":{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}}`), wait)
	s.AddTool(tool(`{"name":"elicit","description":"Asks the user.",`+plain+`}`), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer := server.ElicitationResponse(req.Params.InputResponses, "who"); answer != nil {
			return mcp.NewToolResultText(asJSON(answer)), nil
		}
		schema := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
		return server.NewInputRequestBuilder("state").Elicit("who", mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: "Who are you?", RequestedSchema: schema}).ToolResult(), nil
	})
	s.AddTool(tool(`{"name":"sample","description":"Has the model write.",`+plain+`}`), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer := server.SamplingResponse(req.Params.InputResponses, "poem"); answer != nil {
			return mcp.NewToolResultText(asJSON(answer)), nil
		}
		params := mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("Write a poem.")}}, MaxTokens: 50}
		return server.NewInputRequestBuilder("state").Sample("poem", params).ToolResult(), nil
	})
}

// tell reports progress and logs.
func tell(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s := server.ServerFromContext(ctx)
	for i := 1; i <= 3; i++ {
		if meta := req.Params.Meta; meta != nil && meta.ProgressToken != nil {
			params := map[string]any{"progressToken": meta.ProgressToken, "progress": i, "total": 3, "message": fmt.Sprintf("step %d", i)}
			if err := s.SendNotificationToClient(ctx, "notifications/progress", params); err != nil {
				return nil, err
			}
		}
	}
	time.Sleep(50 * time.Millisecond) // the library would answer before it sends them
	return mcp.NewToolResultText("told"), nil
}

// wait waits for the end of the call, and notes both in a file.
func wait(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	at := req.GetString("at", "")
	if err := os.WriteFile(at, []byte("begun\n"), 0o600); err != nil {
		return nil, err
	}
	<-ctx.Done()
	return mcp.NewToolResultText("too late"), os.WriteFile(at, []byte("begun\ncanceled\n"), 0o600)
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
