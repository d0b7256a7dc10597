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
		{"r://{owner}/{repo}/contents{/path*}", "r://o/r/contents/src/a.go", map[string]string{"owner": "o", "repo": "r"}},
		{"r://{owner}/{repo}/contents{/path*}", "r://o/r/contents", map[string]string{"owner": "o", "repo": "r"}},
		{"r://{owner}/{repo}/contents{/path*}", "r://o/contents", nil},
		{"i:{id}{?q,r}", "i:7", map[string]string{"id": "7"}},
		{"i:{id}{?q,r}", "i:7?r=%20x&q=1", map[string]string{"id": "7"}},
		{"s:q{?text,limit}", "s:q?limit=3", map[string]string{}},
		{"s:q{?text,limit}", "s:q?other=3", nil},
		{"s:q{?all*}", "s:q?a=1&b", map[string]string{}},
		{"s:q?fixed=1{&more}", "s:q?fixed=1&more=2", map[string]string{}},
		{"s:q?fixed=1{&more}", "s:q?fixed=1", map[string]string{}},
		{"s:{a}{b}", "s:xy", map[string]string{"a": "x", "b": "y"}},
		{"s:{a,b}", "s:x,y", map[string]string{}},
		{"s:{+path}{?depth}", "s:/a/b?depth=2", map[string]string{"path": "/a/b"}},
		{"s:{name}{.ext}", "s:a.tar", map[string]string{"name": "a.tar"}},
		{"s:{name}{#part}", "s:a#b/c", map[string]string{"name": "a"}},
		{"s:x{;k,list*}", "s:x;k=1;other", map[string]string{}},
		{"s:x{;k}", "s:x;k=1;l=2", nil},
		{"s:{v:3}/{v}", "s:abc/abcdef", map[string]string{"v": "abcdef"}},
		{"s:{a}/x/{b}/x/{c}", "s:1/x/2/x/3/x/4", map[string]string{"a": "1", "b": "2", "c": "3/x/4"}},
		{"plain", "plain", map[string]string{}},
		{"plain", "plainer", nil},
	} {
		got, ok := matchTemplate(test.template, test.uri, new(int(matchBudget)))
		if ok != (test.want != nil) || !maps.Equal(got, test.want) && ok {
			t.Errorf("%s with %s: %v %v; want %v", test.template, test.uri, got, ok, test.want)
		}
	}
}

func FuzzMatchTemplate(f *testing.F) {
	f.Add("file:///{path}", "file:///a%2Fb")
	f.Add("a:{x}-{y}", "a:1-2")
	f.Add("a:{x}{/y*}{?z,u}{&v}{;w}{#p}{.e}{+s}", "a:1/2?z=3")
	f.Fuzz(func(t *testing.T, template, uri string) {
		budget := matchBudget
		if vars, ok := matchTemplate(template, uri, &budget); ok && len(vars) == 0 && template != uri && !expressions().MatchString(template) {
			t.Errorf("%q matches %q with nothing", template, uri)
		}
	})
}
