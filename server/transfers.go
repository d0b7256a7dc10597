package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Files go by address (extension io.modelcontextprotocol/files): to and from paths below that of the endpoint, which a client
// resolves against the address that it has. A random token, in a header, says which file; besides it a request needs what
// requests to the endpoint need. There is no published text of the extension: this is what Claude Code 2.1.331 accepts.
const (
	uploadsPath, downloadsPath   = "/uploads", "/downloads"
	uploadHeader, downloadHeader = "X-Upload-Token", "X-Download-Token"
	linkParameter                = "token" // of a link, which is for those who cannot send headers
)

const (
	transferTime   = stateTime // how long an address is good
	maxUploads     = 128       // that are expected or wait for their calls; each may hold a descriptor
	maxDownloads   = 4096
	maxSpooled     = 16 << 30 // bytes of uploads on disk
	transferPiece  = 1 << 20  // has to come or go within readTimeout or writeTimeout
	spooledPrefix  = "upload-"
	capabilitySend = "upload"
	capabilityGet  = "download"
)

// transfers are the files that go by address.
type transfers struct {
	uploads   share.Store[string, *upload] // by token
	downloads share.Store[string, *download]
	spooled   *share.Pool // bytes, by principal
}

func newTransfers() transfers {
	return transfers{
		uploads:   share.Store[string, *upload]{MaxEntries: maxUploads, MaxAge: transferTime, Dropped: (*upload).discard},
		downloads: share.Store[string, *download]{MaxEntries: maxDownloads, MaxAge: transferTime},
		spooled:   share.NewPool(maxSpooled, 0),
	}
}

func newToken() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// upload is a file that a client is to send, or has sent.
type upload struct {
	file    call.File
	expires time.Time

	mu      sync.Mutex
	taken   bool          // bytes come, have come, or are not wanted any more
	content io.ReadCloser // once all have come
}

// begin reports whether bytes may come, from this request only.
func (u *upload) begin() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := !u.taken
	u.taken = true
	return first
}

// take returns the content and leaves it to the caller; nil if there is none. The upload may be nil.
func (u *upload) take() io.ReadCloser {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	content := u.content
	u.content, u.taken = nil, true
	return content
}

func (u *upload) discard() {
	if content := u.take(); content != nil {
		content.Close()
	}
}

// spooledFile is an upload on disk, and its share of what all may have there.
type spooledFile struct {
	*os.File
	close func()
}

// Close removes the file.
func (f *spooledFile) Close() error {
	err := f.File.Close()
	f.close()
	return err
}

// declares reports whether the client of a request declares a part of the extension.
func (in *incoming) declares(part string) bool {
	if in.who.endpoint == "" || !in.uses(extensionFiles) {
		return false
	}
	declared := rawjson.Member(rawjson.Member(rawjson.Member(in.meta.capabilities, "extensions"), extensions[extensionFiles].id), part)
	return len(declared) > 0 && declared[0] == '{'
}

