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
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Files go by address (extension io.modelcontextprotocol/files): to and from paths below that of the endpoint, which a client
// resolves against the address that it has. A random token, in a header, says which file; besides it a request needs what
// requests to the endpoint need. There is no published text of the extension: this is what Claude Code 2.1.331 accepts.
const (
	uploadsPath, downloadsPath   = "/uploads", "/downloads"
	uploadHeader, downloadHeader = "X-Upload-Token", "X-Download-Token"
	linksPath                    = "/files/" // of addresses for people, whose last part is the token
)

const (
	transferTime  = stateTime // how long an address is good
	maxTransfers  = 256       // that are expected, or wait to be fetched; each holds a descriptor
	maxUploaded   = 16 << 30  // bytes of uploads
	transferPiece = 1 << 20   // has to come within readTimeout
)

// transfer is a file that a client is to send, or may get.
type transfer struct {
	*os.File
	about   call.File
	expires time.Time
	begun   atomic.Bool  // an upload comes, or has come
	arrived atomic.Bool  // and is complete
	senders atomic.Int32 // of a download, that go on when it expires
}

// drop closes the file, unless it is being sent: then the last sender does so.
func (t *transfer) drop() {
	if t.senders.Add(-1) < 0 {
		t.Close()
	}
}

// address returns where the file goes to or comes from, as the client gets it.
func (t *transfer) address(path, header, token string) map[string]any {
	return map[string]any{
		"path": path, "headers": map[string]string{header: token}, "credentials": "include", "expiresAt": t.expires.UTC().Format(time.RFC3339),
	}
}

// transfer keeps a file for a principal, and returns the token of its address. The header keeps addresses of
// uploads and downloads apart.
func (s *Server) transfer(owner, header string, f *os.File, about call.File, size int64) (token string, t *transfer) {
	var b [32]byte
	rand.Read(b[:]) // never fails
	token, t = base64.RawURLEncoding.EncodeToString(b[:]), &transfer{File: f, about: about, expires: time.Now().Add(transferTime)}
	s.files.Put(owner, header+token, t, size)
	s.replicas.madeHere(owner, token)
	time.AfterFunc(transferTime, func() { s.files.Get("", "") }) // a Store that nobody uses keeps what has expired
	return token, t
}

// Transfers reports whether the client declares a part of the extension.
func (p *peer) Transfers(part string) bool {
	declared := rawjson.Member(rawjson.Member(rawjson.Member(p.meta.capabilities, "extensions"), call.FilesExtension), part)
	return p.uses(extensionFiles) && len(declared) > 0 && declared[0] == '{'
}

// Upload returns a file that the client has sent, or has it send the file.
func (p *peer) Upload(about call.File) (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, owner := p.server, p.who.principal.ID
	t, known := s.files.Get(owner, uploadHeader+p.state.Upload)
	if !known {
		f, err := s.opts.Spool()
		if err != nil {
			return nil, fmt.Errorf("the server cannot keep files of clients: %w", err)
		}
		p.state.Upload, t = s.transfer(owner, uploadHeader, f, about, about.Size)
	}
	if !t.arrived.Load() {
		to := t.address(uploadsPath, uploadHeader, p.state.Upload)
		to["fileId"], to["method"] = about.ID, http.MethodPut
		return nil, &call.InputRequired{Upload: to}
	}
	if _, mine := s.files.Take(owner, uploadHeader+p.state.Upload); !mine {
		return nil, domain.Errorf(domain.CodeExecutionFailed, "another call has used the file at the same time; make the call again")
	}
	return t, nil
}

// Offer has the client get a file, under the policy of this moment.
func (p *peer) Offer(f *os.File, about call.File) (meta map[string]any) {
	token, t := p.server.transfer(p.who.principal.ID, downloadHeader, f, about, 0)
	from := t.address(downloadsPath, downloadHeader, token)
	from["name"], from["mimeType"], from["size"] = about.Name, about.MIMEType, about.Size
	return map[string]any{call.FilesExtension: map[string]any{"downloads": []any{from}}}
}

