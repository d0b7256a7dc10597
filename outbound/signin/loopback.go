package signin

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/net/netutil"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// loopback serves the pages of a desk on an address that only this machine reaches.
type loopback struct {
	*Pages
	server  *http.Server
	closing *time.Timer // nil while a sign-in waits
}

const maxConns = 20

// CompleteTime bounds what a sign-in is completed with.
const CompleteTime = 20 * time.Second

// listen returns the pages of a sign-in: the public ones if there are any, or those of a listener, which begins with the first
// sign-in: on the port if that is free. The caller has the lock.
func (d *Desk) listen(port int) (*Pages, error) {
	if d.config.Public != nil {
		if public := d.config.Public(); public != nil {
			return public, nil
		}
	}
	if d.page != nil {
		if d.page.closing != nil {
			d.page.closing.Stop()
		}
		return d.page.Pages, nil
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil && port != 0 {
		l, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		var err6 error
		if l, err6 = net.Listen("tcp6", "[::1]:0"); err6 != nil {
			return nil, &httpcall.Failure{
				Type: "io_error", Message: "no loopback address can be listened on: " + err.Error(), Hint: "Sign in with " + d.config.Paste + ".",
			}
		}
	}
	p := &loopback{Pages: &Pages{base: "http://" + l.Addr().String(), host: l.Addr().String()}}
	p.server = &http.Server{
		Handler: p, ErrorLog: log.New(io.Discard, "", 0), MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: CompleteTime + 10*time.Second,
	}
	p.server.SetKeepAlivesEnabled(false)
	d.page = p
	d.running.Go(func() { _ = p.server.Serve(netutil.LimitListener(l, maxConns)) }) // until it is closed
	return p.Pages, nil
}

// closeLater closes the listener unless another sign-in begins soon. The caller has the lock.
func (d *Desk) closeLater() {
	p := d.page
	p.closing = time.AfterFunc(d.config.Linger, func() {
		d.mu.Lock()
		idle := d.page == p && d.idle()
		if idle {
			d.page = nil
			d.running.Add(1)
		}
		d.mu.Unlock()
		if idle {
			p.close()
			d.running.Done()
		}
	})
}

// close stops listening, once the pages that are being sent are delivered.
func (p *loopback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if p.server.Shutdown(ctx) != nil {
		_ = p.server.Close() // a browser keeps a connection that it has not used
	}
}
