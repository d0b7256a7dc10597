//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/google"
)

// tokenFiles returns the files that sign-ins are kept in.
func (g *googleGround) tokenFiles() (files []string) {
	g.t.Helper()
	all, err := filepath.Glob(filepath.Join(g.home, ".local/state/toolserver/.*-tokens/*"))
	must(g.t, err)
	for _, f := range all {
		if !strings.HasPrefix(filepath.Base(f), ".") {
			files = append(files, f)
		}
	}
	return files
}

// private checks that only the server's user can read what is kept.
func (g *googleGround) private() {
	g.t.Helper()
	for _, f := range g.tokenFiles() {
		for _, path := range []string{f, filepath.Dir(f), filepath.Dir(filepath.Dir(f))} {
			info, err := os.Lstat(path)
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				g.t.Errorf("%s has mode %v", path, info.Mode())
			}
		}
	}
}

// TestGoogleOneRefresh has 8 servers make 20 calls each with a token that has expired: they make one token request.
func TestGoogleOneRefresh(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		t.Parallel()
		g := newGoogleGround(t, who, "", "")
		first := g.serve()
		g.signIn(first, alice)
		var boxes []*box
		for range 7 {
			boxes = append(boxes, g.serve())
		}
		boxes = append(boxes, first)
		for round := range 2 { // the second with tokens that Google rejects before they expire
			g.google.ExpireTokens()
			before := g.google.TokenRequests()["refresh_token"]
			var calls sync.WaitGroup
			for _, b := range boxes {
				for range 20 {
					calls.Go(func() {
						if o := b.call("gmail_search", map[string]any{"query": "x", "maxResults": 1}); o.failed && o.errorType != "rate_limited" {
							t.Errorf("round %d: %v", round, o)
						}
					})
				}
			}
			calls.Wait()
			if n := g.google.TokenRequests()["refresh_token"] - before; n != 1 {
				t.Errorf("round %d: %d token requests", round, n)
			}
		}
		g.private()
	})
}

// TestGoogleKilledRefresh kills servers while they refresh. The sign-in stays, and nobody else can read a file.
func TestGoogleKilledRefresh(t *testing.T) {
	t.Parallel()
	g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
	first := g.serve()
	g.signIn(first, alice)
	first.stop()
	for i := range 40 {
		g.google.ExpireTokens()
		b := g.serve()
		p := b.begin("gmail_search", map[string]any{"query": "x"})
		for b.mcp != nil && g.google.TokenRequests()["refresh_token"] <= i/4 && len(g.tokenFiles()) == 2 && i%4 == 3 {
			break
		}
		b.kill()
		<-p.over
		g.private()
	}
	b := g.serve()
	if o := b.call("gmail_search", map[string]any{"query": "x"}); o.failed {
		t.Errorf("after all: %v", o)
	}
	if n := len(g.tokenFiles()); n != 2 {
		t.Errorf("%d files", n)
	}
}

// TestGoogleRevoked ends a grant at Google: one sentence says why, and the other grant stays.
func TestGoogleRevoked(t *testing.T) {
	t.Parallel()
	g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
	b := g.serve()
	g.signIn(b, alice)
	g.google.Revoke(alice, "gmail")
	g.google.ExpireTokens()
	o := b.call("gmail_search", map[string]any{"query": "x"})
	if o.errorType != "sign_in_required" || !strings.Contains(o.text, "7 days") || !strings.Contains(o.text, alice) || strings.Count(o.text, "Google no longer accepts") != 1 {
		t.Errorf("got %v", o)
	}
	if o := b.call("calendar_list_events", map[string]any{}); o.failed {
		t.Errorf("the calendar: %v", o)
	}
	newVisitor(t).allows(g.address(o.text), alice)
	if o := b.call("gmail_search", map[string]any{"query": "x"}); o.failed {
		t.Errorf("signed in again: %v", o)
	}
}

