package netguard_test

import "github.com/toolserver/toolserver/test/fakes/dns"

type answers = dns.Answers

// Short names for what the tests of this package say all the time.
var (
	none, silence  = dns.None, dns.Silence
	resolver, zone = dns.Resolver, dns.Zone
)

const truncated = dns.Truncated
