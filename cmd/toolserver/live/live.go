// Package live shows what each running server of a user does: it listens on a socket in the state directory, by which other processes of
// this user see its calls, clients and upstreams, and cancel calls. Whoever can read the directory may do all of that. Commands of tools
// cannot, even where they may connect to every socket: a request has the key that is in the file beside the socket.
package live

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/server"
)

// Process is a server that runs.
type Process struct {
	PID       int                  `json:"pid"`
	Run       string               `json:"run"` // in the record
	Version   string               `json:"version"`
	Config    string               `json:"config,omitempty"` // the file
	SHA256    string               `json:"sha256,omitempty"` // of that file
	Directory string               `json:"directory"`
	Listening string               `json:"listening,omitempty"` // an address; empty over stdio
	Transport string               `json:"transport"`           // stdio or http
	Started   time.Time            `json:"started"`
	Sandbox   domain.SandboxLayers `json:"sandbox"`
}

// Call is a request that is in flight, or a task.
type Call = server.Call

// Client is a client of a server.
type Client = server.Client

// Snapshot is what a server does at one moment.
type Snapshot struct {
	Process     Process         `json:"process"`
	Calls       []Call          `json:"calls"` // the oldest first
	Clients     []Client        `json:"clients"`
	Upstreams   json.RawMessage `json:"upstreams"`              // a list of what status://upstreams has, and of what was left out
	MoreCalls   int             `json:"more_calls,omitempty"`   // than are listed
	MoreClients int             `json:"more_clients,omitempty"` // likewise
}

// Source is a server that can be looked at.
type Source interface {
	Process() Process
	Calls() []Call
	Clients() []Client
	Upstreams() json.RawMessage
	// Cancel cancels what is in flight, by its ID. The error says why that was not possible.
	Cancel(id string) error
}

// Bounds of what a server takes from those who look, and of what it shows.
const (
	maxLookers  = 8 // connections
	maxHead     = 4 << 10
	maxListed   = 1000 // calls, or clients
	maxSnapshot = 32 << 20
	timeLimit   = 5 * time.Second // for a request and its answer
)

// maxPath is how long the path of a socket may be on every system.
const maxPath = 103

// staleAge is how old a socket is that may be removed: before, its process may be about to listen.
const staleAge = 5 * time.Second

const (
	snapshotPath = "/snapshot"
	cancelPath   = "/cancel"
	suffix       = ".sock"
	keySuffix    = ".key" // of the file with the key, behind the name of the socket
)

// Serve shows a server to other processes of this user, on a socket in the directory that open returns, until stop is called.
func Serve(open func() (*os.Root, error), src Source) (stop func(), err error) {
	dir, err := open()
	if err != nil {
		return nil, err
	}
	p := src.Process()
	name := strconv.Itoa(p.PID) + "-" + strconv.FormatInt(p.Started.UnixNano(), 36) + suffix
	key := rand.Text()
	l, err := listen(dir, name)
	if err == nil {
		if err = dir.WriteFile(name+keySuffix, []byte(key), 0o600); err != nil {
			l.Close()
			remove(dir, name)
		}
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	s := &http.Server{
		Handler: keyed(key, handler(src)), MaxHeaderBytes: maxHead, ReadTimeout: timeLimit, WriteTimeout: timeLimit, IdleTimeout: timeLimit,
		ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true) // HTTP/2 would take memory
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(netutil.LimitListener(sameUser{l}, maxLookers)) // until it is closed
	}()
	sweep(dir, true)
	return func() {
		_ = s.Close()
		<-ended
		remove(dir, name)
		dir.Close()
	}, nil
}

// remove removes a socket and its key; what is left the next one to look removes.
func remove(dir *os.Root, name string) {
	_ = dir.Remove(name + keySuffix)
	_ = dir.Remove(name)
}

// pathOf returns a path of a file in a directory that is short enough for the address of a socket.
func pathOf(dir *os.Root, name string) (path string, done func(), err error) {
	if path = filepath.Join(dir.Name(), name); len(path) <= maxPath {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("%s is longer than the %d bytes that the path of a socket may have; set state_directory", path, maxPath)
	}
	f, err := dir.Open(".")
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), name), func() { f.Close() }, nil
}

