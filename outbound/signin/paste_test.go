package signin

import "testing"

func FuzzParseRedirect(f *testing.F) {
	for _, seed := range []string{"", "http://127.0.0.1:5/callback?state=a&code=b", "<http://[::1]:5/callback?state=a&error=b>", "https://h/callback?state=%zz", "4/0AbC", "http://x/callback?state=a&code=b#c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseRedirect(text)
		if err == nil && (a.state == "" || (a.Code == "") == (a.Refused == "") || len(a.Code) > MaxCode) {
			t.Errorf("%q is accepted as %+v", text, a)
		}
		if err != nil && !PasteAgain(err) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
