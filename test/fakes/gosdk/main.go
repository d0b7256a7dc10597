// Command gosdk lists what a server over stdio offers with the official SDK for Go, and
// prints how much of each there is:
//
//	gosdk COMMAND [ARGUMENT...]
//
// Or it calls tools of a server over HTTP, to which somebody has to sign in. It prints the addresses at which they do, and reads where their
// browser is sent in the end; the client is the one of an ID, has a document, or registers itself:
//
//	gosdk --sign-in URL ID|DOCUMENT|""
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "--sign-in" {
		if err := signIn(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "gosdk:", err)
			os.Exit(1)
		}
		return
	}
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

// redirect is where clients have browsers sent.
const redirect = "http://127.0.0.1/callback"

// signIn calls a tool, and one that takes another scope.
func signIn(address, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answers := bufio.NewScanner(os.Stdin)
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect,
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			fmt.Println(args.URL)
			if !answers.Scan() {
				return nil, errors.New("nobody has signed in")
			}
			query, err := url.ParseQuery(answers.Text())
			return &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}, err
		},
	}
	switch {
	case strings.HasPrefix(id, "https://"):
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: id}
	case id != "":
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: id}
	default:
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "gosdk", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethod: "none",
		}}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address, OAuthHandler: handler}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for tool, arguments := range map[string]any{"read_file": map[string]string{"path": "notes.txt"}, "bash": map[string]string{"command": "echo did"}} {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
		for _, content := range result.Content {
			if text, ok := content.(*mcp.TextContent); ok {
				fmt.Printf("%s: %q\n", tool, text.Text)
			}
		}
	}
	return nil
}