// listen makes the socket. Where its mode cannot be set, the directory keeps others out all the same.
func listen(dir *os.Root, name string) (*net.UnixListener, error) {
	path, done, err := pathOf(dir, name)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then something else may have the path
	_ = dir.Chmod(name, 0o600)
	return l, nil
}

// sameUser accepts connections of this user only.
type sameUser struct{ *net.UnixListener }

// Accept returns the next one.
func (l sameUser) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil || isOwn(c) {
			return c, err
		}
		c.Close()
	}
}

// keyed serves requests that have a key.
func keyed(key string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(key)) == 1 {
			next.ServeHTTP(w, r)
		} else {
			http.Error(w, "the key of this server is required, which is in the file beside the socket", http.StatusForbidden)
		}
	})
}

// handler serves those who look.
func handler(src Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+snapshotPath, func(w http.ResponseWriter, _ *http.Request) {
		s := Snapshot{src.Process(), append([]Call{}, src.Calls()...), append([]Client{}, src.Clients()...), src.Upstreams(), 0, 0}
		s.MoreCalls, s.MoreClients = max(0, len(s.Calls)-maxListed), max(0, len(s.Clients)-maxListed)
		s.Calls, s.Clients = s.Calls[:len(s.Calls)-s.MoreCalls], s.Clients[:len(s.Clients)-s.MoreClients]
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s) // or the connection is gone
	})
	mux.HandleFunc("POST "+cancelPath, func(w http.ResponseWriter, r *http.Request) {
		if err := src.Cancel(r.URL.Query().Get("id")); err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
		}
	})
	return mux
}

// Remote is a server of another process.
type Remote struct {
	PID  int
	name string // of its socket
	open func() (*os.Root, error)
}

// Processes returns the servers of this user that listen, by the directory that open returns. It removes what those have left
// that are gone.
func Processes(open func() (*os.Root, error)) (all []*Remote, err error) {
	dir, err := open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for _, name := range sweep(dir, false) {
		pid, _ := pidOf(name)
		all = append(all, &Remote{pid, name, open})
	}
	return all, nil
}

// pidOf returns the process whose socket has a name.
func pidOf(name string) (pid int, ok bool) {
	number, _, _ := strings.Cut(name, "-")
	pid, err := strconv.Atoi(number)
	return pid, err == nil && strings.HasSuffix(name, suffix)
}

func dial(ctx context.Context, dir *os.Root, name string) (net.Conn, error) {
	path, done, err := pathOf(dir, name)
	if err != nil {
		return nil, err
	}
	defer done()
	return (&net.Dialer{Timeout: timeLimit}).DialContext(ctx, "unix", path)
}

// sweep returns the sockets in a directory to which somebody listens, and removes those of processes that are gone. If only that is wanted, it
// wakes no process that runs.
func sweep(dir *os.Root, only bool) (alive []string) {
	entries, _ := fs.ReadDir(dir.FS(), ".") // what cannot be read has none
	for _, e := range entries {
		pid, ok := pidOf(e.Name())
		if !ok || only && osfile.Runs(pid) {
			continue
		}
		c, err := dial(context.Background(), dir, e.Name())
		switch info, missing := e.Info(); {
		case err == nil:
			c.Close()
			alive = append(alive, e.Name())
		case refused(err) && missing == nil && time.Since(info.ModTime()) > staleAge && !osfile.Runs(pid):
			remove(dir, e.Name())
		}
	}
	return alive
}

// refused reports whether nobody listens.
func refused(err error) bool {
	const wsaeConnRefused = syscall.Errno(10061) // of Windows
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wsaeConnRefused)
}

// Get returns what the server does now.
func (r *Remote) Get(ctx context.Context) (s Snapshot, err error) {
	body, err := r.do(ctx, http.MethodGet, snapshotPath)
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	return s, err
}

// Cancel cancels what is in flight there, by its ID.
func (r *Remote) Cancel(ctx context.Context, id string) error {
	_, err := r.do(ctx, http.MethodPost, cancelPath+"?id="+url.QueryEscape(id))
	return err
}

// do makes a request, and returns what is answered.
func (r *Remote) do(ctx context.Context, method, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	dir, err := r.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	key, err := dir.ReadFile(r.name + keySuffix)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://toolserver"+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", string(key))
	res, err := (&http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, dir, r.name) },
	}).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxSnapshot))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("process %d: %s", r.PID, strings.TrimSpace(string(body)))
	}
	return body, err
}
