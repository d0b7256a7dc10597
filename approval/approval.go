// Package approval keeps what people who are elsewhere have to decide about calls: requests, decisions, and that a decision was used. All
// processes of a user see the same, also after a restart. Nobody decides who has not reached this package by the machine or a sign-in: knowing
// the ID of a request opens nothing.
package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/osfile/filewatch"
	"github.com/toolserver/toolserver/store"
)

// Request is what a person has to decide about one call.
type Request struct {
	ID          string    `json:"id"`
	Fingerprint string    `json:"fingerprint"` // of what is asked, with all arguments; see [Fingerprint]
	Principal   string    `json:"principal"`   // its ID
	Session     string    `json:"session,omitempty"`
	Client      string    `json:"client,omitempty"`
	Tool        string    `json:"tool"`
	About       string    `json:"about"`           // "confirm", or what policy refuses: "command git push"
	Text        string    `json:"text"`            // the question: all of it, with what cannot be seen spelled out
	Scope       string    `json:"scope,omitempty"` // what an answer for the session holds for; empty if there is no session
	Second      bool      `json:"second,omitempty"`
	Created     time.Time `json:"created"`
	Expires     time.Time `json:"expires"`
	Decision    *Decision `json:"decision,omitempty"` // nil while nobody has decided
	Used        bool      `json:"used,omitempty"`     // a call has got the decision
}

// Decision is what a person has decided.
type Decision struct {
	Answer string    `json:"answer"`
	By     string    `json:"by"` // ID of a principal; user:NAME of this machine on the command line
	At     time.Time `json:"at"`
}

// The answers of a [Decision].
const (
	Once    = "once"    // one call may run
	Session = "session" // and others of the kind until the session ends
	Never   = "never"   // none may, and nobody is asked again until that is forgotten
	No      = "no"      // the call may not run
)

// Reasons why a decision is not taken, or nobody is asked.
var (
	ErrUnknown   = errors.New("there is no such request, or it is over")
	ErrExpired   = errors.New("it has expired; the call has to be made again")
	ErrDecided   = errors.New("it is decided already")
	ErrSecond    = errors.New("it needs a second person: who makes the call cannot allow it")
	ErrNoSession = errors.New("the client has no session that an answer could hold for; answer once")
	ErrTooMany   = errors.New("too many calls wait for a person already") // so that nobody is asked about another
)

// Bounds of what is kept.
const (
	maxWaiting      = 256 // requests that nobody has decided
	maxPerPrincipal = 16
	maxSize         = 512 << 10       // of one request
	keepUsed        = 5 * time.Minute // so that another who decides learns that it is decided
)

// poll is how often a decision of another process is looked for while somebody waits for it.
const poll = 200 * time.Millisecond

// Desk is where requests wait and people decide. It is safe for concurrent use, also by several processes.
type Desk struct {
	directory func() (*os.Root, error)
	store     *store.Store
	seeking   sync.Mutex // or calls that come at once would each find that there is room, and none of the others' requests
}

// Open returns the desk whose requests are in a store that replicas share, or in files of a directory while none do. The directory is opened
// for each use; the store may be nil.
func Open(directory func() (*os.Root, error), st *store.Store) *Desk {
	return &Desk{directory: directory, store: st}
}

// keeper keeps values by name. Nothing that was added is ever changed: to decide, and to use a decision, is to be the first to add
// something.
type keeper interface {
	names(ctx context.Context) ([]string, error)
	get(ctx context.Context, name string) ([]byte, error) // nil if there is none
	add(ctx context.Context, name string, value []byte) (first bool, err error)
	remove(ctx context.Context, id string) error // of a request, with what belongs to it
}

func (d *Desk) kept() keeper {
	if d.store != nil && d.store.Shared() {
		return shared{d.store}
	}
	return files{d.directory}
}

// Names of what belongs to a request, after its ID.
const (
	decided = ".decision"
	used    = ".used"
)

// NewID returns an ID that nobody guesses, and that a person can type.
func NewID() string { return strings.ToLower(rand.Text()[:10]) }

// validID reports whether a text can be an ID.
func validID(id string) bool {
	return len(id) == 10 && !strings.ContainsFunc(id, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '2' || r > '7') })
}

// Fingerprint returns what tells apart what is made of some parts.
func Fingerprint(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Waiting reports whether a person can decide the request now: so that a call that waits learns of it before the request expires.
func (r *Request) Waiting() bool { return r.Decision == nil && time.Until(r.Expires) > 2*poll }

// read returns a request as it is now, nil if there is none.
func (d *Desk) read(ctx context.Context, id string, names []string) (*Request, error) {
	data, err := d.kept().get(ctx, id)
	if data == nil || err != nil {
		return nil, err
	}
	r := &Request{}
	if json.Unmarshal(data, r) != nil || r.ID != id || r.Principal == "" || r.Fingerprint == "" {
		return nil, nil // somebody has put it there
	}
	r.Decision, r.Used = nil, slices.Contains(names, id+used)
	if !slices.Contains(names, id+decided) {
		return r, nil
	}
	if data, err = d.kept().get(ctx, id+decided); err != nil {
		return nil, err
	}
	decision := &Decision{}
	if json.Unmarshal(data, decision) != nil || !slices.Contains([]string{Once, Session, Never, No}, decision.Answer) {
		decision = &Decision{Answer: No}
	}
	r.Decision = decision
	return r, nil
}

// List returns the requests that are not over, the oldest first: those that wait, those that are decided, and all that are decided with
// [Never].
func (d *Desk) List(ctx context.Context) ([]Request, error) {
	names, err := d.kept().names(ctx)
	if err != nil {
		return nil, err
	}
	var all []Request
	for _, name := range names {
		id, _, belongs := strings.Cut(name, ".")
		if !validID(id) || belongs && slices.Contains(names, id) {
			continue
		}
		r, err := d.read(ctx, id, names)
		switch {
		case err != nil:
			return nil, err
		case r == nil || r.over():
			_ = d.kept().remove(ctx, id) // or the next time
		default:
			all = append(all, *r)
		}
	}
	slices.SortFunc(all, func(a, b Request) int { return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID)) })
	return all, nil
}