// refusal is why a file does not come or go.
type refusal struct {
	status int
	text   string
}

// byAddress serves an address with some methods: serve does, if the token is that of a file.
func (h *httpHandler) byAddress(methods, header string, serve func(http.ResponseWriter, *http.Request, *transfer) *refusal) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, ok := h.admits(w, r, methods)
		if !ok {
			return
		}
		if !slices.Contains(strings.Split(methods, ", "), r.Method) {
			methodNotAllowed(w, methods)
			return
		}
		var (
			s, owner = h.server, who.principal.ID
			t, known = s.files.Get(owner, header+r.Header.Get(header))
			refused  *refusal
		)
		if !known && h.server.replicas.forward(w, r, s.replicas.madeBy(r.Context(), owner, r.Header.Get(header)), nil) {
			return
		}
		switch {
		case !known || !s.offering.Load().on[extensionFiles]:
			refused = &refusal{http.StatusNotFound, "the address is not known: it has expired or was used, or the server has started anew; make the call again"}
		case !s.streams.TryAcquire(owner, 1):
			refused = &refusal{http.StatusServiceUnavailable, "too many files are on their way; try again later"}
		default:
			refused = serve(w, r, t)
			s.streams.Release(owner, 1)
		}
		if refused != nil {
			s.opts.Log.Warn("a file did not go by address", zap.String("principal", owner), zap.String("method", r.Method), zap.String("reason", refused.text))
			writeJSON(w, jsonrpc.AppendValue(nil, map[string]string{"error": refused.text}), refused.status)
			return
		}
		s.opts.Log.Info("a file went by address",
			zap.String("principal", owner), zap.String("method", r.Method), zap.String("name", t.about.Name), zap.Int64("size", t.about.Size))
	}
}

// receive takes in a file.
func (h *httpHandler) receive(w http.ResponseWriter, r *http.Request, t *transfer) *refusal {
	switch {
	case r.Header.Get("Content-Encoding") != "" || r.Header.Get("Content-Range") != "":
		return &refusal{http.StatusUnsupportedMediaType, "the file has to come whole, without Content-Encoding and Content-Range"}
	case !t.begun.CompareAndSwap(false, true):
		return &refusal{http.StatusConflict, "the file has been sent, or another request is sending it"}
	}
	sum, refused := t.fill(http.NewResponseController(w), r.Body)
	if refused != nil {
		t.begun.Store(false)
		return refused
	}
	t.arrived.Store(true)
	writeJSON(w, jsonrpc.AppendValue(nil, map[string]any{"sha256": hex.EncodeToString(sum), "size": t.about.Size}), http.StatusOK)
	return nil
}

// pour copies what comes, at most a byte more than most, whose client may be slow but has to send on.
func pour(control *http.ResponseController, to io.Writer, from io.Reader, most int64) (size int64, err error) {
	from = io.LimitReader(from, most+1)
	for err == nil {
		_ = control.SetReadDeadline(time.Now().Add(readTimeout))
		var n int64
		n, err = io.CopyN(to, from, transferPiece)
		size += n
	}
	if err == io.EOF {
		err = nil
	}
	return size, err
}

// fill writes what comes to the file, and returns its SHA-256 if it is what was announced.
func (t *transfer) fill(control *http.ResponseController, body io.Reader) (sum []byte, _ *refusal) {
	hash := sha256.New()
	size, err := pour(control, io.MultiWriter(io.NewOffsetWriter(t, 0), hash), body, t.about.Size)
	if err == nil {
		err = t.Truncate(t.about.Size) // an attempt before may have been longer
	}
	failed, onDisk := errors.AsType[*fs.PathError](err)
	switch sum = hash.Sum(nil); {
	case onDisk:
		return nil, &refusal{http.StatusInsufficientStorage, "the file could not be kept, or its address has expired: " + failed.Err.Error()}
	case err != nil || size != t.about.Size:
		return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("the call announced %d bytes, and %d came, 1 MiB within %v", t.about.Size, size, readTimeout)}
	case t.about.Digest != nil && t.about.Digest.Value != base64.RawURLEncoding.EncodeToString(sum):
		return nil, &refusal{http.StatusUnprocessableEntity, "the SHA-256 of what came is not the one that the call announced"}
	}
	return sum, nil
}

