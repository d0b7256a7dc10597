// Package store keeps what the replicas of one endpoint share: in Valkey, or any server that speaks its protocol, and in memory for a server
// that is alone. What matters for who may do what is sealed ([keyring.Ring]) and carried by clients, so that a store that is lost takes no
// more with it than limits, results and the whereabouts of what runs.
package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/keyring"
)

// Settings say where the store is.
type Settings struct {
	URL       string `yaml:"url" format:"store_url" secret:"true"`
	Password  string `yaml:"password_file" path:"true"`
	CA        string `yaml:"ca_file" path:"true"`
	OnFailure string `yaml:"on_failure" enum:"local|refuse"`
}

// What happens while the store cannot be reached.
const (
	Local  = "local"  // each replica goes by what it knows itself
	Refuse = "refuse" // what has to be known of all is refused
)

// Times of the store.
const (
	quick      = 50 * time.Millisecond  // for what a call waits for
	patient    = 250 * time.Millisecond // for that where it is refused otherwise
	slow       = time.Second            // for results
	probePause = 500 * time.Millisecond
	maxFailed  = 3 // failures in a row, after which nobody asks the store until a probe succeeds
	slowValue  = 64 << 10
)

// MaxValue bounds a value: 4 MiB, and what is said of them.
const MaxValue = 4<<20 + 256<<10

// ErrUnavailable is the error of what needs the store while it cannot be reached.
var ErrUnavailable = errors.New("what the replicas of this server share cannot be reached at the moment; try again in a few seconds")

// Store is what replicas share: keys, and what they keep. Without [Store.Start] it is in memory, of a server that is alone. It is safe for
// concurrent use.
type Store struct {
	Peers

	// Changed is told when the store cannot be reached, and with nil when it can be again; Asked how long each question took that was not left
	// out because of that. Both may be nil, and are set before Start.
	Changed func(error)
	Asked   func(took time.Duration, err error)

	started  atomic.Bool // with other replicas
	settings Settings
	memory   memory
	remote   *server // of one that was started
	ring     atomic.Pointer[keyring.Ring]

	failed atomic.Int32 // in a row
	down   atomic.Bool
	why    atomic.Pointer[error]
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup
	mu     sync.Mutex
	leases share.Store[string, *lease]
}

// New returns a store in memory, with a key of its own.
func New() *Store {
	s := &Store{}
	s.Peers.store = s
	s.ring.Store(keyring.Own())
	return s
}

// Keys returns the keys in use.
func (s *Store) Keys() *keyring.Ring { return s.ring.Load() }

// UseKeys changes the keys.
func (s *Store) UseKeys(keys *keyring.Ring) { s.ring.Store(keys) }

// Shared reports whether other replicas share the store.
func (s *Store) Shared() bool { return s.started.Load() }

