package google

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/tools/google/api"
	"github.com/toolserver/toolserver/tools/google/signin"
)

const (
	accountsName    = "google_accounts"
	accountsFailing = "Error with the Google account"
)

type accountsInput struct {
	Action  string `json:"action" default:"status" enum:"status|sign_in|sign_out"`
	Service string `json:"service,omitempty" enum:"gmail|calendar|contacts"`
}

func (accountsInput) Words() string { return arguments }

// accountsResult is the structured content of google_accounts.
type accountsResult struct {
	Services []signin.Status `json:"services" doc:"The sign-ins of the caller, one for each service and account."`
}

// own returns the tools about accounts and contacts. That about accounts has no access to the services themselves.
func own(c *api.Client, accounts *signin.Accounts) api.Family {
	people := sandbox.Owner{Tool: contactsName, Fetches: contactsName, Keeps: ".contacts-tokens"}
	return api.Family{Service: signin.Contacts, Category: declare.Category{Name: "google", Heading: "Google accounts and contacts"}, Tools: []api.Tool{
		{Owner: sandbox.Owner{Tool: accountsName}, Full: true, Make: func(sandbox.Capabilities) domain.Tool { return accountsTool(c, accounts) }},
		{Owner: people, Full: true, Scopes: contactScopes(), Also: contactScopes(), Make: func(sandbox.Capabilities) domain.Tool { return contactsTool(c) }},
	}}
}

//go:embed words.txt
var words string

// accountsTool is the tool for the caller's own sign-ins. It takes no address: which account a principal uses is decided at
// Google's page.
func accountsTool(c *api.Client, accounts *signin.Accounts) domain.Tool {
	return domain.Define(api.Described(words, domain.Tool{
		Name: accountsName, Target: []string{"action", "service"},
		Annotations: domain.Annotations{Destructive: true, Idempotent: true, OpenWorld: true},
		Output:      schema.OutputOf[accountsResult](),
	}), func(ctx context.Context, in accountsInput) (domain.ToolResult, error) {
		owner, service := c.Owner(ctx), signin.Service(in.Service)
		if in.Action != "status" && in.Service == "" {
			return domain.ToolResult{}, domain.InvalidArgument(accountsName, "service", "is required to sign in or out: gmail, calendar or contacts")
		}
		note := ""
		switch in.Action {
		case "sign_in":
			_, err := c.SignedIn(ctx, api.Need{Service: service, Failing: accountsFailing})
			if refused, ok := errors.AsType[*api.Refused](err); ok {
				return refused.ToolResult, nil
			} else if err != nil {
				return domain.ToolResult{}, err
			}
		case "sign_out":
			left, err := accounts.SignOut(ctx, owner, service)
			switch note = fmt.Sprintf("\n%s: %s", owner.Of(service), left); {
			case errors.Is(err, signin.ErrNoGrant):
				return domain.Failure("not_found", accountsFailing+": "+owner.Of(service)+" is not signed in", "There is nothing to sign out of."), nil
			case err != nil:
				f := httpcall.Explain(err)
				return domain.Failure(f.Type, accountsFailing+": "+f.Message, f.Hint), nil
			}
		}
		services, err := accounts.Status(accounts.Owners(call.SessionOf(ctx).Principal.ID)...)
		if err != nil && services == nil {
			f := httpcall.Explain(err)
			return domain.Failure(f.Type, accountsFailing+": "+f.Message, f.Hint), nil
		}
		return domain.Answer(statusText(services)+note, accountsResult{services}), nil
	})
}

// statusText returns the sign-ins as people read them.
func statusText(services []signin.Status) string {
	var b strings.Builder
	for _, s := range services {
		switch {
		case s.SignedIn:
			fmt.Fprintf(&b, "%s: signed in as %s\n", s.Title(), s.Email)
			for _, scope := range s.Scopes {
				fmt.Fprintf(&b, "  may %s\n", signin.Reason(scope))
			}
			for _, scope := range s.Missing {
				fmt.Fprintf(&b, "  was not allowed to %s\n", signin.Reason(scope))
			}
		case s.Problem != "":
			fmt.Fprintf(&b, "%s: %s\n", s.Title(), s.Problem)
		default:
			fmt.Fprintf(&b, "%s: not signed in\n", s.Title())
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
