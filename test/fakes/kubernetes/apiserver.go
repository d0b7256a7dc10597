// Package kubernetes is a cluster for tests: an API server that holds objects to the schemas of agent-sandbox and follows the conventions of
// the Kubernetes API for what clients of it need, the controllers of agent-sandbox, and a kubelet that starts a process for each pod.
package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

type object = map[string]any

// change is one in the history that watches are served from.
type change struct {
	version uint64
	path    string // of the collection
	kind    string // ADDED, MODIFIED or DELETED
	object  []byte
}

// APIServer is an API server with no objects at first.
type APIServer struct {
	URL string
	// Allowed are the verbs that a token may use, as "verb resource"; nil allows all.
	Allowed map[string][]string
	// NoCRDs has it not know agent-sandbox.
	NoCRDs bool

	server *httptest.Server

	mu      sync.Mutex
	down    bool
	version uint64
	oldest  uint64            // changes up to it are forgotten
	objects map[string]object // by path
	history []change
	changed chan struct{}
	counts  map[string]int
}

// NewAPIServer returns an API server that listens on a loopback address.
func NewAPIServer() *APIServer {
	a := &APIServer{objects: map[string]object{}, changed: make(chan struct{}), counts: map[string]int{}, version: 100, Allowed: map[string][]string{}}
	a.server = httptest.NewServer(a)
	a.URL = a.server.URL
	return a
}

// Close stops it.
func (a *APIServer) Close() {
	a.server.CloseClientConnections()
	a.server.Close()
}

// SetDown has it hang up on all connections until it is up again.
func (a *APIServer) SetDown(down bool) {
	a.mu.Lock()
	a.down = down
	a.mu.Unlock()
	if down {
		a.server.CloseClientConnections()
	}
}

// Compact forgets the history: watches from before it are gone.
func (a *APIServer) Compact() {
	a.mu.Lock()
	a.oldest, a.history = a.version, nil
	a.mu.Unlock()
	a.server.CloseClientConnections()
}

// Count returns how many requests there were, as "verb resource".
func (a *APIServer) Count(what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts[what]
}

// Dump returns all objects as JSON.
func (a *APIServer) Dump() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, _ := json.Marshal(a.objects)
	return string(b)
}

func (a *APIServer) status(w http.ResponseWriter, code int, reason, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": fmt.Sprintf(format, args...), "code": code})
}

