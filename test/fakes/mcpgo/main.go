// Mcpgo is a demonstration server on the library mcp-go, for tests of what is in
// front of it. It serves stdio or, with --http, Streamable HTTP at a URL that it
// prints. It is a module of its own, since the product has no use for the library's
// server.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	address := flag.String("http", "", "serve Streamable HTTP at this `address` and print the URL")
	flag.Parse()
	if err := serve(*address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address string) error {
	s := server.NewMCPServer("mcpgo", "1.0.0", server.WithToolCapabilities(true), server.WithResourceCapabilities(false, true),
		server.WithPromptCapabilities(true), server.WithElicitation(), server.WithLogging(), server.WithInstructions("Try everything."))
	s.EnableSampling()
	addTools(s)
	addDocuments(s)
	if address == "" {
		return server.ServeStdio(s)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	return http.Serve(listener, server.NewStreamableHTTPServer(s, server.WithStateful(true)))
}

// addDocuments adds resources and prompts.
func addDocuments(s *server.MCPServer) {
	text := mcp.NewResource("mcpgo://text", "text", mcp.WithResourceDescription("Is static."), mcp.WithMIMEType("text/plain"))
	text.Title, text.Annotations = "A text", &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}}
	s.AddResource(text, func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "mcpgo://text", MIMEType: "text/plain", Text: "text"}}, nil
	})
	s.AddResource(mcp.NewResource("mcpgo://blob", "blob", mcp.WithMIMEType("image/png")), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.BlobResourceContents{URI: "mcpgo://blob", MIMEType: "image/png", Blob: "iVBORw0KGgo="}}, nil
	})
	s.AddResourceTemplate(mcp.NewResourceTemplate("mcpgo://items/{id}", "item", mcp.WithTemplateDescription("Has an ID.")),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: "item " + req.Params.URI}}, nil
		})
	s.AddPrompt(mcp.NewPrompt("poem", mcp.WithPromptDescription("Has arguments."), mcp.WithArgument("about", mcp.RequiredArgument(), mcp.ArgumentDescription("What it is about."))),
		func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "A poem.", Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("Write about " + req.Params.Arguments["about"])}}}, nil
		})
}

// tool returns what JSON says of one.
func tool(entry string) mcp.Tool {
	var t mcp.Tool
	var raw struct{ InputSchema, OutputSchema json.RawMessage }
	for _, into := range []any{&t, &raw} {
		if err := json.Unmarshal([]byte(entry), into); err != nil {
			panic(err) // it is part of this program
		}
	}
	t.InputSchema, t.RawInputSchema = mcp.ToolInputSchema{}, raw.InputSchema
	t.OutputSchema, t.RawOutputSchema = mcp.ToolOutputSchema{}, raw.OutputSchema
	return t
}

// result returns what JSON says of one.
func result(members string) (*mcp.CallToolResult, error) {
	raw := json.RawMessage("{" + members + "}")
	return mcp.ParseCallToolResult(&raw)
}