// NewHandle returns a name for something that is kept for an owner, which other replicas with the same keys can tell whose it is.
func (s *Store) NewHandle(owner string) string {
	if keys := s.Keys(); keys.Shared() {
		return keys.NewHandle(owner, s.name)
	}
	var random [6]byte
	rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// Whereabouts says of a handle of an owner that this replica does not know why that may be; "" if it is not one of theirs.
func (s *Store) Whereabouts(owner, handle string, kept time.Duration) string {
	keys := s.Keys()
	h, ok := keys.OpenHandle(owner, handle)
	switch {
	case !ok || !keys.Shared():
		return ""
	case time.Since(h.Made) > kept+time.Minute:
		return "it was made " + h.Made.UTC().Format("2006-01-02 15:04") + " UTC and has expired"
	case h.Replica == keyring.ReplicaTag(s.name):
		return "it was dropped for newer ones"
	case !s.Shared():
		return "another replica of this server has it, and they share no store"
	case s.down.Load():
		return "another replica of this server has it, and what they share cannot be reached at the moment"
	}
	return "another replica of this server had it, which does not share it: it is too long, or the store has lost it"
}

// Name returns the name of this process among the replicas; empty for one that is alone.
func (s *Store) Name() string { return s.name }

// Reached reports whether the server of the store was reached since the start; true for a server that is alone.
func (s *Store) Reached() bool { return !s.Shared() || s.remote.client.Load() != nil }

// State says how the store is: "" for one in memory, "ok", or why it cannot be reached.
func (s *Store) State() string {
	switch {
	case !s.Shared():
		return ""
	case s.down.Load():
		return (*s.why.Load()).Error()
	}
	return "ok"
}

// key is where a value of an owner is; nobody who sees it learns who that is.
func key(owner, name string) string {
	sum := sha256.Sum256([]byte(owner))
	return "ts:" + hex.EncodeToString(sum[:10]) + ":" + name
}

// Start shares the store at the settings, if they name one, as the replica called name; the machine's, if that is empty. Other replicas reach this one at
// a port. What is put there is sealed. The caller stops it.
func (s *Store) Start(settings Settings, name string, port int) (stop func(), err error) {
	host, _ := os.Hostname()
	s.name = cmp.Or(name, host) + "-" + strings.ToLower(rand.Text()[:6]) // a process that is started again is another one
	if settings.URL == "" {
		return func() {}, nil
	}
	s.port, s.serving, s.waiting, s.differ = port, make(chan struct{}, maxServing), map[string]chan []byte{}, map[string]difference{}
	leave, err := s.Join(settings)
	if err != nil {
		return nil, err
	}
	s.work.Go(s.listen)
	s.work.Go(func() {
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		for {
			if !s.down.Load() {
				s.beat()
			}
			select {
			case <-s.ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return func() {
		_ = s.try(context.Background(), quick, func(ctx context.Context, c client) error { return c.put(ctx, alive(s.name), nil, time.Millisecond) })
		leave()
	}, nil
}

// Join has a process that is no replica use the store at the settings, if they name one. The caller leaves it.
func (s *Store) Join(settings Settings) (leave func(), err error) {
	if settings.URL == "" {
		return func() {}, nil
	}
	option, err := settings.parse()
	if err != nil {
		return nil, err
	}
	s.settings, s.remote = settings, newServer(option)
	s.ctx, s.stop = context.WithCancel(context.Background())
	if err := s.remote.probe(s.ctx, slow); err != nil {
		s.fails(err)
	}
	s.started.Store(true) // other goroutines may have asked before
	return func() {
		s.stop()
		s.remote.close()
		s.work.Wait()
	}, nil
}

// try does something with the server of the store, within a time. It returns [ErrUnavailable] without asking while that is down.
func (s *Store) try(ctx context.Context, limit time.Duration, do func(context.Context, client) error) error {
	if s.down.Load() {
		return ErrUnavailable
	}
	if limit == quick && s.Refuses() {
		limit = patient
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit) // a client that leaves says nothing of the store
	defer cancel()
	begun := time.Now()
	c, err := s.remote.connected()
	if err == nil {
		err = do(ctx, c)
	}
	if s.Asked != nil {
		s.Asked(time.Since(begun), err)
	}
	if err == nil {
		s.failed.Store(0)
		return nil
	}
	if s.failed.Add(1) >= maxFailed {
		s.fails(err)
	}
	return fmt.Errorf("%w (%v)", ErrUnavailable, err)
}

// fails has nobody ask the server of the store until it answers a probe.
func (s *Store) fails(err error) {
	if s.why.Store(&err); !s.down.CompareAndSwap(false, true) {
		return
	}
	if s.Changed != nil {
		s.Changed(err)
	}
	s.work.Go(func() {
		pause := time.NewTicker(probePause)
		defer pause.Stop()
		for {
			select {
			case <-s.ctx.Done():
				return
			case <-pause.C:
			}
			if err := s.remote.probe(s.ctx, quick); err != nil {
				s.why.Store(&err)
				continue
			}
			s.failed.Store(0)
			s.down.Store(false)
			if s.Changed != nil {
				s.Changed(nil)
			}
			if s.serving != nil { // it is a replica
				s.beat()
			}
			return
		}
	})
}

// Refuses reports whether what has to be known of all is refused while the store cannot be reached.
func (s *Store) Refuses() bool { return s.settings.OnFailure == Refuse }

// falls reports whether memory has to do instead.
func (s *Store) falls(err error) bool { return err != nil && s.settings.OnFailure != Refuse }

// Once reports whether nobody has asked for the same name of an owner before, for a time. It is how something that may be done once is done once.
func (s *Store) Once(ctx context.Context, owner, name string, ttl time.Duration) (first bool, err error) {
	if s.Shared() {
		err = s.try(ctx, quick, func(ctx context.Context, c client) (err error) {
			first, err = c.once(ctx, key(owner, name), ttl)
			return err
		})
		if !s.falls(err) {
			return first, err
		}
	}
	return s.memory.once(key(owner, name), ttl), nil
}

// Mark notes something of an owner for a time, here and for the other replicas.
func (s *Store) Mark(ctx context.Context, owner, name string, ttl time.Duration) {
	k, now := key(owner, name), time.Now()
	if s.Shared() {
		_ = s.try(ctx, quick, func(ctx context.Context, c client) error {
			return c.put(ctx, k, now.AppendFormat(nil, time.RFC3339Nano), ttl)
		}) // the log says so
	}
	s.memory.mark(k, ttl)
}

// Marked returns when that was noted last by a replica; zero if it was not. The error says that it is not known.
func (s *Store) Marked(ctx context.Context, owner, name string) (at time.Time, err error) {
	k := key(owner, name)
	if at = s.memory.marked(k); !s.Shared() {
		return at, nil
	}
	err = s.try(ctx, quick, func(ctx context.Context, c client) error {
		v, err := c.get(ctx, k)
		if elsewhere, _ := time.Parse(time.RFC3339Nano, string(v)); elsewhere.After(at) {
			at = elsewhere
		}
		return err
	})
	if s.falls(err) {
		err = nil
	}
	return at, err
}

// Put keeps a value of an owner for a time, where other replicas find it; nowhere if this one is alone. Nobody can read it in the store.
func (s *Store) Put(ctx context.Context, owner, name string, value []byte, ttl time.Duration) error {
	switch {
	case !s.Shared():
		return nil
	case len(value) > MaxValue:
		return fmt.Errorf("%d bytes are more than other replicas can have, which is %d", len(value), MaxValue)
	}
	k, limit := key(owner, name), quick
	if len(value) > slowValue {
		limit = slow
	}
	sealed := s.Keys().SealBytes(k, value)
	return s.try(ctx, limit, func(ctx context.Context, c client) error { return c.put(ctx, k, sealed, ttl) })
}

// Get returns a value that a replica has put; nil if there is none that this one can open.
func (s *Store) Get(ctx context.Context, owner, name string) (value []byte, err error) {
	if !s.Shared() {
		return nil, nil
	}
	k := key(owner, name)
	err = s.try(ctx, slow, func(ctx context.Context, c client) (err error) {
		value, err = c.get(ctx, k)
		return err
	})
	if value != nil {
		value, _ = s.Keys().OpenBytes(k, value) // what was sealed with a key that is gone is gone, too
	}
	return value, err
}

// Add adds to a number of an owner and returns the sum of all replicas. Ok is false for a server that is alone, or if the sum is not known.
func (s *Store) Add(ctx context.Context, owner, name string, n int64, ttl time.Duration) (sum int64, ok bool) {
	if !s.Shared() {
		return 0, false
	}
	err := s.try(ctx, slow, func(ctx context.Context, c client) (err error) {
		sum, err = c.add(ctx, key(owner, name), n, ttl)
		return err
	})
	return sum, err == nil
}

// lease is what a replica has taken of a bucket and not spent: the store is asked once for many.
type lease struct {
	mu      sync.Mutex
	held    int
	left    int // in the store, when it was last asked
	refused time.Time
}

// leased is how many are taken of a bucket at once: a twentieth, so that what replicas hold and do not spend is little of a limit.
func leased(limit int) int { return max(1, min(limit/20, 1000)) }

// lease returns the lease of an owner.
func (s *Store) lease(owner string, limit int) *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases.MaxAge, s.leases.Renew = time.Minute, true
	l, ok := s.leases.Get(owner, "")
	if !ok {
		l = &lease{left: limit}
		s.leases.Put(owner, "", l, 1)
	}
	return l
}

// Take takes one of what a bucket of an owner has, which holds limit and is filled again in a minute. If there is none, it returns when there
// will be. The error says that nobody knows.
func (s *Store) Take(ctx context.Context, owner string, limit int, now time.Time) (wait time.Duration, err error) {
	if !s.Shared() {
		return s.memory.takeOne(owner, limit, now), nil
	}
	l := s.lease(owner, limit)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.held > 0:
		l.held--
		return 0, nil
	case now.Before(l.refused):
		return l.refused.Sub(now), nil
	}
	err = s.try(ctx, quick, func(ctx context.Context, c client) error {
		got, left, wait, err := c.take(ctx, key(owner, "rate"), limit, leased(limit))
		if l.left = left; err == nil && got == 0 {
			l.refused = now.Add(wait)
		}
		l.held = got
		return err
	})
	switch {
	case s.falls(err):
		return s.memory.takeOne(owner, max(1, limit/max(1, s.Replicas())), now), nil
	case err != nil:
		return 0, err
	case l.held == 0:
		return l.refused.Sub(now), nil
	}
	l.held--
	return 0, nil
}

// Left returns about how many a bucket of an owner has.
func (s *Store) Left(owner string, limit int) float64 {
	if !s.Shared() {
		return s.memory.left(owner, limit)
	}
	l := s.lease(owner, limit)
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(min(limit, l.held+l.left))
}

// PutField puts a value of this replica into a set of an owner, for a time.
func (s *Store) PutField(ctx context.Context, owner, set string, value []byte, ttl time.Duration) error {
	if !s.Shared() {
		return nil
	}
	k := key(owner, set)
	sealed := s.Keys().SealBytes(k+s.name, value)
	return s.try(ctx, quick, func(ctx context.Context, c client) error { return c.putField(ctx, k, s.name, sealed, ttl) })
}

// Fields returns the values of a set, by replica. Those that cannot be opened are left out.
func (s *Store) Fields(ctx context.Context, owner, set string) (values map[string][]byte, err error) {
	if !s.Shared() {
		return nil, nil
	}
	k, sealed := key(owner, set), map[string]string{}
	err = s.try(ctx, slow, func(ctx context.Context, c client) (err error) {
		sealed, err = c.fields(ctx, k)
		return err
	})
	values = map[string][]byte{}
	for name, v := range sealed {
		if plain, err := s.Keys().OpenBytes(k+name, []byte(v)); err == nil {
			values[name] = plain
		}
	}
	return values, err
}

// AddField puts a value into a set of an owner that has none of that name, and reports whether that was so. The set is gone some time after the last.
func (s *Store) AddField(ctx context.Context, owner, set, name string, value []byte, ttl time.Duration) (first bool, err error) {
	k := key(owner, set)
	sealed := s.Keys().SealBytes(k+name, value)
	err = s.try(ctx, slow, func(ctx context.Context, c client) (err error) {
		first, err = c.addField(ctx, k, name, sealed, ttl)
		return err
	})
	return first, err
}

// Field returns a value of a set of an owner; nil if there is none that can be opened.
func (s *Store) Field(ctx context.Context, owner, set, name string) (value []byte, err error) {
	k := key(owner, set)
	if err = s.try(ctx, slow, func(ctx context.Context, c client) (err error) {
		value, err = c.field(ctx, k, name)
		return err
	}); value == nil || err != nil {
		return nil, err
	}
	value, _ = s.Keys().OpenBytes(k+name, value)
	return value, nil
}

// RemoveFields removes values of a set of an owner.
func (s *Store) RemoveFields(ctx context.Context, owner, set string, names ...string) error {
	return s.try(ctx, slow, func(ctx context.Context, c client) error { return c.removeFields(ctx, key(owner, set), names) })
}