// send lets the client have a file, or a part of it.
func (h *httpHandler) send(w http.ResponseWriter, r *http.Request, t *transfer) *refusal {
	t.senders.Add(1)
	defer t.drop()
	info, err := t.Stat()
	if err != nil || info.Size() != t.about.Size {
		return &refusal{http.StatusGone, "the file has changed since its address was given; make the call again"}
	}
	for name, value := range map[string]string{
		"Content-Type": t.about.MIMEType, "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
		"Content-Disposition": mime.FormatMediaType("attachment", map[string]string{"filename": t.about.Name}),
		"Cache-Control":       "no-store", "ETag": fmt.Sprintf(`"%x-%x"`, info.Size(), info.ModTime().UnixNano()),
	} {
		w.Header().Set(name, value)
	}
	http.ServeContent(w, r, "", info.ModTime(), &moving{io.NewSectionReader(t, 0, info.Size()), http.NewResponseController(w)})
	return nil
}

// moving is the content of a response whose client may be slow, but has to read on.
type moving struct {
	io.ReadSeeker
	control *http.ResponseController
}

func (m *moving) Read(b []byte) (int, error) {
	_ = m.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	return m.ReadSeeker.Read(b)
}

// A link is an address for people whose client sends and gets no files itself. Who has it needs nothing else, and can use it once.
type link struct {
	download *transfer // nil for an upload
	who      caller
	session  domain.Session
	tool     string          // that is called with what is put there
	args     json.RawMessage // besides the file
	used     atomic.Bool
}

// Link returns an address at which a person gets a file, or puts one where content is nil; empty if this server has no public address.
func (p *peer) Link(content *os.File, about call.File) string {
	at := p.who.credentials.Public
	if at == "" {
		return ""
	}
	name, _ := rawjson.String(p.name)
	l := &link{who: p.who, session: p.domain(), tool: name, args: slices.Clone(p.arguments)}
	l.session.Meta = nil
	if content != nil {
		l.download = &transfer{File: content, about: about}
	}
	owner, token := linkOwner(p.who.principal.ID), rand.Text()
	p.server.links.Put(owner, token, l, 1)
	p.server.replicas.madeHere(owner, token)
	time.AfterFunc(transferTime, func() { p.server.links.Get("", "") })
	return at + linksPath + owner + "." + token
}

// linkOwner is how an address names whose it is, without saying it.
func linkOwner(principal string) string {
	sum := sha256.Sum256([]byte("link " + principal))
	return hex.EncodeToString(sum[:8])
}

// drop closes what the link is to.
func (l *link) drop() {
	if l.download != nil {
		l.download.drop()
	}
}

// page is what a browser shows at an address to put a file at.
const page = `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Send a file</title>
<form method="post" enctype="multipart/form-data"><h1>Send a file</h1><p>It goes to the workspace that asked for it, once.</p>
<input type="file" name="file" required> <button>Send</button></form>`

