package calendar

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/tools/google/api"
	"github.com/toolserver/toolserver/tools/google/signin"
)

func TestTools(t *testing.T) {
	client := api.New(&signin.Accounts{}, func(signin.Service) *http.Client { return http.DefaultClient }, "")
	for _, test := range []struct {
		options Options
		want    int
		err     string
	}{{Options{}, 3, ""}, {Options{Full: true, TimeZone: "europe/london"}, 8, ""}, {Options{TimeZone: "London"}, 0, "did you mean Europe/London?"}} {
		tools, err := Tools(client, test.options)
		if len(tools) != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%+v: %d tools, %v", test.options, len(tools), err)
		}
		for i, tool := range tools {
			if tool.Name != Declared().Tools[i].Tool || tool.Category != category || tool.Timeout < time.Minute || tool.Input == nil || tool.Output == nil {
				t.Errorf("%+v", tool)
			}
		}
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
		got := strings.ReplaceAll(strings.Join(Scopes(strings.Fields(enabled)), " "), scopePrefix, "")
		if got != want {
			t.Errorf("%q needs %q; want %q", enabled, got, want)
		}
	}
}