// Upload returns files that the client has sent, or has it send those it has not. None comes unless all have.
func (p *peer) Upload(files []call.File) (contents []io.ReadCloser, err error) {
	if !p.declares(capabilitySend) {
		id := extensions[extensionFiles].id
		lacks := json.RawMessage(`{"extensions":{"` + id + `":{"` + capabilitySend + `":{}}}}`)
		return nil, &domain.Error{
			Code:    domain.CodeMissingCapability,
			Message: "the call takes a file of the client, which does not declare that it sends any: " + id + " in protocol version 2026-07-28, over HTTP",
			Hint:    "Use write_file or append_file.", Data: map[string]any{"requiredCapabilities": lacks},
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	owner, tokens, sent := p.who.principal.ID, map[string]string{}, true
	for _, f := range files {
		if _, twice := tokens[f.ID]; twice {
			return nil, domain.Errorf(domain.CodeInvalidParams, "two files of the call have the same id")
		}
		token := p.state.Uploads[f.ID]
		u, ok := p.server.uploads.Get(owner, token)
		if !ok {
			token, u = newToken(), &upload{file: f, expires: time.Now().Add(transferTime)}
			if f.Size == 0 {
				u.content, u.taken = io.NopCloser(strings.NewReader("")), true
			}
			p.server.uploads.Put(owner, token, u, 0)
			time.AfterFunc(transferTime, func() { // a Store that nobody uses keeps what has expired
				if u, ok := p.server.uploads.Take(owner, token); ok {
					u.discard()
				}
			})
		}
		u.mu.Lock()
		sent = sent && u.content != nil
		u.mu.Unlock()
		tokens[f.ID] = token
	}
	p.state.Uploads = tokens
	if !sent {
		return nil, &call.InputRequired{Files: files}
	}
	for _, f := range files {
		u, _ := p.server.uploads.Take(owner, tokens[f.ID])
		content := u.take()
		if content == nil {
			for _, c := range contents {
				c.Close()
			}
			return nil, domain.Errorf(domain.CodeExecutionFailed, "another call has used the files at the same time; make the call again")
		}
		contents = append(contents, content)
	}
	return contents, nil
}

// target is where the bytes of a file go to or come from, as the client gets it.
type target struct {
	FileID      string            `json:"fileId,omitempty"`
	Name        string            `json:"name,omitempty"`
	MIMEType    string            `json:"mimeType,omitempty"`
	Size        *int64            `json:"size,omitempty"`
	Path        string            `json:"path"`
	Method      string            `json:"method,omitempty"`
	Headers     map[string]string `json:"headers"`
	Credentials string            `json:"credentials"`
	ExpiresAt   string            `json:"expiresAt"`
}

// targets returns where files go that the client has to send. One without bytes has no target.
func (p *peer) targets(files []call.File) []target {
	all := []target{}
	for _, f := range files {
		u, ok := p.server.uploads.Get(p.who.principal.ID, p.state.Uploads[f.ID])
		if f.Size > 0 && ok {
			all = append(all, target{
				FileID: f.ID, Path: uploadsPath, Method: http.MethodPut, Headers: map[string]string{uploadHeader: p.state.Uploads[f.ID]},
				Credentials: "include", ExpiresAt: u.expires.UTC().Format(time.RFC3339),
			})
		}
	}
	return all
}

// download is a file that a client may get: the call that offered it runs once more, under the policy of that moment.
type download struct {
	who      caller
	cmd      call.ExecuteToolCommand
	size     int64
	modified time.Time
	agreed   bool // a person has agreed to the call, as configuration demanded
}

// Download offers the file to the client. A client without the extension gets a link.
func (p *peer) Download(d call.Download) (o call.Offered, err error) {
	d.File.Close()
	if p.who.endpoint == "" {
		return o, domain.Errorf(domain.CodeExecutionFailed, "files are sent by address over HTTP only, where protocol.extensions.files is offered")
	}
	name, _ := rawjson.String(p.name)
	token, owner := newToken(), p.who.principal.ID
	tool, _ := p.server.exec.Registry.Get(name)
	again := call.ExecuteToolCommand{Session: p.domain(), Tool: name, Arguments: slices.Clone(p.arguments)}
	again.Session.Meta = nil
	p.server.downloads.Put(owner, token, &download{p.who, again, d.Size, d.Modified, tool != nil && tool.Confirm}, 0)
	if p.declares(capabilityGet) {
		o.Meta = map[string]any{extensions[extensionFiles].id: map[string]any{"downloads": []target{{
			Name: d.Name, MIMEType: d.MIMEType, Size: &d.Size, Path: downloadsPath, Headers: map[string]string{downloadHeader: token},
			Credentials: "include", ExpiresAt: time.Now().Add(transferTime).UTC().Format(time.RFC3339),
		}}}}
		return o, nil
	}
	sealed, err := p.server.states.seal(requestState{Principal: owner, Once: token})
	o.Link = p.who.endpoint + downloadsPath + "?" + linkParameter + "=" + sealed
	return o, err
}

// fetching is the client of the call that runs when a file is fetched.
type fetching struct {
	call.ProgressFunc
	agreed bool // a person has agreed to the same call when it offered the file

	mu   sync.Mutex
	over bool
	file *call.Download
}

// Supports reports whether questions are answered: those that ask for consent, which was given.
func (f *fetching) Supports(method string) bool { return f.agreed && method == call.AskElicitation }

// Ask agrees.
func (*fetching) Ask(_ context.Context, requests map[string]call.InputRequest) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	for name := range requests {
		answers[name] = json.RawMessage(`{"action":"accept"}`)
	}
	return answers, nil
}

// Upload takes no file.
func (*fetching) Upload([]call.File) ([]io.ReadCloser, error) { return nil, errNotAgain }

var errNotAgain = errors.New("the address is good for getting a file only")

// Download takes over the file that is fetched.
func (f *fetching) Download(d call.Download) (call.Offered, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || f.file != nil {
		d.File.Close()
		return call.Offered{}, errNotAgain
	}
	f.file = &d
	return call.Offered{Sent: true}, nil
}

// fetched returns the file, or nil. None comes any more.
func (f *fetching) fetched() *call.Download {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	return f.file
}

// endpointURL returns where the client of a request reaches the endpoint.
func (h *httpHandler) endpointURL(r *http.Request) string {
	base := strings.TrimSuffix(h.opts.PublicURL, "/")
	if base == "" {
		if base = "http://" + r.Host; r.TLS != nil {
			base = "https://" + r.Host
		}
	}
	return base + strings.TrimSuffix(h.opts.Path, "/")
}

// refusal is why a file does not come or go.
type refusal struct {
	status     int
	code, text string
}

func (f *refusal) write(w http.ResponseWriter) {
	if f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "30")
	}
	writeJSON(w, jsonrpc.AppendValue(nil, map[string]string{"error": f.code, "error_description": f.text}), f.status)
}

