package identity

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestHostileTokens presents tokens of which one thing is wrong, each twice.
func TestHostileTokens(t *testing.T) {
	strict, lax := newWorld(t, DefaultSettings(), Issuer{}), newWorld(t, DefaultSettings(), Issuer{AcceptUntyped: true})
	now := time.Now().Unix()
	const at = `{"alg":"RS256","typ":"at+jwt","kid":"r"}`
	signed := func(alg, header string, replaced ...string) func(*world) string {
		return func(w *world) string { return w.keyring.sign(t, alg, header, w.payload(replaced...)) }
	}
	claims := func(replaced ...string) func(*world) string { return signed("RS256", at, replaced...) }
	edited := func(edit func(string) string) func(*world) string {
		return func(w *world) string { return edit(w.token(t)) }
	}
	untyped := func(replaced ...string) func(*world) string {
		return signed("RS256", `{"alg":"RS256","typ":"JWT","kid":"r"}`, replaced...)
	}
	for _, test := range []struct {
		name   string
		make   func(*world) string
		strict string // why it is refused; empty if it is accepted
		lax    string // the same where other types are accepted; "=" for the same
	}{
		{"RS256", claims(), "", "="},
		{"ES256", signed("ES256", `{"alg":"ES256","typ":"at+jwt","kid":"e"}`), "", "="},
		{"EdDSA", signed("EdDSA", `{"alg":"EdDSA","typ":"application/at+jwt","kid":"d"}`), "", "="},
		{"no key ID", signed("RS256", `{"alg":"RS256","typ":"at+jwt"}`), "", "="},
		{"several audiences", claims(`"aud":["https://else.example.com","` + resource + `"]`), "", "="},
		{"alg none", signed("", `{"alg":"none","typ":"at+jwt"}`), "asymmetric", "="},
		{"HS256 with the public key", signed("HS256", `{"alg":"HS256","typ":"at+jwt","kid":"r"}`), "asymmetric", "="},
		{"another algorithm than the key's", signed("RS256", `{"alg":"ES256","typ":"at+jwt","kid":"r"}`), "signature is wrong", "="},
		{"a key of another kind", signed("ES256", `{"alg":"ES256","typ":"at+jwt","kid":"r"}`), "signature is wrong", "="},
		{"DER", signed("DER", `{"alg":"ES256","typ":"at+jwt","kid":"e"}`), "signature is wrong", "="},
		{"a weak key", signed("weak", `{"alg":"RS256","typ":"at+jwt","kid":"w"}`), "has the key that it names", "="},
		{"a key for encryption", signed("RS256", `{"alg":"RS256","typ":"at+jwt","kid":"enc"}`), "has the key that it names", "="},
		{"an unknown key", signed("RS256", `{"alg":"RS256","typ":"at+jwt","kid":"x"}`), "has the key that it names", "="},
		{"unknown crit", signed("RS256", `{"alg":"RS256","typ":"at+jwt","kid":"r","crit":["x"],"x":1}`), "signature is wrong", "="},
		{"crit b64", signed("RS256", `{"alg":"RS256","typ":"at+jwt","kid":"r","crit":["b64"],"b64":false}`), "signature is wrong", "="},
		{"an embedded key", signed("weak", `{"alg":"RS256","typ":"at+jwt","jwk":{"kty":"RSA","e":"AQAB","n":"`+strings.Repeat("A", 342)+`"}}`), "any", "any"},
		{"jku", signed("weak", `{"alg":"RS256","typ":"at+jwt","jku":"https://evil.example.com/jwks"}`), "signature is wrong", "="},
		{"x5u", signed("weak", `{"alg":"RS256","typ":"at+jwt","x5u":"https://evil.example.com/cert"}`), "signature is wrong", "="},
		{"an ID token", untyped(`"nonce":"n"`), "typ is", "ID token"},
		{"an ID token of a code flow", untyped(`"at_hash":"h"`), "typ is", "ID token"},
		{"untyped", untyped(), "typ is", ""},
		{"no type", signed("RS256", `{"alg":"RS256","kid":"r"}`), "typ is", ""},
		{"untyped without scope and client", untyped(`"scope":`, `"client_id":`), "typ is", "may be an ID token"},
		{"an assertion of an identity provider", signed("RS256", `{"alg":"RS256","typ":"oauth-id-jag+jwt","kid":"r"}`), "no access token", "="},
		{"a logout token", signed("RS256", `{"alg":"RS256","typ":"logout+jwt","kid":"r"}`), "no access token", "="},
		{"no exp", claims(`"exp":`), "no exp", "="},
		{"exp null", claims(`"exp":null`), "no exp", "="},
		{"expired", claims(fmt.Sprintf(`"exp":%d`, now-61)), "expired", "="},
		{"expired, within the leeway", claims(fmt.Sprintf(`"exp":%d`, now-30)), "", "="},
		{"exp as a text", claims(fmt.Sprintf(`"exp":"%d"`, now+300)), "cannot be read", "="},
		{"exp that overflows", claims(`"exp":1e400`), "cannot be read", "="},
		{"exp far away", claims(`"exp":99999999999999999999`), "cannot be read", "="},
		{"nbf ahead", claims(fmt.Sprintf(`"nbf":%d`, now+3600)), "not valid before", "="},
		{"iat ahead", claims(fmt.Sprintf(`"iat":%d`, now+3600)), "in the future", "="},
		{"another issuer", claims(`"iss":"https://evil.example.com"`), "auth.issuers has", "="},
		{"an issuer with a slash", func(w *world) string { return w.token(t, `"iss":"`+w.URL+`/"`) }, "auth.issuers has", "="},
		{"no issuer", claims(`"iss":`), "auth.issuers has", "="},
		{"another audience", claims(`"aud":"https://else.example.com"`), "aud is", "="},
		{"an audience that ours begins with", claims(`"aud":"https://mcp.example.com"`), "aud is", "="},
		{"an audience that begins with ours", claims(`"aud":"` + resource + `/x"`), "aud is", "="},
		{"no audience", claims(`"aud":`), "aud is", "="},
		{"AUD", claims(`"aud":`, `"AUD":"`+resource+`"`), "aud is", "="},
		{"aud twice", claims(`"aud":"https://else.example.com","aud":"` + resource + `"`), "cannot be read", "="},
		{"aud as an object", claims(`"aud":{"a":"` + resource + `"}`), "cannot be read", "="},
		{"no subject", claims(`"sub":`), "sub is", "="},
		{"an empty subject", claims(`"sub":""`), "sub is", "="},
		{"a subject of two lines", claims(`"sub":"a\nb"`), "sub is", "="},
		{"a subject as a number", claims(`"sub":1`), "cannot be read", "="},
		{"a long subject", claims(`"sub":"` + strings.Repeat("a", 256) + `"`), "sub is", "="},
		{"a line break in the signature", edited(func(s string) string { return s[:len(s)-10] + "\n" + s[len(s)-10:] }), "form of a JWT", "="},
		{"padding", edited(func(s string) string { return s + "=" }), "form of a JWT", "="},
		{"a fourth part", edited(func(s string) string { return s + ".x" }), "form of a JWT", "="},
		{"no signature", edited(func(s string) string { return s[:strings.LastIndex(s, ".")+1] }), "signature is wrong", "="},
		{"another signature", edited(func(s string) string { return s[:strings.LastIndex(s, ".")+1] + strings.Repeat("A", 342) }), "signature is wrong", "="},
		{"another payload", edited(func(s string) string {
			parts := strings.Split(s, ".")
			return parts[0] + "." + encode([]byte(`{"sub":"root"}`)) + "." + parts[2]
		}), "auth.issuers has", "="},
		{"data after the claims", func(w *world) string { return w.keyring.sign(t, "RS256", at, w.payload()+"{}") }, "cannot be read", "="},
		{"claims that are no object", func(w *world) string { return w.keyring.sign(t, "RS256", at, `["a"]`) }, "cannot be read", "="},
		{"too long", claims(`"x":"` + strings.Repeat("x", 17<<10) + `"`), "more than", "="},
		{"nothing", func(*world) string { return "" }, "form of a JWT", "="},
		{"dots", func(*world) string { return ".." }, "any", "="},
	} {
		if test.lax == "=" {
			test.lax = test.strict
		}
		for world, want := range map[*world]string{strict: test.strict, lax: test.lax} {
			token := test.make(world)
			for range 2 {
				p, err := world.verifier.Principal(token, &Shown{})
				refused, isRefused := errors.AsType[*Refusal](err)
				switch {
				case want == "" && (err != nil || p.ID != world.URL+"#alice"):
					t.Errorf("%s: %v, %+v", test.name, err, p)
				case want != "" && (!isRefused || p.ID != "" || want != "any" && !strings.Contains(refused.Error(), want)):
					t.Errorf("%s: %v, want %q", test.name, err, want)
				case isRefused && (strings.Contains(refused.Reason, "aud") || len(refused.Error()) > 600):
					t.Errorf("%s: says %q to strangers, and %q", test.name, refused.Reason, refused.Error())
				}
			}
		}
	}
	if n := strict.asked.Load(); n != 1 {
		t.Errorf("the keys were asked for %d times", n)
	}
}

