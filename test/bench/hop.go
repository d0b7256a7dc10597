package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// hop is a comparison of gateways with the upstream that they reach.
type hop struct {
	client, up wire
	argv       []string  // of the upstream
	ours       []variant // of the server under test
	answer     string    // is in each answer
}

// variant is the server under test with more in its configuration.
type variant struct{ name, config string }

// direct is the name of the upstream without a gateway.
const direct = "upstream directly"

// What a hop may cost: on stdio only, and if one of its sides is HTTP.
const (
	stdioHopCPU, httpHopCPU     = 60 * time.Microsecond, 150 * time.Microsecond
	stdioHopAdded, httpHopAdded = 200 * time.Microsecond, 500 * time.Microsecond
)

// measureHop compares a small call through gateways with the same call of the upstream
// itself, over all combinations of transports and protocol versions.
func measureHop(ctx context.Context, l *lab) error {
	if err := l.buildGateways(ctx); err != nil {
		return err
	}
	for _, client := range wires {
		for _, up := range wires {
			inFlight := []int{1}
			if client.version == up.version {
				inFlight = append(inFlight, 8)
			}
			dir, err := l.dir(strings.ReplaceAll(fmt.Sprintf("hop %v %v", client, up), " ", "-"))
			if err != nil {
				return err
			}
			results, err := l.compareHop(ctx, dir, hop{
				client: client, up: up, argv: l.upstream(up.version), ours: []variant{{name: "toolserver"}}, answer: `"Echo: hello"`,
			}, inFlight)
			if err != nil {
				return fmt.Errorf("%v to %v: %w", client, up, err)
			}
			mayCost, mayAdd := stdioHopCPU, stdioHopAdded
			if client.http || up.http {
				mayCost, mayAdd = httpHopCPU, httpHopAdded
			}
			for i, c := range results {
				bars := []bar{atMost("CPU", c.median("toolserver", cpu), float64(mayCost), nanos)}
				if inFlight[i] == 1 {
					bars = append(bars, atMost("added to p50", c.added("toolserver", direct, p50), float64(mayAdd), nanos))
				}
				l.table.add(fmt.Sprintf("proxy hop, %v to %v, %d in flight", client, up, inFlight[i]), c, bars...)
			}
		}
	}
	l.table.note("proxy hop: CPU and RSS are those of the gateway with its helpers but without the upstream, or of the upstream itself. What is added to p50 is compared with "+
		"the upstream over its own transport. TBXark mcp-proxy is %s, and serves HTTP only; docker mcp-gateway is %s, with --static --long-lived. "+
		"Neither speaks %s.", tbxarkVersion, dockerVersion, modern)
	return nil
}

// measureHopSizes compares results of 64 KiB through gateways with those of the upstream
// itself.
func measureHopSizes(ctx context.Context, l *lab) error {
	if err := l.buildGateways(ctx); err != nil {
		return err
	}
	const size = 64 << 10
	quoted, err := json.Marshal("Echo: " + sourceText(size))
	if err != nil {
		return err
	}
	file, err := l.config("hop-text.json", string(quoted))
	if err != nil {
		return err
	}
	// An upstream that does something, too, under the name of those that do nothing.
	bin, err := l.dir("hop-bin")
	if err != nil {
		return err
	}
	mcpgo := filepath.Join(bin, upstreamProgram)
	if err := os.Symlink(l.program("mcpgo"), mcpgo); err != nil {
		return err
	}
	const whole, cut = "toolserver", "toolserver, result cut by default"
	for _, w := range wires {
		for _, up := range []struct {
			name string
			argv []string
		}{{"", l.upstream(w.version, "-text", file)}, {" of an mcp-go server", []string{mcpgo, "-text", file}}} {
			dir, err := l.dir(strings.ReplaceAll(fmt.Sprintf("hopsizes %v%s", w, up.name), " ", "-"))
			if err != nil {
				return err
			}
			results, err := l.compareHop(ctx, dir, hop{
				client: w, up: w, argv: up.argv, answer: `Echo: \tif err := write(w,`,
				ours: []variant{{whole, "limits: {max_result_chars: 2000000}"}, {cut, ""}},
			}, []int{1})
			if err != nil {
				return fmt.Errorf("%v%s: %w", w, up.name, err)
			}
			c := results[0]
			l.table.add(fmt.Sprintf("64 KiB%s through a hop, %v", up.name, w), c,
				atMost("time to upstream's", c.ratio(whole, direct, p50), 1.5, times), atMost("time to upstream's, cut", c.ratio(cut, direct, p50), 1.5, times))
		}
	}
	return nil
}

// compareHop starts gateways and compares how they serve inFlight calls at a time. The
// first one is the server under test.
func (l *lab) compareHop(ctx context.Context, dir string, h hop, inFlight []int) (results []contest, err error) {
	s, stop, err := l.source(ctx, dir, h.up, h.argv)
	if err != nil {
		return nil, err
	}
	defer stop()
	all, err := l.gateways(dir, h, s)
	if err != nil {
		return nil, err
	}
	var targets []func(inFlight int) target
	for _, g := range all {
		e, err := l.reach(ctx, dir, g.name, g.wire, g.path, g.argv...)
		if err != nil {
			return nil, err
		}
		defer e.stop()
		x := echoing(g.wire.version, g.tool, `"hello"`)
		x.answer = []byte(h.answer)
		if err := e.await(x); err != nil {
			return nil, err
		}
		if _, err := e.load(x, 1, leastWarmUp); err != nil {
			return nil, err
		}
		targets = append(targets, func(n int) target {
			return target{g.name, func() (sample, error) { return e.load(x, n, l.time) }}
		})
	}
	for _, n := range inFlight {
		var now []target
		for _, t := range targets {
			now = append(now, t(n))
		}
		c, err := compare(l.rounds, now)
		if err != nil {
			return nil, err
		}
		results = append(results, c)
	}
	return results, nil
}

// gateways returns what a hop compares, the upstream itself last.
func (l *lab) gateways(dir string, h hop, s source) (all []gateway, err error) {
	for _, v := range h.ours {
		g, err := l.toolserver(v.name, dir, h.client, map[string]source{"up": s}, v.config)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
		if before, ok := l.programsBefore[l.server]; ok {
			g.name += earlier
			g.argv = append([]string{before}, g.argv[1:]...)
			all = append(all, g)
		}
	}
	peers, err := l.peerGateways(dir, h.client, h.up, s)
	return append(append(all, peers...), gateway{name: direct, wire: h.up, tool: "echo", path: "/mcp", argv: h.argv}), err
}
