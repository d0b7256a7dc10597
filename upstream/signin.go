package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolserver/toolserver/domain"
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
		Annotations: domain.Annotations{Idempotent: true, OpenWorld: true}, Groups: s.settings.Groups, ComplianceLevel: s.settings.ComplianceLevel,
	}, s.signIn)
}

// signIn has the caller sign in, and connects to the server.
func (s *Server) signIn(ctx context.Context, _ struct{}) (domain.ToolResult, error) {
	err := s.signingIn(ctx, func() error {
		_, err := s.linkOf(domain.SessionOf(ctx).Principal.ID).ready(ctx)
		return err
	})
	if refused, ok := errors.AsType[*signInError](err); ok {
		return domain.Failure("sign_in_required", refused.Message+". "+refused.Remedy, refused.Remedy), nil
	}
	if err != nil {
		return domain.ToolResult{}, s.failure(ctx, s.enter.Name, err)
	}
	return domain.Text(fmt.Sprintf("You are signed in to server %s. It has %d tools; mcp_list_tools lists them.", s.name, len(s.ToolNames()))), nil
}

// signingIn does something for the caller whose context is given, who signs in if the server requires that: then it is done again.
func (s *Server) signingIn(ctx context.Context, do func() error) error {
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
	s.linkOf(domain.SessionOf(ctx).Principal.ID).retry()
	return do()
}

// signedIn connects for a principal who has signed in.
func (s *Server) signedIn(principal string) {
	l := s.linkOf(principal)
	l.retry()
	signal(l.wanted)
}

// Offer returns what the server offered last, and the tool that signs in where somebody has to.
func (s *Server) Offer() domain.Offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.offered
	if s.signsIn {
		o.Tools = append(slices.Clone(o.Tools), s.enter)
	}
	return o
}

// followSignIns notices what other processes do, such as toolserver upstream login: somebody has signed in, or what the server
// offers is known.
func (s *Server) followSignIns() {
	s.mu.Lock()
	all, unknown := append(slices.Collect(maps.Values(s.links)), s.main), s.catalog.empty()
	s.mu.Unlock()
	for _, l := range all {
		l.mu.Lock()
		waits, since := l.status == StatusSignIn, l.since
		l.mu.Unlock()
		if !waits {
			continue
		}
		if now, err := s.oauth.Status(l.owner); err == nil && now.SignedIn && now.Created.After(since) {
			s.signedIn(l.owner)
		}
	}
	if !unknown || s.oauth == nil {
		return
	}
	if c, err := s.files.catalog(); err == nil && !c.empty() {
		s.adopt(c)
	}
}
