package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// TestRebinding has a name lead to an address that is open first, and then to one
// that is not.
func TestRebinding(t *testing.T) {
	s := listen(t, "127.0.0.1", "127.0.0.2")
	var lookups atomic.Int64
	r := resolver(t, func(_ string, kind dnsmessage.Type) answers {
		if kind != dnsmessage.TypeA {
			return none
		}
		if lookups.Add(1) == 1 {
			return answers{"127.0.0.2"}
		}
		return answers{"127.0.0.1"}
	})
	client := guard(t, r, s.at("127.0.0.2")).Client()
	url := "http://" + s.at("rebind.test") + "/"
	wantReached(t, client, url)
	wantReached(t, client, url) // over the connection that there is
	client.CloseIdleConnections()
	wantDenied(t, client, url, netguard.Loopback)
	wantDenied(t, client, url, netguard.Loopback)
	closed, open := s.reached["127.0.0.1"].Load(), s.reached["127.0.0.2"].Load()
	if closed != 0 || open != 1 || lookups.Load() != 3 {
		t.Errorf("%d connections to what is denied, %d to what is open, %d lookups", closed, open, lookups.Load())
	}
}

// TestAnswers has names lead to an address that is open, to others, and to both.
func TestAnswers(t *testing.T) {
	s := listen(t, "127.0.0.1", "127.0.0.2")
	client := guard(t, zone(t, map[string]answers{
		"open.test":      {"127.0.0.2"},
		"alias.test":     {"a.test", "b.test", "c.test", "127.0.0.2"},
		"long.test":      {truncated, "127.0.0.2"},
		"first.test":     {"127.0.0.2", "127.0.0.1", "10.0.0.1", "::1"},
		"last.test":      {"127.0.0.1", "::1", "::", "127.0.0.2"},
		"closed.test":    {"127.0.0.1"},
		"longer.test":    {truncated, "127.0.0.1"},
		"chain.test":     {"a.test", "b.test", "open.test", "127.0.0.1"},
		"six.test":       {"::1"},
		"mapped.test":    {"::ffff:127.0.0.1"},
		"zero.test":      {"0.0.0.0"},
		"zeros.test":     {"::"},
		"nat64.test":     {"64:ff9b::7f00:1"},
		"metadata.test":  {"public.test", "169.254.169.254"},
		"link.test":      {"fe80::1"},
		"multicast.test": {"224.0.0.1"},
		"broadcast.test": {"255.255.255.255"},
	}), s.at("127.0.0.2")).Client()
	for _, name := range []string{"open.test", "alias.test", "long.test", "first.test", "last.test"} {
		wantReached(t, client, "http://"+s.at(name)+"/")
	}
	reached := s.reached["127.0.0.2"].Load()
	for name, rule := range map[string]netguard.Rule{
		"closed.test": netguard.Loopback, "longer.test": netguard.Loopback, "chain.test": netguard.Loopback, "mapped.test": netguard.Loopback, "zero.test": netguard.Unspecified,
		"metadata.test": netguard.Metadata, "multicast.test": netguard.Multicast, "broadcast.test": netguard.Broadcast,
	} {
		wantDenied(t, client, "http://"+s.at(name)+"/", rule)
	}
	if hasIPv6() {
		for name, rule := range map[string]netguard.Rule{
			"six.test": netguard.Loopback, "zeros.test": netguard.Unspecified, "nat64.test": netguard.Loopback, "link.test": netguard.LinkLocal,
		} {
			wantDenied(t, client, "http://"+s.at(name)+"/", rule)
		}
	}
	if got := s.reached["127.0.0.1"].Load(); got != 0 || s.reached["127.0.0.2"].Load() != reached || reached != 5 {
		t.Errorf("%d connections to what is denied, %d to what is open", got, s.reached["127.0.0.2"].Load())
	}
	_, rule, err := get(t.Context(), client, "http://"+s.at("nobody.test")+"/")
	if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound || rule != "" {
		t.Errorf("no such name: %v", err)
	}
}

// TestSilence has a name server that does not answer.
func TestSilence(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := guard(t, resolver(t, func(string, dnsmessage.Type) answers { cancel(); return silence })).Client()
	if _, _, err := get(ctx, client, "http://name.test/"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestBothFamilies has a name lead to two addresses that are tried at a time, of
// which one is open.
func TestBothFamilies(t *testing.T) {
	s := listen(t, "127.0.0.1", "::1")
	r := zone(t, map[string]answers{"both.test": {"::1", "127.0.0.1"}})
	for open, closed := range map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"} {
		before := s.reached[closed].Load()
		h := netip.AddrPortFrom(netip.MustParseAddr(open), uint16(s.port)).String()
		for range 20 {
			client := guard(t, r, h).Client()
			wantReached(t, client, "http://"+s.at("both.test")+"/")
			client.CloseIdleConnections()
		}
		if n := s.reached[closed].Load() - before; n != 0 {
			t.Errorf("%d connections to %s, while only %s is open", n, closed, open)
		}
	}
	before := s.connections()
	wantDenied(t, guard(t, r).Client(), "http://"+s.at("both.test")+"/", netguard.Loopback)
	if s.connections() != before {
		t.Error("connected to what is denied")
	}
}

// TestConcurrency has many use one client for what is open and what is not.
func TestConcurrency(t *testing.T) {
	s, closed := listen(t, "127.0.0.1"), listen(t, "127.0.0.1")
	r := zone(t, map[string]answers{"open.test": {"127.0.0.1"}, "both.test": {"::1", "127.0.0.1"}, "closed.test": {"127.0.0.1", "::1"}})
	client := guard(t, r, s.at("open.test"), s.at("both.test")).Client()
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 5 {
				wantReached(t, client, "http://"+s.at("open.test")+"/")
				wantReached(t, client, "http://"+s.at("both.test")+"/")
				wantDenied(t, client, "http://"+closed.at("open.test")+"/", netguard.Loopback)
				wantDenied(t, client, "http://"+s.at("closed.test")+"/", netguard.Loopback)
				wantDenied(t, client, "http://"+closed.at("127.0.0.1")+"/", netguard.Loopback)
			}
		})
	}
	group.Wait()
	if n := closed.connections(); n != 0 {
		t.Errorf("%d connections to what is denied", n)
	}
}

// TestRequest looks at what the client does besides connecting.
func TestRequest(t *testing.T) {
	s := listen(t, "127.0.0.1")
	client := guard(t, zone(t, map[string]answers{"open.test": {"127.0.0.1"}}), s.at("open.test")).Client()
	body, _, err := get(t.Context(), client, "http://"+s.at("OPEN.test.")+"/")
	if body != "hello "+s.at("open.test") {
		t.Errorf("asked for another host: %q, %v", body, err)
	}
	if body, _, err := get(t.Context(), client, "http://"+s.at("open.test")+"/?long"); err == nil {
		t.Errorf("takes a header of any length: %q", body)
	}
	if client.Jar != nil {
		t.Error("keeps cookies")
	}
	closing := &closer{Reader: strings.NewReader("x")}
	if _, err := client.Post("http://127.0.0.1/", "text/plain", closing); err == nil || !closing.closed {
		t.Errorf("the body of a request that is denied stays open: %v", err)
	}
}

type closer struct {
	*strings.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }
