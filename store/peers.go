package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valkey-io/valkey-go"
)

// Times of the messages between replicas.
const (
	beatEvery  = 5 * time.Second
	goneAfter  = 3 * beatEvery // a replica that was not heard of for that long has ended
	maxDelay   = time.Minute   // a message that is older is not taken
	maxServing = 1024          // messages at a time, some of which wait for jobs; more are dropped, and who asks is not answered
	maxAnswers = 64            // to a question
)

// Peers are the other replicas, which this one tells and asks things. A server that is alone has none.
type Peers struct {
	// Version names what replicas should have the same of: the configuration. Differs is told, once, of a replica that has had another version for a minute.
	// Both may be nil, and are set before Start.
	Version func() string
	Differs func(replica, version string)

	store   *Store
	name    string // of this process among the replicas
	port    int    // at which it serves
	others  atomic.Int32
	kinds   map[string]func(context.Context, []byte) []byte
	beats   []func()
	serving chan struct{}

	mu      sync.Mutex
	waiting map[string]chan []byte // answers, by the ID of the question
	differ  map[string]difference  // replicas with another version
}

// difference is the version of a replica that this one does not have.
type difference struct {
	version string
	since   time.Time
	told    bool
}

// message is what one replica says to others. It is sealed: who can write to the store cannot make one.
type message struct {
	Kind string    `json:"kind"`
	From string    `json:"from"`
	ID   string    `json:"id,omitempty"` // of a question, or of the one that this answers
	At   time.Time `json:"at"`
	Body []byte    `json:"body,omitempty"`
}

// Kinds of messages that are not [Peers.On]'s: answers, and what each says again and again.
const (
	answerKind = "answer"
	beatKind   = "beat"
)

// sealedMessage is what messages are sealed for.
const sealedMessage = "message between replicas"

// On has messages of a kind served, from Start on. What serve returns is the answer; nil for none. It may be called several times at once.
func (p *Peers) On(kind string, serve func(ctx context.Context, body []byte) []byte) {
	if p.kinds == nil {
		p.kinds = map[string]func(context.Context, []byte) []byte{}
	}
	p.kinds[kind] = serve
}

// OnBeat has do called every few seconds, and when the store can be reached again: what must be in it is to be put there again.
func (p *Peers) OnBeat(do func()) { p.beats = append(p.beats, do) }

// alive is the key that a replica renews as long as it lives.
func alive(name string) string { return "ts:replica:" + name }

// beat says that this replica lives.
func (p *Peers) beat() {
	s := p.store
	at := net.JoinHostPort(s.remote.local(s.ctx), strconv.Itoa(p.port))
	sealed := s.Keys().SealBytes(sealedAddress, []byte(at))
	if s.try(s.ctx, slow, func(ctx context.Context, c client) error { return c.put(ctx, alive(p.name), sealed, goneAfter) }) != nil {
		return
	}
	version := ""
	if p.Version != nil {
		version = p.Version()
	}
	p.Tell("", beatKind, []byte(version))
	for _, do := range p.beats {
		do()
	}
}

// sealedAddress is what addresses of replicas are sealed for.
const sealedAddress = "address of a replica"

// Alive reports whether a process among the replicas lives: it says so, or, where the store has lost that, receives messages. The error says that nobody knows.
func (p *Peers) Alive(ctx context.Context, name string) (lives bool, err error) {
	address, err := p.Address(ctx, name)
	return address != "" || err == nil && p.Tell(name, beatKind, nil), err
}

// Address returns the host and port at which a process among the replicas serves; empty if it is gone. The error says that nobody knows.
func (p *Peers) Address(ctx context.Context, name string) (address string, err error) {
	var sealed []byte
	if !p.store.Shared() {
		return "", nil
	}
	err = p.store.try(ctx, slow, func(ctx context.Context, c client) (err error) {
		sealed, err = c.get(ctx, alive(name))
		return err
	})
	plain, _ := p.store.Keys().OpenBytes(sealedAddress, sealed) // one of other keys is not reached
	return string(plain), err
}

// Replicas returns how many replicas there are, as far as is known.
func (p *Peers) Replicas() int { return int(p.others.Load()) + 1 }

