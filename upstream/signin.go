package upstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/upstream/oauth"
)

// signInName is what the tool is called at a server that signs in to it.
const signInName = "sign_in"

// signInTool returns the tool with which callers sign in to the server: what it offers may not be known before.
func (s *Server) signInTool() domain.Tool {
	return domain.Define(domain.Tool{
		Name: OfferedName(s.name, signInName), Title: "Sign in to " + s.name, Category: s.name, Listing: domain.ListedIfFew,
		Origin: domain.Origin{Server: s.name, Tool: signInName},
		Description: "Sign in to the MCP server " + s.name + ", whose tools require that. The user opens an address in a browser and allows the access there. " +
			"Call it when a tool of " + s.name + " is needed and is missing or reports that a sign-in is required; afterwards the server's tools are listed.",
		Annotations: domain.Annotations{Idempotent: true, OpenWorld: true},
		Groups:      s.settings.Groups, Scopes: s.settings.Scopes, ComplianceLevel: s.settings.ComplianceLevel,
	}, s.signIn)
}

// signIn has the caller sign in, and connects to the server.
func (s *Server) signIn(ctx context.Context, _ struct{}) (domain.ToolResult, error) {
	err := s.links.signingIn(ctx, func() error {
		_, err := s.links.of(call.SessionOf(ctx).Principal.ID).ready(ctx)
		return err
	})
	if refused, ok := errors.AsType[*signInError](err); ok {
		return domain.Failure("sign_in_required", refused.Message+". "+refused.Remedy, refused.Remedy), nil
	}
	if err != nil {
		return domain.ToolResult{}, s.calls.failure(ctx, s.enter.Name, err)
	}
	return domain.Text(fmt.Sprintf("You are signed in to server %s. It has %d tools; mcp_list_tools lists them.", s.name, len(s.ToolNames()))), nil
}

// signInError is the error of a call as long as nobody has signed in.
type signInError struct{ signin.Refusal }

func (e *signInError) Error() string { return e.Message }

// signingIn does something for the caller whose context is given, who signs in if the server requires that: then it is done again.
func (ls *links) signingIn(ctx context.Context, do func() error) error {
	err := do()
	required, ok := errors.AsType[*oauth.SignInRequired](err)
	if !ok || ctx.Err() != nil {
		return err
	}
	refused, err := required.Ask(ctx)
	switch {
	case err != nil:
		return err
	case refused != nil:
		return &signInError{*refused}
	}
	ls.of(call.SessionOf(ctx).Principal.ID).retry()
	return do()
}

// signedIn connects for a principal who has signed in.
func (ls *links) signedIn(principal string) {
	l := ls.of(principal)
	l.retry()
	signal(l.wanted)
}