func unknownAddress() *refusal {
	return &refusal{http.StatusNotFound, "unknown_address",
		"the address is not known: it has expired or was used, or the server has started anew; make the call again"}
}

func noRoom(text string) *refusal { return &refusal{http.StatusInsufficientStorage, "no_room", text} }

func crowded() *refusal {
	return &refusal{http.StatusServiceUnavailable, "busy", "too many files are on their way or wait for their calls; try again later"}
}

// receiveFile serves the address of an upload.
func (h *httpHandler) receiveFile(w http.ResponseWriter, r *http.Request) {
	if !h.admits(w, r, "PUT") {
		return
	}
	who, ok := h.authenticate(w, r)
	if !ok {
		return
	}
	if r.Method != http.MethodPut {
		methodNotAllowed(w, "PUT")
		return
	}
	owner := who.principal.ID
	if !h.server.streams.TryAcquire(owner, 1) {
		crowded().write(w)
		return
	}
	defer h.server.streams.Release(owner, 1)
	file, sum, refused := h.receive(w, r, owner)
	about := []zap.Field{zap.String("principal", owner), zap.String("name", file.Name), zap.Int64("size", file.Size)}
	if refused != nil {
		h.server.opts.Log.Warn("a file did not arrive", append(about, zap.String("reason", refused.text))...)
		w.Header().Set("Connection", "close") // rather than reading on
		refused.write(w)
		return
	}
	h.server.opts.Log.Info("a file arrived", about...)
	writeJSON(w, jsonrpc.AppendValue(nil, map[string]any{"sha256": hex.EncodeToString(sum), "size": file.Size}), http.StatusOK)
}

