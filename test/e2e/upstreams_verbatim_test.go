package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// verbatimCalls are calls whose results have all that results may have.
var verbatimCalls = []struct{ tool, args string }{
	{"content_text", "{}"}, {"content_image", "{}"}, {"content_audio", "{}"}, {"content_embedded", "{}"}, {"content_blob", "{}"}, {"content_link", "{}"},
	{"content_mixed", "{}"}, {"content_none", "{}"}, {"meta", "{}"}, {"decorated", `{"kind":"b"}`}, {"structured", "{}"}, {"structured_free", "{}"},
	{"structured_only", "{}"}, {"structured_failed", "{}"}, {"refuse", `{"message":"no"}`},
	{"fail", `{"code":4711,"message":"out of paper","data":{"b":1.50,"a":[null,1e3,12345678901234567890]}}`}, {"fail", `{"code":-32602,"message":"wrong","data":"text"}`},
	{"fail", `{"code":-32042,"message":"sign in","data":{"elicitations":[{"mode":"url","url":"https://example.com/"}]}}`}, {"fail", `{"code":-32603,"message":"broken"}`},
	{"fail", `{"code":-32099,"message":"odd","data":[]}`}, {"fail", `{"code":1,"message":""}`},
	{"large", `{"bytes":65536}`}, {"large", `{"bytes":65536,"structured":true}`},
}

// cameOf returns what a call comes to, as it was sent.
func cameOf(result json.RawMessage, err error) string {
	if failed, ok := errors.AsType[*jsonrpc.Error](err); ok {
		data, _ := failed.Data.(json.RawMessage)
		return fmt.Sprintf("error %d %q %s", failed.Code, failed.Message, data)
	}
	if err != nil {
		return err.Error()
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(result, &members); err != nil {
		return err.Error()
	}
	delete(members, "resultType") // of the protocol version
	var meta map[string]json.RawMessage
	const info = "io.modelcontextprotocol/serverInfo" // is of the server that answers
	if json.Unmarshal(members["_meta"], &meta) == nil && meta[info] != nil {
		raw := string(members["_meta"])
		for _, own := range []string{fmt.Sprintf(",%q:%s", info, meta[info]), fmt.Sprintf("%q:%s", info, meta[info])} {
			raw = strings.Replace(raw, own, "", 1)
		}
		if delete(members, "_meta"); raw != "{}" {
			members["_meta"] = json.RawMessage(raw)
		}
	}
	var all strings.Builder
	for _, name := range []string{"content", "structuredContent", "isError", "_meta"} {
		fmt.Fprintf(&all, "%s: %s\n", name, members[name])
	}
	return all.String()
}

// TestUpstreamsVerbatim compares what clients get from an upstream with what they get
// from it through the server, byte by byte: over both transports, in both protocol
// versions of each.
func TestUpstreamsVerbatim(t *testing.T) {
	t.Parallel()
	direct := startRemote(t)
	for _, speaks := range []string{"legacy", "modern"} {
		for _, version := range []string{"2025-11-25", modernVersion} {
			t.Run(speaks+" upstream, client of "+version, func(t *testing.T) {
				t.Parallel()
				legacy := startRemote(t, "--speaks", speaks)
				args := httpConfig(t, t.TempDir(), "limits: {max_result_chars: 10000000}\n"+gateway(entry("local", "", upstreamBinary(t), "--speaks", speaks), legacy.entry("remote", "")))
				front := startHTTP(t, binary(), args...)
				options := mcpclient.Options{Name: "t", Version: "1", Protocol: version, ConnectTimeout: patience}
				through, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, front.url, nil, options)
				must(t, err)
				t.Cleanup(through.Close)
				itself, err := mcpclient.ConnectHTTP(t.Context(), http.DefaultClient, direct.url, nil, options)
				must(t, err)
				t.Cleanup(itself.Close)
				var want, got map[string]json.RawMessage
				eventually(t, "both upstreams are listed", func() bool {
					got = byName(t, through)
					return got["local__echo"] != nil && got["remote__echo"] != nil
				})
				want = byName(t, itself)
				for _, upstream := range []string{"local", "remote"} {
					for name, entry := range want {
						if through := renamed(t, got[upstream+"__"+name], name); !bytes.Equal(through, renamed(t, entry, name)) {
							t.Errorf("%s is listed as\n%s\nand not as\n%s", name, through, entry)
						}
					}
					for _, call := range verbatimCalls {
						want := cameOf(itself.CallTool(t.Context(), call.tool, json.RawMessage(call.args), nil))
						got := cameOf(through.CallTool(t.Context(), upstream+"__"+call.tool, json.RawMessage(call.args), nil))
						if got != want {
							t.Errorf("%s %s: got\n%.1000s\nwant\n%.1000s", call.tool, call.args, got, want)
						}
					}
				}
			})
		}
	}
}

// byName returns the entries of the list of tools.
func byName(t *testing.T, c *mcpclient.Client) map[string]json.RawMessage {
	t.Helper()
	items, err := c.List(context.Background(), "tools/list")
	must(t, err)
	all := map[string]json.RawMessage{}
	for _, item := range items {
		var tool struct{ Name string }
		must(t, json.Unmarshal(item, &tool))
		all[tool.Name] = item
	}
	return all
}

// renamed returns an entry with another name.
func renamed(t *testing.T, entry json.RawMessage, name string) []byte {
	t.Helper()
	if entry == nil {
		return nil
	}
	return rawjson.With(entry, "name", fmt.Appendf(nil, "%q", name))
}
