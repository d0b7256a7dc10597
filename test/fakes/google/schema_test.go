package google

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAnswersAreValidated(t *testing.T) {
	f, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.AddUser(User{Email: "alice@example.com"})
	access, _ := f.Grant("alice@example.com", "https://mail.google.com/", "https://www.googleapis.com/auth/calendar")
	for _, test := range []struct{ method, path, answer, violation string }{
		{"gmail.users.messages.get", "/gmail/v1/users/me/messages/1", `{"historyId":"18446744073709551615","internalDate":"-1","raw":"YQ=="}`, ""},
		{"gmail.users.messages.get", "/gmail/v1/users/me/messages/1", `{"historyId":1}`, "historyId"},
		{"gmail.users.messages.get", "/gmail/v1/users/me/messages/1", `{"historyId":"179524539977302817475"}`, "historyId"},
		{"gmail.users.messages.get", "/gmail/v1/users/me/messages/1", `{"sizeEstimate":"1"}`, "sizeEstimate"},
		{"gmail.users.messages.get", "/gmail/v1/users/me/messages/1", `{"sizeEstimate":2147483648}`, "sizeEstimate"},
		{"gmail.users.messages.get", "/gmail/v1/users/me/messages/1", `{"raw":"YQ"}`, "raw"},
		{"gmail.users.messages.get", "/gmail/v1/users/me/messages/1", `{"snippet":null}`, "snippet"},
		{"gmail.users.messages.get", "/gmail/v1/users/me/messages/1", `{"payload":{"part":1}}`, "payload"},
		{"gmail.users.messages.get", "/gmail/v1/users/me/messages/1", `{"payload":{"parts":[{},{"partId":1}]}}`, "payload.parts[1].partId"},
		{"gmail.users.labels.get", "/gmail/v1/users/me/labels/1", `{"labelListVisibility":"show"}`, "labelListVisibility"},
		{"calendar.events.get", "/calendar/v3/calendars/primary/events/1", `{"start":{"dateTime":"2026-11-23T09:00:00"}}`, "start.dateTime"},
		{"calendar.events.get", "/calendar/v3/calendars/primary/events/1", `{"start":{"date":"2026-11-31"}}`, "start.date"},
		{"calendar.events.get", "/calendar/v3/calendars/primary/events/1", `{"extendedProperties":{"private":{"a":"b"}}}`, ""},
		{"calendar.events.get", "/calendar/v3/calendars/primary/events/1", `{"extendedProperties":{"private":{"a":1}}}`, "extendedProperties.private.a"},
	} {
		f.handlers[test.method] = func(*call) (any, *Answer) { return json.RawMessage(test.answer), nil }
		f.violations = nil
		r := httptest.NewRequest(http.MethodGet, test.path, nil)
		r.Header.Set("Authorization", "Bearer "+access)
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		got := strings.Join(f.Violations(), "; ")
		if status := w.Code; (test.violation == "") != (status == http.StatusOK) || (got == "") != (test.violation == "") || !strings.Contains(got, test.violation) {
			t.Errorf("%s: got %d and violation %q, want %q", test.answer, status, got, test.violation)
		}
	}
}
