package calendar

import (
	"net/http"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

func TestFreeBusy(t *testing.T) {
	f, s := newFake(t)
	f.answer = func(_ int, r request, w http.ResponseWriter) bool {
		if r.path != "/freeBusy" {
			return false
		}
		respond(w, map[string]any{"calendars": map[string]any{
			"primary": map[string]any{"busy": []any{
				map[string]any{"start": "2026-03-02T09:30:00Z", "end": "2026-03-02T10:00:00Z"}, map[string]any{"start": "2026-03-02T16:00:00Z", "end": "2026-03-02T18:00:00Z"}}},
			"ann@example.com": map[string]any{"busy": []any{map[string]any{"start": "2026-03-02T09:45:00Z", "end": "2026-03-02T15:40:00Z"}}},
			"bob@example.com": map[string]any{"errors": []any{map[string]any{"domain": "global", "reason": "notFound"}}},
		}})
		return true
	}
	tooltest.Run(t, bare(freeBusyName, s.freeBusy), []tooltest.Case{
		{Name: "people", Args: `{"calendars":["primary","ann@example.com","bob@example.com"],"timeMin":"2026-03-02","timeMax":"2026-03-03","workingHours":"09:00-17:00"}`,
			Exact: `Calendar: primary
  Busy: Mon 2 Mar 2026 09:30–10:00 (Europe/London)
  Busy: Mon 2 Mar 2026 16:00–18:00 (Europe/London)
Calendar: ann@example.com
  Busy: Mon 2 Mar 2026 09:45–15:40 (Europe/London)
Calendar: bob@example.com
  Error: it does not exist, or is not shared with the user
Free for at least 30 min, 09:00-17:00:
  Mon 2 Mar 2026 09:00–09:30 (Europe/London)
  Tue 3 Mar 2026 09:00–17:00 (Europe/London)
Some calendars could not be read: these people may be busy.
Range: 2026-03-02T00:00:00Z to 2026-03-04T00:00:00Z (Europe/London).`},
		{Name: "nights", Args: `{"timeMin":"2026-03-02T12:00","timeMax":"2026-03-03T12:00","minutes":240}`,
			Want: "Free for at least 240 min, 00:00-24:00:\n  Mon 2 Mar 2026 12:00–16:00 (Europe/London)\n  Mon 2 Mar 2026 18:00–Tue 3 Mar 2026 12:00 (Europe/London)\nRange"},
		{Name: "never", Args: `{"timeMin":"2026-03-02T16:00","timeMax":"2026-03-02T17:00"}`, Want: "00:00-24:00: never"},
		{Name: "change of clocks", Args: `{"timeMin":"2026-03-28","timeMax":"2026-03-29","timeZone":"Europe/London","minutes":60}`,
			Want: "Sat 28 Mar 2026 00:00 GMT–Mon 30 Mar 2026 00:00 BST (Europe/London)"},
		{Name: "long", Args: `{"timeMin":"2026-01-01","timeMax":"2026-12-31"}`, Code: domain.CodeInvalidParams, Want: "at most 93 days"},
		{Name: "hours", Args: `{"timeMin":"2026-03-02","timeMax":"2026-03-02","workingHours":"17:00-09:00"}`, Code: domain.CodeInvalidParams, Want: "must end after they begin"},
		{Name: "no hours", Args: `{"timeMin":"2026-03-02","timeMax":"2026-03-02","workingHours":"9-5"}`, Code: domain.CodeInvalidParams, Want: "workingHours"},
		{Name: "blank", Args: `{"timeMin":" ","timeMax":"2026-03-02"}`, Code: domain.CodeInvalidParams, Want: "must both be given"},
	})
}
