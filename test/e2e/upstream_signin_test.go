//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/test/fakes/covered"
	"github.com/toolserver/toolserver/test/fakes/oauth"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// whoami is an MCP server with one tool, which says whose token a call has.
func whoami() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result := ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"whoami","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"whoami","description":"Who is it?","inputSchema":{"type":"object","properties":{}}}]}`
		case "tools/call":
			result = fmt.Sprintf(`{"content":[{"type":"text","text":"it is %s"}]}`, r.Header.Get("X-User"))
		case "ping":
			result = `{}`
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case result == "":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
	})
}

// newSecured starts an upstream that requires OAuth.
func newSecured(t *testing.T) *oauth.Server {
	t.Helper()
	f := oauth.Start()
	t.Cleanup(func() {
		f.Close()
		if found := f.Problems(); len(found) > 0 {
			t.Errorf("the server does what is forbidden: %q", found)
		}
	})
	f.Inner = whoami()
	return f
}

// team is a server with the tokens of ann and bob, and an upstream that requires a sign-in of them.
type team struct {
	*httpServer
	t      *testing.T
	config []string
	home   string
}

const (
	annToken = "tok-ann-0123456789abcdef0123456789abcdef"
	bobToken = "tok-bob-0123456789abcdef0123456789abcdef"
)

// newTeam serves HTTP. Server is more of that section.
func newTeam(t *testing.T, f *oauth.Server, entry, server string) *team {
	t.Helper()
	w := &team{t: t, home: t.TempDir()}
	hosts := fmt.Sprintf("sandbox: {private_hosts: ['%s', '%s']}\n", strings.TrimPrefix(f.Issuer(), "http://"), strings.TrimPrefix(f.Resource.URL, "http://"))
	w.config = httpConfig(t, t.TempDir(), hosts+strings.Replace(withTokens("ann", annToken, "bob", bobToken), "{tokens", "{"+server+"tokens", 1)+
		"discovery: all\nmcp_servers: {o: {url: '"+f.URL()+"'"+entry+"}}\n")
	w.httpServer = launchHTTP(t, []string{"HOME=" + w.home}, binary(), w.config...)
	return w
}

// command runs a command of the program.
func (w *team) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary(), append(slices.Clone(w.config), args...)...)
	cmd.Env = append(covered.Env(), "HOME="+w.home)
	return cmd
}

// person is a user of a server with a browser.
type person struct {
	*mcpclient.Client
	t       *testing.T
	name    string
	token   string
	browser *http.Client
	changed chan bool // the list of tools
}

// signedInAs has all requests of a browser say who is signed in at the authorization server.
type signedInAs struct {
	http.RoundTripper
	name string
}

func (s signedInAs) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-User", s.name)
	return s.RoundTripper.RoundTrip(r)
}

// join connects a person over a transport, which their browser uses, too.
func join(t *testing.T, address, name, token, version string, transport http.RoundTripper, user *opener) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	p := &person{t: t, name: name, token: token, browser: &http.Client{Jar: jar, Transport: signedInAs{transport, name}}, changed: make(chan bool, 100)}
	o := mcpclient.Options{Name: "t", Version: "1", Protocol: version, ConnectTimeout: patience, Notify: func(_ context.Context, method string, _ json.RawMessage) {
		if method == "notifications/tools/list_changed" {
			select {
			case p.changed <- true:
			default:
			}
		}
	}}
	if user != nil {
		o.OpensURLs, o.Handlers = true, map[string]mcpclient.Handler{"elicitation/create": user.elicit}
		user.opens = func(address string) { p.signsIn(address) }
		t.Cleanup(user.wait)
	}
	p.Client, err = mcpclient.ConnectHTTP(t.Context(), &http.Client{Transport: transport}, address, http.Header{"Authorization": {"Bearer " + token}}, o)
	must(t, err)
	t.Cleanup(p.Close)
	if version == modernVersion {
		go func() { _ = p.Listen(t.Context(), mcpclient.Filter{Tools: true}) }()
	}
	return p
}

// tools returns the names of the tools of the upstream that are listed.
func (p *person) tools() (names []string) {
	p.t.Helper()
	all, err := p.List(p.t.Context(), "tools/list")
	must(p.t, err)
	for _, raw := range all {
		var tool struct{ Name string }
		must(p.t, json.Unmarshal(raw, &tool))
		if strings.HasPrefix(tool.Name, "o__") {
			names = append(names, strings.TrimPrefix(tool.Name, "o__"))
		}
	}
	slices.Sort(names)
	return names
}

// says calls a tool and returns the text of its answer.
func (p *person) says(tool string, args map[string]any) string {
	p.t.Helper()
	result, err := p.CallTool(p.t.Context(), tool, args, nil)
	if err != nil {
		return err.Error()
	}
	var a answer
	must(p.t, json.Unmarshal(result, &a.Result))
	return text(a)
}

var linkAddress = regexp.MustCompile(`https?://[^ "]+/connect/[\w-]+`)

