//go:build linux

package e2e

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

const sendsFiles = `{"extensions":{"io.modelcontextprotocol/files":{"upload":{},"download":{}}},"elicitation":{}}`

// fileArgument describes bytes as the argument of a tool.
func fileArgument(id string, content []byte) map[string]any {
	sum := sha256.Sum256(content)
	return map[string]any{
		"id": id, "name": "a.bin", "mimeType": "application/octet-stream", "size": len(content),
		"digest": map[string]any{"algorithm": "sha-256", "value": base64.RawURLEncoding.EncodeToString(sum[:])},
	}
}

// target is where the bytes of a file go to or come from.
type target struct {
	FileID, Path, Method, Credentials, ExpiresAt, Name, MIMEType string
	Headers                                                      map[string]string
	Size                                                         *int64
}

// transferring is what a server answers a call with that takes or gives files.
type transferring struct {
	Result struct {
		ResultType   string
		RequestState string
		Uploads      []target
		IsError      bool
		Content      []struct{ Type, Text, URI string }
		Meta         map[string]json.RawMessage `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

func (a transferring) text() string {
	if a.Error != nil {
		return a.Error.Message
	}
	if len(a.Result.Content) == 0 {
		return ""
	}
	return a.Result.Content[0].Text
}

// transfer calls a tool; state is that of an earlier round.
func (p *peer) transfer(t *testing.T, tool string, args map[string]any, state string) (a transferring) {
	t.Helper()
	raw, err := json.Marshal(args)
	must(t, err)
	params := fmt.Sprintf(`"name":%q,"arguments":%s`, tool, raw)
	if state != "" {
		params += fmt.Sprintf(`,"requestState":%q`, state)
	}
	r := p.post(t, p.message("1", "tools/call", params, ""), nil)
	must(t, json.Unmarshal([]byte(r.last()), &a))
	return a
}

// wanted begins an upload, for which the server wants one file.
func (p *peer) wanted(t *testing.T, args map[string]any) (to target, state string) {
	t.Helper()
	a := p.transfer(t, "upload_file", args, "")
	if a.Result.ResultType != "upload_required" || len(a.Result.Uploads) != 1 || a.Result.RequestState == "" {
		t.Fatalf("no upload is wanted: %+v", a)
	}
	return a.Result.Uploads[0], a.Result.RequestState
}

func (p *peer) address(to target, method, body string, header map[string]string) (*http.Request, error) {
	req, err := http.NewRequest(method, p.server.url+to.Path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range to.Headers {
		req.Header.Set(name, value)
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	for name, value := range header {
		if req.Header.Set(name, value); value == "" {
			req.Header.Del(name)
		}
	}
	return req, nil
}

// at sends a request to the address of a file.
func (p *peer) at(t *testing.T, to target, method, body string, header map[string]string) reply {
	t.Helper()
	req, err := p.address(to, method, body, header)
	must(t, err)
	if header["chunked"] != "" {
		req.Header.Del("chunked")
		req.ContentLength = -1
	}
	resp, err := p.server.client.Do(req)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return reply{resp.StatusCode, resp.Header, string(b)}
}

// startTransfers starts a server that sends files by address. Further lines of its configuration change it.
func startTransfers(t *testing.T, yaml string) (s *httpServer, dir, file, config string) {
	config = "protocol: {experimental: true}\nstate_directory: " + filepath.Join(t.TempDir(), "state") + "\n" + yaml
	file, dir = configured(t, config)
	return launchHTTP(t, nil, binary(), "--config", file), dir, file, config
}

func (s *httpServer) sender(t *testing.T, token string) *peer {
	p := s.newPeer(t, modernVersion, token)
	p.can = sendsFiles
	return p
}

// TestUploads has a client send a file, and files that are none.
func TestUploads(t *testing.T) {
	t.Parallel()
	s, dir, _, _ := startTransfers(t, withTokens("ann", "anns", "bob", "bobs")+"tools: {write_file: {denied_paths: ['**/secret*']}}\n")
	ann, bob := s.sender(t, "anns"), s.sender(t, "bobs")
	content := make([]byte, 3<<20)
	rand.Read(content)
	into := func(path string) map[string]any {
		return map[string]any{"path": path, "file": fileArgument("file-1", content)}
	}

	to, state := ann.wanted(t, into("sub/a.bin"))
	expires, err := time.Parse(time.RFC3339, to.ExpiresAt)
	if to.FileID != "file-1" || to.Path != "/uploads" || to.Method != "PUT" || to.Credentials != "include" ||
		!regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`).MatchString(to.Headers["X-Upload-Token"]) || err != nil || time.Until(expires) > 16*time.Minute {
		t.Errorf("target %+v", to)
	}
	if a := ann.transfer(t, "upload_file", into("sub/a.bin"), state); a.Result.ResultType != "upload_required" || a.Result.Uploads[0].Headers["X-Upload-Token"] != to.Headers["X-Upload-Token"] {
		t.Errorf("a repetition before the file was sent: %+v", a)
	}
	for _, wrong := range []struct {
		name, method, body string
		header             map[string]string
		status             int
	}{
		{"of another one", "PUT", string(content), map[string]string{"Authorization": "Bearer bobs"}, 404},
		{"without credentials", "PUT", string(content), map[string]string{"Authorization": ""}, 401},
		{"without a token", "PUT", string(content), map[string]string{"X-Upload-Token": ""}, 404},
		{"of an unknown token", "PUT", string(content), map[string]string{"X-Upload-Token": strings.Repeat("A", 43)}, 404},
		{"by another method", "POST", string(content), nil, 405},
		{"too short", "PUT", "short", nil, 400},
		{"too short, of unknown length", "PUT", "short", map[string]string{"chunked": "1"}, 400},
		{"too long", "PUT", string(content) + "!", nil, 400},
		{"too long, of unknown length", "PUT", string(content) + "!", map[string]string{"chunked": "1"}, 400},
		{"compressed", "PUT", string(content), map[string]string{"Content-Encoding": "gzip"}, 415},
		{"in part", "PUT", string(content), map[string]string{"Content-Range": "bytes 0-1/2"}, 415},
		{"with other bytes", "PUT", strings.Repeat("x", len(content)), nil, 422},
		{"from another site", "PUT", string(content), map[string]string{"Origin": "https://evil.example"}, 403},
	} {
		r := ann.at(t, to, wrong.method, wrong.body, wrong.header)
		if r.status != wrong.status || r.status != 405 && r.status != 403 && !json.Valid([]byte(r.body)) || r.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %s", wrong.name, r.status, r.body)
		}
	}
	if r := ann.at(t, to, "PUT", string(content), map[string]string{"chunked": "1"}); r.status != 200 || !strings.Contains(r.body, fmt.Sprintf(`"%x"`, sha256.Sum256(content))) {
		t.Fatalf("the file: %d %s", r.status, r.body)
	}
	if r := ann.at(t, to, "PUT", string(content), nil); r.status != 409 {
		t.Errorf("the file once more: %d %s", r.status, r.body)
	}
	if a := bob.transfer(t, "upload_file", into("sub/a.bin"), state); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("another principal with the state: %+v", a)
	}
	if a := ann.transfer(t, "upload_file", into("sub/b.bin"), state); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("another path with the state: %+v", a)
	}
	a := ann.transfer(t, "upload_file", into("sub/a.bin"), state)
	if a.Result.ResultType != "complete" || a.Result.IsError || read(t, filepath.Join(dir, "sub/a.bin")) != string(content) {
		t.Errorf("the call: %+v", a)
	}
	if a := ann.transfer(t, "upload_file", into("sub/a.bin"), state); a.Result.ResultType != "upload_required" {
		t.Errorf("the state once more: %+v", a)
	}

	// What is refused, is so before anything is sent.
	for name, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"denied":             {into("secret.txt"), "denied"},
		"outside":            {into("../x"), "outside"},
		"a directory":        {into("sub/"), "directory"},
		"a directory, plain": {into("sub"), "directory"},
		"a new directory":    {into("new/"), "directory"},
		"there":              {map[string]any{"path": "sub/a.bin", "file": fileArgument("f", content), "on_conflict": "error"}, "already exists"},
		"without dirs":       {map[string]any{"path": "no/such/a.bin", "file": fileArgument("f", content), "create_dirs": false}, "parent directory does not exist"},
	} {
		if a := ann.transfer(t, "upload_file", c.args, ""); !a.Result.IsError || !strings.Contains(a.text(), c.want) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	// A file without bytes, and one after an attempt with too many.
	for _, text := range []string{"", "text"} {
		args := map[string]any{"path": "small", "file": fileArgument("f", []byte(text))}
		to, state := ann.wanted(t, args)
		if r := ann.at(t, to, "PUT", text+"more", nil); r.status != 400 {
			t.Errorf("too much: %d %s", r.status, r.body)
		}
		if r := ann.at(t, to, "PUT", text, nil); r.status != 200 {
			t.Errorf("%q: %d %s", text, r.status, r.body)
		}
		if a := ann.transfer(t, "upload_file", args, state); a.Result.IsError || read(t, filepath.Join(dir, "small")) != text {
			t.Errorf("%q: %+v", text, a)
		}
	}
	// A client without the extension is told.
	for _, can := range []string{`{}`, `{"extensions":{}}`, `{"extensions":{"io.modelcontextprotocol/files":{"download":{}}}}`, `{"extensions":{"io.modelcontextprotocol/files":null}}`,
		`{"extensions":{"io.modelcontextprotocol/files":{"upload":true}}}`, `{"extensions":{"io.modelcontextprotocol/files":[]}}`} {
		ann.can = can
		if a := ann.transfer(t, "upload_file", into("x"), ""); a.Error == nil || a.Error.Code != -32021 || !strings.Contains(string(a.Error.Data), "mcp/files") && !strings.Contains(string(a.Error.Data), "modelcontextprotocol/files") {
			t.Errorf("%s: %+v", can, a)
		}
	}
	ann.can = sendsFiles
	old := s.newPeer(t, "2025-11-25", "anns")
	if a := old.transfer(t, "upload_file", into("x"), ""); !strings.Contains(a.text(), "2026-07-28") {
		t.Errorf("an older protocol version: %+v", a)
	}
}