// TestClaims has claims of several providers become principals.
func TestClaims(t *testing.T) {
	settings := DefaultSettings()
	settings.Implies = map[string][]string{"mcp:execute": {"mcp:write"}, "mcp:write": {"mcp:read", "mcp:execute"}}
	for _, test := range []struct {
		issuer Issuer
		claims []string
		groups []string
		scopes []string
		name   string
		level  string
	}{
		{Issuer{}, []string{`"groups":["eng","ops"]`, `"roles":"admin"`, `"email":"a@example.com"`}, []string{"eng", "ops", "admin"}, []string{"mcp:read"}, "a@example.com", ""},
		{Issuer{GroupPrefix: "kc", GroupsFrom: []string{"realm_access.roles", "resource_access.my.app.roles", "missing.x"}},
			[]string{`"realm_access":{"roles":["/eng"]}`, `"resource_access":{"my.app":{"roles":["x"]}}`, `"preferred_username":"ann"`}, []string{"kc/eng", "kcx"}, []string{"mcp:read"}, "ann", ""},
		{Issuer{GroupsFrom: []string{"https://example.com/groups"}, LevelFrom: "clearance", Level: "public"},
			[]string{`"https://example.com/groups":["a",1,null,"b"]`, `"groups":["no"]`, `"clearance":"secret"`}, []string{"a", "b"}, []string{"mcp:read"}, "alice", "secret"},
		{Issuer{Level: "public", LevelFrom: "clearance"}, []string{`"scope":`, `"groups":{"a":1}`, `"clearance":7`}, nil, nil, "alice", "public"},
		{Issuer{AcceptUntyped: true}, []string{`"scope":`, `"scp":["mcp:execute","b"]`, `"name":"A\nB"`}, nil, []string{"mcp:execute", "b", "mcp:write", "mcp:read"}, "", ""},
	} {
		w := newWorld(t, settings, test.issuer)
		p, err := w.verifier.Principal(w.token(t, test.claims...), &Shown{})
		if err != nil || !p.Scoped || !reflect.DeepEqual(p.Groups, test.groups) || !reflect.DeepEqual(p.Scopes, test.scopes) ||
			test.name != "" && p.Name != test.name || p.ComplianceLevel != test.level || strings.Contains(p.Name, "\n") {
			t.Errorf("%v: %+v, %v", test.claims, p, err)
		}
	}
}

