// Command gosdk lists what a server over stdio offers with the official SDK for Go, and
// prints how much of each there is:
//
//	gosdk COMMAND [ARGUMENT...]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	counts, err := list()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gosdk:", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(counts); err != nil {
		os.Exit(1)
	}
}

func list() (map[string]int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.Command(os.Args[1], os.Args[2:]...)}, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	counts := map[string]int{}
	for _, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("tools: %w", err)
		}
		counts["tools"]++
	}
	for _, err := range session.Resources(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("resources: %w", err)
		}
		counts["resources"]++
	}
	for _, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("resourceTemplates: %w", err)
		}
		counts["resourceTemplates"]++
	}
	for _, err := range session.Prompts(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("prompts: %w", err)
		}
		counts["prompts"]++
	}
	return counts, nil
}
