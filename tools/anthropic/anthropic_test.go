package anthropic_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/redact"
	fake "github.com/toolserver/toolserver/test/fakes/anthropic"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/sandbox/netguard"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/anthropic"
)

// client returns a client as tools get it, to which only a test's server is open.
func client(t testing.TB, srv *httptest.Server) *http.Client {
	t.Helper()
	host, err := netguard.ParseHost(strings.TrimPrefix(srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	c := netguard.New(netguard.Options{Open: []netguard.Host{host}}).Client()
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// tools returns both tools, whose API is the handler.
func tools(t testing.TB, api http.Handler) (conversation, usage domain.Tool) {
	t.Helper()
	srv := httptest.NewServer(api)
	t.Cleanup(srv.Close)
	list := tooltest.Tools(t, anthropic.Family(), declare.From[anthropic.Options]{Client: tooltest.Client(client(t, srv)), Config: options(srv)})
	if len(list) != 2 {
		t.Fatalf("%d tools", len(list))
	}
	return list[0], list[1]
}

func options(srv *httptest.Server) anthropic.Options {
	o := anthropic.DefaultOptions()
	o.APIKey, o.AdminAPIKey, o.BaseURL = fake.APIKey, fake.AdminKey, srv.URL
	return o
}

func TestTools(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*anthropic.Options)
		want   string // names, or a part of the error
	}{
		{"both", func(*anthropic.Options) {}, "claude_conversation anthropic_usage"},
		{"no admin key", func(o *anthropic.Options) { o.AdminAPIKey = "" }, "claude_conversation"},
		{"no key", func(o *anthropic.Options) { o.APIKey = " \n" }, "anthropic_usage"},
		{"no keys", func(o *anthropic.Options) { *o = anthropic.Options{} }, ""},
		{"no keys, bad URL", func(o *anthropic.Options) { *o = anthropic.Options{BaseURL: "nowhere"} }, ""},
		{"key from a file", func(o *anthropic.Options) { o.APIKey += "\n" }, "claude_conversation anthropic_usage"},
		{"empty defaults", func(o *anthropic.Options) { o.BaseURL, o.Version, o.Model = "", "", "" }, "claude_conversation anthropic_usage"},
		{"bad URL", func(o *anthropic.Options) { o.BaseURL = "api.anthropic.com" }, "base_url"},
		{"URL with a user", func(o *anthropic.Options) { o.BaseURL = "https://user:secret@example.com" }, "base_url"},
		{"bad admin key", func(o *anthropic.Options) { o.AdminAPIKey = "two\r\nlines-of-key" }, "admin_api_key: it is empty or has a character"},
		{"bad version", func(o *anthropic.Options) { o.Version = "2023\n" }, "version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := anthropic.DefaultOptions()
			o.APIKey, o.AdminAPIKey = fake.APIKey, fake.AdminKey
			c.change(&o)
			offer, err := anthropic.Family().Offer(declare.From[anthropic.Options]{Client: tooltest.Client(http.DefaultClient), Config: o})
			list := offer.Tools
			if err != nil {
				if c.want == "" || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %q; want %q", err, c.want)
				}
				for _, secret := range []string{o.APIKey, o.AdminAPIKey, "secret", "lines-of-key"} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("error %q shows a key", err)
					}
				}
				return
			}
			var names []string
			for _, tool := range list {
				names = append(names, tool.Name)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("tools %q; want %q", got, c.want)
			}
		})
	}
}