// serveLink serves an address for people.
func (h *httpHandler) serveLink(w http.ResponseWriter, r *http.Request) {
	owner, token, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(h.opts.Path, "/")+linksPath), ".")
	refuse := func(status int, text string) {
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, text, status)
	}
	if !h.hostAllowed(r.Host) {
		refuse(http.StatusForbidden, "this host is not allowed")
		return
	}
	l, ok := h.server.links.Get(owner, token)
	if !ok && h.server.replicas.forward(w, r, h.server.replicas.madeBy(r.Context(), owner, token), nil) {
		return
	}
	session := domain.Session{}
	if ok {
		session = l.session
		session.Principal, ok = l.who.again()
	}
	if !ok {
		refuse(http.StatusNotFound, "this address has expired or was used; ask for another one")
		return
	}
	w.Header().Set("Referrer-Policy", "no-referrer")
	var refused *refusal
	switch {
	case l.download != nil && r.Method == http.MethodGet:
		if !l.used.CompareAndSwap(false, true) {
			refuse(http.StatusNotFound, "this address was used; ask for another one")
			return
		}
		defer l.drop()
		defer h.server.links.Take(owner, token)
		r.Header.Del("Range")
		if refused = h.send(w, r, l.download); refused != nil {
			refuse(refused.status, refused.text)
		}
	case l.download == nil && r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, page)
		return
	case l.download == nil && (r.Method == http.MethodPut || r.Method == http.MethodPost):
		if !l.used.CompareAndSwap(false, true) {
			refuse(http.StatusConflict, "a file is being put here, or was")
			return
		}
		status, text := h.put(w, r, l, session)
		if status == http.StatusCreated {
			h.server.links.Take(owner, token)
		} else {
			refused = &refusal{status, text}
			l.used.Store(false)
		}
		refuse(status, text)
	default:
		methodNotAllowed(w, "GET, PUT, POST")
		return
	}
	log := h.server.opts.Log.With(zap.String("principal", l.who.principal.ID), zap.String("method", r.Method))
	if refused != nil {
		log.Warn("a file did not go by link", zap.String("reason", refused.text))
	} else {
		log.Info("a file went by link")
	}
}

// put has the tool that gave the address take what comes, under the policy of this moment.
func (h *httpHandler) put(w http.ResponseWriter, r *http.Request, l *link, session domain.Session) (status int, text string) {
	body, name := io.Reader(r.Body), ""
	if form, err := r.MultipartReader(); err == nil {
		part, err := form.NextPart()
		if err != nil {
			return http.StatusBadRequest, "the form has no file"
		}
		body, name = part, part.FileName()
	}
	f, err := h.server.opts.Spool()
	if err != nil {
		return http.StatusInsufficientStorage, "the file cannot be kept"
	}
	defer f.Close()
	most, hash := (call.File{}).MaxSize(), sha256.New()
	size, err := pour(http.NewResponseController(w), io.MultiWriter(f, hash), body, most)
	switch {
	case size > most:
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("at most %d bytes can be put here", most)
	case err != nil:
		return http.StatusBadRequest, "the file did not come whole"
	}
	_, _ = f.Seek(0, io.SeekStart)
	about := jsonrpc.AppendValue(nil, call.File{ID: "link", Name: name, MIMEType: "application/octet-stream", Size: size})
	ctx, stop := context.WithTimeout(r.Context(), transferTime)
	defer stop()
	result, err := h.server.exec.Call(ctx, call.ExecuteToolCommand{
		Session: session, Tool: l.tool, Arguments: rawjson.With(l.args, "file", about), Client: &sender{content: f},
	})
	switch {
	case err != nil:
		return http.StatusForbidden, err.Error()
	case result.IsError:
		return http.StatusForbidden, result.Content[0].Text
	}
	return http.StatusCreated, fmt.Sprintf("%s\nSHA-256: %x", result.Content[0].Text, hash.Sum(nil))
}

// sender is the client of a call that takes a file that was put at an address.
type sender struct {
	call.ProgressFunc
	content *os.File
}

func (s *sender) Transfers(part string) bool                      { return part == "upload" }
func (s *sender) Upload(call.File) (io.ReadCloser, error)         { return io.NopCloser(s.content), nil }
func (s *sender) Offer(*os.File, call.File) (meta map[string]any) { return nil }
func (s *sender) Link(*os.File, call.File) string                 { return "" }
