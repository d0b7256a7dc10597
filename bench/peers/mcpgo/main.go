// Mcpgo is a bare mcp-go server with one tool, echo: over stdio, or over HTTP on
// the address it is given, which it prints when it listens.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("mcpgo", "1.2.1", server.WithToolCapabilities(true))
	tool := mcp.NewTool("echo", mcp.WithDescription("Echoes a message."), mcp.WithString("message", mcp.Required()))
	s.AddTool(tool, func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("Echo: " + r.GetString("message", "")), nil
	})
	if len(os.Args) < 2 {
		if err := server.ServeStdio(s); err != nil {
			log.Fatal(err)
		}
		return
	}
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s))
	log.Fatal(http.Serve(l, mux))
}