// TestHeader checks what is sent and that nothing else is: what other programs
// find in their environment is not for this one. The fake refuses headers it does
// not know.
func TestHeader(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_AUTH_TOKEN": "ambient-token", "ANTHROPIC_API_KEY": "ambient-key", "ANTHROPIC_BASE_URL": "http://192.0.2.1",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Ambient: 1", "ANTHROPIC_MODEL": "ambient-model", "ANTHROPIC_BETAS": "ambient-beta",
		"HTTP_PROXY": "http://192.0.2.1:1", "HTTPS_PROXY": "http://192.0.2.1:1", "ALL_PROXY": "http://192.0.2.1:1",
	} {
		t.Setenv(name, value)
	}
	api := new(fake.Server)
	conversation, usage := tools(t, api)
	tooltest.Call(t, conversation, `{"message":"hello"}`)
	tooltest.Call(t, usage, `{"action":"cost","starting_at":"2026-01-01"}`)
	requests := api.Requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests", len(requests))
	}
	want := []map[string]string{
		{"X-Api-Key": fake.APIKey, "Anthropic-Version": "2026-10-21", "Content-Type": "application/json",
			"Accept": "text/event-stream, application/json"},
		{"X-Api-Key": fake.AdminKey, "Anthropic-Version": "2023-06-01", "Accept": "application/json", "Content-Type": ""},
	}
	for i, req := range requests {
		for name, value := range want[i] {
			if got := req.Header.Get(name); got != value {
				t.Errorf("%s: %s is %q; want %q", req.Path, name, got, value)
			}
		}
		for name, values := range req.Header {
			if strings.Contains(strings.Join(values, " "), "mbient") || slices.Contains([]string{"Authorization", "Cookie"}, name) {
				t.Errorf("%s: sent %s: %q", req.Path, name, values)
			}
		}
		if strings.Contains(string(req.Body), "mbient") {
			t.Errorf("%s: sent %s", req.Path, req.Body)
		}
	}
}

// TestKeysAreRedacted has the API say the keys, in answers, errors, reports and
// names: the executor takes them out of all of them.
func TestKeysAreRedacted(t *testing.T) {
	api := new(fake.Server)
	conversation, usage := tools(t, api)
	registry, err := domain.NewRegistry(conversation, usage)
	if err != nil {
		t.Fatal(err)
	}
	settings := domain.Settings{Secrets: []string{fake.APIKey, fake.AdminKey}, Limits: domain.Limits{DefaultTimeout: time.Minute}}
	exec := call.NewExecutor(registry, call.NewResultStore(domain.PageBytes(0)), settings, nil)
	said := "it is " + fake.APIKey + " and " + fake.AdminKey
	for name, reply := range map[string]fake.Reply{
		"answer": fake.Turn{Text: []string{"it is " + fake.APIKey[:10], fake.APIKey[10:] + " and ", fake.AdminKey}, StopReason: fake.APIKey}.Reply(fake.APIKey),
		"error":  fake.Error(400, "invalid_request_error", said),
		"stream": {Header: fake.EventStream(), Body: `data: {"type":"error","error":{"type":"x","message":"` + said + `"}}` + "\n\n"},
		"report": {Body: `{"data":[{"it is ` + fake.APIKey + `":"` + fake.AdminKey + `","currency":"` + fake.AdminKey + `","amount":1}],"has_more":false}`},
		"header": {Status: 501, Header: map[string]string{"Request-Id": fake.APIKey, "Retry-After": "3600"}},
	} {
		api.Script(fake.MessagesPath, reply)
		api.Script(fake.CostPath, reply)
		for tool, args := range map[string]string{conversation.Name: `{"message":"m"}`, usage.Name: `{"action":"cost","starting_at":"2026-01-01"}`} {
			res, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: tool, Arguments: json.RawMessage(args)})
			shown, marshalErr := json.Marshal([]any{res, res.Structured()})
			if err != nil || marshalErr != nil || strings.Contains(string(shown), "fake-0123456789abcdef") {
				t.Errorf("%s, %s: %s, %v, %v", name, tool, shown, err, marshalErr)
			}
			if bad := res.ErrorType() == "bad_answer"; !bad && !strings.Contains(string(shown), redact.Mark) {
				t.Errorf("%s, %s: %s has nothing redacted", name, tool, shown)
			}
		}
	}
}
