// Package google offers the tools of Gmail, Google Calendar and Google Contacts. They act for the account of whoever calls them: each caller
// signs in, once for each service.
package google

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
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

// Deps is what the tools are made from.
type Deps struct {
	Options  Options
	Full     bool
	Disabled []string // tools that the configuration disables; nothing is asked for them
	Sandbox  *sandbox.Sandbox
	Accounts *signin.Accounts // nil without credentials
	Host     pages.Host
	Open     func(address string) // opens an address in a browser
}

// families returns the tools of each service, to be made; without a client they can only be declared.
func families(c *api.Client, accounts *signin.Accounts, events calendar.Options) []api.Family {
	return []api.Family{gmail.Family(c), calendar.Family(c, events), own(c, accounts)}
}

// Declared returns what the tools declare.
func Declared() (all []declare.Group) {
	for _, f := range families(nil, nil, calendar.Options{}) {
		all = append(all, f.Declared())
	}
	return all
}

// DisabledOf returns the tools of this package that settings disable, in their order.
func DisabledOf(settings map[string]domain.Override) (names []string) {
	for _, g := range Declared() {
		for _, t := range g.Tools {
			if o := settings[t.Tool]; o.Enabled != nil && !*o.Enabled {
				names = append(names, t.Tool)
			}
		}
	}
	return names
}

// configured reports whether there are credentials.
func (o Options) configured() bool { return o.ClientID != "" && o.ClientSecret != "" }

// Offer returns the tools, or why they are missing.
func Offer(d Deps) (o domain.Offer, err error) {
	for i, name := range d.Options.Accounts {
		if slices.ContainsFunc(d.Options.Accounts[:i], func(other string) bool { return strings.EqualFold(name, other) }) {
			return o, fmt.Errorf("google.accounts: %s is there twice", name)
		}
	}
	events := calendar.Options{Recipients: func(_ context.Context, addresses []string) error {
		return d.Sandbox.For(calendar.CreateName).Recipients().Check(addresses...)
	}}
	var c *api.Client
	reason := "needs the environment variables GOOGLE_CLIENT_ID and GOOGLE_CLIENT_SECRET, or google.credentials_file in the configuration"
	if d.Accounts != nil {
		c, reason = api.New(d.Accounts, clients(d.Sandbox), d.Options.base()), "needs tools.google.tier: full in the configuration"
		if name := d.Options.TimeZone; name != "" {
			if events.Zone, err = calendar.Zone(name); err != nil {
				return o, fmt.Errorf("google.time_zone: time zone %w", err)
			}
		}
	}
	for _, f := range families(c, d.Accounts, events) {
		for _, t := range f.Tools {
			if c != nil && (d.Full || !t.Full) {
				o.Tools = append(o.Tools, c.ForAccounts(t.Make(d.Sandbox.For(t.Tool))))
			} else {
				o.Missing = append(o.Missing, domain.Missing{Kind: domain.KindTool, Name: t.Tool, Category: f.Category, Reason: reason})
			}
		}
	}
	return o, nil
}

// base returns the address of the stand-in, "" for Google itself.
func (o Options) base() string { return strings.TrimSuffix(o.BaseURL, "/") }

// clients returns what connects to each service.
func clients(box *sandbox.Sandbox) func(signin.Service) *http.Client {
	return func(s signin.Service) *http.Client { return box.For(head(s)).Fetcher().Client() }
}

// head returns the tool whose hosts and state a service uses.
func head(s signin.Service) string {
	return map[signin.Service]string{signin.Gmail: gmail.SearchName, signin.Calendar: calendar.ListName, signin.Contacts: contactsName}[s]
}

// Accounts returns the accounts of all callers, or nil without credentials.
func Accounts(d Deps) *signin.Accounts {
	if !d.Options.configured() {
		return nil
	}
	scopes := map[signin.Service][]string{}
	for _, f := range families(nil, nil, calendar.Options{}) {
		scopes[f.Service] = f.Scopes(func(t api.Tool) bool { return (d.Full || !t.Full) && !slices.Contains(d.Disabled, t.Tool) })
	}
	if !d.Options.OpenBrowser {
		d.Open = nil
	}
	return signin.New(signin.Config{
		ClientID: d.Options.ClientID, ClientSecret: d.Options.ClientSecret, BaseURL: d.Options.base(),
		HTTP: clients(d.Sandbox),
		Store: func(s signin.Service) pages.Store {
			c := pages.StoreConfig{
				Keeping: d.Host.Keeping, State: d.Sandbox.For(head(s)).State(), Keyring: "toolserver google", Forget: "toolserver auth google revoke"}
			c.Store, c.Key = cmp.Or(d.Options.TokenStore, c.Store), cmp.Or(d.Options.TokenKey, c.Key)
			return pages.NewStore(c)
		},
		Scopes: func(s signin.Service) []string { return scopes[s] }, Accounts: d.Options.Accounts,
		Config: pages.Config{Host: d.Host, Open: d.Open},
	})
}