// receive takes in the file that is expected at an address.
func (h *httpHandler) receive(w http.ResponseWriter, r *http.Request, owner string) (file call.File, sum []byte, refused *refusal) {
	token := r.Header.Get(uploadHeader)
	u, ok := h.server.uploads.Get(owner, token)
	if !ok {
		return file, nil, unknownAddress()
	}
	switch file = u.file; {
	case r.Header.Get("Content-Encoding") != "" || r.Header.Get("Content-Range") != "":
		return file, nil, &refusal{http.StatusUnsupportedMediaType, "encoded", "the file has to come whole, without Content-Encoding and Content-Range"}
	case r.ContentLength >= 0 && r.ContentLength != file.Size:
		return file, nil, &refusal{http.StatusBadRequest, "wrong_size", fmt.Sprintf("the call announced %d bytes, not %d", file.Size, r.ContentLength)}
	case !u.begin():
		return file, nil, &refusal{http.StatusConflict, "already_sent", "the file has been sent, or another request is sending it"}
	}
	content, sum, refused := h.keep(w, r, owner, &file)
	u.mu.Lock()
	if u.taken = refused == nil; u.taken {
		u.content = content
	}
	u.mu.Unlock()
	if now, ok := h.server.uploads.Get(owner, token); !ok || now != u { // it has expired meanwhile
		u.discard()
		return file, nil, unknownAddress()
	}
	return file, sum, refused
}

// keep writes a file to the disk as it comes, and keeps it if it is the one that was announced.
func (h *httpHandler) keep(w http.ResponseWriter, r *http.Request, owner string, want *call.File) (_ *spooledFile, sum []byte, refused *refusal) {
	s := h.server
	if !s.spooled.TryAcquire(owner, want.Size) {
		return nil, nil, crowded()
	}
	spool, err := s.spool(func() { s.spooled.Release(owner, want.Size) })
	if err != nil {
		s.opts.Log.Error("files of clients cannot be kept", zap.Error(err))
		return nil, nil, noRoom("the server cannot keep the file; tell its operator")
	}
	hash, body := sha256.New(), io.LimitReader(r.Body, want.Size+1)
	control, size, to := http.NewResponseController(w), int64(0), io.MultiWriter(spool, hash)
	for err == nil {
		_ = control.SetReadDeadline(time.Now().Add(readTimeout))
		var n int64
		n, err = io.CopyN(to, body, transferPiece)
		size += n
	}
	if err == io.EOF && size == want.Size {
		if _, err = spool.Seek(0, io.SeekStart); err == nil {
			err = io.EOF
		}
	}
	_, onDisk := errors.AsType[*fs.PathError](err)
	switch sum = hash.Sum(nil); {
	case onDisk:
		s.opts.Log.Error("a file of a client could not be kept", zap.Error(err))
		refused = noRoom("the server cannot keep the file, perhaps because its disk is full; tell its operator")
	case errors.Is(err, os.ErrDeadlineExceeded):
		refused = &refusal{http.StatusRequestTimeout, "too_slow", fmt.Sprintf("%d bytes did not come within %v", transferPiece, readTimeout)}
	case size > want.Size:
		refused = &refusal{http.StatusRequestEntityTooLarge, "wrong_size", fmt.Sprintf("the call announced %d bytes, and more came", want.Size)}
	case err != io.EOF || size < want.Size:
		refused = &refusal{http.StatusBadRequest, "wrong_size", fmt.Sprintf("the call announced %d bytes, and %d came", want.Size, size)}
	case want.Digest != nil && want.Digest.Value != base64.RawURLEncoding.EncodeToString(sum):
		refused = &refusal{http.StatusUnprocessableEntity, "wrong_digest", "the SHA-256 of what came is not the one that the call announced"}
	default:
		return spool, sum, nil
	}
	spool.Close()
	return nil, nil, refused
}

// spool returns a new file for an upload. It has no name where open files can do without: a process that is killed leaves nothing.
func (s *Server) spool(closed func()) (f *spooledFile, err error) {
	defer func() {
		if err != nil {
			closed()
		}
	}()
	if s.opts.Uploads == nil {
		return nil, errors.New("there is no directory for them")
	}
	dir, err := s.opts.Uploads()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	osfile.Sweep(dir, 0, func(name string) bool { return strings.HasPrefix(name, spooledPrefix) }, dir.Remove)
	name := spooledPrefix + rand.Text()
	file, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if dir.Remove(name) == nil {
		return &spooledFile{file, closed}, nil
	}
	path := file.Name()
	return &spooledFile{file, func() { os.Remove(path); closed() }}, nil
}

