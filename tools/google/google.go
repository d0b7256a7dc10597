// Package google offers the tools of Gmail, Google Calendar and Google Contacts. They act for the account of whoever calls them: each caller
// signs in, once for each service.
package google

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	pages "github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/tools/google/api"
	"github.com/toolserver/toolserver/tools/google/calendar"
	"github.com/toolserver/toolserver/tools/google/gmail"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// arguments say what the arguments of tools mean; package structschema reads them.
//
//go:embed arguments.txt
var arguments string

// Options are the section google of the configuration.
type Options struct {
	ClientID     string   `yaml:"client_id"`
	ClientSecret string   `yaml:"client_secret" secret:"true"`
	Credentials  string   `yaml:"credentials_file" path:"true"`
	TimeZone     string   `yaml:"time_zone" format:"time_zone"`
	Accounts     []string `yaml:"accounts" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$"`
	OpenBrowser  bool     `yaml:"open_browser"`
	TokenStore   string   `yaml:"token_store" enum:"file|keyring"`
	TokenKey     string   `yaml:"token_key" secret:"true"`
	BaseURL      string   `yaml:"base_url" format:"stand_in" template:"-"`
}

// ReadCredentials takes client ID and secret from the file of an OAuth client. Public says that browsers reach the server, which a
// Web application requires.
func (o *Options) ReadCredentials(public bool) error {
	f, err := os.Open(o.Credentials)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return err
	}
	type client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	var file struct {
		Type           string
		Installed, Web *client
	}
	const desktop = "download the JSON of an OAuth client of type Desktop app"
	err = json.Unmarshal(text, &file)
	found := cmp.Or(file.Installed, file.Web)
	switch {
	case o.ClientID+o.ClientSecret != "":
		return errors.New("has client_id and client_secret: leave those settings out")
	case file.Type == "service_account":
		return errors.New("is the key of a service account, for which nobody can sign in: " + desktop)
	case err != nil || found == nil || found.ID == "" || found.Secret == "":
		return errors.New("has no client of the Google Cloud console: " + desktop)
	case file.Installed == nil && !public:
		return errors.New("is of a Web application, which requires server.public_url: " + desktop)
	}
	o.ClientID, o.ClientSecret = found.ID, found.Secret
	return nil
}

// Section is the name that [Tier] has among the settings of tools.
const Section = "google"

// Full is the tier with all tools.
const Full = "full"

// Tier says which of the tools are offered.
type Tier struct {
	Tier string `yaml:"tier" enum:"core|full"`
}

// Config is what the configuration says of the tools.
type Config struct {
	Options
	Keeping  pages.Keeping // of sign-ins
	Disabled []string      // tools that the configuration disables; nothing is asked for them
}

// parts are the tools of each service, to be made; without a client they can only be declared.
func parts(c *api.Client, accounts *signin.Accounts, events calendar.Options) []api.Family {
	return []api.Family{gmail.Family(c), calendar.Family(c, events), own(c, accounts)}
}

// declared are the parts to declare.
func declared() []api.Family { return parts(nil, nil, calendar.Options{}) }

// Family returns the tools of all services, which are those of accounts; without credentials these are nil.
func Family(accounts *signin.Accounts) declare.Family[Config, toolset] {
	f := declare.Family[Config, toolset]{
		Name: Section, Settings: Tier{}, ByPolicy: true,
		Share: func(from declare.From[Config]) (toolset, error) { return newToolset(accounts, from) },
	}
	for _, part := range declared() {
		for _, t := range part.Tools {
			f.Tools = append(f.Tools, declare.Entry[toolset]{
				Owner: t.Owner, Category: part.Category,
				Lacks: func(s toolset) string { return s.lacks(t) },
				Make: func(s toolset, held sandbox.Capabilities) domain.Tool {
					return s.client.ForAccounts(s.makers[t.Tool](held))
				},
			})
		}
	}
	return f
}

// toolset is what the tools share.
type toolset struct {
	client *api.Client // nil without credentials
	full   bool        // the tier
	makers map[string]func(sandbox.Capabilities) domain.Tool
}