// TestGooglePrincipals has two people use one server over HTTP: neither sees the account of the other, whatever they pass, and
// the link that one sends the other is of no use.
func TestGooglePrincipals(t *testing.T) {
	t.Parallel()
	tokens := map[string]string{"alice": "toolserver_alice", "bob": "toolserver_bob"}
	var list []string
	for name, token := range tokens {
		list = append(list, tokenEntry(name, token))
	}
	g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "server: {tokens: ["+strings.Join(list, ", ")+"]}\n")
	for _, email := range []string{alice, bob} {
		g.google.Deliver(email, []byte("From: x@example.com\r\nTo: "+email+"\r\nSubject: For "+email+"\r\n\r\nsecret of "+email+"\r\n"))
	}
	s := launchHTTP(t, []string{"HOME=" + g.home}, binary(), "--config", g.file)
	call := func(name, version, tool string, args map[string]any) outcome {
		t.Helper()
		p := s.newPeer(t, version, tokens[name])
		r := p.post(t, p.callMessage(`1`, tool, args, ""), nil)
		var m struct {
			Result struct {
				Content           []struct{ Text string }
				StructuredContent map[string]any
				IsError           bool
			}
			Error *struct {
				Code    int
				Message string
			}
		}
		body := r.body
		if _, data, ok := strings.Cut(body, "data: "); ok {
			body, _, _ = strings.Cut(data, "\n")
		}
		must(t, json.Unmarshal([]byte(body), &m))
		if m.Error != nil {
			return outcome{text: m.Error.Message, failed: true, errorType: fmt.Sprint(m.Error.Code)}
		}
		o := outcome{structure: m.Result.StructuredContent, failed: m.Result.IsError}
		o.errorType, _ = o.structure["error_type"].(string)
		for _, c := range m.Result.Content {
			o.text += c.Text
		}
		return o
	}
	search := map[string]any{"query": "secret"}
	// Alice sends Bob the link of her sign-in. He enters his own token, which is not hers.
	o := call("alice", "2025-11-25", "gmail_search", search)
	link := g.address(o.text)
	if !strings.Contains(o.text, "asks for the token") {
		t.Errorf("the answer does not say that a token is asked for: %v", o)
	}
	prove := func(v *visitor, token string) visited {
		t.Helper()
		v.open(link)
		return v.read(v.client.PostForm(link, map[string][]string{"token": {token}}))
	}
	if p := prove(newVisitor(t), tokens["bob"]); p.status != http.StatusForbidden || strings.Contains(p.text, fake.AuthPath) {
		t.Errorf("bob with alice's link: %d %s", p.status, p.text)
	}
	if p := prove(newVisitor(t), ""); p.status == http.StatusOK || strings.Contains(p.text, fake.AuthPath) {
		t.Errorf("without a token: %d %s", p.status, p.text)
	}
	v := newVisitor(t)
	p := prove(v, tokens["alice"])
	if p.status != http.StatusOK || !strings.Contains(p.text, fake.AuthPath) {
		t.Fatalf("alice: %d %s", p.status, p.text)
	}
	if p := v.allows(link, alice); !strings.Contains(p.text, alice) {
		t.Fatalf("alice: %d %s", p.status, p.text)
	}
	for _, version := range []string{"2025-11-25", modernVersion} {
		if o := call("alice", version, "gmail_search", search); o.failed || !strings.Contains(o.text, "For "+alice) {
			t.Errorf("alice: %v", o)
		}
		o := call("bob", version, "gmail_search", search)
		if o.errorType != "sign_in_required" || strings.Contains(o.text, alice) || g.address(o.text) == link {
			t.Errorf("bob: %v", o)
		}
		for _, forged := range []string{"account", "user_google_email", "email", "userId"} {
			if o := call("bob", version, "gmail_search", map[string]any{"query": "secret", forged: alice}); o.errorType != "-32602" {
				t.Errorf("bob with %s: %v", forged, o)
			}
		}
	}
	if n := len(g.tokenFiles()); n != 1 {
		t.Errorf("%d files", n)
	}
	g.private()
}

// TestGoogleTokensOutOfReach has tools and commands try to read what is kept.
func TestGoogleTokensOutOfReach(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		t.Parallel()
		g := newGoogleGround(t, who, "", "")
		b := g.serve()
		g.signIn(b, alice)
		files := g.tokenFiles()
		if len(files) != 2 {
			t.Fatalf("files %q", files)
		}
		b2, err := os.ReadFile(files[0])
		must(t, err)
		var kept struct {
			Refresh string `json:"refresh_token"`
			Access  string `json:"access_token"`
		}
		must(t, json.Unmarshal(b2, &kept))
		if kept.Refresh == "" || kept.Access == "" {
			t.Fatalf("the file has no tokens: %s", b2)
		}
		tokens := []string{kept.Refresh, kept.Access}
		dir := filepath.Dir(files[0])
		for _, command := range []string{
			"cat " + files[0], "cat " + dir + "/*", "ls -a " + dir, "cd " + dir + " && cat *", "cp -r " + dir + " . && cat " + filepath.Base(dir) + "/*",
			"ln -s " + files[0] + " l && cat l", "python3 -c \"import os;print(open(os.environ['HOME']+'/.local/state/toolserver/.gmail-tokens/'+os.listdir(os.environ['HOME']+'/.local/state/toolserver/.gmail-tokens')[0]).read())\"",
			"tar cf - " + dir + " | cat", "grep -r refresh_token " + filepath.Dir(dir), "find " + filepath.Dir(dir) + " -type f -exec cat {} +", "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'",
		} {
			o := b.bash(command)
			for _, token := range append(tokens, googleSecret) {
				if strings.Contains(o.text, token) {
					t.Errorf("%s shows a token: %v", command, o)
				}
			}
		}
		for tool, args := range map[string]map[string]any{
			"read_file": {"path": files[0]}, "list_directory": {"path": dir}, "grep": {"pattern": "refresh", "path": dir}, "write_file": {"path": files[0], "content": "x"},
		} {
			if o := b.call(tool, args); !o.failed {
				t.Errorf("%s: %v", tool, o)
			}
		}
		if o := b.call("gmail_search", map[string]any{"query": "x"}); o.failed {
			t.Errorf("after it: %v", o)
		}
	})
}
