package oauth

import (
	"net/http"
	"reflect"
	"testing"
)

func TestChallenge(t *testing.T) {
	for _, test := range []struct {
		name    string
		headers []string
		want    challenge
		ok      bool
	}{
		{"none", nil, challenge{}, false},
		{"another scheme", []string{`Basic realm="x, Bearer y"`}, challenge{}, false},
		{"nothing but the scheme", []string{"Bearer"}, challenge{}, true},
		{"all", []string{`Bearer realm="m", error="insufficient_scope", scope="a \"b\",", error_description="b", resource_metadata="https://m.example/p"`},
			challenge{"insufficient_scope", []string{"a", `"b",`}, "https://m.example/p", false}, true},
		{"case and spaces", []string{`bEARER  SCOPE = "a" ,Error=invalid_token`}, challenge{Error: "invalid_token", Scopes: []string{"a"}}, true},
		{"no quotes", []string{`Bearer resource_metadata=https://m.example/p?x=y, scope=a`}, challenge{Scopes: []string{"a"}, Metadata: "https://m.example/p?x=y"}, true},
		{"after another", []string{`Negotiate abc==, Digest realm="x", nonce="y", Bearer scope="a"`}, challenge{Scopes: []string{"a"}}, true},
		{"in another header", []string{`Digest algs="ES256"`, `Bearer scope="a"`}, challenge{Scopes: []string{"a"}}, true},
		{"the stronger", []string{`Bearer scope="a"`, `DPoP scope="b", algs="ES256", DPoP scope="c"`}, challenge{Scopes: []string{"b"}, Binds: true}, true},
		{"the first of two", []string{`Bearer scope="a", scope="b", Bearer scope="c"`}, challenge{Scopes: []string{"a"}}, true},
		{"no end", []string{`Bearer scope="a`}, challenge{Scopes: []string{"a"}}, true},
		{"no text", []string{`,, ,`}, challenge{}, false},
		{"odd characters", []string{"\x00Bearer scope=a"}, challenge{}, false},
	} {
		got, ok := challengeOf(http.Header{"Www-Authenticate": test.headers})
		if len(got.Scopes) == 0 {
			got.Scopes = nil
		}
		if ok != test.ok || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, %v", test.name, got, ok)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{`Bearer a="b", c=d`, `Basic, Bearer x`, `Bearer "`, `Bearer a="\`, `=`} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		challengeOf(http.Header{"Www-Authenticate": {text}})
	})
}
