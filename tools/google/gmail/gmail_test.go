package gmail

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gmailapi "google.golang.org/api/gmail/v1"
	"google.golang.org/api/option"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/google/api"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// gmailServer plays as much of Gmail as the tools use. It is not a fake of all that Gmail enforces.
type gmailServer struct {
	url string

	mu       sync.Mutex
	list     *gmailapi.ListMessagesResponse
	messages map[string]*gmailapi.Message
	threads  map[string][]string
	parts    map[string]string                                        // by attachment ID
	before   func(w http.ResponseWriter, r *http.Request) (done bool) // of each request, without the lock; may be nil
	requests []string                                                 // method and path
	queries  []string
	sent     []gmailapi.Message // metadata, with raw decoded
	sendAs   []*gmailapi.SendAs
	inFlight int
	peak     int
}

func serve(t testing.TB) *gmailServer {
	t.Helper()
	s := &gmailServer{list: &gmailapi.ListMessagesResponse{}, messages: map[string]*gmailapi.Message{}, threads: map[string][]string{}, parts: map[string]string{},
		sendAs: []*gmailapi.SendAs{{SendAsEmail: "me@example.com", IsPrimary: true, IsDefault: true}, {SendAsEmail: "alias@example.com", VerificationStatus: "accepted"}, {SendAsEmail: "bo@example.com", VerificationStatus: "accepted"}}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func (s *gmailServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	s.queries = append(s.queries, r.URL.RawQuery)
	s.inFlight++
	s.peak = max(s.peak, s.inFlight)
	before := s.before
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	if before != nil && before(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	path := strings.Split(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/upload"), "/gmail/v1/users/me/"), "/")
	reply := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch {
	case path[0] == "profile":
		reply(map[string]string{"emailAddress": "Me@example.com"})
	case r.URL.Path == "/gmail/v1/users/me/settings/sendAs":
		reply(gmailapi.ListSendAsResponse{SendAs: s.sendAs})
	case path[0] == "labels":
		reply(map[string]any{"labels": []map[string]string{
			{"id": "Label_7", "name": "Travel", "type": "user"}, {"id": "INBOX", "name": "INBOX", "type": "system"}, {"id": "UNREAD", "name": "UNREAD", "type": "system"},
		}})
	case path[0] == "threads":
		thread := map[string]any{"id": path[1]}
		var all []map[string]string
		for _, id := range s.threads[path[1]] {
			all = append(all, map[string]string{"id": id})
		}
		thread["messages"] = all
		reply(thread)
	case path[0] == "drafts":
		var d gmailapi.Draft
		s.receive(r, &d, func() *gmailapi.Message { return d.Message })
		id := "d1"
		if len(path) > 1 {
			id = path[1]
		}
		reply(map[string]any{"id": id, "message": map[string]any{"id": "m-draft", "threadId": "t-draft", "labelIds": []string{"DRAFT"}}})
	case len(path) == 1:
		reply(s.list)
	case path[1] == "send":
		var m gmailapi.Message
		s.receive(r, &m, func() *gmailapi.Message { return &m })
		reply(map[string]any{"id": "s1", "threadId": "t-sent", "labelIds": []string{"SENT"}})
	case len(path) == 4 && path[2] == "attachments":
		data, ok := s.parts[path[3]]
		if !ok {
			refuse(w, 404, "notFound")
			return
		}
		reply(map[string]any{"size": len(data), "data": encode(data)})
	case s.messages[path[1]] == nil:
		refuse(w, 404, "notFound")
	case len(path) == 3 && path[2] == "modify":
		var change gmailapi.ModifyMessageRequest
		_ = json.NewDecoder(r.Body).Decode(&change)
		m := s.messages[path[1]]
		m.LabelIds = slices.DeleteFunc(append(m.LabelIds, change.AddLabelIds...), func(l string) bool { return slices.Contains(change.RemoveLabelIds, l) })
		reply(map[string]any{"id": m.Id, "labelIds": m.LabelIds})
	default:
		reply(s.messages[path[1]])
	}
}

// receive keeps a mail that was sent in JSON or as an upload.
func (s *gmailServer) receive(r *http.Request, v any, of func() *gmailapi.Message) {
	kind := r.Header.Get("Content-Type")
	raw := ""
	if strings.HasPrefix(kind, "multipart/related") {
		b, _ := io.ReadAll(r.Body)
		_, boundary, _ := strings.Cut(kind, "boundary=")
		parts := strings.Split(string(b), "--"+strings.Trim(boundary, `"`))
		_, metadata, _ := strings.Cut(parts[1], "\r\n\r\n")
		head, media, _ := strings.Cut(parts[2], "\r\n\r\n")
		if strings.Contains(head, "message/rfc822") {
			raw = strings.TrimSuffix(media, "\r\n")
		}
		_ = json.Unmarshal([]byte(metadata), v)
	} else {
		_ = json.NewDecoder(r.Body).Decode(v)
		b, _ := base64.URLEncoding.DecodeString(of().Raw)
		raw = string(b)
	}
	m := of()
	if m == nil {
		m = &gmailapi.Message{}
	}
	s.sent = append(s.sent, gmailapi.Message{ThreadId: m.ThreadId, Raw: raw})
}

func refuse(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": status, "message": reason, "errors": []map[string]string{{"reason": reason}},
	}})
}

// hangUp ends the connection of a request without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

func encode(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) }