// sendFile serves the address of a download, once to its end.
func (h *httpHandler) sendFile(w http.ResponseWriter, r *http.Request) {
	if !h.admits(w, r, "GET, HEAD") {
		return
	}
	var (
		s         = h.server
		token     = r.Header.Get(downloadHeader)
		d         *download
		known     bool
		principal domain.Principal
	)
	if link := r.URL.Query().Get(linkParameter); link != "" {
		state, err := s.states.open(link)
		if d, known = s.downloads.Get(state.Principal, state.Once); err == nil && known {
			token = state.Once
			principal, known = d.who.again()
		}
	} else if who, ok := h.authenticate(w, r); !ok {
		return
	} else {
		principal = who.principal
		d, known = s.downloads.Get(principal.ID, token)
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		methodNotAllowed(w, "GET, HEAD")
		return
	case !known:
		unknownAddress().write(w)
		return
	case !s.streams.TryAcquire(principal.ID, 1):
		crowded().write(w)
		return
	}
	defer s.streams.Release(principal.ID, 1)
	f, refused := s.fetch(r.Context(), d, principal)
	if refused != nil {
		refused.write(w)
		return
	}
	defer f.File.Close()
	for name, value := range map[string]string{
		"Content-Type": f.MIMEType, "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
		"Content-Disposition": mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}),
		"Cache-Control":       "no-store", "Referrer-Policy": "no-referrer", "ETag": fmt.Sprintf(`"%x-%x"`, f.Size, f.Modified.UnixNano()),
	} {
		w.Header().Set(name, value)
	}
	out := &sending{ResponseWriter: w, control: http.NewResponseController(w)}
	http.ServeContent(out, r, "", f.Modified, f.File)
	s.opts.Log.Info("a file was sent", zap.String("principal", principal.ID), zap.String("path", f.Path), zap.Int64("size", f.Size), zap.Int64("bytes", out.sent))
	if r.Method == http.MethodGet && out.sentLast(f.Size) {
		s.downloads.Take(principal.ID, token)
	}
}

// fetch runs the call that offered a file once more, for the file.
func (s *Server) fetch(ctx context.Context, d *download, principal domain.Principal) (*call.Download, *refusal) {
	client, cmd := &fetching{agreed: d.agreed}, d.cmd
	cmd.Session.Principal, cmd.Client = principal, client
	res, err := s.exec.Call(ctx, cmd)
	f := client.fetched()
	switch e, _ := errors.AsType[*domain.Error](err); {
	case f != nil && err == nil && f.Size == d.size && f.Modified.Equal(d.modified):
		return f, nil
	case f != nil:
		f.File.Close()
		return nil, &refusal{http.StatusGone, "changed", "the file has changed since its address was given; make the call again"}
	case e != nil && (e.Code == domain.CodeBusy || e.Code == domain.CodeRateLimited):
		return nil, &refusal{http.StatusTooManyRequests, e.Code.Type(), e.Message}
	case e != nil:
		return nil, &refusal{http.StatusForbidden, e.Code.Type(), e.Message}
	case res.IsError && len(res.Content) > 0:
		return nil, &refusal{http.StatusForbidden, res.ErrorType(), res.Content[0].Text}
	}
	return nil, &refusal{http.StatusNotFound, "not_found", "the call does not lead to a file any more"}
}

// sending is a response whose client may be slow, but has to read on.
type sending struct {
	http.ResponseWriter
	control *http.ResponseController
	sent    int64
	broken  bool
}

func (s *sending) Write(b []byte) (int, error) {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	n, err := s.ResponseWriter.Write(b)
	s.sent, s.broken = s.sent+int64(n), s.broken || err != nil
	return n, err
}

// sentLast reports whether the response had the last byte of a file of a size.
func (s *sending) sentLast(size int64) bool {
	if part := s.Header().Get("Content-Range"); part != "" {
		return !s.broken && s.sent > 0 && strings.HasSuffix(part, fmt.Sprintf("-%d/%d", size-1, size))
	}
	return !s.broken && s.sent == size
}
