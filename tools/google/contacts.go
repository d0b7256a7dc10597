package google

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/people/v1"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/text/html"
	"github.com/toolserver/toolserver/tools/google/api"
	"github.com/toolserver/toolserver/tools/google/signin"
)

const contactsName = "contacts_search"

// contactScopes are asked for: the one for the contacts that the user has saved, and the one for those that Google has from mail.
func contactScopes() []string {
	return []string{people.ContactsReadonlyScope, people.ContactsOtherReadonlyScope}
}

type contactsInput struct {
	Query string `json:"query" min:"1" max:"200" also:"name email" doc:"Name, address or phone number, or how one of their words begins."`
}

// contactsResult is the structured content of contacts_search.
type contactsResult struct {
	Contacts []contact `json:"contacts" doc:"Saved contacts, then those whom Google knows from mail."`
}

type contact struct {
	Name   string   `json:"name,omitempty" doc:"Name."`
	Emails []string `json:"emails,omitempty" doc:"Addresses."`
	Phones []string `json:"phones,omitempty" doc:"Phone numbers."`
	Saved  bool     `json:"saved,omitempty" doc:"Whether the user has saved the contact."`
}

func contactsTool(c *api.Client) domain.Tool {
	need := api.Need{Service: signin.Contacts, Scopes: contactScopes(), Failing: "Error searching contacts"}
	return api.Define(c, need, api.Described(words, domain.Tool{
		Name: contactsName, Target: []string{"query"},
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true},
		Output:      schema.OutputOf[contactsResult](),
		Timeout:     time.Minute,
	}), func(ctx context.Context, in contactsInput) (domain.ToolResult, error) {
		found, err := searchContacts(ctx, c, in.Query)
		if err != nil {
			return domain.ToolResult{}, err
		}
		list := call.ListFrom(found, 0)
		list.None = "no contacts"
		list.Text = func(shown []contact) string {
			if len(shown) == 0 {
				return ""
			}
			var lines []string
			for _, p := range shown {
				line := strings.Join(slices.Concat([]string{p.Name}, p.Emails, p.Phones), ", ")
				if !p.Saved {
					line += " (not saved)"
				}
				lines = append(lines, strings.TrimPrefix(line, ", "))
			}
			return call.Untrusted(ctx, "Contacts", "others", strings.Join(lines, "\n"))
		}
		list.Results = func(shown []contact, _ int) any { return contactsResult{append([]contact{}, shown...)} }
		list.Next = func(int) string { return "call again with a longer query" }
		return list.Result(ctx)
	})
}

// settling is how long Google's index of contacts may need after the request that warms it up.
const settling = 3 * time.Second

// searchContacts asks Google for contacts. Google wants a request without a query first, and knows some of them only a while after it.
func searchContacts(ctx context.Context, c *api.Client, query string) (found []contact, err error) {
	if _, err = contactsOf(ctx, c, ""); err == nil {
		found, err = contactsOf(ctx, c, query)
	}
	if err != nil || len(found) > 0 {
		return found, err
	}
	select {
	case <-time.After(settling):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return contactsOf(ctx, c, query)
}

// contactsOf sends one request for each kind of contacts that the grant covers.
func contactsOf(ctx context.Context, c *api.Client, query string) ([]contact, error) {
	const fields, most = "names,emailAddresses,phoneNumbers", 30
	var kinds [2][]contact
	searches := [2]func(...googleapi.CallOption) (*people.SearchResponse, error){
		c.People().People.SearchContacts().Query(query).ReadMask(fields).PageSize(most).Context(ctx).Do,
		c.People().OtherContacts.Search().Query(query).ReadMask(fields).PageSize(most).Context(ctx).Do,
	}
	var g errgroup.Group
	for i, scope := range contactScopes() {
		if granted := api.Scopes(ctx); len(granted) > 0 && !slices.Contains(granted, scope) {
			continue
		}
		g.Go(func() error {
			answer, err := api.Read(ctx, c, searches[i])
			if err != nil {
				return err
			}
			for _, r := range answer.Results {
				kinds[i] = append(kinds[i], contactOf(r.Person, i == 0))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	saved := kinds[0]
	return append(saved, slices.DeleteFunc(kinds[1], func(p contact) bool {
		return slices.ContainsFunc(saved, func(known contact) bool { return slices.Equal(known.Emails, p.Emails) })
	})...), nil
}

func contactOf(p *people.Person, saved bool) contact {
	c := contact{Saved: saved}
	if p == nil {
		return c
	}
	if len(p.Names) > 0 {
		c.Name = html.PlainLine(p.Names[0].DisplayName)
	}
	for _, e := range p.EmailAddresses {
		c.Emails = append(c.Emails, html.PlainLine(e.Value))
	}
	for _, n := range p.PhoneNumbers {
		c.Phones = append(c.Phones, html.PlainLine(n.Value))
	}
	return c
}
