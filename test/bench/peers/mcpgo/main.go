// Mcpgo is a bare mcp-go server with one tool, echo, or as many as -tools says:
// over stdio, or over HTTP on the address it is given, which it prints when it
// listens.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	tools := flag.Int("tools", 1, "number of tools: echo, nap and fillers")
	file := flag.String("text", "", "`file` with the text of each answer of echo, as JSON")
	flag.Parse()
	var text string
	if *file != "" {
		b, err := os.ReadFile(*file)
		if err == nil {
			err = json.Unmarshal(b, &text)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	s := server.NewMCPServer("mcpgo", "1.2.1", server.WithToolCapabilities(true))
	tool := mcp.NewTool("echo", mcp.WithDescription("Echoes a message."), mcp.WithString("message", mcp.Required()))
	s.AddTool(tool, func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(cmp.Or(text, "Echo: "+r.GetString("message", ""))), nil
	})
	if *tools > 1 {
		addNap(s)
	}
	for i := range *tools - 2 {
		addFiller(s, i)
	}
	if flag.NArg() == 0 {
		if err := server.ServeStdio(s); err != nil {
			log.Fatal(err)
		}
		return
	}
	l, err := net.Listen("tcp", flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s))
	log.Fatal(http.Serve(l, mux))
}

func addNap(s *server.MCPServer) {
	tool := mcp.NewTool("nap", mcp.WithDescription("Sleeps."),
		mcp.WithNumber("milliseconds", mcp.Required(), mcp.Min(0), mcp.Max(60_000), mcp.Description("How long to sleep.")))
	s.AddTool(tool, func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-time.After(time.Duration(r.GetInt("milliseconds", 0)) * time.Millisecond):
			return mcp.NewToolResultText("rested"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}

// addFiller adds a tool that does nothing and is as long in a list as those of
// the server under test.
func addFiller(s *server.MCPServer, i int) {
	tool := mcp.NewTool(fmt.Sprintf("filler_%d", i), mcp.WithTitleAnnotation("Filler"),
		mcp.WithDescription("Does nothing. It makes the list of tools longer, by as much as a tool does."),
		mcp.WithString("path", mcp.Required(), mcp.Description("File or directory to look at.")),
		mcp.WithNumber("limit", mcp.DefaultNumber(100), mcp.Min(1), mcp.Max(10_000), mcp.Description("Maximum number of lines to return.")),
		mcp.WithBoolean("all", mcp.DefaultBool(false), mcp.Description("Whether hidden files count as well.")))
	s.AddTool(tool, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("done"), nil
	})
}
