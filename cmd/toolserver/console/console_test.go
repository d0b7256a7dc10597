package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/toolserver/toolserver/approval"
	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/sandbox"
)

// desk is a console, and a browser that nobody has signed in with.
type desk struct {
	*Console
	t      *testing.T
	dir    string
	ran    [][]string
	says   string
	fails  error
	cookie *http.Cookie
}

func opened(t *testing.T, dir string) *desk {
	t.Helper()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: dir, says: "{}"}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	d.Console, err = New(Options{
		Run: func(_ context.Context, args ...string) ([]byte, error) {
			d.ran = append(d.ran, args)
			return []byte(d.says), d.fails
		},
		Record: func() (*os.Root, error) { return os.OpenRoot(dir) }, Sockets: func() (*os.Root, error) { return nil, os.ErrNotExist },
		Desk: approval.Open(sandbox.NewState(dir, "approvals").Directory, nil), State: sandbox.NewState(dir, "console"), User: "user:local",
	}, l)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// send sends a request as a browser does that shows the console, unless change says otherwise.
func (d *desk) send(method, path string, form url.Values, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+d.door.host+d.door.path+path, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://"+d.door.host)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if d.cookie != nil {
		r.AddCookie(d.cookie)
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// enter signs in by a one-time address.
func (d *desk) enter() {
	d.t.Helper()
	w := d.send("GET", strings.TrimPrefix(d.Address(), "http://"+d.door.host+d.door.path), nil, nil)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusOK || len(cookies) != 1 {
		d.t.Fatalf("%d %s", w.Code, w.Body)
	}
	if d.cookie = cookies[0]; !d.cookie.HttpOnly || d.cookie.SameSite != http.SameSiteStrictMode || d.cookie.Path != d.door.path || len(d.cookie.Path) < 10 {
		d.t.Errorf("the cookie is %v", d.cookie)
	}
}

// posts are all that can be done.
var posts = []string{"cancel", "approvals/abcdefghij", "upstreams/approve", "people/new", "people/rotate", "people/revoke", "clients/install", "sign-out"}

var pages = []string{"", "approvals", "policy", "upstreams", "people", "usage", "audit", "clients", "call/x"}

// TestDoor tries to get in, and to have a browser that is in do something for a page of others.
func TestDoor(t *testing.T) {
	d := opened(t, t.TempDir())
	for _, path := range append(pages, "events", "sign-in", "back") {
		if w := d.send("GET", path, nil, nil); w.Code != http.StatusUnauthorized && path != "call/x" || strings.Contains(w.Body.String(), "<nav") {
			t.Errorf("%q without a sign-in: %d", path, w.Code)
		}
	}
	for _, path := range posts {
		if w := d.send("POST", path, nil, nil); w.Code != http.StatusUnauthorized {
			t.Errorf("%q without a sign-in: %d", path, w.Code)
		}
	}
	address := d.Address()
	d.enter()
	used := strings.TrimPrefix(d.Address(), "http://"+d.door.host+d.door.path)
	for i, want := range []int{http.StatusOK, http.StatusForbidden} {
		if w := d.send("GET", used, nil, nil); w.Code != want {
			t.Errorf("a one-time address, time %d: %d", i+1, w.Code)
		}
	}
	for _, forged := range []string{"", "x", d.cookie.Value + "0", strings.Replace(d.cookie.Value, ".", ".x", 1), "9999999999." + strings.SplitN(d.cookie.Value, ".", 2)[1]} {
		if w := d.send("GET", "", nil, func(r *http.Request) { r.Header.Set("Cookie", cookieName+"="+forged) }); w.Code != http.StatusUnauthorized {
			t.Errorf("with the cookie %q: %d", forged, w.Code)
		}
	}
	for name, change := range map[string]func(*http.Request){
		"a name that leads here (DNS rebinding)": func(r *http.Request) { r.Host = "evil.example:" + strings.Split(d.door.host, ":")[1] },
		"another port":                           func(r *http.Request) { r.Host = "127.0.0.1:1" },
		"no host":                                func(r *http.Request) { r.Host = "" },
	} {
		if w := d.send("GET", "", nil, change); w.Code != http.StatusForbidden {
			t.Errorf("with %s: %d", name, w.Code)
		}
	}
	d.ran = nil
	for name, change := range map[string]func(*http.Request){
		"another origin": func(r *http.Request) {
			r.Header.Set("Origin", "https://evil.example")
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		},
		"another port of the same host": func(r *http.Request) {
			r.Header.Set("Origin", "http://127.0.0.1:1")
			r.Header.Set("Sec-Fetch-Site", "same-site")
		},
		"no origin (sandboxed frame)": func(r *http.Request) { r.Header.Set("Origin", "null"); r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"an old browser":              func(r *http.Request) { r.Header.Set("Origin", "http://evil.example"); r.Header.Del("Sec-Fetch-Site") },
	} {
		for _, path := range posts {
			if w := d.send("POST", path, url.Values{"name": {"x"}, "server": {"x"}, "tool": {"x"}}, change); w.Code != http.StatusForbidden {
				t.Errorf("%s of %s: %d", path, name, w.Code)
			}
		}
	}
	if len(d.ran) > 0 {
		t.Errorf("ran %v", d.ran)
	}
	if w := d.send("GET", "", nil, nil); w.Code != http.StatusOK {
		t.Errorf("in: %d", w.Code)
	} else {
		csp := w.Header().Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("the policy %q has no %s", csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") || w.Header().Get("X-Frame-Options") != "DENY" || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("headers %v", w.Header())
		}
	}
	again := opened(t, d.dir) // after a restart
	again.cookie = d.cookie
	if w := again.send("GET", "", nil, nil); w.Code != http.StatusOK {
		t.Errorf("after a restart: %d", w.Code)
	}
	if w := again.send("GET", "in/"+address[strings.LastIndex(address, "/")+1:], nil, nil); w.Code != http.StatusForbidden {
		t.Errorf("an address of before the restart: %d", w.Code)
	}
	streaming := make(chan struct{})
	go func() {
		defer close(streaming)
		again.send("GET", "events", nil, nil)
	}()
	if w := d.send("POST", "sign-out", nil, nil); w.Code != http.StatusOK {
		t.Errorf("sign-out: %d", w.Code)
	}
	for _, both := range []*desk{d, again} {
		if w := both.send("GET", "", nil, nil); w.Code != http.StatusUnauthorized {
			t.Errorf("after signing out: %d", w.Code)
		}
	}
	select {
	case <-streaming:
	case <-time.After(10 * time.Second):
		t.Error("what happens is still told after signing out")
	}
}

// TestAddresses checks that addresses end, and that only so many wait.
func TestAddresses(t *testing.T) {
	d := opened(t, t.TempDir())
	first := d.Address()
	for range maxAddrs {
		d.Address()
	}
	token := func(address string) string { return address[strings.LastIndex(address, "/")+1:] }
	if d.door.redeem(token(first)) || !d.door.redeem(token(d.Address())) {
		t.Error("the oldest address is good, or the newest is not")
	}
	late := d.Address()
	d.door.mu.Lock()
	for digest := range d.door.opened {
		d.door.opened[digest] = time.Now().Add(-time.Second)
	}
	d.door.mu.Unlock()
	if d.door.redeem(token(late)) {
		t.Error("an address that has ended is good")
	}
}

// TestDefaultPort checks that browsers reach a console on the port that they leave out of the host, and only there.
func TestDefaultPort(t *testing.T) {
	for own, want := range map[string]map[string]bool{
		"127.0.0.1:80":   {"127.0.0.1": true, "localhost": true, "127.0.0.1:80": true, "[::1]": false, "evil.example": false, "": false, "127.0.0.1:": false},
		"[::1]:80":       {"[::1]": true, "localhost": true, "127.0.0.1": false, "::1": false},
		"127.0.0.1:8081": {"127.0.0.1": false, "localhost": false, "127.0.0.1:80": false},
	} {
		d := &door{host: own}
		for host, ok := range want {
			if err := d.wrongHost(&http.Request{Host: host}); (err == nil) != ok {
				t.Errorf("%s at %s: %v", host, own, err)
			}
		}
	}
	d := &door{host: "127.0.0.1:8081", public: &url.URL{Scheme: "https", Host: "console.example.com:443"}}
	if err := d.wrongHost(&http.Request{Host: "console.example.com"}); err != nil {
		t.Error(err)
	}
}

// TestSecretGone checks that nobody is told to be signed in who is not.
func TestSecretGone(t *testing.T) {
	d := opened(t, t.TempDir())
	address := d.Address()
	if err := d.State.Remove(secretFile); err != nil {
		t.Fatal(err)
	}
	if w := d.send("GET", address[strings.Index(address, "in/"):], nil, nil); w.Code != http.StatusInternalServerError || len(w.Result().Cookies()) > 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// hostile is what others may have written anywhere.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>'` + "`\\u202e" + `<style>*{display:none}</style>`

// TestHostileText puts script into everything that others write, and looks for anything of it in the pages that is more than text.
func TestHostileText(t *testing.T) {
	d := opened(t, t.TempDir())
	quoted := fmt.Sprintf("%q", hostile)
	entry := fmt.Sprintf(`{"time":%q,"what":"call","run":"r","id":"1-2","tool":%[2]s,"principal":%[2]s,"client":%[2]s,"target":{%[2]s:[%[2]s]},"made":{"x":[%[2]s]},`+
		`"outcome":"tool_error","error_type":%[2]s,"refused":[{"rule":%[2]s,"reason":%[2]s}],"took":1}`, time.Now().Format(time.RFC3339Nano), quoted)
	if err := os.WriteFile(filepath.Join(d.dir, "record.jsonl"), []byte(entry+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Desk.Seek(t.Context(), approval.Request{Fingerprint: "f", Principal: hostile, Client: hostile, Tool: hostile, About: hostile, Text: hostile + "\n" + hostile,
		Created: time.Now(), Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	d.enter()
	all := fmt.Sprintf(`{"call":%s,"changes":[%[2]s],"today":{"rule":%[2]s,"reason":%[2]s,"stopped":%[2]s,"argv":[%[2]s],"path":%[2]s},"token":%[2]s,
		"tokens":[{"name":%[2]s,"id":%[2]s,"groups":[%[2]s],"expires":%[2]s}],"tools":[{"name":%[2]s,"inputSchema":{"properties":{%[2]s:{}}}}],
		"findings":[{"level":%[2]s,"what":%[2]s,"found":%[2]s}],"calls":3,"differs":[{"call":%[1]s,"now":{"reason":%[2]s},"then":{"stopped":%[2]s}}]}`, entry, quoted)
	list := fmt.Sprintf(`[{"name":%[1]s,"status":%[1]s,"reason":%[1]s,"problems":[%[1]s],"repaired":[%[1]s],"protocol":%[1]s,"left_out":[{"kind":%[1]s,"name":%[1]s,"reason":%[1]s}],
		"client":%[1]s,"title":%[1]s,"file":%[1]s,"found":true}]`, quoted)
	line := fmt.Sprintf(`{"seq":1,"time":%[1]s,"type":%[1]s,"principal":%[1]s,"name":%[1]s,"detail":%[1]s,"outcome":%[1]s,"error":%[1]s,"rules":[%[1]s]}`, quoted)
	shown := 0
	for _, says := range []string{all, list, line, `{}`, `null`, `[]`, `[null]`, `{"tokens":null,"call":null,"tools":[null]}`, ``, `nonsense`} {
		for _, fails := range []error{nil, errors.New(hostile)} {
			for _, path := range append(pages, "policy?tool="+url.QueryEscape(hostile)+"&arguments="+url.QueryEscape(hostile), "policy?against=x", "policy?check=1", "upstreams?check=1", "audit?verify=1",
				"?tool="+url.QueryEscape(hostile), "usage?price="+url.QueryEscape(hostile), "people/new") {
				d.says, d.fails = says, fails
				method := "GET"
				if path == "people/new" {
					method = "POST"
				}
				w := d.send(method, path, url.Values{"name": {hostile}}, nil)
				page, err := goquery.NewDocumentFromReader(w.Body)
				if err != nil || w.Code >= 500 {
					t.Fatalf("%s: %d %v", path, w.Code, err)
				}
				if page.Find("img, style, iframe, script:not([src])").Length() > 0 || page.Find("script").Length() != 1 {
					html, _ := page.Html()
					t.Errorf("%s of %.40q has markup of others: %s", path, says, html)
				}
				page.Find("*").Each(func(_ int, s *goquery.Selection) {
					for _, a := range s.Nodes[0].Attr {
						if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
							t.Errorf("%s: the attribute %s", path, a.Key)
						}
					}
				})
				text := page.Text()
				if shown += strings.Count(text, "<script>alert(1)"); strings.Contains(text, "\u202e") {
					t.Errorf("%s shows a character that turns text around", path)
				}
			}
		}
	}
	if shown < 100 {
		t.Errorf("the text is shown %d times", shown)
	}
}

// TestArguments checks that what people type becomes arguments of a command and never flags of it.
func TestArguments(t *testing.T) {
	d := opened(t, t.TempDir())
	d.enter()
	d.says = `{"tools":[{"name":"read_file","inputSchema":{"properties":{"path":{"type":"string"},"n":{},"any":true}}}],"reason":"x"}`
	for _, c := range []struct {
		method, path string
		form         url.Values
		want         string // the last command
	}{
		{"POST", "people/revoke", url.Values{"name": {"--config=/etc/passwd"}, "id": {"-x"}}, "token revoke -- --config=/etc/passwd -x"},
		{"POST", "people/new", url.Values{"name": {"-n"}, "groups": {"--a"}}, "token new --groups=--a -- -n"},
		{"POST", "clients/install", url.Values{"client": {"--all"}}, "install -- --all"},
		{"POST", "upstreams/approve", url.Values{"server": {"--s"}, "tool": {"--t", "u"}, "seen": {fmt.Sprintf("%x", sha256.Sum256([]byte("null")))}}, "upstream approve --yes -- --s --t u"},
		{"GET", "call/--json", nil, "log explain -- --json"},
		{"GET", "policy?against=--config", nil, "config show --json=false"},
		{"GET", "policy?tool=read_file&arguments=" + url.QueryEscape(`{"path":"--x"}`), nil, "config show --json=false"},
		{"GET", "policy?tool=read_file&arguments=" + url.QueryEscape(`{"config":"/x"}`), nil, "config show --json=false"},
		{"GET", "policy?tool=read_file&as=ann&groups=--x&arguments=" + url.QueryEscape(`{"path":"x"}`), nil, "explain --as=ann --groups=--x read_file --path=x"},
		{"GET", "policy?tool=read_file&arguments=" + url.QueryEscape(`{"n":"5"}`), nil, `explain read_file --n="5"`},
		{"GET", "policy?tool=read_file&arguments=" + url.QueryEscape(`{"any":["x", null]}`), nil, `explain read_file --any=["x", null]`},
		{"GET", "policy?tool=--config%3D/x", nil, "config show --json=false"},
	} {
		d.ran = nil
		d.send(c.method, c.path, c.form, nil)
		var all []string
		for _, args := range d.ran {
			all = append(all, strings.Join(args, " "))
		}
		text := strings.Join(all, "\n")
		if !strings.Contains(text, c.want) || strings.Contains(text, "explain --config") || strings.Contains(text, "--config=/x") || strings.Contains(text, "compare --config") {
			t.Errorf("%s %s ran:\n%s\nwant %s", c.method, c.path, text, c.want)
		}
	}
}

// TestOtherKinds checks that a question about an argument of another kind is not answered for what a command line makes of it.
func TestOtherKinds(t *testing.T) {
	d := opened(t, t.TempDir())
	d.enter()
	d.says = `{"tools":[{"name":"t","inputSchema":{"properties":{"s":{"type":"string"},"l":{"type":"array"},"o":{"type":"object"}}}}],"reason":"x"}`
	for _, given := range []string{`{"s":5}`, `{"s":null}`, `{"s":["a"]}`, `{"s":{}}`, `{"l":"a"}`, `{"l":null}`, `{"o":"a=b"}`, `{"o":[]}`} {
		page := d.send("GET", "policy?tool=t&arguments="+url.QueryEscape(given), nil, nil).Body.String()
		if !strings.Contains(page, "has to be of the type") || strings.Contains(page, "Verdict") {
			t.Errorf("%s is answered: %s", given, page)
		}
	}
}

// TestPins checks that tools are pinned as they were shown: a server may change them again before somebody has looked.
func TestPins(t *testing.T) {
	d := opened(t, t.TempDir())
	d.enter()
	says := func(now string) string {
		return `{"changed":[{"tool":"buy","members":[{"name":"description","before":"Buys.","now":"` + now + `"}]}]}`
	}
	shown := &visit{Console: d.Console, r: httptest.NewRequest("GET", "/", nil)}
	d.says = says("Buys one.")
	_, digest, _ := changes(shown, "shop")
	for now, want := range map[string]int{"Buys one.": http.StatusSeeOther, "Sends your files.": http.StatusConflict} {
		d.says, d.ran = says(now), nil
		w := d.send("POST", "upstreams/approve", url.Values{"server": {"shop"}, "tool": {"buy"}, "seen": {digest}}, nil)
		if pinned := strings.Contains(fmt.Sprint(d.ran), "--yes"); w.Code != want || pinned != (want == http.StatusSeeOther) {
			t.Errorf("%q: %d, pinned: %v", now, w.Code, pinned)
		}
	}
}

// TestUnreadable checks that nothing is done on what cannot be read: to revoke a token, say, without its ID is to revoke all of that name.
func TestUnreadable(t *testing.T) {
	d := opened(t, t.TempDir())
	d.enter()
	var noted []string
	d.Note = func(_, what string) { noted = append(noted, what) }
	for _, body := range []string{"name=ann&id=%zz", "name=ann;id=x", "name=ann&id=" + strings.Repeat("x", maxForm)} {
		d.ran = nil
		w := d.send("POST", "people/revoke", nil, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(body)) })
		if w.Code != http.StatusBadRequest || d.ran != nil || !strings.Contains(w.Body.String(), "cannot be read") {
			t.Errorf("%.20s: %d, ran %v", body, w.Code, d.ran)
		}
	}
	if w := d.send("GET", "policy?tool=%zz", nil, nil); w.Code != http.StatusBadRequest {
		t.Errorf("an address: %d", w.Code)
	}
	d.send("POST", "people/new?groups=admins", url.Values{"name": {"ann"}}, nil)
	d.send("POST", "people/new", url.Values{"name": {"ann groups=admins"}}, nil)
	if got := fmt.Sprint(noted); got != "[people/new groups=admins&name=ann people/new name=ann+groups%3Dadmins]" {
		t.Errorf("noted: %s", got)
	}
}

// TestAuditFault checks that the page says what is wrong with an audit, and that each problem is said once.
func TestAuditFault(t *testing.T) {
	d := opened(t, t.TempDir())
	d.enter()
	d.Run = func(_ context.Context, args ...string) ([]byte, error) {
		if args[1] == "verify" {
			return []byte(`{"intact":false,"fault":"line 4 was changed"}`), errors.New("exit code 1")
		}
		return nil, nil
	}
	page := d.send("GET", "audit?verify=1", nil, nil).Body.String()
	if !strings.Contains(page, "The audit does not verify. </b>line 4 was changed") || strings.Contains(page, "exit code") {
		t.Error(page)
	}
	d.Run = func(context.Context, ...string) ([]byte, error) { return nil, errors.New("no such call") }
	if page := d.send("GET", "call/x", nil, nil).Body.String(); strings.Count(page, "no such call") != 1 {
		t.Error(page)
	}
}

// TestSeconds checks that the calls of a day that take less than a second each count by how long they take together.
func TestSeconds(t *testing.T) {
	d := opened(t, t.TempDir())
	d.enter()
	var calls strings.Builder
	for i := range 10 {
		fmt.Fprintf(&calls, `{"time":%q,"what":"call","id":"1-%d","tool":"t%[2]d","took":900}`+"\n", time.Now().Format(time.RFC3339), i)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "record.jsonl"), []byte(calls.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	page := d.send("GET", "usage", nil, nil).Body.String()
	for _, want := range []string{time.Now().Format(time.DateOnly) + ": 9<", time.Now().Format(time.DateOnly) + ": 10<"} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not in %s", want, page)
		}
	}
}

// TestCut checks that a list of which only a part is shown says so.
func TestCut(t *testing.T) {
	d := opened(t, t.TempDir())
	d.enter()
	d.says = strings.Repeat(`{"seq":1}`+"\n", keepCalls+1)
	if page := d.send("GET", "audit", nil, nil).Body.String(); !strings.Contains(page, "The first 1000 of 1001.") {
		t.Error("the audit is cut without a word")
	}
	var calls strings.Builder
	for i := range maxRows + 1 {
		fmt.Fprintf(&calls, `{"time":%q,"what":"call","id":"1-%d","tool":"a","principal":"token:%[2]d"}`+"\n", time.Now().Format(time.RFC3339), i)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "record.jsonl"), []byte(calls.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	d.feed.looked = time.Time{}
	if page := d.send("GET", "usage", nil, nil).Body.String(); strings.Count(page, "The first 50 of 51.") != 1 {
		t.Error("principals are cut without a word")
	}
}

// TestOtherDays checks that a call of another day does not look like one of today.
func TestOtherDays(t *testing.T) {
	now := time.Now()
	if got := rowOf(&record.Entry{Time: now}).Time; got != now.Format("15:04:05") {
		t.Errorf("today: %s", got)
	}
	if got, then := rowOf(&record.Entry{Time: now.AddDate(0, 0, -2)}).Time, now.AddDate(0, 0, -2); got != then.Format(time.DateTime) {
		t.Errorf("before: %s", got)
	}
}

// TestCall checks what the page of a call says.
func TestCall(t *testing.T) {
	d := opened(t, t.TempDir())
	d.enter()
	d.says = `{"call":{"id":"x","asked":{"by":"ann",` + "\n" + `"answer":"once"}}}`
	if page := d.send("GET", "call/x", nil, nil).Body.String(); strings.Contains(page, `\u000a`) {
		t.Errorf("lines of the program are shown as characters: %s", page)
	}
	d.says = `{"call":{"id":"x"},"today":{"reason":"theirs"},"undecided":true}`
	if page := d.send("GET", "call/x", nil, nil).Body.String(); strings.Contains(page, "denied") || !strings.Contains(page, "theirs") {
		t.Errorf("what was not decided is denied: %s", page)
	}
}
