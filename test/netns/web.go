//go:build linux

package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

// web answers HTTP at all addresses and reports who comes.
type web struct {
	report *os.File
	ports  []string
	log    *log.Logger
}

func serve(report string, ports []string) (*web, error) {
	f, err := os.OpenFile(report, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	w := &web{report: f, ports: ports, log: log.New(f, "", 0)}
	for _, port := range ports {
		l, err := net.Listen("tcp", ":"+port)
		if err != nil {
			return nil, err
		}
		s := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateNew {
				w.log.Printf("connection %s", c.LocalAddr())
			}
		}}
		s.SetKeepAlivesEnabled(false) // names are looked up each time
		go func() { _ = s.Serve(l) }()
	}
	return w, nil
}

func (w *web) ServeHTTP(res http.ResponseWriter, req *http.Request) {
	at := req.Context().Value(http.LocalAddrContextKey)
	w.log.Printf("request %s %s%s", at, req.Host, req.URL.Path)
	if to := req.FormValue("url"); req.URL.Path == "/to" && to != "" {
		res.Header().Set("Location", to)
		res.WriteHeader(http.StatusFound)
	}
	fmt.Fprintf(res, "reached %s\n", at)
}

// finish returns when all connections are in the report: those that come now are
// accepted after them.
func (w *web) finish() {
	for _, port := range w.ports {
		res, err := http.Get("http://127.9.9.9:" + port + "/finish")
		if err != nil {
			fmt.Fprintln(os.Stderr, "netns:", err)
			continue
		}
		res.Body.Close()
	}
	w.report.Close()
}
