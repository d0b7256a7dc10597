package domain

import (
	"maps"
	"testing"
)

func TestMatchTemplate(t *testing.T) {
	for _, test := range []struct {
		template, uri string
		want          map[string]string // nil for no match
	}{
		{"file:///{path}", "file:///a/b.txt", map[string]string{"path": "a/b.txt"}},
		{"file:///{path}", "file:///a%2Fb%20c", map[string]string{"path": "a/b c"}},
		{"file:///{+path}", "file:////etc/x", map[string]string{"path": "/etc/x"}},
		{"file:///{path}", "file:///", nil},
		{"file:///{path}", "http:///a", nil},
		{"file:///{path}", "file:///%zz", nil},
		{"a:{id}/data", "a:1/data", map[string]string{"id": "1"}},
		{"a:{id}/data", "a:1/data/data", map[string]string{"id": "1/data"}},
		{"a:{id}/data", "a:1/data/", nil},
		{"a:{x}-{y}", "a:1-2", map[string]string{"x": "1", "y": "2"}},
		{"a:{x", "a:1", nil},
		{"plain", "plain", map[string]string{}},
		{"plain", "plainer", nil},
	} {
		got, ok := matchTemplate(test.template, test.uri)
		if ok != (test.want != nil) || !maps.Equal(got, test.want) && ok {
			t.Errorf("%s with %s: %v %v; want %v", test.template, test.uri, got, ok, test.want)
		}
	}
}

func FuzzMatchTemplate(f *testing.F) {
	f.Add("file:///{path}", "file:///a%2Fb")
	f.Add("a:{x}-{y}", "a:1-2")
	f.Fuzz(func(t *testing.T, template, uri string) {
		if vars, ok := matchTemplate(template, uri); ok && len(vars) == 0 && template != uri {
			t.Errorf("%q matches %q with nothing", template, uri)
		}
	})
}