func newToolset(accounts *signin.Accounts, from declare.From[Config]) (s toolset, err error) {
	o := from.Config
	for i, name := range o.Accounts {
		if slices.ContainsFunc(o.Accounts[:i], func(other string) bool { return strings.EqualFold(name, other) }) {
			return s, fmt.Errorf("google.accounts: %s is there twice", name)
		}
	}
	if accounts == nil {
		return s, nil
	}
	events := calendar.Options{Recipients: func(_ context.Context, addresses []string) error {
		return from.Sandbox.For(calendar.CreateName).Recipients().Check(addresses...)
	}}
	if name := o.TimeZone; name != "" {
		if events.Zone, err = calendar.Zone(name); err != nil {
			return s, fmt.Errorf("google.time_zone: time zone %w", err)
		}
	}
	s = toolset{api.New(accounts, clients(from.Client), o.base()), full(from.Settings), map[string]func(sandbox.Capabilities) domain.Tool{}}
	for _, part := range parts(s.client, accounts, events) {
		for _, t := range part.Tools {
			s.makers[t.Tool] = t.Make
		}
	}
	return s, nil
}

// lacks says why a tool is not offered.
func (s toolset) lacks(t api.Tool) string {
	switch {
	case s.client == nil:
		return "needs the environment variables GOOGLE_CLIENT_ID and GOOGLE_CLIENT_SECRET, or google.credentials_file in the configuration"
	case t.Full && !s.full:
		return "needs tools.google.tier: full in the configuration"
	}
	return ""
}

// full reports whether all tools are offered.
func full(s declare.Settings) bool { return declare.Of[Tier](s, Section).Tier == Full }

// DisabledOf returns the tools of this package that settings disable, in their order.
func DisabledOf(settings map[string]domain.Override) (names []string) {
	for _, t := range Family(nil).Declared() {
		if o := settings[t.Tool]; o.Enabled != nil && !*o.Enabled {
			names = append(names, t.Tool)
		}
	}
	return names
}

// base returns the address of the stand-in, "" for Google itself.
func (o Options) base() string { return strings.TrimSuffix(o.BaseURL, "/") }

// clients returns what connects to each service.
func clients(client func(tool string) *http.Client) func(signin.Service) *http.Client {
	return func(s signin.Service) *http.Client { return client(head(s)) }
}

// head returns the tool whose hosts and state a service uses.
func head(s signin.Service) string {
	return map[signin.Service]string{signin.Gmail: gmail.SearchName, signin.Calendar: calendar.ListName, signin.Contacts: contactsName}[s]
}

// Accounts are the accounts of all callers, and what they were made from: sign-ins that wait survive a change of anything else, such
// as the policy. The zero value is those of a server without credentials.
type Accounts struct {
	*signin.Accounts
	from accountsFrom
}

type accountsFrom struct {
	Config
	full           bool
	stateDirectory string
}

// Update returns the accounts of another configuration: the same if they would be made from the same.
func (a Accounts) Update(from declare.From[Config], stateDirectory string, host pages.Host, open func(address string)) Accounts {
	wanted := accountsFrom{from.Config, full(from.Settings), stateDirectory}
	if reflect.DeepEqual(wanted, a.from) {
		return a
	}
	return Accounts{newAccounts(from, host, open), wanted}
}

// newAccounts returns the accounts of all callers, or nil without credentials.
func newAccounts(from declare.From[Config], host pages.Host, open func(address string)) *signin.Accounts {
	o := from.Config
	if o.ClientID == "" || o.ClientSecret == "" {
		return nil
	}
	scopes := map[signin.Service][]string{}
	for _, f := range declared() {
		scopes[f.Service] = f.Scopes(func(t api.Tool) bool { return (full(from.Settings) || !t.Full) && !slices.Contains(o.Disabled, t.Tool) })
	}
	if !o.OpenBrowser {
		open = nil
	}
	return signin.New(signin.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, BaseURL: o.base(),
		HTTP: clients(from.Client),
		Store: func(s signin.Service) pages.Store {
			c := pages.StoreConfig{
				Keeping: o.Keeping, State: from.Sandbox.For(head(s)).State(), Keyring: "toolserver google", Forget: "toolserver auth google revoke"}
			c.Store, c.Key = cmp.Or(o.TokenStore, c.Store), cmp.Or(o.TokenKey, c.Key)
			return pages.NewStore(c)
		},
		Scopes: func(s signin.Service) []string { return scopes[s] }, Accounts: o.Options.Accounts,
		Config: pages.Config{Host: host, Open: open},
	})
}
