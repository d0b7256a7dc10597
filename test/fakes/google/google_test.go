package google_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/api/calendar/v3"
	"google.golang.org/api/gmail/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"github.com/toolserver/toolserver/test/fakes/google"
)

const (
	alice    = "alice@example.com"
	bob      = "bob@example.com"
	mallory  = "mallory@example.com" // no test user
	readonly = gmail.GmailReadonlyScope
)

// now is the time of all tests.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// world is a fake that is served.
type world struct {
	t    *testing.T
	fake *google.Fake
	url  string
}

func newWorld(t *testing.T, o google.Options) *world {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	fake, err := google.New(o)
	if err != nil {
		t.Fatal(err)
	}
	fake.AddUser(google.User{Email: alice, TimeZone: "Europe/Berlin", TestUser: true, SendAs: []string{"alias@example.com"}})
	fake.AddUser(google.User{Email: bob, TimeZone: "America/New_York", TestUser: true})
	fake.AddUser(google.User{Email: mallory})
	server := httptest.NewServer(fake)
	t.Cleanup(func() {
		server.Close()
		if v := fake.Violations(); len(v) > 0 {
			t.Errorf("violations: %q", v)
		}
	})
	return &world{t, fake, server.URL}
}

// client returns a client with a token of a user.
func (w *world) client(email string, scopes ...string) *http.Client {
	access, _ := w.fake.Grant(email, scopes...)
	return oauth2.NewClient(context.Background(), oauth2.StaticTokenSource(&oauth2.Token{AccessToken: access}))
}

func (w *world) gmail(email string, scopes ...string) *gmail.UsersService {
	w.t.Helper()
	service, err := gmail.NewService(w.t.Context(), option.WithHTTPClient(w.client(email, scopes...)), option.WithEndpoint(w.url+"/"))
	if err != nil {
		w.t.Fatal(err)
	}
	return service.Users
}

func (w *world) calendar(email string, scopes ...string) *calendar.Service {
	w.t.Helper()
	service, err := calendar.NewService(w.t.Context(), option.WithHTTPClient(w.client(email, scopes...)), option.WithEndpoint(w.url+"/calendar/v3/"))
	if err != nil {
		w.t.Fatal(err)
	}
	return service
}

// do sends a request with a body of JSON, if it has one, and returns the answer's status and body.
func (w *world) do(c *http.Client, method, path, body string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// refused checks that err is Google's, with a status and a reason.
func refused(t *testing.T, err error, status int, reason string) *googleapi.Error {
	t.Helper()
	e, ok := errors.AsType[*googleapi.Error](err)
	if !ok {
		t.Fatalf("got %v, want an error of the API", err)
	}
	if e.Code != status || len(e.Errors) != 1 || e.Errors[0].Reason != reason {
		t.Errorf("got %d %v (%s), want %d %s", e.Code, e.Errors, e.Message, status, reason)
	}
	return e
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestDiscovery(t *testing.T) {
	w := newWorld(t, google.Options{})
	c := w.client(alice, readonly, gmail.GmailSendScope, calendar.CalendarScope)
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		has                      string
	}{
		{"unknown path", "GET", "/gmail/v1/users/me/nothing", "", 404, "<title>"},
		{"wrong method", "PUT", "/gmail/v1/users/me/profile", "", 404, "<title>"},
		{"unknown parameter", "GET", "/gmail/v1/users/me/messages?max=3", "", 400, `Unknown name \"max\"`},
		{"unknown parameter of Calendar", "GET", "/calendar/v3/calendars/primary/events?query=x", "", 400, `Unknown name`},
		{"parameter's type", "GET", "/gmail/v1/users/me/messages?maxResults=ten", "", 400, "TYPE_UINT32"},
		{"parameter's sign", "GET", "/gmail/v1/users/me/messages?maxResults=-1", "", 400, "TYPE_UINT32"},
		{"parameter's minimum", "GET", "/calendar/v3/calendars/primary/events?maxResults=0", "", 400, "at least 1"},
		{"parameter's enum", "GET", "/gmail/v1/users/me/messages/1?format=FULL", "", 400, "TYPE_ENUM"},
		{"boolean", "GET", "/calendar/v3/calendars/primary/events?singleEvents=yes", "", 400, "TYPE_BOOL"},
		{"repeated", "GET", "/gmail/v1/users/me/messages?q=a&q=b", "", 400, "not repeated"},
		{"repeated that may be", "GET", "/gmail/v1/users/me/messages?labelIds=INBOX&labelIds=UNREAD", "", 200, "resultSizeEstimate"},
		{"unknown field", "GET", "/gmail/v1/users/me/profile?fields=email", "", 400, "Invalid field selection email"},
		{"field's syntax", "GET", "/gmail/v1/users/me/profile?fields=a(b", "", 400, "invalidParameter"},
		{"unknown name", "POST", "/gmail/v1/users/me/messages/send", `{"row":"aGk="}`, 400, `Unknown name \"row\"`},
		{"unknown name below", "POST", "/calendar/v3/calendars/primary/events", `{"start":{"time":"x"}}`, 400, `at 'start'`},
		{"type in body", "POST", "/calendar/v3/calendars/primary/events", `{"summary":7}`, 400, `'summary'`},
		{"not base64", "POST", "/gmail/v1/users/me/messages/send", `{"raw":"!"}`, 400, `'raw'`},
		{"half JSON", "POST", "/gmail/v1/users/me/messages/send", `{"raw":`, 400, "parseError"},
		{"body where there is none", "GET", "/gmail/v1/users/me/profile", `{"a":1}`, 400, "Unknown name"},
		{"another user", "GET", "/gmail/v1/users/" + bob + "/profile", "", 403, "Delegation denied"},
		{"same user", "GET", "/gmail/v1/users/" + alice + "/profile", "", 200, `"messagesTotal": 0`},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body := w.do(c, test.method, test.path, test.body)
			if status != test.status || !strings.Contains(body, test.has) {
				t.Errorf("got %d %s, want %d with %s", status, body, test.status, test.has)
			}
		})
	}
}

