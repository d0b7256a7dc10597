package mcpclient_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// respond answers requests as lines with result, and does no more than it must.
func respond(in io.Reader, out io.Writer, version string, result []byte) {
	lines := bufio.NewReaderSize(in, 256<<10)
	var b []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		if b = response(b[:0], line, version, result); b != nil {
			out.Write(append(b, '\n'))
		}
	}
}

// response returns the response to a request of the client, which has its ID early.
func response(b, msg []byte, version string, result []byte) []byte {
	_, id, ok := bytes.Cut(msg, []byte(`"id":`))
	if !ok {
		return nil
	}
	switch id, rest, _ := bytes.Cut(id, []byte(",")); {
	case bytes.HasPrefix(rest, []byte(`"method":"initialize"`)):
		return append(append(append(append(b, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...), strings.Replace(initialized, "2025-11-25", version, 1)+"}"...)
	case bytes.HasPrefix(rest, []byte(`"method":"server/discover"`)):
		return append(append(append(append(b, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...), `{"supportedVersions":["2026-07-28"],"capabilities":{}}}`...)
	default:
		return append(append(append(append(append(b, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...), result...), '}')
	}
}

// BenchmarkCall measures calls of a server in this process, whose time counts, too.
// With -cpu 1 it shows what both of them cost.
func BenchmarkCall(b *testing.B) {
	for _, transport := range []string{"pipe", "http"} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			for _, size := range []int{100, 64 << 10} {
				b.Run(fmt.Sprintf("%s/%s/%d", transport, version, size), func(b *testing.B) {
					text := strings.Repeat("some text\\n", size/11)
					result := []byte(`{"content":[{"type":"text","text":"` + text + `"}]}`)
					params := json.RawMessage(`{"name":"echo","arguments":{"message":"` + strings.Repeat("x", 100) + `"}}`)
					c := benchmarked(b, transport, version, result)
					defer c.Close()
					ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
					defer cancel()
					b.ReportAllocs()
					for b.Loop() {
						if got, err := c.Call(ctx, "tools/call", params); err != nil || len(got) != len(result) {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

func benchmarked(b *testing.B, transport, version string, result []byte) *mcpclient.Client {
	var c *mcpclient.Client
	var err error
	opts := mcpclient.Options{Name: "bench", Version: "1", Protocol: version}
	if transport == "pipe" {
		in, out, err1 := os.Pipe()
		requests, toServer, err2 := os.Pipe()
		if err := errors.Join(err1, err2); err != nil {
			b.Fatal(err)
		}
		go respond(requests, out, version, result)
		c, err = mcpclient.Connect(b.Context(), pipes{in, toServer, in}, opts)
	} else {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			if answer := response(nil, body, version, result); answer != nil {
				w.Write(answer)
				return
			}
			w.WriteHeader(http.StatusAccepted)
		}))
		b.Cleanup(ts.Close)
		c, err = mcpclient.ConnectHTTP(b.Context(), ts.Client(), ts.URL, nil, opts)
	}
	if err != nil {
		b.Fatal(err)
	}
	return c
}