// channel returns where one replica is told something, or all if to is empty. Channels are those of all databases of a server, and other endpoints have others.
func (p *Peers) channel(to string) string {
	return fmt.Sprintf("ts:%d:replicas:%s", p.store.remote.option.SelectDB, to)
}

// listen takes in messages until the store is stopped.
func (p *Peers) listen() {
	s, said := p.store, ""
	for s.ctx.Err() == nil {
		err := s.remote.receive(s.ctx, []string{p.channel(""), p.channel(p.name)}, p.take)
		if _, refused := valkey.IsValkeyErr(err); refused && said != err.Error() && s.Changed != nil { // others cannot tell this one anything: no probe finds that
			said = err.Error()
			s.Changed(fmt.Errorf("messages of other replicas are not received: %w", err))
		}
		select {
		case <-s.ctx.Done():
		case <-time.After(probePause):
		}
	}
}

// take takes in a message.
func (p *Peers) take(sealed string) {
	plain, err := p.store.Keys().OpenBytes(sealedMessage, []byte(sealed))
	if err != nil {
		p.heard("one with other server.keys", "unknown")
		return
	}
	var m message
	if json.Unmarshal(plain, &m) != nil || p.store.ctx.Err() != nil || m.From == p.name || time.Since(m.At).Abs() > maxDelay {
		return
	}
	if m.Kind == answerKind {
		p.mu.Lock()
		defer p.mu.Unlock()
		if waiting := p.waiting[m.ID]; waiting != nil {
			select {
			case waiting <- m.Body:
			default:
			}
		}
		return
	}
	if m.Kind == beatKind {
		p.heard(m.From, string(m.Body))
	}
	serve := p.kinds[m.Kind]
	if serve == nil {
		return
	}
	select {
	case p.serving <- struct{}{}:
	default:
		return
	}
	p.store.work.Go(func() {
		defer func() { <-p.serving }()
		if answer := serve(p.store.ctx, m.Body); answer != nil && m.ID != "" {
			p.send(p.store.ctx, m.From, message{Kind: answerKind, ID: m.ID, Body: answer})
		}
	})
}

// heard compares the version of a replica with the own.
func (p *Peers) heard(replica, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.differ, func(_ string, d difference) bool { return time.Since(d.since) > time.Hour }) // perhaps of one that has ended
	d := p.differ[replica]
	switch {
	case p.Version == nil || version == "" || version == p.Version():
		delete(p.differ, replica)
		return
	case d.version != version:
		d = difference{version: version, since: time.Now()}
	}
	if time.Since(d.since) > maxDelay && !d.told && p.Differs != nil {
		d.told = true
		p.Differs(replica, version)
	}
	p.differ[replica] = d
}

// send sends a message that is not too long to one replica, or to all others if to is empty, and returns how many of them got it.
func (p *Peers) send(ctx context.Context, to string, m message) (received int) {
	s := p.store
	m.From, m.At = p.name, time.Now()
	plain, err := json.Marshal(m)
	if err != nil || len(plain) > MaxValue { // of which a few have servers end the connections of all who receive them
		return 0
	}
	sealed := s.Keys().SealBytes(sealedMessage, plain)
	_ = s.try(ctx, slow, func(ctx context.Context, c client) error {
		n, err := c.publish(ctx, p.channel(to), sealed)
		received = int(n)
		return err
	})
	if to == "" {
		received = max(0, received-1) // without this one
		p.others.Store(int32(received))
	}
	return received
}

// Tell says something to one replica, or to all others if to is empty, and reports whether any got it. It does nothing for a server that is alone.
func (p *Peers) Tell(to, kind string, body []byte) bool {
	return p.store.Shared() && p.send(p.store.ctx, to, message{Kind: kind, Body: body}) > 0
}

// Ask asks one replica, or all others if to is empty, and returns their answers. Who does not answer before ctx ends is left out.
func (p *Peers) Ask(ctx context.Context, to, kind string, body []byte) (answers [][]byte) {
	if !p.store.Shared() {
		return nil
	}
	m := message{Kind: kind, ID: rand.Text(), Body: body}
	waiting := make(chan []byte, maxAnswers)
	p.mu.Lock()
	p.waiting[m.ID] = waiting
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, m.ID)
	}()
	for range p.send(ctx, to, m) {
		select {
		case a := <-waiting:
			answers = append(answers, a)
		case <-ctx.Done():
			return answers
		}
	}
	return answers
}