// TestKeys has an authorization server change its keys, flooded with unknown ones, and down for a day.
func TestKeys(t *testing.T) {
	w := newWorld(t, Settings{Leeway: 48 * time.Hour}, Issuer{})
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	pass := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	w.verifier.now, w.verifier.issuers[0].keys.now = clock, clock
	old, fresh := w.token(t), w.keyring.sign(t, "RS256", `{"alg":"RS256","typ":"at+jwt","kid":"r2"}`, w.payload())
	later := func(err error) bool { _, yes := errors.AsType[*unavailable](err); return yes }
	is := func(token string, good bool) {
		t.Helper()
		if _, err := w.verifier.Principal(token, &Shown{}); (err == nil) != good || later(err) {
			t.Errorf("%v, want %t", err, good)
		}
	}
	w.down.Store(true)
	if _, err := w.verifier.Principal(old, &Shown{}); !later(err) || w.verifier.Ready() == nil {
		t.Errorf("while there are no keys: %v", err)
	}
	w.down.Store(false)
	pass(askPause)
	is(old, true)
	if err := w.verifier.Ready(); err != nil {
		t.Error(err)
	}
	w.publish("r2", "e", "d")
	is(fresh, false) // the keys have just come
	pass(askPause)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { is(fresh, true) })
	}
	all.Wait()
	is(old, false)
	before := w.asked.Load()
	for i := range 1000 {
		is(w.keyring.sign(t, "EdDSA", fmt.Sprintf(`{"alg":"EdDSA","typ":"at+jwt","kid":"x%d"}`, i), w.payload()), false)
	}
	if n := w.asked.Load() - before; n > 1 {
		t.Errorf("unknown keys have had the server asked %d times", n)
	}
	w.down.Store(true)
	pass(lastUse - time.Hour)
	is(fresh, true)
	is(old, false)
	pass(2 * time.Hour)
	is(fresh, false)
	w.down.Store(false)
	pass(askPause)
	is(fresh, true)
}