// put adds a message with a text and header fields, in pairs.
func (s *gmailServer) put(id, text string, header ...string) *gmailapi.Message {
	p := &gmailapi.MessagePart{MimeType: "text/plain", Body: &gmailapi.MessagePartBody{Data: encode(text), Size: int64(len(text))}}
	for i := 0; i < len(header); i += 2 {
		p.Headers = append(p.Headers, &gmailapi.MessagePartHeader{Name: header[i], Value: header[i+1]})
	}
	m := &gmailapi.Message{Id: id, ThreadId: "t-" + id, Payload: p, InternalDate: 1_795_000_000_000}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages[id] = m
	s.list.Messages = append(s.list.Messages, &gmailapi.Message{Id: id, ThreadId: m.ThreadId})
	return m
}

// asked returns the requests so far whose method and path contain a text.
func (s *gmailServer) asked(what string) (some []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.Contains(r, what) {
			some = append(some, r)
		}
	}
	return some
}

// query returns the query of a request; -1 is the last one.
func (s *gmailServer) query(i int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queries[(i+len(s.queries))%len(s.queries)]
}

// mails returns what was sent and drafted.
func (s *gmailServer) mails() []gmailapi.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// most returns how many requests were there at a time.
func (s *gmailServer) most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// tools returns what the tools share, for an account that has signed in.
func (s *gmailServer) tools(t testing.TB) *toolset {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: api.PerGrant}
	t.Cleanup(transport.CloseIdleConnections)
	service, err := gmailapi.NewService(t.Context(), option.WithEndpoint(s.url+"/"), option.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	return &toolset{
		client: newClient(), service: func() *gmailapi.Service { return service },
		signedIn: func(ctx context.Context, _ api.Need) (context.Context, error) {
			return ctx, nil
		},
	}
}

// made returns the tool with a name, which is handed nothing.
func (t *toolset) made(name string) domain.Tool {
	tools := t.family().Tools
	return tools[slices.IndexFunc(tools, func(e api.Tool) bool { return e.Tool == name })].Make(sandbox.Capabilities{})
}

func newClient() *api.Client {
	return api.New(&signin.Accounts{}, func(signin.Service) *http.Client { return &http.Client{} }, "")
}

// box returns a sandbox whose working directory holds files.
func box(t testing.TB, p sandbox.Policy, content map[string]string) (*sandbox.Sandbox, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.WorkingDirectory = dir
	var declared []declare.Tool
	for _, tool := range Family(nil).Tools {
		declared = append(declared, declare.Tool{Owner: tool.Owner})
	}
	return tooltest.Sandbox(t, p, declared, files.Family().Declared()), dir
}

// run calls a handler with the arguments, with the defaults of their schema, as the executor does, and holds the result to what
// the tool declares.
func run[In any](t testing.TB, tool domain.Tool, handler func(context.Context, In) (domain.ToolResult, error), args string) (domain.ToolResult, error) {
	t.Helper()
	direct := domain.Define(tool, func(ctx context.Context, in In) (domain.ToolResult, error) {
		res, err := handler(ctx, in)
		if refused, ok := errors.AsType[*api.Refused](err); ok {
			return refused.ToolResult, nil
		}
		return res, err
	})
	res, err := tooltest.Executor(t, direct).Call(t.Context(), call.ExecuteToolCommand{Tool: tool.Name, Arguments: json.RawMessage(args)})
	if err == nil {
		tooltest.Verify(t, tool, res)
	}
	return res, err
}

// structured returns the structured half of a result.
func structured[T any](t testing.TB, res domain.ToolResult) (v T) {
	t.Helper()
	b, err := json.Marshal(res.Structured())
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatalf("structured content %s: %v", b, err)
	}
	return v
}