// ServeHTTP serves the paths /apis/GROUP/v1beta1/namespaces/NS/PLURAL[/NAME[/status]].
func (a *APIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	down := a.down
	a.mu.Unlock()
	if down {
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			c.Close()
		}
		return
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token == "" {
		a.status(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) == 4 && parts[3] == "selfsubjectaccessreviews" {
		a.review(w, r, token)
		return
	}
	i := -1
	if len(parts) >= 6 && parts[0] == "apis" && parts[2] == "v1beta1" && parts[3] == "namespaces" && !a.NoCRDs {
		i = slices.IndexFunc(kinds, func(k kind) bool { return k.group == parts[1] && k.plural == parts[5] })
	}
	if i < 0 {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	k, name, sub := kinds[i], "", ""
	if len(parts) > 6 {
		name = parts[6]
	}
	if len(parts) > 7 {
		sub = parts[7]
	}
	collection := "/" + strings.Join(parts[:6], "/")
	verb := map[string]string{"GET": "get", "POST": "create", "PATCH": "patch", "DELETE": "delete"}[r.Method]
	if verb == "get" && name == "" {
		if verb = "list"; r.URL.Query().Get("watch") != "" {
			verb = "watch"
		}
	}
	a.mu.Lock()
	a.counts[verb+" "+k.plural]++
	allowed, limited := a.Allowed[token]
	a.mu.Unlock()
	if limited && !slices.Contains(allowed, verb+" "+k.plural) {
		a.status(w, http.StatusForbidden, "Forbidden", "%s.%s is forbidden: User %q cannot %s resource %q in API group %q", k.plural, k.group, "system:serviceaccount:x:"+token, verb, k.plural, k.group)
		return
	}
	switch verb {
	case "watch":
		a.watch(w, r, collection)
	case "list":
		a.list(w, r, collection, k)
	default:
		a.one(w, r, collection, name, sub, verb, k)
	}
}

func (a *APIServer) review(w http.ResponseWriter, r *http.Request, token string) {
	var asked struct {
		Kind, APIVersion string
		Spec             struct {
			ResourceAttributes struct{ Group, Resource, Verb, Namespace string } `json:"resourceAttributes"`
		}
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&asked); err != nil || asked.Kind != "SelfSubjectAccessReview" || asked.Spec.ResourceAttributes.Verb == "" {
		a.status(w, http.StatusBadRequest, "BadRequest", "no review: %v", err)
		return
	}
	a.mu.Lock()
	allowed, limited := a.Allowed[token]
	a.mu.Unlock()
	ok := !limited || slices.Contains(allowed, asked.Spec.ResourceAttributes.Verb+" "+asked.Spec.ResourceAttributes.Resource)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(object{"kind": "SelfSubjectAccessReview", "status": object{"allowed": ok}})
}

// selected reports whether an object has the labels of a selector.
func selected(o []byte, selector string) bool {
	var m typeMeta
	_ = json.Unmarshal(o, &m)
	for term := range strings.SplitSeq(selector, ",") {
		key, value, ok := strings.Cut(term, "=")
		if ok && m.Metadata.Labels[key] != value {
			return false
		}
	}
	return true
}

func (a *APIServer) list(w http.ResponseWriter, r *http.Request, collection string, k kind) {
	q := r.URL.Query()
	a.mu.Lock()
	defer a.mu.Unlock()
	items, next := []json.RawMessage{}, ""
	limit, _ := strconv.Atoi(q.Get("limit"))
	for _, path := range slices.Sorted(maps.Keys(a.objects)) {
		if !strings.HasPrefix(path, collection+"/") || path <= q.Get("continue") {
			continue
		}
		b, _ := json.Marshal(a.objects[path])
		if !selected(b, q.Get("labelSelector")) {
			continue
		}
		if limit > 0 && len(items) == limit {
			break
		}
		items, next = append(items, b), path
	}
	if limit == 0 || len(items) < limit {
		next = ""
	}
	_ = json.NewEncoder(w).Encode(object{"kind": k.name + "List", "apiVersion": k.group + "/v1beta1",
		"metadata": object{"resourceVersion": fmt.Sprint(a.version), "continue": next}, "items": items})
}

func (a *APIServer) watch(w http.ResponseWriter, r *http.Request, collection string) {
	q := r.URL.Query()
	seen, err := strconv.ParseUint(q.Get("resourceVersion"), 10, 64)
	if err != nil {
		a.status(w, http.StatusBadRequest, "BadRequest", "resourceVersion: %v", err)
		return
	}
	seconds, _ := strconv.Atoi(q.Get("timeoutSeconds"))
	end := time.After(time.Duration(seconds) * time.Second)
	bookmark := time.NewTicker(time.Second)
	defer bookmark.Stop()
	out := json.NewEncoder(w)
	flush := func() { _ = http.NewResponseController(w).Flush() }
	flush()
	for {
		a.mu.Lock()
		if seen < a.oldest {
			a.mu.Unlock()
			_ = out.Encode(object{"type": "ERROR", "object": object{"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old resource version"}})
			flush()
			return
		}
		var news []change
		for _, c := range a.history {
			if c.version > seen && c.path == collection && selected(c.object, q.Get("labelSelector")) {
				news = append(news, c)
			}
		}
		seen = a.version
		changed := a.changed
		a.mu.Unlock()
		for _, c := range news {
			_ = out.Encode(object{"type": c.kind, "object": json.RawMessage(c.object)})
		}
		flush()
		select {
		case <-changed:
		case <-bookmark.C:
			_ = out.Encode(object{"type": "BOOKMARK", "object": object{"kind": "SandboxClaim", "metadata": object{"resourceVersion": fmt.Sprint(seen)}}})
		case <-end:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// merge applies a JSON merge patch (RFC 7386).
func merge(to, patch object) object {
	if to == nil {
		to = object{}
	}
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(to, key)
		case map[string]any:
			before, _ := to[key].(map[string]any)
			to[key] = merge(before, v)
		default:
			to[key] = value
		}
	}
	return to
}

func copied(o object) (c object) {
	b, _ := json.Marshal(o)
	_ = json.Unmarshal(b, &c)
	return c
}

func (a *APIServer) one(w http.ResponseWriter, r *http.Request, collection, name, sub, verb string, k kind) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 3<<20))
	a.mu.Lock()
	defer a.mu.Unlock()
	path := collection + "/" + name
	before := a.objects[path]
	var sent object
	if verb == "create" || verb == "patch" {
		if err := json.Unmarshal(body, &sent); err != nil {
			a.status(w, http.StatusBadRequest, "BadRequest", "%v", err)
			return
		}
	}
	if verb != "create" && before == nil {
		a.status(w, http.StatusNotFound, "NotFound", "%s.%s %q not found", k.plural, k.group, name)
		return
	}
	code, next := http.StatusOK, object(nil)
	switch verb {
	case "get":
		_ = json.NewEncoder(w).Encode(before)
		return
	case "delete":
		a.remove(path)
		_ = json.NewEncoder(w).Encode(object{"kind": "Status", "status": "Success"})
		return
	case "create":
		if r.Header.Get("Content-Type") != "application/json" {
			a.status(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "unsupported")
			return
		}
		meta, _ := sent["metadata"].(map[string]any)
		name, _ = meta["name"].(string)
		if path = collection + "/" + name; a.objects[path] != nil {
			a.status(w, http.StatusConflict, "AlreadyExists", "%s.%s %q already exists", k.plural, k.group, name)
			return
		}
		if _, set := meta["resourceVersion"]; set {
			a.status(w, http.StatusBadRequest, "BadRequest", "resourceVersion should not be set on objects to be created")
			return
		}
		delete(sent, "status")
		meta["uid"], meta["creationTimestamp"], meta["generation"] = fmt.Sprintf("uid-%d", a.version), time.Now().UTC().Format(time.RFC3339), 1
		meta["namespace"] = strings.Split(collection, "/")[5]
		code, next = http.StatusCreated, sent
	case "patch":
		if r.Header.Get("Content-Type") != "application/merge-patch+json" {
			a.status(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "unsupported patch")
			return
		}
		meta, _ := sent["metadata"].(map[string]any)
		if v, set := meta["resourceVersion"]; set && v != before["metadata"].(map[string]any)["resourceVersion"] {
			a.status(w, http.StatusConflict, "Conflict", "Operation cannot be fulfilled on %s.%s %q: the object has been modified", k.plural, k.group, name)
			return
		}
		next = merge(copied(before), sent)
		was, is := before["metadata"].(map[string]any), next["metadata"].(map[string]any)
		for _, fixed := range []string{"name", "namespace", "uid", "creationTimestamp"} {
			if fmt.Sprint(was[fixed]) != fmt.Sprint(is[fixed]) {
				a.status(w, http.StatusUnprocessableEntity, "Invalid", "metadata.%s: field is immutable", fixed)
				return
			}
		}
		if sub == "status" { // and nothing else
			next = merge(copied(before), object{"status": sent["status"]})
		} else if next["status"] = before["status"]; before["status"] == nil {
			delete(next, "status")
		}
		one, _ := json.Marshal(before["spec"])
		other, _ := json.Marshal(next["spec"])
		if !bytes.Equal(one, other) {
			generation, _ := was["generation"].(float64)
			next["metadata"].(map[string]any)["generation"] = generation + 1
		}
		templates := func(o object) string {
			spec, _ := o["spec"].(map[string]any)
			b, _ := json.Marshal(spec["volumeClaimTemplates"])
			return string(b)
		}
		if k.name == "Sandbox" && templates(before) != templates(next) {
			a.status(w, http.StatusUnprocessableEntity, "Invalid", "spec: volumeClaimTemplates is immutable")
			return
		}
	}
	if spec, ok := next["spec"].(map[string]any); ok && k.name == "Sandbox" && spec["operatingMode"] == nil {
		spec["operatingMode"] = "Running" // the default
	}
	b, _ := json.Marshal(next)
	if err := validate(k, b); err != nil {
		a.status(w, http.StatusUnprocessableEntity, "Invalid", "%s %q is invalid: %v", k.name, name, err)
		return
	}
	kind := "MODIFIED"
	if before == nil {
		kind = "ADDED"
	}
	next = a.publish(kind, path, collection, copied(next))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(next)
}

// publish stores an object under a new version. The caller holds mu.
func (a *APIServer) publish(kind, path, collection string, o object) object {
	a.version++
	o["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(a.version)
	b, _ := json.Marshal(o)
	if a.objects[path] = o; kind == "DELETED" {
		delete(a.objects, path)
	}
	a.history = append(a.history, change{a.version, collection, kind, b})
	close(a.changed)
	a.changed = make(chan struct{})
	return o
}

// remove deletes an object, and those that it owns. The caller holds mu.
func (a *APIServer) remove(path string) {
	o := a.objects[path]
	if o == nil {
		return
	}
	a.publish("DELETED", path, path[:strings.LastIndexByte(path, '/')], copied(o))
	uid := o["metadata"].(map[string]any)["uid"]
	for other, owned := range maps.Clone(a.objects) {
		b, _ := json.Marshal(owned)
		var m typeMeta
		_ = json.Unmarshal(b, &m)
		if slices.ContainsFunc(m.Metadata.OwnerReferences, func(r ownerReference) bool { return r.UID == uid }) {
			a.remove(other)
		}
	}
}