// TestSameNames has two issuers call their people the same: they are two.
func TestSameNames(t *testing.T) {
	a, b := newWorld(t, DefaultSettings(), Issuer{}), newWorld(t, DefaultSettings(), Issuer{})
	p, err := a.verifier.Principal(a.token(t), &Shown{})
	q, err2 := b.verifier.Principal(b.token(t), &Shown{})
	if err != nil || err2 != nil || p.ID == q.ID || !a.verifier.Knows(p.ID) || a.verifier.Knows(q.ID) || a.verifier.Knows("token:alice") {
		t.Errorf("%v %v: %q, %q", err, err2, p.ID, q.ID)
	}
	if _, err := a.verifier.Principal(b.token(t), &Shown{}); err == nil {
		t.Error("a token of another issuer")
	}
}

// FuzzPrincipal presents anything.
func FuzzPrincipal(f *testing.F) {
	w := newWorld(f, DefaultSettings(), Issuer{AcceptUntyped: true})
	f.Add(w.token(f))
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, token string) {
		if p, err := w.verifier.Principal(token, &Shown{}); (err == nil) != (p.ID == w.URL+"#alice") {
			t.Errorf("%q: %+v, %v", token, p, err)
		}
	})
}

func BenchmarkPrincipal(b *testing.B) {
	w := newWorld(b, DefaultSettings(), Issuer{})
	for name, token := range map[string]string{
		"known": w.token(b), "RS256": w.token(b, `"x":1`), "ES256": w.keyring.sign(b, "ES256", `{"alg":"ES256","typ":"at+jwt","kid":"e"}`, w.payload()),
		"form": "garbage", "unknown key": w.keyring.sign(b, "EdDSA", `{"alg":"EdDSA","typ":"at+jwt","kid":"x"}`, w.payload()),
	} {
		b.Run(name, func(b *testing.B) {
			if w.verifier.verified.MaxEntries = maxVerified; name != "known" {
				w.verifier.settings.CacheTTL = 0
			} else {
				w.verifier.settings.CacheTTL = time.Minute
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = w.verifier.Principal(token, &Shown{})
			}
		})
	}
}
