package calendar

import (
	"strings"
	"testing"
	"time"
)

// load returns a zone that exists.
func load(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// read returns the stamp of a text that is one.
func read(t testing.TB, text string) stamp {
	t.Helper()
	s, problem := parseStamp(text)
	if problem != "" {
		t.Fatalf("%q %s", text, problem)
	}
	return s
}

func TestParseStamp(t *testing.T) {
	for text, want := range map[string]string{
		"2026-03-02":                "2026-03-02T00:00:00Z date",
		" 2026-03-02 ":              "2026-03-02T00:00:00Z date",
		"2024-02-29":                "2024-02-29T00:00:00Z date",
		"2026-03-02T14:30":          "2026-03-02T14:30:00Z",
		"2026-03-02 14:30:15":       "2026-03-02T14:30:15Z",
		"2026-03-02t14:30:15.999":   "2026-03-02T14:30:15Z",
		"2026-03-02T14:30:00Z":      "2026-03-02T14:30:00Z offset",
		"2026-03-02T14:30:00z":      "2026-03-02T14:30:00Z offset",
		"2026-03-02T14:30+05:30":    "2026-03-02T09:00:00Z offset",
		"2026-03-02T14:30:00-0800":  "2026-03-02T22:30:00Z offset",
		"2026-03-02T00:30:00+14:00": "2026-03-01T10:30:00Z offset",
	} {
		s := read(t, text)
		got := s.at.Format(time.RFC3339)
		if s.date {
			got += " date"
		}
		if s.offset {
			got += " offset"
		}
		if got != want {
			t.Errorf("%q is %s; want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                      "write a date",
		"tomorrow":              "write a date",
		"2026-3-2":              "write a date",
		"02/03/2026":            "write a date",
		"2026-03-02T14":         "write a date",
		"2026-02-29":            "exists",
		"2026-02-30T10:00":      "exists",
		"2026-03-02T25:00":      "exists",
		"2026-03-02T10:60:00Z":  "exists",
		"1899-12-31":            "from 1900 to 2199",
		"2200-01-01T00:00Z":     "from 1900 to 2199",
		strings.Repeat("9", 99): "999...",
	} {
		if s, problem := parseStamp(text); !strings.Contains(problem, want) {
			t.Errorf("%q is %v, %q; want a problem with %q", text, s.at, problem, want)
		}
	}
}

// TestClocks has local times on days on which clocks change.
func TestClocks(t *testing.T) {
	for _, test := range []struct {
		zone, text string
		want       string // the instant
		note       string // part of it; "" for none
		problem    string // part of it
	}{
		{"Europe/London", "2026-03-29T00:59", "2026-03-29T00:59:00Z", "", ""},
		{"Europe/London", "2026-03-29T01:00", "", "", "clocks go forward from 2026-03-29T01:00 to 2026-03-29T02:00; use 2026-03-29T00:59 or earlier, or 2026-03-29T02:00 or later"},
		{"Europe/London", "2026-03-29T01:59:59", "", "", "does not exist in Europe/London"},
		{"Europe/London", "2026-03-29T02:00", "2026-03-29T02:00:00+01:00", "", ""},
		{"Europe/London", "2026-10-25T00:59", "2026-10-25T00:59:00+01:00", "", ""},
		{"Europe/London", "2026-10-25T01:00", "2026-10-25T01:00:00+01:00", "The second is 2026-10-25T01:00:00Z", ""},
		{"Europe/London", "2026-10-25T01:59:59", "2026-10-25T01:59:59+01:00", "twice", ""},
		{"Europe/London", "2026-10-25T01:30Z", "2026-10-25T01:30:00Z", "", ""},
		{"Europe/London", "2026-10-25T02:00", "2026-10-25T02:00:00Z", "", ""},
		{"America/New_York", "2026-03-08T02:30", "", "", "2026-03-08T03:00 or later"},
		{"America/New_York", "2026-11-01T01:30", "2026-11-01T01:30:00-04:00", "01:30:00-05:00", ""},
		{"Australia/Lord_Howe", "2026-10-04T02:15", "", "", "from 2026-10-04T02:00 to 2026-10-04T02:30"},
		{"Australia/Lord_Howe", "2026-10-04T02:30", "2026-10-04T02:30:00+11:00", "", ""},
		{"Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-05T01:45:00+11:00", "01:45:00+10:30", ""},
		{"Australia/Lord_Howe", "2026-04-05T01:29", "2026-04-05T01:29:00+11:00", "", ""},
		{"Pacific/Apia", "2011-12-30T12:00", "", "", "from 2011-12-30T00:00 to 2011-12-31T00:00"},
		{"Pacific/Apia", "2011-12-29T23:59", "2011-12-29T23:59:00-10:00", "", ""},
		{"Pacific/Apia", "2011-12-31T00:00", "2011-12-31T00:00:00+14:00", "", ""},
		{"Africa/Casablanca", "2026-02-15T02:30", "2026-02-15T02:30:00+01:00", "02:30:00Z", ""},
		{"Africa/Casablanca", "2026-03-22T02:30", "", "", "2026-03-22T03:00 or later"},
		{"America/Sao_Paulo", "2018-11-04T00:30", "", "", "2018-11-03T23:59 or earlier"},
		{"America/Havana", "2026-11-01T00:30", "2026-11-01T00:30:00-04:00", "00:30:00-05:00", ""},
		{"Asia/Kathmandu", "2026-03-29T01:30", "2026-03-29T01:30:00+05:45", "", ""},
		{"Europe/London", "2026-07-01T11:35-07:00", "2026-07-01T19:35:00+01:00", "2026-07-01T11:35-07:00 is 2026-07-01T19:35 in Europe/London.", ""},
		{"Europe/London", "2026-07-01T19:35+01:00", "2026-07-01T19:35:00+01:00", "", ""},
		{"UTC", "2026-03-29T01:30", "2026-03-29T01:30:00Z", "", ""},
	} {
		at, note, problem := read(t, test.text).in(load(t, test.zone))
		switch {
		case test.problem != "":
			if !strings.Contains(problem, test.problem) {
				t.Errorf("%s in %s: problem %q; want one with %q", test.text, test.zone, problem, test.problem)
			}
		case problem != "" || wire(at) != test.want || !strings.Contains(note, test.note) || (note == "") != (test.note == ""):
			t.Errorf("%s in %s is %s, note %q, problem %q; want %s with %q", test.text, test.zone, wire(at), note, problem, test.want, test.note)
		}
	}
}

// TestInstantsArePreserved writes instants with all offsets and reads them in all zones: time with an offset is that instant
// wherever it is shown, and local time that is read again shows the same clock.
func TestInstantsArePreserved(t *testing.T) {
	var samples []time.Time
	for _, text := range []string{"1900-01-01T12:00:00Z", "1945-08-14T23:30:00Z", "1995-06-15T00:00:00Z", "2011-12-30T10:00:00Z", "2024-02-29T23:59:59Z",
		"2026-03-29T01:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2038-01-19T03:14:08Z", "2199-12-31T09:00:00Z"} {
		samples = append(samples, read(t, text).at)
	}
	for _, name := range strings.Fields(zoneNames) {
		loc := load(t, name)
		for _, at := range samples {
			for _, offset := range []int{-12 * 3600, -7 * 3600, -1800, 0, 20700, 14 * 3600} {
				text := at.In(time.FixedZone("", offset)).Format(time.RFC3339)
				s, problem := parseStamp(text)
				if problem != "" {
					t.Fatalf("%s %s", text, problem)
				}
				got, note, problem := s.in(loc)
				back, err := time.Parse(time.RFC3339, wire(got))
				if problem != "" || !got.Equal(at) || err != nil || !back.Equal(at) || got.Location() != loc {
					t.Fatalf("%s in %s is %v, sent as %s; %q %q", text, name, got, wire(got), note, problem)
				}
			}
			local := at.In(loc).Format("2006-01-02T15:04:05")
			if y := at.In(loc).Year(); y < minYear || y > maxYear {
				continue
			}
			got, note, problem := read(t, local).in(loc)
			if problem != "" || got.Format("2006-01-02T15:04:05") != local || note == "" && !got.Equal(at) || got.After(at) {
				t.Errorf("%s in %s is %v, want %v; %q %q", local, name, got, at, note, problem)
			}
		}
	}
}

func TestDays(t *testing.T) {
	for _, test := range []struct{ zone, date, start, end string }{
		{"UTC", "2026-03-02", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"},
		{"Europe/London", "2026-03-29", "2026-03-29T00:00:00Z", "2026-03-30T00:00:00+01:00"}, // 23 hours
		{"Europe/London", "2026-10-25", "2026-10-25T00:00:00+01:00", "2026-10-26T00:00:00Z"}, // 25 hours
		{"Australia/Lord_Howe", "2026-04-05", "2026-04-05T00:00:00+11:00", "2026-04-06T00:00:00+10:30"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}, // begins at one
		{"America/Sao_Paulo", "2018-11-03", "2018-11-03T00:00:00-03:00", "2018-11-04T01:00:00-02:00"},
		{"America/Sao_Paulo", "2018-02-17", "2018-02-17T00:00:00-02:00", "2018-02-18T00:00:00-03:00"}, // 23:00 comes twice
		{"America/Havana", "2026-10-31", "2026-10-31T00:00:00-04:00", "2026-11-01T00:00:00-04:00"},
		{"America/Havana", "2026-11-01", "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"},   // midnight comes twice
		{"America/St_Johns", "2010-11-06", "2010-11-06T00:00:00-02:30", "2010-11-07T00:00:00-03:30"}, // clocks go back over midnight
		{"America/St_Johns", "2010-11-07", "2010-11-07T00:00:00-02:30", "2010-11-08T00:00:00-03:30"},
		{"Pacific/Apia", "2011-12-29", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		{"Pacific/Apia", "2011-12-30", "2011-12-31T00:00:00+14:00", "2011-12-31T00:00:00+14:00"}, // there was none
		{"Africa/Cairo", "2024-02-29", "2024-02-29T00:00:00+02:00", "2024-03-01T00:00:00+02:00"},
	} {
		loc, s := load(t, test.zone), read(t, test.date)
		if start, end := wire(s.bound(loc, false)), wire(s.bound(loc, true)); start != test.start || end != test.end {
			t.Errorf("%s in %s is from %s to %s; want %s to %s", test.date, test.zone, start, end, test.start, test.end)
		}
	}
	// Bounds of a search are never rejected: one that does not exist is when clocks change.
	london := load(t, "Europe/London")
	for text, want := range map[string][2]string{
		"2026-03-29T01:30":     {"2026-03-29T02:00:00+01:00", "2026-03-29T02:00:00+01:00"},
		"2026-10-25T01:30":     {"2026-10-25T01:30:00+01:00", "2026-10-25T01:30:00Z"},
		"2026-06-01T09:00":     {"2026-06-01T09:00:00+01:00", "2026-06-01T09:00:00+01:00"},
		"2026-06-01T09:00:00Z": {"2026-06-01T10:00:00+01:00", "2026-06-01T10:00:00+01:00"},
	} {
		s := read(t, text)
		if got := [2]string{wire(s.bound(london, false)), wire(s.bound(london, true))}; got != want {
			t.Errorf("%s bounds %v; want %v", text, got, want)
		}
	}
}

// TestToday has the same instant on different dates.
func TestToday(t *testing.T) {
	now := time.Date(2026, 3, 29, 23, 30, 0, 0, time.UTC)
	for name, want := range map[string]string{"UTC": "2026-03-29", "Europe/London": "2026-03-30", "America/New_York": "2026-03-29",
		"Pacific/Kiritimati": "2026-03-30", "Pacific/Pago_Pago": "2026-03-29"} {
		if got := today(now, load(t, name)).Format(dateLayout); got != want {
			t.Errorf("today in %s is %s; want %s", name, got, want)
		}
	}
}

func TestZone(t *testing.T) {
	for _, name := range []string{"Europe/London", "europe/london", "EUROPE/LONDON"} {
		if loc := load(t, name); loc.String() != "Europe/London" {
			t.Errorf("%s is %v", name, loc)
		}
	}
	if loc := load(t, "utc"); loc != time.UTC {
		t.Errorf("utc is %v", loc)
	}
	for name, want := range map[string]string{
		"Europe/Londn":        "did you mean Europe/London?",
		"London":              "did you mean Europe/London?",
		"America/New York":    "did you mean America/New_York?",
		"New York":            "did you mean America/New_York?",
		"Europe/Tokyo":        "did you mean Asia/Tokyo?",
		"Mars/Olympus":        "use the zone of a city, such as Europe/London",
		"":                    "use the zone of a city, such as Europe/London",
		"Local":               "is no IANA time zone",
		"right/Europe/London": "is no IANA time zone",
		"../../etc/passwd":    "is no IANA time zone",
		"+02:00":              "is no IANA time zone",
	} {
		if loc, err := Zone(name); loc != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("zone %q is %v, %v; want a problem with %q", name, loc, err, want)
		}
	}
}

func TestParseSpan(t *testing.T) {
	london := load(t, "Europe/London")
	for _, test := range []struct{ start, end, want, length string }{
		{"2026-03-02T09:00", "2026-03-02T10:00", "Mon 2 Mar 2026 09:00–10:00 (Europe/London)", "1 h"},
		{"2026-03-02T23:30", "2026-03-03T00:15", "Mon 2 Mar 2026 23:30–Tue 3 Mar 2026 00:15 (Europe/London)", "45 min"},
		{"2026-07-01T11:35-07:00", "2026-07-01T12:00-07:00", "Wed 1 Jul 2026 19:35–20:00 (Europe/London)", "25 min"},
		{"2026-03-29T00:30", "2026-03-29T02:30", "Sun 29 Mar 2026 00:30 GMT–02:30 BST (Europe/London)", "1 h"},
		{"2026-10-25T00:30", "2026-10-25T02:30", "Sun 25 Oct 2026 00:30 BST–02:30 GMT (Europe/London)", "3 h"},
		{"2026-10-25T01:30", "2026-10-25T01:30Z", "Sun 25 Oct 2026 01:30 BST–01:30 GMT (Europe/London)", "1 h"},
		{"2026-03-02", "2026-03-02", "Mon 2 Mar 2026 (all day)", "1 day"},
		{"2028-02-28", "2028-03-01", "Mon 28 Feb 2028 – Wed 1 Mar 2028 (all day)", "3 days"},
		{"2026-03-02T09:00", "2026-03-05T10:30", "Mon 2 Mar 2026 09:00–Thu 5 Mar 2026 10:30 (Europe/London)", "3 days 1 h 30 min"},
	} {
		p, bad := parseSpan(updateName, read(t, test.start), read(t, test.end), london)
		if bad != nil || p.String() != test.want || p.length() != test.length {
			t.Errorf("%s to %s: %v, %s, %s; want %s, %s", test.start, test.end, bad, p, p.length(), test.want, test.length)
		}
	}
	for _, test := range []struct{ start, end, field, want string }{
		{"2026-03-02", "2026-03-02T10:00", "end", "must be a date"},
		{"2026-03-02T10:00", "2026-03-02", "end", "must be a time"},
		{"2026-03-02", "2026-03-01", "end", "last day"},
		{"2026-03-02T10:00", "2026-03-02T10:00", "end", "must be after start"},
		{"2026-03-02T10:00Z", "2026-03-02T10:30+01:00", "end", "must be after start"},
		{"2026-03-29T01:30", "2026-03-29T03:00", "start", "does not exist"},
		{"2026-03-29T00:30", "2026-03-29T01:30", "end", "does not exist"},
	} {
		_, bad := parseSpan(updateName, read(t, test.start), read(t, test.end), london)
		if bad == nil || !strings.Contains(bad.Error(), test.field+" ") || !strings.Contains(bad.Error(), test.want) {
			t.Errorf("%s to %s: %v; want %s %s", test.start, test.end, bad, test.field, test.want)
		}
	}
	fixed := span{start: time.Date(2026, 3, 2, 9, 0, 0, 0, time.FixedZone("", -7*3600)), end: time.Date(2026, 3, 2, 9, 30, 0, 0, time.FixedZone("", -7*3600))}
	if got, want := fixed.String(), "Mon 2 Mar 2026 09:00–09:30 (UTC-07:00)"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// FuzzWhen reads any text in any zone: what is accepted is sent as the instant that it is.
func FuzzWhen(f *testing.F) {
	for _, text := range []string{"2026-03-02", "2026-03-29T01:30", "2026-10-25 01:30:00", "2011-12-30T12:00", "2026-03-02T14:30:00.5-0800", "1900-01-01T00:00:00+23:59"} {
		f.Add(text, "Europe/London")
		f.Add(text, "Pacific/Apia")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		loc, err := Zone(name)
		if (loc == nil) == (err == nil) {
			t.Fatalf("%q: %v, %v", name, loc, err)
		}
		s, wrong := parseStamp(text)
		if loc == nil || wrong != "" {
			return
		}
		if low, high := s.bound(loc, false), s.bound(loc, true); high.Before(low) {
			t.Errorf("%q in %s begins at %v and ends at %v", text, name, low, high)
		}
		if s.date {
			return
		}
		at, note, problem := s.in(loc)
		if problem != "" {
			if s.offset {
				t.Errorf("%q in %s %s", text, name, problem)
			}
			return
		}
		sent, err := time.Parse(time.RFC3339, wire(at))
		if err != nil || !sent.Equal(at) {
			t.Errorf("%q in %s is %v, sent as %s", text, name, at, wire(at))
		}
		const clock = "2006-01-02T15:04:05"
		if s.offset && !at.Equal(s.at) || !s.offset && at.Format(clock) != s.at.Format(clock) {
			t.Errorf("%q in %s is %v; %s", text, name, at, note)
		}
	})
}
