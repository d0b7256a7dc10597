package mcpclient_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// TestSlowStart connects to programs that answer late, or not what they do not know: they
// are offered both ways on one connection, which has all the time.
func TestSlowStart(t *testing.T) {
	const refusal = `"error":{"code":-32601,"message":"Method not found"}`
	for name, c := range map[string]struct {
		late                 time.Duration
		discover, initialize string // the rest of the answer; empty for none
		protocol             string
		both                 bool
	}{
		"old":               {60 * time.Second, refusal, `"result":` + initialized, "2025-11-25", false},
		"old and silent":    {60 * time.Second, "", `"result":` + initialized, "2025-11-25", false},
		"both":              {60 * time.Second, `"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}`, `"result":` + initialized, "2025-11-25", true},
		"both, and at once": {0, `"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}`, refusal, "2026-07-28", false},
		"new":               {60 * time.Second, `"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}`, refusal, "2026-07-28", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				go func() {
					begun := time.Now()
					var waiting [][]byte
					in := make(chan []byte, 10)
					go func() {
						defer close(in)
						for lines := bufio.NewScanner(theirs); lines.Scan(); {
							in <- append([]byte(nil), lines.Bytes()...)
						}
					}()
					ready := time.After(c.late)
					answer := func(line []byte) {
						msg, _ := jsonrpc.Parse(line, nil)
						rest := map[string]string{"server/discover": c.discover, "initialize": c.initialize}[msg.Method]
						if rest != "" {
							fmt.Fprintf(theirs, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", msg.ID, rest)
						}
					}
					for {
						select {
						case <-ready:
							for _, line := range waiting {
								answer(line)
							}
						case line, ok := <-in:
							if !ok {
								return
							}
							if time.Since(begun) < c.late {
								waiting = append(waiting, line)
							} else {
								answer(line)
							}
						}
					}
				}()
				client, err := mcpclient.Connect(t.Context(), ours, mcpclient.Options{ConnectTimeout: 5 * time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				if got := client.Server().Protocol; got != c.protocol || client.Both() != c.both {
					t.Errorf("protocol %s, both %t", got, client.Both())
				}
			})
		})
	}
}