// TestUploadArguments gives every member of a file every wrong kind.
func TestUploadArguments(t *testing.T) {
	t.Parallel()
	s, dir, _, _ := startTransfers(t, withTokens("ann", "anns"))
	ann := s.sender(t, "anns")
	wrong := []any{nil, true, -1, 1.5, 1e300, "", "x", []any{}, map[string]any{}, strings.Repeat("x", 5000)}
	may := map[string][]any{ // what is right all the same
		"id": {"x"}, "name": {nil, "", "x"}, "mimeType": {"", "x"}, "digest": {nil}, "size": {1e300}, "value": {}, "algorithm": {},
	}
	for _, member := range []string{"file", "id", "name", "mimeType", "size", "digest", "algorithm", "value"} {
		for _, kind := range wrong {
			file := fileArgument("f", []byte("content"))
			args := map[string]any{"path": "w.bin", "file": file}
			switch member {
			case "file":
				args["file"] = kind
			case "algorithm", "value":
				file["digest"].(map[string]any)[member] = kind
			default:
				file[member] = kind
			}
			a := ann.transfer(t, "upload_file", args, "")
			fine := a.Result.ResultType == "upload_required"
			if bad := a.Error != nil && a.Error.Code == -32602; !bad && !fine || fine && !among(may[member], kind) {
				t.Errorf("%s: %.40v: %+v", member, kind, a)
			}
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 1 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

func among(all []any, one any) bool {
	for _, v := range all {
		if fmt.Sprint(v) == fmt.Sprint(one) {
			return true
		}
	}
	return false
}

// TestUploadsAtOnce sends the same file twice at the same time, and repeats the call twice.
func TestUploadsAtOnce(t *testing.T) {
	t.Parallel()
	s, dir, _, _ := startTransfers(t, withTokens("ann", "anns"))
	ann := s.sender(t, "anns")
	content := strings.Repeat("content ", 1<<17)
	args := map[string]any{"path": "a.bin", "file": fileArgument("f", []byte(content))}
	to, state := ann.wanted(t, args)
	var all sync.WaitGroup
	statuses := make(chan int, 8)
	for range cap(statuses) {
		all.Go(func() { statuses <- ann.at(t, to, "PUT", content, nil).status })
	}
	all.Wait()
	close(statuses)
	good := 0
	for status := range statuses {
		if status == 200 {
			good++
		} else if status != 409 {
			t.Errorf("status %d", status)
		}
	}
	if good != 1 {
		t.Errorf("%d of 8 were taken", good)
	}
	kinds := make(chan string, 8)
	for range cap(kinds) {
		all.Go(func() {
			a := ann.transfer(t, "upload_file", args, state)
			kinds <- cmp.Or(a.Result.ResultType, a.text())
		})
	}
	all.Wait()
	close(kinds)
	done := 0
	for kind := range kinds {
		if kind == "complete" {
			done++
		} else if kind != "upload_required" && !strings.Contains(kind, "same time") {
			t.Errorf("answer %s", kind)
		}
	}
	if done != 1 || read(t, filepath.Join(dir, "a.bin")) != content {
		t.Errorf("%d calls had the file", done)
	}
}

// TestUploadsEnd ends what an upload is good for, and the server while a file comes.
func TestUploadsEnd(t *testing.T) {
	t.Parallel()
	s, dir, file, config := startTransfers(t, withTokens("ann", "anns", "bob", "bobs"))
	ann := s.sender(t, "anns")
	content := strings.Repeat("content ", 1<<15)
	call := map[string]any{"path": "a.bin", "file": fileArgument("f", []byte(content))}
	to, state := ann.wanted(t, call)
	if r := ann.at(t, to, "PUT", content, nil); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	// A reload takes the permission.
	s.reloaded(t, file, config+"tools: {write_file: {denied_paths: ['**']}}\n")
	if a := ann.transfer(t, "upload_file", call, state); !a.Result.IsError {
		t.Errorf("without permission: %+v", a)
	}
	s.reloaded(t, file, config)
	to, _ = ann.wanted(t, call)
	s.reloaded(t, file, strings.Replace(config, tokenEntry("ann", "anns")+", ", "", 1))
	if r := ann.at(t, to, "PUT", content, nil); r.status != 401 {
		t.Errorf("of a revoked token: %d %s", r.status, r.body)
	}
	s.reloaded(t, file, config)
	// The server is killed while a file comes.
	to, state = ann.wanted(t, call)
	reader, writer := io.Pipe()
	req, err := ann.address(to, "PUT", "", nil)
	must(t, err)
	req.Body, req.ContentLength = reader, int64(len(content))
	failed := make(chan error, 1)
	go func() {
		resp, err := s.client.Do(req)
		if err == nil {
			err = fmt.Errorf("answered with %s", resp.Status)
			resp.Body.Close()
		}
		failed <- err
	}()
	_, err = writer.Write([]byte(content[:1<<16]))
	must(t, err)
	s.kill()
	writer.CloseWithError(io.ErrClosedPipe)
	<-failed
	_, home, _ := strings.Cut(config, "state_directory: ")
	home, _, _ = strings.Cut(home, "\n")
	for _, place := range []string{dir, filepath.Join(home, "uploads")} {
		if entries, err := os.ReadDir(place); err != nil || len(entries) > 0 && (place != dir || len(entries) > 1) {
			t.Errorf("%s has %v, %v", place, entries, err)
		}
	}
	s = launchHTTP(t, nil, binary(), "--config", file)
	ann = s.sender(t, "anns")
	if r := ann.at(t, to, "PUT", content, nil); r.status != 404 {
		t.Errorf("after a restart: %d %s", r.status, r.body)
	}
	if a := ann.transfer(t, "upload_file", call, state); a.Error == nil || a.Error.Code != -32602 || !strings.Contains(a.text(), "without it") {
		t.Errorf("the state after a restart: %+v", a)
	}
}

// TestConfirmedUpload asks a person first, and then for the file.
func TestConfirmedUpload(t *testing.T) {
	t.Parallel()
	s, dir, _, _ := startTransfers(t, withTokens("ann", "anns")+"tools: {upload_file: {confirm: true}, download_file: {confirm: true}}\n")
	ann := s.sender(t, "anns")
	round := func(tool string, args map[string]any, state, more string) (a transferring) {
		raw, err := json.Marshal(args)
		must(t, err)
		params := fmt.Sprintf(`"name":%q,"arguments":%s,"requestState":%q%s`, tool, raw, state, more)
		must(t, json.Unmarshal([]byte(ann.post(t, ann.message("1", "tools/call", params, ""), nil).last()), &a))
		return a
	}
	const yes = `,"inputResponses":{"confirm":{"action":"accept"}}`
	args := map[string]any{"path": "a.txt", "file": fileArgument("f", []byte("text"))}
	a := ann.transfer(t, "upload_file", args, "")
	if a.Result.ResultType != "input_required" {
		t.Fatalf("%+v", a)
	}
	a = round("upload_file", args, a.Result.RequestState, yes)
	if a.Result.ResultType != "upload_required" {
		t.Fatalf("%+v", a)
	}
	if r := ann.at(t, a.Result.Uploads[0], "PUT", "text", nil); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if a = round("upload_file", args, a.Result.RequestState, ""); a.Result.ResultType != "complete" || read(t, filepath.Join(dir, "a.txt")) != "text" {
		t.Errorf("%+v", a)
	}
	a = ann.transfer(t, "download_file", map[string]any{"path": "a.txt"}, "")
	a = round("download_file", map[string]any{"path": "a.txt"}, a.Result.RequestState, yes)
	if r := ann.at(t, downloads(t, a), "GET", "", nil); r.status != 200 || r.body != "text" {
		t.Errorf("%d %s: %+v", r.status, r.body, a)
	}
}

// downloads returns the one download that an answer offers.
func downloads(t *testing.T, a transferring) target {
	t.Helper()
	var offered struct{ Downloads []target }
	must(t, json.Unmarshal(a.Result.Meta["io.modelcontextprotocol/files"], &offered))
	if len(offered.Downloads) != 1 {
		t.Fatalf("%+v", a)
	}
	return offered.Downloads[0]
}

// TestDownloads has clients get files, and others try.
func TestDownloads(t *testing.T) {
	t.Parallel()
	s, dir, file, config := startTransfers(t, withTokens("ann", "anns", "bob", "bobs"))
	ann, bob := s.sender(t, "anns"), s.sender(t, "bobs")
	content := strings.Repeat("0123456789", 1<<16)
	path := filepath.Join(dir, `odd "näme".txt`)
	must(t, os.WriteFile(path, []byte(content), 0o600))
	call := map[string]any{"path": filepath.Base(path)}
	offer := func() target { t.Helper(); return downloads(t, ann.transfer(t, "download_file", call, "")) }

	to := offer()
	if to.Path != "/downloads" || to.Credentials != "include" || to.Size == nil || *to.Size != int64(len(content)) || to.Name != filepath.Base(path) || !strings.HasPrefix(to.MIMEType, "text/plain") {
		t.Errorf("target %+v", to)
	}
	if r := bob.at(t, to, "GET", "", nil); r.status != 404 {
		t.Errorf("another principal: %d %s", r.status, r.body)
	}
	if r := ann.at(t, to, "GET", "", map[string]string{"Authorization": ""}); r.status != 401 {
		t.Errorf("without credentials: %d %s", r.status, r.body)
	}
	if r := ann.at(t, to, "PUT", "", nil); r.status != 405 {
		t.Errorf("another method: %d %s", r.status, r.body)
	}
	if r := ann.at(t, to, "HEAD", "", nil); r.status != 200 || r.header.Get("Content-Length") != fmt.Sprint(len(content)) {
		t.Errorf("HEAD: %d %v", r.status, r.header)
	}
	first := ann.at(t, to, "GET", "", map[string]string{"Range": "bytes=0-9"})
	if first.status != 206 || first.body != "0123456789" {
		t.Errorf("a part: %d %.40s", first.status, first.body)
	}
	r := ann.at(t, to, "GET", "", map[string]string{"Range": "bytes=10-", "If-Range": first.header.Get("Etag")})
	if r.status != 206 || first.body+r.body != content {
		t.Errorf("the rest: %d %d bytes", r.status, len(r.body))
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'", "Set-Cookie": "", "Cache-Control": "no-store",
		"Content-Disposition": "attachment; filename*=utf-8''odd%20%22n%C3%A4me%22.txt",
	} {
		if r.header.Get(name) != want {
			t.Errorf("%s: %s", name, r.header.Get(name))
		}
	}
	if r := ann.at(t, to, "GET", "", nil); r.status != 200 || r.body != content {
		t.Errorf("once more: %d", r.status)
	}
	if r := ann.at(t, target{Path: "/uploads", Headers: map[string]string{"X-Upload-Token": to.Headers["X-Download-Token"]}}, "PUT", content, nil); r.status != 404 {
		t.Errorf("its token for an upload: %d", r.status)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if r := ann.at(t, to, "GET", "", nil); r.status != 200 || r.body != content {
				t.Errorf("at once: %d, %d bytes", r.status, len(r.body))
			}
		})
	}
	all.Wait()

	// The file can change: what is sent is what the call has opened, unless that has another size.
	other := strings.Repeat("9876543210", 1<<16)
	must(t, os.WriteFile(path, []byte(other), 0o600))
	if r := ann.at(t, to, "GET", "", map[string]string{"Range": "bytes=10-", "If-Range": first.header.Get("Etag")}); r.status != 200 || r.body != other {
		t.Errorf("other content: %d, %d bytes", r.status, len(r.body))
	}
	must(t, os.WriteFile(path, []byte("changed"), 0o600))
	if r := ann.at(t, to, "GET", "", nil); r.status != 410 {
		t.Errorf("a changed file: %d %s", r.status, r.body)
	}
	to = offer()
	must(t, os.Rename(path, path+"~"))
	must(t, os.Symlink("/etc/passwd", path))
	if r := ann.at(t, to, "GET", "", nil); r.status != 200 || r.body != "changed" {
		t.Errorf("what was a symlink to elsewhere later: %d %s", r.status, r.body)
	}
	if a := ann.transfer(t, "download_file", call, ""); !a.Result.IsError {
		t.Errorf("a symlink to elsewhere: %+v", a)
	}
	must(t, os.Rename(path+"~", path))

	// What one may read can change: the call was allowed.
	to = offer()
	s.reloaded(t, file, config+"tools: {read_file: {denied_paths: ['**']}}\n")
	if r := ann.at(t, to, "GET", "", nil); r.status != 200 || r.body != "changed" {
		t.Errorf("without permission since: %d %s", r.status, r.body)
	}
	if a := ann.transfer(t, "download_file", call, ""); !a.Result.IsError || a.Result.Meta["io.modelcontextprotocol/files"] != nil {
		t.Errorf("without permission: %+v", a)
	}
	s.reloaded(t, file, strings.Replace(config, "experimental: true", "experimental: true, extensions: {files: false}", 1))
	if r := ann.at(t, to, "GET", "", nil); r.status != 404 {
		t.Errorf("without the extension since: %d %s", r.status, r.body)
	}
	s.reloaded(t, file, strings.Replace(config, tokenEntry("ann", "anns")+", ", "", 1))
	if r := ann.at(t, to, "GET", "", nil); r.status != 401 {
		t.Errorf("of a revoked token: %d %s", r.status, r.body)
	}
	s.reloaded(t, file, config)

	// A client without the extension is told.
	for _, can := range []string{`{}`, `{"extensions":{"io.modelcontextprotocol/files":{"upload":{}}}}`, `{"extensions":{"io.modelcontextprotocol/files":{"download":1}}}`} {
		ann.can = can
		if a := ann.transfer(t, "download_file", call, ""); a.Error == nil || a.Error.Code != -32021 || !strings.Contains(string(a.Error.Data), `"download":{}`) {
			t.Errorf("%s: %+v", can, a)
		}
	}
	old := s.newPeer(t, "2025-11-25", "anns")
	if a := old.transfer(t, "download_file", call, ""); !strings.Contains(a.text(), "2026-07-28") {
		t.Errorf("an older protocol version: %+v", a)
	}
}

// TestNoTransfers has no tools that send files where they cannot.
func TestNoTransfers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := httpConfig(t, dir, "protocol: {experimental: true, extensions: {files: false}}")
	s := startHTTP(t, binary(), args...)
	p := s.sender(t, "")
	if r := p.post(t, p.message("1", "server/discover", "", ""), nil); strings.Contains(r.body, "/files") {
		t.Errorf("declared: %s", r.body)
	}
	if r := p.post(t, p.message("1", "tools/list", "", ""), nil); strings.Contains(r.body, "upload_file") {
		t.Errorf("listed: %s", r.body)
	}
	if r := p.at(t, target{Path: "/uploads", Headers: map[string]string{"X-Upload-Token": "x"}}, "PUT", "x", nil); r.status != 404 {
		t.Errorf("%d", r.status)
	}
	f, _ := followerOn(t, append([]string{binary(), "serve", "--stdio"}, httpConfig(t, dir, "protocol: {experimental: true}")...)...)
	if got := f.send(f.peer.message("1", "server/discover", "", "")) + f.send(f.peer.message("2", "tools/list", "", "")); strings.Contains(got, "/files") || strings.Contains(got, "upload_file") {
		t.Errorf("on stdio: %s", got)
	}
}