func TestMethodThatIsNotBuilt(t *testing.T) {
	fake := must[*google.Fake](t)(google.New(google.Options{}))
	fake.AddUser(google.User{Email: alice})
	access, _ := fake.Grant(alice, readonly)
	r := httptest.NewRequest("GET", "/gmail/v1/users/me/history?startHistoryId=1", nil)
	r.Header.Set("Authorization", "Bearer "+access)
	recorder := httptest.NewRecorder()
	fake.ServeHTTP(recorder, r)
	if recorder.Code != http.StatusNotImplemented || len(fake.Violations()) != 1 {
		t.Errorf("got %d and %q", recorder.Code, fake.Violations())
	}
}

func TestFields(t *testing.T) {
	w := newWorld(t, google.Options{})
	w.fake.Deliver(alice, mail("Hello", "Hi"))
	c := w.client(alice, readonly)
	for fields, want := range map[string]string{
		"messages(id),resultSizeEstimate": `{"messages":[{"id":"ID"}],"resultSizeEstimate":1}`,
		"messages/threadId":               `{"messages":[{"threadId":"ID"}]}`,
		"*":                               `{"messages":[{"id":"ID","threadId":"ID"}],"resultSizeEstimate":1}`,
		"messages(*)":                     `{"messages":[{"id":"ID","threadId":"ID"}]}`,
		"messages/id,messages/threadId":   `{"messages":[{"id":"ID","threadId":"ID"}]}`,
		"nextPageToken":                   `{}`,
	} {
		id := must[*gmail.ListMessagesResponse](t)(w.gmail(alice, readonly).Messages.List("me").Do()).Messages[0].Id
		_, body := w.do(c, "GET", "/gmail/v1/users/me/messages?prettyPrint=false&fields="+fields, "")
		if got := strings.ReplaceAll(body, id, "ID"); got != want {
			t.Errorf("%s: got %s, want %s", fields, got, want)
		}
	}
}

