package google

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// call is a request to an API that keeps to its discovery document.
type call struct {
	f      *Fake
	method *method
	user   *user
	scopes []string
	path   map[string]string
	query  url.Values
	header http.Header
	body   map[string]any // nil if there is none
	media  []byte         // that was uploaded; nil if there is none
}

func (c *call) flag(name string) bool { return c.query.Get(name) == "true" }

// size returns the parameter maxResults, bounded.
func (c *call) size(standard, most int) int {
	n, err := strconv.Atoi(c.query.Get("maxResults"))
	if err != nil || n == 0 {
		return standard
	}
	return min(n, most)
}

// pageKey is the same for all pages of a list.
func (c *call) pageKey() string {
	q := url.Values{}
	for name, values := range c.query {
		if !slices.Contains([]string{"pageToken", "fields", "alt", "prettyPrint", "maxResults"}, name) {
			q[name] = values
		}
	}
	return c.method.ID + " " + c.user.Email + " " + c.path["calendarId"] + "?" + q.Encode()
}

// serveAPI answers a request to one of the APIs.
func (f *Fake) serveAPI(w http.ResponseWriter, r *http.Request) {
	route, path := f.match(r)
	if route == nil {
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>Error 404 (Not Found)!!1</title><p>The requested URL was not found on this server.")
		return
	}
	m := route.method
	v, refusal := f.answer(route, path, r)
	if refusal != nil {
		refusal.send(w, m.doc.Name)
		return
	}
	if m.Response == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	text, err := json.Marshal(v)
	if err == nil && r.URL.Query().Get("prettyPrint") != "false" {
		var pretty bytes.Buffer
		err = json.Indent(&pretty, text, "", "  ")
		text = pretty.Bytes()
	}
	if err != nil {
		f.violation("%s: %v", m.ID, err).send(w, m.doc.Name)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_, _ = w.Write(text)
}

// answer checks a request, carries it out and checks its answer.
func (f *Fake) answer(route *route, path map[string]string, r *http.Request) (any, *Answer) {
	m, query := route.method, r.URL.Query()
	c := &call{f: f, method: m, path: path, query: query, header: r.Header}
	if refusal := f.authenticate(c, r); refusal != nil {
		return nil, refusal
	}
	if refusal := m.check(query); refusal != nil {
		return nil, refusal
	}
	if refusal := c.read(r, route.upload); refusal != nil {
		return nil, refusal
	}
	if _, refusal := partial(m, query.Get("fields"), nil); refusal != nil {
		return nil, refusal // before anything is changed
	}
	handle := f.handlers[m.ID]
	if handle == nil {
		a := f.violation("%s is a method of Google's that the fake has not", m.ID)
		a.Status = http.StatusNotImplemented
		return nil, a
	}
	v, refusal := f.handle(handle, c)
	if refusal != nil || m.Response == nil {
		return nil, refusal
	}
	plain, err := roundTrip(v)
	if err == nil {
		err = m.doc.valid(m.Response, plain, "", true)
	}
	if err != nil {
		return nil, f.violation("the answer of %s: %v", m.ID, err)
	}
	return partial(m, query.Get("fields"), plain)
}

func (f *Fake) handle(handle func(*call) (any, *Answer), c *call) (any, *Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, refusal := handle(c)
	if refusal != nil {
		return nil, refusal
	}
	plain, err := roundTrip(v) // while nobody changes it
	if err != nil {
		return nil, invalid("backendError", err.Error())
	}
	return plain, nil
}

// roundTrip returns a value as a decoder of JSON has it.
func roundTrip(v any) (plain any, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return plain, d.Decode(&plain)
}

// authenticate finds whose request it is and whether its token allows the method.
func (f *Fake) authenticate(c *call, r *http.Request) *Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tokenOf(r)
	if t == nil {
		a := Unauthenticated()
		if r.Header.Get("Authorization") == "" {
			a.Reason, a.Message = "required", "Login Required."
			a.Header = http.Header{"Www-Authenticate": {`Bearer realm="https://accounts.google.com/"`}}
			a.Details = []any{info("CREDENTIALS_MISSING", map[string]string{"service": hosts[c.method.doc.Name]})}
		}
		return &a
	}
	c.user, c.scopes = t.grant.user, t.grant.scopes
	if !c.method.allows(c.scopes) {
		a := ScopeInsufficient(c.method.doc.Name)
		return &a
	}
	if id := c.path["userId"]; id != "" && id != "me" && !strings.EqualFold(id, c.user.Email) {
		return &Answer{Status: http.StatusForbidden, Reason: "forbidden", Message: "Delegation denied for " + c.user.Email}
	}
	return nil
}

// read reads the body: JSON, or what is uploaded.
func (c *call) read(r *http.Request, upload bool) *Answer {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return invalid("badRequest", "Bad Request")
	}
	mediaType, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if upload {
		switch c.query.Get("uploadType") {
		case "media":
			c.media = body
		case "multipart":
			if body, err = c.related(body, parameters["boundary"]); err != nil {
				return invalid("badContent", "Malformed multipart body.")
			}
		case "resumable":
			a := c.f.violation("%s: uploads that resume are Google's, and the fake has not them", c.method.ID)
			a.Status = http.StatusNotImplemented
			return a
		default:
			return invalid("invalid", "uploadType must be media or multipart")
		}
		if int64(len(c.media)) > c.method.MediaUpload.MaxSize {
			return &Answer{Status: http.StatusRequestEntityTooLarge, Reason: "uploadTooLarge", Message: "Maximum upload size exceeded."}
		}
		if c.query.Get("uploadType") == "media" {
			return nil
		}
		mediaType = "application/json"
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if mediaType != "application/json" {
		return invalid("badContent", "Unsupported content with type: "+mediaType)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&c.body); err != nil || d.More() {
		return invalid("parseError", "Invalid JSON payload received. Unexpected token.")
	}
	s := c.method.Request
	if s == nil {
		s = &schema{Type: "object"}
	}
	if err := c.method.doc.valid(s, c.body, "", false); err != nil {
		return badRequest(err.Error(), "")
	}
	return nil
}

// related reads a body of multipart/related: JSON, then the media.
func (c *call) related(body []byte, boundary string) ([]byte, error) {
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	first, err := parts.NextPart()
	if err != nil {
		return nil, err
	}
	about, err := io.ReadAll(first)
	if err != nil {
		return nil, err
	}
	second, err := parts.NextPart()
	if err != nil {
		return nil, err
	}
	if c.media, err = io.ReadAll(second); err != nil {
		return nil, err
	}
	if strings.EqualFold(second.Header.Get("Content-Transfer-Encoding"), "base64") { // as Google's client for Node may send it
		c.media, err = decode64(strings.Join(strings.Fields(string(c.media)), ""))
	}
	return about, err
}

// text returns a string of an object, "" if there is none.
func text(object map[string]any, name string) string {
	s, _ := object[name].(string)
	return s
}

// object returns an object of an object, nil if there is none.
func object(of map[string]any, name string) map[string]any {
	o, _ := of[name].(map[string]any)
	return o
}

// texts returns a list of strings.
func texts(object map[string]any, name string) (list []string) {
	items, _ := object[name].([]any)
	for _, item := range items {
		if s, ok := item.(string); ok {
			list = append(list, s)
		}
	}
	return list
}
