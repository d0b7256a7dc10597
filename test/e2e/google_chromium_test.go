//go:build linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	fake "github.com/toolserver/toolserver/test/fakes/google"
)

// chromium is a person with a real browser.
type chromium struct {
	t   *testing.T
	ctx context.Context
}

// newChromium starts Debian's browser without a window.
func newChromium(t *testing.T) *chromium {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v; make verify installs it", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(patience))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	must(t, chromedp.Run(ctx)) // starts it
	return &chromium{t, ctx}
}

// decides opens a sign-in, clicks a button of the consent page as account, and returns the last page.
func (c *chromium) decides(address, account, button string) (text string) {
	c.t.Helper()
	must(c.t, chromedp.Run(c.ctx,
		chromedp.Navigate(address),
		chromedp.WaitVisible("#consent"),
		chromedp.SetValue("#account", account),
		chromedp.Click(button),
		chromedp.WaitNotPresent("#consent"),
		chromedp.WaitVisible("h1"),
		chromedp.Text("body", &text),
	))
	return text
}

// TestGoogleChromium signs in with a real browser: from the terminal, through a client that opens addresses and through one that
// does not.
func TestGoogleChromium(t *testing.T) {
	t.Parallel()
	browser := newChromium(t)
	g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
	g.google.Deliver(alice, []byte("From: carol@example.com\r\nTo: alice@example.com\r\nSubject: Lunch\r\n\r\nAt noon?\r\n"))
	search := map[string]any{"query": "lunch"}

	// A client that opens addresses: first the person does not allow it.
	user := &opener{action: "accept"}
	pages := make(chan string, 1)
	user.opens = func(address string) { pages <- browser.decides(address, alice, "#deny") }
	c := g.client(user, "2025-11-25", "stdio")
	if got := c.call("gmail_search", search); !got.Result.IsError || !strings.Contains(text(got), "the sign-in failed") {
		t.Errorf("denied: %+v", got)
	}
	if page := <-pages; !strings.Contains(page, "You did not allow it") {
		t.Errorf("denied: %s", page)
	}
	user.opens = func(address string) { pages <- browser.decides(address, alice, "#allow") }
	if got := c.call("gmail_search", search); !strings.Contains(text(got), "Subject: Lunch") {
		t.Errorf("allowed: %+v", got)
	}
	if page := <-pages; !strings.Contains(page, alice) || !strings.Contains(page, "You can close this tab") {
		t.Errorf("allowed: %s", page)
	}

	// One that does not: the address is text. The protocol goes on meanwhile.
	b := g.serve()
	o := b.call("calendar_list_events", map[string]any{})
	begun := time.Now()
	b.request("tools/list", nil)
	if took := time.Since(begun); took > patience/10 {
		t.Errorf("tools/list took %v while a sign-in waited", took)
	}
	if page := browser.decides(g.address(o.text), bob, "#allow"); !strings.Contains(page, bob) {
		t.Errorf("text: %s", page)
	}
	if o := b.call("calendar_list_events", map[string]any{}); o.failed {
		t.Errorf("text: %v", o)
	}

	// The terminal.
	if text, code := g.command("auth", "google", "revoke"); code != 0 {
		t.Fatalf("revoke: %d %s", code, text)
	}
	_, out, wait := g.auth("--no-browser", "--services", "gmail")
	if page := browser.decides(printed(t, out, signInAddress), bob, "#allow"); !strings.Contains(page, bob) {
		t.Errorf("terminal: %s", page)
	}
	if text, code := wait(); code != 0 || !strings.Contains(text, bob) {
		t.Errorf("terminal: %d %s", code, text)
	}

	// Who may not sign in sees Google's page, and nothing is kept.
	g.google.AddUser(fake.User{Email: "mallory@example.com"})
	_, out, wait = g.auth("--no-browser", "--services", "calendar")
	address := printed(t, out, signInAddress)
	page := ""
	must(t, chromedp.Run(browser.ctx, chromedp.Navigate(address), chromedp.WaitVisible("#consent"), chromedp.SetValue("#account", "mallory@example.com"),
		chromedp.Click("#allow"), chromedp.WaitVisible("#error"), chromedp.Text("body", &page)))
	if !strings.Contains(page, "access_denied") {
		t.Errorf("no test user: %s", page)
	}
	if page := browser.decides(address, alice, "#allow"); !strings.Contains(page, alice) { // the same link goes on
		t.Errorf("again: %s", page)
	}
	if text, code := wait(); code != 0 {
		t.Errorf("again: %d %s", code, text)
	}
	if text, _ := g.command("auth", "google", "status"); !regexp.MustCompile(`(?s)Gmail: signed in as ` + bob + `.*Calendar: signed in as ` + alice).MatchString(text) {
		t.Errorf("status: %s", text)
	}
}
