package approval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// opened returns desks of the same directory, as processes have them.
func opened(t *testing.T, n int) (desks []*Desk, dir string) {
	t.Helper()
	dir = t.TempDir()
	for range n {
		desks = append(desks, Open(func() (*os.Root, error) { return os.OpenRoot(dir) }, nil))
	}
	return desks, dir
}

// asking returns what is asked about a call with some arguments.
func asking(principal, args string) Request {
	now := time.Now().UTC()
	return Request{Principal: principal, Tool: "write", About: "confirm", Text: "Allow write with " + args + "?", Fingerprint: Fingerprint(principal, args),
		Scope: "here", Created: now, Expires: now.Add(time.Hour)}
}

func seek(t *testing.T, d *Desk, asked Request) Request {
	t.Helper()
	r, _, err := d.Seek(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func decide(t *testing.T, d *Desk, id, answer, by string) {
	t.Helper()
	if err := d.Decide(t.Context(), id, answer, by); err != nil {
		t.Fatal(err)
	}
}

// answerOf returns what is decided about a request, or "".
func answerOf(r Request) string {
	if r.Decision == nil {
		return ""
	}
	return r.Decision.Answer
}

// TestDecide checks which decisions are taken.
func TestDecide(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(*Request)
		answer, by string
		want       error // nil if it is taken
	}{
		"once":                      {nil, Once, "token:bob", nil},
		"session":                   {nil, Session, "token:ann", nil},
		"never":                     {nil, Never, "token:bob", nil},
		"no":                        {nil, No, "token:bob", nil},
		"expired":                   {func(r *Request) { r.Expires = time.Now() }, Once, "token:bob", ErrUnknown},
		"about to expire":           {func(r *Request) { r.Expires = time.Now().Add(2 * poll) }, Once, "token:bob", ErrExpired},
		"without a session":         {func(r *Request) { r.Scope = "" }, Session, "token:bob", ErrNoSession},
		"second, by the same":       {func(r *Request) { r.Second = true }, Once, "token:ann", ErrSecond},
		"second, same for all":      {func(r *Request) { r.Second = true }, Session, "token:ann", ErrSecond},
		"second, refused by same":   {func(r *Request) { r.Second = true }, No, "token:ann", nil},
		"second, by another":        {func(r *Request) { r.Second = true }, Once, "token:bob", nil},
		"second, both this machine": {func(r *Request) { r.Second, r.Principal = true, "user:local" }, Once, "user:ann", ErrSecond},
		"no answer":                 {nil, "yes", "token:bob", errors.ErrUnsupported},
		"empty answer":              {nil, "", "token:bob", errors.ErrUnsupported},
		"by nobody":                 {nil, Once, "", errors.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			desks, _ := opened(t, 2)
			asked := asking("token:ann", "a")
			if test.change != nil {
				test.change(&asked)
			}
			r := seek(t, desks[0], asked)
			if name == "expired" {
				if _, err := desks[1].List(t.Context()); err != nil { // which removes it
					t.Fatal(err)
				}
			}
			err := desks[1].Decide(t.Context(), r.ID, test.answer, test.by)
			switch {
			case test.want == errors.ErrUnsupported && (err == nil || !strings.Contains(err.Error(), "is no answer")),
				test.want != errors.ErrUnsupported && !errors.Is(err, test.want):
				t.Errorf("%v; want %v", err, test.want)
			case err == nil && !errors.Is(desks[0].Decide(t.Context(), r.ID, Once, "token:carl"), ErrDecided):
				t.Error("it is decided twice")
			}
		})
	}
	desks, _ := opened(t, 1)
	for _, id := range []string{"", "aaaaaaaaaa", "../approval", ".", strings.Repeat("a", 300), "aaaaaaaaaa.used", "aaaa\x00aaaaa", "AAAAAAAAAA"} {
		if err := desks[0].Decide(t.Context(), id, Once, "token:bob"); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
	}
	late := asking("token:ann", "late")
	late.Expires = time.Now().Add(-time.Second)
	r := seek(t, desks[0], late)
	if err := desks[0].Decide(t.Context(), r.ID, Once, "token:bob"); !errors.Is(err, ErrExpired) {
		t.Errorf("a request that has expired: %v", err)
	}
}

