package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

const initialized = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`

// TestOldHTTP connects to a server that knows no discover, resumes the stream of
// a response that it breaks off, and is told that its session has ended.
func TestOldHTTP(t *testing.T) {
	deleted := make(chan string, 1)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		result := func(result string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result) }
		switch {
		case r.Method == "DELETE":
			deleted <- r.Header.Get("Mcp-Session-Id")
		case r.Method == "GET" && r.Header.Get("Last-Event-ID") == "e1":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"late\": true}}\n\n")
		case r.Method == "GET":
			http.Error(w, "no stream", http.StatusMethodNotAllowed)
		case m.Method == "server/discover":
			http.Error(w, "Bad Request: Server not initialized", http.StatusBadRequest)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, result(initialized))
		case r.Header.Get("Mcp-Session-Id") != "s1" || r.Header.Get("MCP-Protocol-Version") != "2025-11-25":
			t.Errorf("%s: header %v", m.Method, r.Header)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: e1\nretry: 60\ndata:\n\n")
		case m.Method == "huge":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, result(`"`+strings.Repeat("x", 2000)+`"`))
		case m.Method == "redirect":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		default: // as the TypeScript SDK does
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`)
		}
	}))
	defer ts.Close()
	c, err := mcpclient.ConnectHTTP(t.Context(), ts.Client(), ts.URL, nil, mcpclient.Options{MaxMessageBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := c.CallTool(t.Context(), "x", nil, nil); err != nil || string(res) != `{"late": true}` {
		t.Errorf("%s, error %v", res, err)
	}
	if _, err := c.Call(t.Context(), "huge", nil); !errors.Is(err, mcpclient.ErrTooLong) {
		t.Errorf("huge: %v", err)
	}
	var status *mcpclient.HTTPError
	if _, err := c.Call(t.Context(), "redirect", nil); !errors.As(err, &status) || status.Status != 307 {
		t.Errorf("redirect: %v", err)
	}
	if _, err := c.Call(t.Context(), "gone", nil); !errors.Is(err, mcpclient.ErrSessionEnded) {
		t.Errorf("gone: %v", err)
	}
	if c.Close(); <-deleted != "s1" {
		t.Error("the session was not ended")
	}
}

// oldStdio connects to a server that knows no discover and answers calls with
// what answer returns.
func oldStdio(t *testing.T, opts mcpclient.Options, answer func(method, id string) string) (*mcpclient.Client, <-chan string, error) {
	roots := make(chan string, 1)
	opts.Handlers = map[string]mcpclient.Handler{"roots/list": func(context.Context, json.RawMessage) (any, error) {
		return json.RawMessage(`{"roots":[]}`), nil
	}}
	ours, theirs := net.Pipe()
	go func() {
		lines := bufio.NewScanner(theirs)
		for lines.Scan() {
			msg, err := jsonrpc.Parse(lines.Bytes(), nil)
			switch {
			case err != nil:
				t.Error(err)
			case msg.Response:
				roots <- string(msg.Result)
			case msg.ID == nil:
			case msg.Method == "server/discover":
				fmt.Fprintf(theirs, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", msg.ID)
			case msg.Method == "initialize":
				fmt.Fprintf(theirs, `{"result":%s,"jsonrpc":"2.0","id":%s}`+"\n", initialized, msg.ID)
			default:
				io.WriteString(theirs, answer(msg.Method, string(msg.ID)))
			}
		}
	}()
	c, err := mcpclient.Connect(t.Context(), ours, opts)
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, roots, err
}

func TestOldStdio(t *testing.T) {
	c, roots, err := oldStdio(t, mcpclient.Options{MaxMessageBytes: 1000}, func(method, id string) string {
		switch method {
		case "huge":
			return strings.Repeat("x", 2000) + "\n" + `{"jsonrpc":"2.0","result":"` + strings.Repeat("x", 2000) + `","id":` + id + "}\n"
		case "surprise": // progress nobody asked for, and a request that has a handler
			return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + id + `,"progress":1}}` + "\n" +
				`{"jsonrpc":"2.0","id":"` + id + `","method":"roots/list"}` + "\n" + `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` + "\n"
		case "bye":
			return "no JSON\n\n" + `{"jsonrpc":"2.0","id":` + id + `.0,"error":{"code":7,"message":"m"}}` + "\n"
		case "tools/list":
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{"tools":[{"name":"a"}],"nextCursor":"same"}}` + "\n"
		}
		return ""
	})
	if err != nil || c.Server().Protocol != "2025-11-25" {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), "huge", nil); err != mcpclient.ErrTooLong {
		t.Errorf("huge: %v", err)
	}
	if _, err := c.Call(t.Context(), "surprise", nil); err != nil || <-roots != `{"roots":[]}` {
		t.Errorf("surprise: %v", err)
	}
	if _, err := c.Call(t.Context(), "bye", nil); err == nil || err.Error() != "m" {
		t.Errorf("bye: %v", err)
	}
	if _, err := c.List(t.Context(), "tools/list"); err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("list: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := c.Call(ctx, "silence", nil); err != context.DeadlineExceeded {
		t.Errorf("silence: %v", err)
	}
	if _, _, err := oldStdio(t, mcpclient.Options{Protocol: "2026-07-28"}, nil); err == nil {
		t.Error("it speaks no 2026-07-28")
	}
}

// TestLastResponse has a server end the connection right after a response.
func TestLastResponse(t *testing.T) {
	for range 200 {
		in, out := io.Pipe()
		requests, toServer := io.Pipe()
		go func() {
			lines := bufio.NewScanner(requests)
			for lines.Scan() {
				msg, _ := jsonrpc.Parse(lines.Bytes(), nil)
				switch msg.Method {
				case "initialize":
					fmt.Fprintf(out, `{"result":%s,"jsonrpc":"2.0","id":%s}`+"\n", initialized, msg.ID)
				case "last":
					fmt.Fprintf(out, `{"result":{},"jsonrpc":"2.0","id":%s}`+"\n", msg.ID)
					out.Close()
				}
			}
		}()
		c, err := mcpclient.Connect(t.Context(), pipes{in, toServer, in}, mcpclient.Options{Protocol: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Call(t.Context(), "last", nil); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}

// TestRefusals connects to servers that answer server/discover in many ways.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status   int
		kind     string
		body     string
		connects bool
	}{
		{400, "text/plain", "Bad Request", true}, {404, "text/html", "<p>", true}, {405, "", "", true}, {500, "text/plain", "Traceback", true},
		{200, "application/json", `{}`, true}, {200, "application/json", `{"jsonrpc":"2.0","id":1,"result":{}}`, true},
		{400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}`, true},
		{400, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2025-06-18"]}}}`, true},
		{401, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"sign in"}}`, false}, {403, "", "", false}, {429, "", "", false},
		{503, "", "", false}, {302, "", "", false},
	} {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.NewDecoder(r.Body).Decode(&m)
			switch m.Method {
			case "server/discover":
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			case "initialize":
				w.Header().Set("Content-Type", "application/json; charset=utf-8")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, initialized)
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		}))
		client, err := mcpclient.ConnectHTTP(t.Context(), ts.Client(), ts.URL+"/mcp?key=secret", nil, mcpclient.Options{})
		if e, ok := errors.AsType[*mcpclient.HTTPError](err); (err == nil) != c.connects || err != nil && (!ok || e.Status != c.status) {
			t.Errorf("%d %s: error %v", c.status, c.body, err)
		}
		if err == nil {
			ts.Close()
			if _, err := client.Call(t.Context(), "tools/call", nil); err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("closed: error %v", err)
			}
			client.Close()
		}
		ts.Close()
	}
}