// over reports whether nothing comes of a request any more.
func (r *Request) over() bool {
	switch {
	case r.Decision == nil:
		return !time.Now().Before(r.Expires)
	case r.Decision.Answer == Never:
		return false
	}
	return !time.Now().Before(r.Expires) || r.Used && time.Since(r.Decision.At) > keepUsed
}

// get returns a request that is there.
func (d *Desk) get(ctx context.Context, id string) (*Request, error) {
	if !validID(id) {
		return nil, ErrUnknown
	}
	names, err := d.kept().names(ctx)
	if err != nil {
		return nil, err
	}
	r, err := d.read(ctx, id, names)
	if r == nil && err == nil {
		err = ErrUnknown
	}
	return r, err
}

// Decide decides a request, for a principal by its ID. The error is one of those above if the decision is not taken.
func (d *Desk) Decide(ctx context.Context, id, answer, by string) error {
	r, err := d.get(ctx, id)
	if err != nil {
		return err
	}
	allows := answer == Once || answer == Session
	switch {
	case r.Decision != nil:
		return fmt.Errorf("%w: %s, by %s", ErrDecided, r.Decision.Answer, r.Decision.By)
	case !r.Waiting():
		return ErrExpired
	case by == "" || !allows && answer != Never && answer != No:
		return fmt.Errorf("%q is no answer; answer once, session, never or no", answer)
	case answer == Session && r.Scope == "":
		return ErrNoSession
	case allows && r.Second && same(r.Principal, by):
		return ErrSecond
	}
	data, _ := json.Marshal(Decision{answer, by, time.Now().UTC()}) // which JSON has a form for
	first, err := d.kept().add(ctx, id+decided, data)
	if err == nil && !first {
		err = ErrDecided
	}
	return err
}

// same reports whether two principals may be one person. All who use this machine as the user that the server runs as are one.
func same(a, b string) bool {
	const machine = "user:"
	return a == b || strings.HasPrefix(a, machine) && strings.HasPrefix(b, machine)
}

// Forget forgets a request, whatever was decided.
func (d *Desk) Forget(ctx context.Context, id string) error {
	if _, err := d.get(ctx, id); err != nil {
		return err
	}
	return d.kept().remove(ctx, id)
}

// Seek returns what is decided about a call already, for this call alone unless the decision says otherwise. If nothing is, it returns the
// request that waits, which is made unless the same waits already.
func (d *Desk) Seek(ctx context.Context, asked Request) (r Request, made bool, err error) {
	d.seeking.Lock()
	defer d.seeking.Unlock()
	all, err := d.List(ctx)
	if err != nil {
		return r, false, err
	}
	if never := Refused(all, asked); never != nil {
		return *never, false, nil
	}
	for _, r := range all {
		if r.Decision != nil && r.Decision.Answer == Session && r.Scope == asked.Scope && r.Scope != "" && r.Second == asked.Second {
			_, err := d.kept().add(ctx, r.ID+used, nil) // or it would count once more after the session
			return r, false, err
		}
	}
	waiting, own := 0, 0
	var same *Request
	for i, r := range all {
		switch {
		case r.Decision == nil:
			if waiting++; r.Principal == asked.Principal {
				own++
			}
			if r.Fingerprint == asked.Fingerprint {
				same = &all[i]
			}
		case r.Fingerprint == asked.Fingerprint && !r.Used:
			if first, err := d.kept().add(ctx, r.ID+used, nil); err != nil || first {
				return r, false, err
			}
		}
	}
	switch {
	case same != nil:
		return *same, false, nil
	case waiting >= maxWaiting || own >= maxPerPrincipal:
		return r, false, ErrTooMany
	}
	asked.ID, asked.Decision, asked.Used = NewID(), nil, false
	data, err := json.Marshal(asked)
	if err == nil {
		_, err = d.kept().add(ctx, asked.ID, data)
	}
	return asked, true, err
}

// Refused returns the request of some that was decided with [Never] about what is asked; nil if there is none.
func Refused(all []Request, asked Request) *Request {
	for i, r := range all {
		if r.Decision != nil && r.Decision.Answer == Never && r.Principal == asked.Principal && r.Tool == asked.Tool && r.About == asked.About {
			return &all[i]
		}
	}
	return nil
}

// Await waits until a request is decided. The error is [ErrUnknown] if it is gone, or that of ctx.
func (d *Desk) Await(ctx context.Context, id string) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		if data, err := d.kept().get(ctx, id+decided); err == nil && data != nil {
			return nil
		}
		if data, err := d.kept().get(ctx, id); err == nil && data == nil {
			return ErrUnknown
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Changed returns a channel that gets a value soon after something has changed, until ctx ends. Somebody looks only as long.
func (d *Desk) Changed(ctx context.Context) <-chan struct{} {
	look := func() []string {
		names, err := d.kept().names(ctx)
		if err != nil {
			return []string{err.Error()}
		}
		slices.Sort(names)
		return names
	}
	changed, seen := make(chan struct{}, 1), look()
	go filewatch.Poll(ctx, poll, seen, look, slices.Equal[[]string], func() {
		select {
		case changed <- struct{}{}:
		default: // there is one that nobody has taken yet
		}
	})
	return changed
}