// TestOnce has several processes use a decision, and several people decide, at the same time.
func TestOnce(t *testing.T) {
	desks, _ := opened(t, 8)
	for round := range 20 {
		asked := asking("token:ann", fmt.Sprint(round))
		r := seek(t, desks[0], asked)
		var taken, used atomic.Int64
		var all sync.WaitGroup
		for i, d := range desks {
			all.Go(func() {
				switch err := d.Decide(t.Context(), r.ID, Once, fmt.Sprint("token:", i)); {
				case err == nil:
					taken.Add(1)
				case !errors.Is(err, ErrDecided):
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, d := range desks {
			all.Go(func() {
				got, _, err := d.Seek(t.Context(), asked)
				if err != nil {
					t.Error(err)
				}
				if got.Decision != nil {
					used.Add(1)
				}
			})
		}
		all.Wait()
		if taken.Load() != 1 || used.Load() != 1 {
			t.Fatalf("decided %d times, used %d times", taken.Load(), used.Load())
		}
		waiting, err := desks[0].List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range waiting { // those that came too late have asked again
			if r.Decision == nil {
				if err := desks[0].Forget(t.Context(), r.ID); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestSeek checks which calls a decision is for.
func TestSeek(t *testing.T) {
	same := func(*Request) {}
	for name, test := range map[string]struct {
		answer      string
		change      func(*Request) // of the call that comes next
		first, next string         // what is decided about it, and about one more
	}{
		"once":                     {Once, same, Once, ""},
		"no":                       {No, same, No, ""},
		"never":                    {Never, same, Never, Never},
		"session":                  {Session, same, Session, Session},
		"once, other arguments":    {Once, func(r *Request) { r.Fingerprint = "b" }, "", ""},
		"session, other arguments": {Session, func(r *Request) { r.Fingerprint = "b" }, Session, Session},
		"session, other session":   {Session, func(r *Request) { r.Scope = "there" }, Session, ""}, // for once: see its Scope
		"session, other both":      {Session, func(r *Request) { r.Scope, r.Fingerprint = "there", "b" }, "", ""},
		"session, no session":      {Session, func(r *Request) { r.Scope, r.Fingerprint = "", "b" }, "", ""},
		"session, second person":   {Session, func(r *Request) { r.Second, r.Fingerprint = true, "b" }, "", ""},
		"never, other arguments":   {Never, func(r *Request) { r.Fingerprint = "b" }, Never, Never},
		"never, other tool":        {Never, func(r *Request) { r.Fingerprint, r.Tool = "b", "edit" }, "", ""},
		"never, other question":    {Never, func(r *Request) { r.Fingerprint, r.About = "b", "command x" }, "", ""},
		"never, other principal":   {Never, func(r *Request) { r.Fingerprint, r.Principal = "b", "token:bob" }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			desks, _ := opened(t, 2)
			asked := asking("token:ann", "a")
			r := seek(t, desks[0], asked)
			if again := seek(t, desks[1], asked); again.ID != r.ID {
				t.Errorf("the same call is another request: %s, %s", again.ID, r.ID)
			}
			decide(t, desks[1], r.ID, test.answer, "token:bob")
			test.change(&asked)
			for i, want := range []string{test.first, test.next} {
				if got := answerOf(seek(t, desks[i], asked)); got != want {
					t.Errorf("call %d: %q; want %q", i+1, got, want)
				}
			}
		})
	}
}

// TestSessionEnds has the call that an answer for a session was about come again in another one: that is over.
func TestSessionEnds(t *testing.T) {
	desks, _ := opened(t, 1)
	asked := asking("token:ann", "a")
	decide(t, desks[0], seek(t, desks[0], asked).ID, Session, "token:bob")
	if got := answerOf(seek(t, desks[0], asked)); got != Session {
		t.Fatal(got)
	}
	asked.Scope = "there"
	if got := answerOf(seek(t, desks[0], asked)); got != "" {
		t.Errorf("in another session: %q", got)
	}
}

// TestForget withdraws decisions and requests.
func TestForget(t *testing.T) {
	desks, dir := opened(t, 2)
	asked := asking("token:ann", "a")
	r := seek(t, desks[0], asked)
	gone := make(chan error, 1)
	go func() { gone <- desks[0].Await(context.Background(), r.ID) }()
	if err := desks[1].Forget(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; err != ErrUnknown {
		t.Errorf("who waits: %v", err)
	}
	r = seek(t, desks[0], asked)
	decide(t, desks[1], r.ID, Never, "token:bob")
	if got := answerOf(seek(t, desks[0], asked)); got != Never {
		t.Fatal(got)
	}
	if err := desks[1].Forget(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	if got := answerOf(seek(t, desks[0], asked)); got != "" {
		t.Errorf("what was withdrawn holds: %q", got)
	}
	if err := desks[1].Forget(t.Context(), r.ID); !errors.Is(err, ErrUnknown) {
		t.Errorf("again: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, r.ID+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestExpires removes what is over, and keeps what is to be kept.
func TestExpires(t *testing.T) { synctest.Test(t, testExpires) }

func testExpires(t *testing.T) {
	desks, dir := opened(t, 1)
	d := desks[0]
	soon := func(args string) Request {
		r := asking("token:ann", args)
		r.Expires = time.Now().Add(800 * time.Millisecond)
		return r
	}
	waits, allowed, never := soon("waits"), soon("allowed"), soon("never")
	never.About = "command x"
	seek(t, d, waits)
	decide(t, d, seek(t, d, allowed).ID, Once, "token:bob")
	decide(t, d, seek(t, d, never).ID, Never, "token:bob")
	time.Sleep(time.Second)
	if got := answerOf(seek(t, d, allowed)); got != "" {
		t.Errorf("what was allowed before it expired: %q", got)
	}
	if got := answerOf(seek(t, d, never)); got != Never {
		t.Errorf("what is never allowed: %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "aaaaaaaaaa.decision"), []byte(`{"answer":"once"}`), 0o600); err != nil { // of a request that is gone
		t.Fatal(err)
	}
	all, err := d.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Decision == nil {
		t.Errorf("%+v, %v", all, err)
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}

// TestFlood has one principal ask for too much, and others all the same.
func TestFlood(t *testing.T) {
	desks, _ := opened(t, 1)
	for i := range maxPerPrincipal {
		seek(t, desks[0], asking("token:ann", fmt.Sprint(i)))
	}
	if _, _, err := desks[0].Seek(t.Context(), asking("token:ann", "more")); !errors.Is(err, ErrTooMany) {
		t.Errorf("too many: %v", err)
	}
	if _, made, err := desks[0].Seek(t.Context(), asking("token:ann", "3")); err != nil || made {
		t.Errorf("one of them again: %v, %v", made, err)
	}
	for who := range maxWaiting/maxPerPrincipal - 1 {
		for i := range maxPerPrincipal {
			seek(t, desks[0], asking(fmt.Sprint("token:", who), fmt.Sprint(i)))
		}
	}
	if _, _, err := desks[0].Seek(t.Context(), asking("token:bob", "0")); !errors.Is(err, ErrTooMany) {
		t.Errorf("too many of all: %v", err)
	}
	large := asking("token:carl", "a")
	large.Text = strings.Repeat("x", maxSize)
	if err := desks[0].Forget(t.Context(), seek(t, desks[0], asking("token:ann", "0")).ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := desks[0].Seek(t.Context(), large); err == nil {
		t.Error("there is no bound")
	}
}

// TestFloodAtOnce has one principal ask for too much at once, and for each thing twice.
func TestFloodAtOnce(t *testing.T) {
	desks, _ := opened(t, 1)
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() { _, _, _ = desks[0].Seek(t.Context(), asking("token:ann", fmt.Sprint(i/2))) })
	}
	calls.Wait()
	all, err := desks[0].List(t.Context())
	texts := map[string]bool{}
	for _, r := range all {
		texts[r.Text] = true
	}
	if err != nil || len(all) != maxPerPrincipal || len(texts) != len(all) {
		t.Errorf("%d requests about %d calls, %v", len(all), len(texts), err)
	}
}

// TestOdd has files in the directory that nobody has asked for.
func TestOdd(t *testing.T) {
	desks, dir := opened(t, 1)
	kept := seek(t, desks[0], asking("token:ann", "a"))
	for i, content := range []string{"", "null", "[]", "{}", "1", `{"id":"bbbbbbbbbb"}`, `{"id":"aaaaaaaaa7","principal":"p","fingerprint":"f","expires":1}`, "\x00"} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("aaaaaaaaa%c", 'a'+i)), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, make := range map[string]func(string) error{
		"ccccccccca": func(p string) error { return os.Mkdir(p, 0o700) },
		"cccccccccb": func(p string) error { return os.Symlink("/etc/passwd", p) },
		"cccccccccc": func(p string) error { return os.WriteFile(p, make([]byte, maxSize+1), 0o600) },
		"notes.txt":  func(p string) error { return os.WriteFile(p, nil, 0o600) },
	} {
		if err := make(filepath.Join(dir, name)); err != nil {
			t.Skip(err) // symlinks, on Windows
		}
	}
	all, err := desks[0].List(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != kept.ID {
		t.Errorf("%+v, %v", all, err)
	}
	for i, content := range []string{"", "null", `{"answer":"yes"}`, `{"answer":1}`, `"once"`} { // a decision that is none allows nothing
		asked := asking("token:ann", fmt.Sprint("odd", i))
		r := seek(t, desks[0], asked)
		if err := os.WriteFile(filepath.Join(dir, r.ID+decided), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := answerOf(seek(t, desks[0], asked)); got != No {
			t.Errorf("%q: %q", content, got)
		}
	}
	broken := Open(func() (*os.Root, error) { return nil, os.ErrPermission }, nil)
	if _, _, err := broken.Seek(t.Context(), asking("token:ann", "a")); !errors.Is(err, os.ErrPermission) {
		t.Errorf("without a directory: %v", err)
	}
	if _, err := broken.List(t.Context()); !errors.Is(err, os.ErrPermission) {
		t.Errorf("without a directory: %v", err)
	}
}

// TestChanged is told of what another process does.
func TestChanged(t *testing.T) {
	desks, _ := opened(t, 2)
	changed := desks[1].Changed(t.Context())
	r := seek(t, desks[0], asking("token:ann", "a"))
	<-changed
	decide(t, desks[0], r.ID, Once, "token:bob")
	<-changed
	if err := desks[1].Await(t.Context(), r.ID); err != nil {
		t.Error(err)
	}
}