// open follows the link of a sign-in, and enters a token where that is asked for.
func (p *person) open(address, token string) (status int, page string) {
	p.t.Helper()
	v := &visitor{p.t, p.browser}
	first := v.open(address)
	if !strings.Contains(first.text, "Enter the token") {
		return first.status, first.text
	}
	next := v.read(p.browser.PostForm(address, url.Values{"token": {token}}))
	onward := regexp.MustCompile(`<a href="([^"]*)"`).FindStringSubmatch(next.text)
	if onward == nil {
		return next.status, next.text
	}
	last := v.open(html.UnescapeString(onward[1]))
	return last.status, last.text
}

// signsIn opens a link as who it is for.
func (p *person) signsIn(address string) {
	p.t.Helper()
	if status, page := p.open(address, p.token); status != http.StatusOK || !strings.Contains(page, "is connected with") {
		p.t.Errorf("%s signs in: %d %s", p.name, status, page)
	}
}

// TestUpstreamSignIn has two people sign in at the same upstream, each for themselves, from an answer's text.
func TestUpstreamSignIn(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", modernVersion} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			f := newSecured(t)
			w := newTeam(t, f, ", oauth: {per_principal: true}", "")
			ann := join(t, w.url, "ann", annToken, version, http.DefaultTransport, nil)
			bob := join(t, w.url, "bob", bobToken, version, http.DefaultTransport, nil)
			// Before anybody has signed in, that is what can be done.
			if got := ann.tools(); !slices.Equal(got, []string{"sign_in"}) {
				t.Errorf("before: %q", got)
			}
			for tool, args := range map[string]map[string]any{"mcp_list_tools": {}, "mcp_search": {"query": "something of server o"}} {
				if got := ann.says(tool, args); !strings.Contains(got, "sign_in") || !strings.Contains(got, ": Sign in to the MCP server o") {
					t.Errorf("%s: %s", tool, got)
				}
			}
			status := func(p *person) string {
				raw, err := p.Call(t.Context(), "resources/read", map[string]any{"uri": "status://upstreams"})
				must(t, err)
				return string(raw)
			}
			if got := status(ann); !strings.Contains(got, "sign_in_required") {
				t.Errorf("status: %s", got)
			}
			if _, err := ann.Call(t.Context(), "tools/call", map[string]any{"name": "o__anything"}); err == nil || !strings.Contains(err.Error(), "its server requires a sign-in: call o__sign_in") {
				t.Errorf("a tool that is not known yet: %v", err)
			}
			said := ann.says("o__sign_in", nil)
			link := linkAddress.FindString(said)
			if link == "" || !strings.Contains(said, "on the machine where this server runs") || !strings.Contains(said, "toolserver upstream login o --paste --principal ann") {
				t.Fatalf("sign_in: %s", said)
			}
			if again := ann.says("o__sign_in", nil); !strings.Contains(again, link) {
				t.Errorf("again: %s", again)
			}
			// Somebody else gets nowhere with her link, and gets another.
			if status, page := bob.open(link, bobToken); status != http.StatusForbidden {
				t.Errorf("bob on ann's link: %d %s", status, page)
			}
			if other := linkAddress.FindString(bob.says("o__sign_in", nil)); other == "" || other == link {
				t.Errorf("bob's link is %q", other)
			}
			for len(ann.changed) > 0 {
				<-ann.changed
			}
			ann.signsIn(link)
			<-ann.changed
			eventually(t, "the tools are listed", func() bool { return slices.Equal(ann.tools(), []string{"sign_in", "whoami"}) })
			if got := ann.says("o__whoami", nil); got != "it is ann" {
				t.Errorf("ann: %s", got)
			}
			if got := ann.says("o__sign_in", nil); !strings.Contains(got, "You are signed in to server o. It has 1 tools") {
				t.Errorf("ann, again: %s", got)
			}
			if got := status(ann); !strings.Contains(got, `\"ready\"`) {
				t.Errorf("status of ann: %s", got)
			}
			// What bob sees is known by now; what he does is not hers.
			if got := bob.tools(); !slices.Equal(got, []string{"sign_in", "whoami"}) {
				t.Errorf("bob: %q", got)
			}
			link = linkAddress.FindString(bob.says("o__whoami", nil))
			if link == "" {
				t.Fatal("bob is not asked to sign in")
			}
			if got := status(bob); !strings.Contains(got, "sign_in_required") {
				t.Errorf("status of bob: %s", got)
			}
			bob.signsIn(link)
			for _, p := range []*person{bob, ann, bob} {
				if got := p.says("o__whoami", nil); got != "it is "+p.name {
					t.Errorf("%s: %s", p.name, got)
				}
			}
		})
	}
}

