package calendar

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/tools/google/api"
	"github.com/toolserver/toolserver/tools/google/signin"
)

func TestTools(t *testing.T) {
	client := api.New(&signin.Accounts{}, func(signin.Service) *http.Client { return http.DefaultClient }, "")
	offered := 0
	for _, e := range Family(client, Options{}).Tools {
		tool := e.Make(sandbox.Capabilities{})
		if tool.Name != e.Tool || tool.Timeout < time.Minute || tool.Input == nil || tool.Output == nil {
			t.Errorf("%+v", tool)
		}
		if !e.Full {
			offered++
		}
	}
	if offered != 3 {
		t.Errorf("%d tools of the core tier", offered)
	}
}

func TestScopes(t *testing.T) {
	for enabled, want := range map[string]string{
		"":                            "",
		ListName:                      ".calendarlist.readonly .events.readonly",
		getName + " " + ListName:      ".calendarlist.readonly .events.readonly",
		CreateName:                    ".events",
		ListName + " " + CreateName:   ".calendarlist.readonly .events",
		freeBusyName + " other":       ".freebusy",
		calendarsName + " " + getName: ".calendarlist.readonly .events.readonly",
		updateName + " " + deleteName + " " + respondName + " " + freeBusyName: ".events .freebusy",
	} {
		is := func(e api.Tool) bool { return slices.Contains(strings.Fields(enabled), e.Tool) }
		got := strings.ReplaceAll(strings.Join(Family(nil, Options{}).Scopes(is), " "), scopePrefix, "")
		if got != want {
			t.Errorf("%q needs %q; want %q", enabled, got, want)
		}
	}
}