func TestScopesAndTokens(t *testing.T) {
	w := newWorld(t, google.Options{})
	_, err := w.gmail(alice, gmail.GmailSendScope).GetProfile("me").Do()
	e := refused(t, err, 403, "insufficientPermissions")
	if !strings.Contains(e.Body, "ACCESS_TOKEN_SCOPE_INSUFFICIENT") || !strings.Contains(e.Body, "PERMISSION_DENIED") {
		t.Errorf("got %s", e.Body)
	}
	_, err = w.calendar(alice, calendar.CalendarEventsScope).CalendarList.List().Do()
	refused(t, err, 403, "insufficientPermissions")

	users := w.gmail(alice, readonly)
	must[*gmail.Profile](t)(users.GetProfile("me").Do())
	w.fake.ExpireTokens()
	_, err = users.GetProfile("me").Do()
	if e := refused(t, err, 401, "authError"); !strings.Contains(e.Header.Get("WWW-Authenticate"), "invalid_token") {
		t.Errorf("got header %v", e.Header)
	}
	users = w.gmail(alice, readonly)
	w.fake.Revoke(alice, "")
	_, err = users.GetProfile("me").Do()
	refused(t, err, 401, "authError")
	if status, body := w.do(http.DefaultClient, "GET", "/gmail/v1/users/me/profile", ""); status != 401 || !strings.Contains(body, "CREDENTIALS_MISSING") {
		t.Errorf("without a token: %d %s", status, body)
	}
	hidden := w.gmail(alice, gmail.GmailMetadataScope)
	_, err = hidden.Messages.List("me").Q("x").Do()
	refused(t, err, 403, "forbidden")
	_, err = hidden.Messages.Get("me", w.fake.Deliver(alice, mail("Hello", "Hi"))).Format("full").Do()
	refused(t, err, 403, "forbidden")
}

func TestFaults(t *testing.T) {
	w := newWorld(t, google.Options{MaxInFlight: 1})
	users := w.gmail(alice, readonly, gmail.GmailSendScope)
	profile := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/profile") }
	for _, test := range []struct {
		answer google.Answer
		status int
		reason string
		has    string
	}{
		{google.UserRateLimit(403), 403, "userRateLimitExceeded", "usageLimits"},
		{google.UserRateLimit(429), 429, "userRateLimitExceeded", "RESOURCE_EXHAUSTED"},
		{google.ConcurrencyLimit(), 429, "rateLimitExceeded", "Too many concurrent requests"},
		{google.DailyLimit(), 403, "dailyLimitExceeded", "Daily Limit"},
		{google.BackendError(), 503, "backendError", "UNAVAILABLE"},
		{google.NotFound("gmail"), 404, "notFound", "NOT_FOUND"},
		{google.APINotEnabled("gmail"), 403, "accessNotConfigured", "apis/api/gmail.googleapis.com/overview"},
		{google.ScopeInsufficient("gmail"), 403, "insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"},
	} {
		w.fake.Fail(profile, 1, test.answer)
		must[*gmail.ListMessagesResponse](t)(users.Messages.List("me").Do()) // does not match
		_, err := users.GetProfile("me").Do()
		if e := refused(t, err, test.status, test.reason); !strings.Contains(e.Body, test.has) {
			t.Errorf("%s: got %s", test.reason, e.Body)
		}
		must[*gmail.Profile](t)(users.GetProfile("me").Do()) // once
	}

	w.fake.Fail(nil, 1, google.Answer{Drop: true})
	if _, err := users.Messages.Send("me", raw("To: bob@example.com\r\n\r\nx")).Do(); err == nil || len(w.fake.Sent(alice)) != 0 {
		t.Errorf("got %v, and sent %d", err, len(w.fake.Sent(alice)))
	}
	w.fake.Fail(nil, 1, google.Answer{Drop: true, After: true})
	if _, err := users.Messages.Send("me", raw("To: bob@example.com\r\n\r\nx")).Do(); err == nil || len(w.fake.Sent(alice)) != 1 {
		t.Errorf("after: got %v, and sent %d", err, len(w.fake.Sent(alice)))
	}

	w.fake.Fail(nil, 1, google.Answer{After: true}) // changes nothing
	if _, err := users.Messages.Send("me", raw("To: bob@example.com\r\n\r\nx")).Do(); err != nil || len(w.fake.Sent(alice)) != 2 {
		t.Errorf("after, with no answer: got %v, and sent %d", err, len(w.fake.Sent(alice)))
	}

	hold, done := make(chan struct{}), make(chan error)
	arrived := make(chan struct{})
	w.fake.Fail(func(*http.Request) bool { close(arrived); return true }, 1, google.Answer{Hold: hold})
	go func() {
		_, err := users.GetProfile("me").Do()
		done <- err
	}()
	<-arrived
	_, err := users.GetProfile("me").Do()
	if e := refused(t, err, 429, "rateLimitExceeded"); e.Header.Get("Retry-After") == "" {
		t.Errorf("got header %v", e.Header)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
	all := w.fake.Requests()
	last := all[len(all)-1]
	if last.Method != "GET" || last.Path != "/gmail/v1/users/me/profile" || last.User != alice || !slices.Equal(last.Query["alt"], []string{"json"}) {
		t.Errorf("got %+v", last)
	}
}
