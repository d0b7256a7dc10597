//go:build linux

package e2e

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// TestGoogleAccounts has one person use two accounts: a sign-in from before there were names stays that of the account default, each
// account is signed in to by itself, calls at the same time do not mix them, and ending one leaves the other.
func TestGoogleAccounts(t *testing.T) {
	t.Parallel()
	g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
	b := g.serve()
	search := func(b *box, account string) outcome {
		args := map[string]any{"query": "in:inbox"}
		if account != "" {
			args["account"] = account
		}
		return b.call("gmail_search", args)
	}
	if o := search(b, "work"); o.errorType != "-32602" {
		t.Errorf("an argument that is not offered: %v", o)
	}
	g.signIn(b, alice)
	g.google.Deliver(alice, mailText("cat@x.org", "For Alice", "text"))
	g.google.Deliver(bob, mailText("cat@x.org", "For Bob", "text"))

	g.set("accounts: [default, work]", fullTier)
	b = g.serve()
	shows(t, "the sign-in from before", search(b, ""), "For Alice")
	o := search(b, "work")
	shows(t, "no sign-in", o, "you are not signed in to Gmail (account work)", "toolserver auth google --account work --paste")
	if o.errorType != "sign_in_required" {
		t.Error(o)
	}
	newVisitor(t).allows(g.address(o.text), bob)
	o = b.call("calendar_list_events", map[string]any{"calendarId": "all", "account": "work"})
	shows(t, "no sign-in", o, "Google Calendar (account work)")
	newVisitor(t).allows(g.address(o.text), bob)
	if o = search(b, "play"); o.errorType != "-32602" {
		t.Error(o)
	}
	shows(t, "an unknown account", o, "account must be one of default, work")

	var running sync.WaitGroup
	for range 8 {
		for account, theirs := range map[string]string{"": alice, "default": alice, "work": bob} {
			running.Go(func() {
				own, other := "For Alice", "For Bob"
				if theirs == bob {
					own, other = other, own
				}
				if o := search(b, account); !strings.Contains(o.text, own) || strings.Contains(o.text, other) {
					t.Errorf("account %q: %v", account, o)
				}
				args := map[string]any{}
				if account != "" {
					args["account"] = account
				}
				if o := b.call("calendar_list_calendars", args); !strings.Contains(o.text, theirs) || strings.Contains(o.text, alice) && strings.Contains(o.text, bob) {
					t.Errorf("calendars of %q: %v", account, o)
				}
			})
		}
	}
	running.Wait()
	for _, account := range []string{"default", "work"} {
		b.call("gmail_send", map[string]any{"to": "cat@x.org", "subject": "From " + account, "body": "x", "account": account})
	}
	for email, subject := range map[string]string{alice: "From default", bob: "From work"} {
		if sent := g.google.Sent(email); len(sent) != 1 || !strings.Contains(string(sent[0].Raw), subject) {
			t.Errorf("%s sent %d mails", email, len(sent))
		}
	}
	shows(t, "status", b.call("google_accounts", map[string]any{"account": "work"}), "Gmail: signed in as "+alice, "Gmail (account work): signed in as "+bob)

	if text, code := g.command("gmail", "search", "in:inbox", "--account", "work"); code != 0 || !strings.Contains(text, "For Bob") {
		t.Errorf("%d: %s", code, text)
	}
	if text, code := g.command("auth", "google", "status", "--services", "gmail,calendar"); code != 0 || !strings.Contains(text, alice) || !strings.Contains(text, "Google Calendar (account work): signed in as "+bob) {
		t.Errorf("%d: %s", code, text)
	}
	if text, code := g.command("auth", "google", "status", "--account", "play"); code != 2 || !strings.Contains(text, "default, work") {
		t.Errorf("%d: %s", code, text)
	}
	if text, code := g.command("auth", "google", "status", "--services", "contacts", "--account", "default"); code != 1 ||
		!strings.Contains(text, "toolserver auth google --services contacts --account default") {
		t.Errorf("%d: %s", code, text)
	}
	if text, code := g.command("auth", "google", "revoke", "--account", "work"); code != 0 || strings.Contains(text, "Gmail: ") {
		t.Errorf("%d: %s", code, text)
	}
	if text, code := g.command("auth", "google", "status", "--account", "work"); code != 1 || !strings.Contains(text, "toolserver auth google --services gmail --account work") {
		t.Errorf("%d: %s", code, text)
	}
	b = g.serve()
	shows(t, "the other account stays", search(b, "default"), "For Alice")
	if o := search(b, "work"); o.errorType != "sign_in_required" {
		t.Error(o)
	}
}