// TestUpstreamSignInURL has a client that opens addresses sign in, for itself and for all.
func TestUpstreamSignInURL(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", modernVersion} {
		for _, entry := range []string{"", ", oauth: {per_principal: true}"} {
			t.Run(version+entry, func(t *testing.T) {
				t.Parallel()
				f := newSecured(t)
				w := newTeam(t, f, entry, "")
				user := &opener{action: "accept"}
				ann := join(t, w.url, "ann", annToken, version, http.DefaultTransport, user)
				eventually(t, "the sign-in is offered", func() bool { return slices.Equal(ann.tools(), []string{"sign_in"}) })
				if got := ann.says("o__sign_in", nil); !strings.Contains(got, "You are signed in to server o") {
					t.Errorf("got %s", got)
				}
				if asked, _ := user.said(); len(asked) != 1 || !strings.Contains(asked[0], "opens only on the machine where this server runs") {
					t.Errorf("asked %q", asked)
				}
				want := []string{"whoami"}
				if entry != "" {
					want = []string{"sign_in", "whoami"}
				}
				eventually(t, "the tools are listed", func() bool { return slices.Equal(ann.tools(), want) })
				if got := ann.says("o__whoami", nil); got != "it is ann" {
					t.Errorf("got %s", got)
				}
			})
		}
	}
}

// TestUpstreamLoginMeanwhile signs in with the command while a server runs, and before it starts.
func TestUpstreamLoginMeanwhile(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", ", oauth: {per_principal: true}"} {
		t.Run(entry, func(t *testing.T) {
			t.Parallel()
			f := newSecured(t)
			w := newTeam(t, f, entry, "")
			ann := join(t, w.url, "ann", annToken, "2025-11-25", http.DefaultTransport, nil)
			eventually(t, "the sign-in is offered", func() bool { return slices.Equal(ann.tools(), []string{"sign_in"}) })
			if out, err := w.command("upstream", "list").CombinedOutput(); !strings.Contains(string(out), "sign_in_required") {
				t.Errorf("upstream list: %v %s", err, out)
			}
			cmd := w.command("upstream", "login", "o", "--no-browser", "--principal", "ann")
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			b := make([]byte, 4096)
			said := ""
			for linkAddress.FindString(said+"\n") == "" || !strings.Contains(said, "Ctrl-C") {
				n, err := out.Read(b)
				must(t, err)
				said += string(b[:n])
			}
			ann.signsIn(linkAddress.FindString(said))
			_, _ = out.Read(b)
			if err := cmd.Wait(); err != nil {
				t.Errorf("login: %v", err)
			}
			eventually(t, "the tools are listed", func() bool { return slices.Contains(ann.tools(), "whoami") })
			if got := ann.says("o__whoami", nil); got != "it is ann" {
				t.Errorf("got %s", got)
			}
			after := launchHTTP(t, []string{"HOME=" + w.home}, binary(), w.config...)
			if got := join(t, after.url, "bob", bobToken, "2025-11-25", http.DefaultTransport, nil).tools(); !slices.Contains(got, "whoami") {
				t.Errorf("after a restart: %q", got)
			}
		})
	}
}

// TestUpstreamSignInProxied has the browser come through a proxy, which names another host or removes a part of the path.
func TestUpstreamSignInProxied(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string]string{"host": "", "path kept": "/tools", "path removed": "/tools/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newSecured(t)
			var to *url.URL
			proxy := newStandIn(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if name == "path removed" {
					r.URL.Path = strings.TrimPrefix(r.URL.Path, "/tools")
				}
				(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }}).ServeHTTP(w, r) // which sets Host
			}))
			public := strings.Replace(proxy.url, "127.0.0.1", "localhost", 1) + behind
			w := newTeam(t, f, ", oauth: {per_principal: true}", "public_url: '"+public+"', ")
			var err error
			to, err = url.Parse("http://" + w.address)
			must(t, err)
			ann := join(t, w.url, "ann", annToken, "2025-11-25", http.DefaultTransport, nil)
			said := ann.says("o__sign_in", nil)
			link := linkAddress.FindString(said)
			if !strings.HasPrefix(link, strings.TrimSuffix(public, "/")+"/connect/") || strings.Contains(said, "machine") {
				t.Fatalf("got %s", said)
			}
			ann.signsIn(link)
			eventually(t, "the tool is called", func() bool { return ann.says("o__whoami", nil) == "it is ann" })
			if back := f.Requests("/authorize")[0].Form.Get("redirect_uri"); back != strings.TrimSuffix(public, "/")+"/connect/callback" {
				t.Errorf("the redirect is %s", back)
			}
		})
	}
}

// TestConsoleSignsIn has the console begin a sign-in to another server.
func TestConsoleSignsIn(t *testing.T) {
	t.Parallel()
	w := newTeam(t, newSecured(t), "", "")
	ann := join(t, w.url, "ann", annToken, "2025-11-25", http.DefaultTransport, nil)
	eventually(t, "the sign-in is offered", func() bool { return slices.Equal(ann.tools(), []string{"sign_in"}) })
	browser, address, base := console(t, spawn(t, nil, nil, append([]string{"env", "HOME=" + w.home, binary(), "console"}, w.config...)...))
	resp, err := browser.Get(address)
	must(t, err)
	resp.Body.Close()
	req, err := http.NewRequest("POST", base+"upstreams/sign-in", strings.NewReader("server=o"))
	must(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err = browser.Do(req)
	must(t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	must(t, err)
	ann.signsIn(html.UnescapeString(linkAddress.FindString(string(page))))
	eventually(t, "the tools are listed", func() bool { return slices.Contains(ann.tools(), "whoami") })
}
