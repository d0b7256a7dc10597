package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/osfile"
)

// inCluster has what a pod needs to speak with the API server of its cluster.
const inCluster = "/var/run/secrets/kubernetes.io/serviceaccount/"

// Bounds of what is exchanged with the API server: of all requests except watches, and of those.
const (
	requestTime, maxAnswer = 15 * time.Second, 64 << 20
	watchTime              = 30 * time.Minute
	leastPause             = 100 * time.Millisecond // before it is asked again
)

// client sends requests to the API server, in plain REST: client-go would be 4.8 MB for five verbs.
type client struct {
	base, namespace, tokenFile string
	http                       http.Client
}

// newClient returns a client for the API server of the cluster this process runs in, unless the settings name another.
func newClient(s Settings) (*client, error) {
	base, ca := s.API.URL, s.API.CA
	if base == "" {
		host := os.Getenv("KUBERNETES_SERVICE_HOST")
		if host == "" {
			return nil, errors.New("this process does not run in a cluster (KUBERNETES_SERVICE_HOST is unset): set sandbox.kubernetes.api.url")
		}
		base, ca = "https://"+net.JoinHostPort(host, os.Getenv("KUBERNETES_SERVICE_PORT")), cmp.Or(ca, inCluster+"ca.crt")
	}
	t := &http.Transport{DialContext: dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: requestTime, IdleConnTimeout: time.Minute,
		HTTP2: &http.HTTP2Config{SendPingTimeout: requestTime, PingTimeout: requestTime}}
	var err error
	if ca != "" {
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		t.TLSClientConfig.RootCAs, err = osfile.Authorities(ca)
	}
	return &client{strings.TrimSuffix(base, "/"), s.Namespace, cmp.Or(s.API.TokenFile, inCluster+"token"), http.Client{Transport: t}}, err
}

// dial connects, and notices within half a minute that the other end is gone, as when a node is lost.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}}
	return d.DialContext(ctx, network, address)
}

// Error is an answer of the API server that is no success. Its text says what an operator can do.
type Error struct {
	Verb, Resource  string // those of the request
	Status          int
	Reason, Message string        // of the Status that came; empty if there was none
	After           time.Duration // until it may be asked again, as when it has too much to do; 0 if that would not help
}

func (e *Error) Error() string {
	switch {
	case e.Status == http.StatusForbidden:
		return fmt.Sprintf("the API server does not allow this server to %s %s: grant its service account this verb: %s", e.Verb, e.Resource, e.Message)
	case e.Status == http.StatusUnauthorized:
		return "the API server does not accept the token of this server (sandbox.kubernetes.api.token_file)"
	case e.Status == http.StatusNotFound && e.Reason == "": // of an object it says which one
		return "the API server does not know " + e.Resource + ": install agent-sandbox 0.5.2 or later with its extensions"
	}
	return fmt.Sprintf("the API server answered %s %s with %d %s: %s", e.Verb, e.Resource, e.Status, e.Reason, e.Message)
}

// is reports whether an error is a Status of that reason.
func is(err error, reason string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Reason == reason
}

// resource is a kind of objects: its API group with the version, and its name.
type resource struct{ group, plural string }

func (r resource) name() string { return strings.Split(r.group, "/")[0] }

// The resources that workspaces consist of.
var (
	claims    = resource{"extensions.agents.x-k8s.io/v1beta1", "sandboxclaims"}
	pools     = resource{"extensions.agents.x-k8s.io/v1beta1", "sandboxwarmpools"}
	templates = resource{"extensions.agents.x-k8s.io/v1beta1", "sandboxtemplates"}
	sandboxes = resource{"agents.x-k8s.io/v1beta1", "sandboxes"}
	reviews   = resource{"authorization.k8s.io/v1", "selfsubjectaccessreviews"}
)

// send sends a request, by the verb of RBAC, whose answer the caller closes. What follows the name of an object, or stands in its place, is a query.
func (c *client) send(ctx context.Context, verb string, of resource, name string, body any) (*http.Response, error) {
	address := c.base + "/apis/" + of.group + "/namespaces/" + c.namespace + "/" + of.plural
	if of == reviews {
		address = c.base + "/apis/" + of.group + "/" + of.plural
	}
	if name != "" && name[0] != '?' {
		address += "/"
	}
	var b []byte
	if body != nil {
		b, _ = json.Marshal(body) // of texts and maps, never fails
	}
	method := cmp.Or(map[string]string{"create": http.MethodPost, "patch": http.MethodPatch}[verb], http.MethodGet)
	req, err := http.NewRequestWithContext(ctx, method, address+name, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	token, err := os.ReadFile(c.tokenFile) // each time: the kubelet replaces it
	if err != nil {
		return nil, fmt.Errorf("sandbox.kubernetes.api.token_file: %w", err)
	}
	req.Header = http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer " + strings.TrimSpace(string(token))},
		"Content-Type": {map[string]string{"create": "application/json", "patch": "application/merge-patch+json"}[verb]}}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the API server cannot be reached: %w", err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	var status struct{ Reason, Message string }
	_ = json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&status) // what is no Status leaves it empty
	e := &Error{verb, of.plural + "." + of.name(), res.StatusCode, status.Reason, status.Message, 0}
	if after := res.Header.Get("Retry-After"); after != "" {
		seconds, _ := strconv.Atoi(after)
		e.After = max(leastPause, time.Duration(seconds)*time.Second)
	}
	return nil, e
}

// do sends a request, again where the API server says so, and decodes the answer.
func (c *client) do(ctx context.Context, verb string, of resource, name string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	res, err := c.send(ctx, verb, of, name, body)
	for e, busy := errors.AsType[*Error](err); busy && e.After > 0; e, busy = errors.AsType[*Error](err) {
		select {
		case <-ctx.Done():
			return err
		case <-time.After(e.After):
			res, err = c.send(ctx, verb, of, name, body)
		}
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err = json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(into); err != nil {
		err = fmt.Errorf("the API server answered %s %s with what is no such object: %w", verb, of.plural, err)
	}
	return err
}
