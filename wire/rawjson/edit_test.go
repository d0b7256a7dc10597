package rawjson

import "testing"

func TestEdit(t *testing.T) {
	for _, test := range []struct{ data, member, value, with, without string }{
		{`{}`, "a", `1`, `{"a":1}`, `{}`},
		{`{"a":1}`, "a", `{"b":[]}`, `{"a":{"b":[]}}`, `{}`},
		{` { "b" : 1.50 , "a" : 2, "c":"\u00e9" } `, "a", `3`, `{"b":1.50,"a":3,"c":"\u00e9"}`, `{"b":1.50,"c":"\u00e9"}`},
		{`{"a":1,"b":2,"a":3}`, "a", `4`, `{"a":4,"b":2}`, `{"b":2}`},
		{`{"\u0061":1}`, "a", `2`, `{"a":2}`, `{}`},
		{`{"b":1}`, "a\"", `null`, `{"b":1,"a\"":null}`, `{"b":1}`},
		{`[1]`, "a", `2`, `[1]`, `[1]`},
		{`{"a":`, "a", `2`, `{"a":`, `{"a":`},
	} {
		if got := string(With([]byte(test.data), test.member, []byte(test.value))); got != test.with {
			t.Errorf("%s with %s: %s; want %s", test.data, test.member, got, test.with)
		}
		if got := string(Without([]byte(test.data), test.member)); got != test.without {
			t.Errorf("%s without %s: %s; want %s", test.data, test.member, got, test.without)
		}
	}
}
