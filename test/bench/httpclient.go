package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// httpServer is a server that is reached over HTTP.
type httpServer struct {
	*process
	url    string
	client http.Client
	id     atomic.Int64 // of the last request
}

// startHTTP starts a server; the address to listen on is added to argv.
func (l *lab) startHTTP(ctx context.Context, dir, name string, argv ...string) (*httpServer, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	free.Close()
	p, err := l.start(ctx, dir, name, append(argv[:len(argv):len(argv)], address)...)
	if err != nil {
		return nil, err
	}
	s := &httpServer{process: p, url: "http://" + address + "/mcp"}
	s.client.Transport = &http.Transport{MaxIdleConns: maxConnections, MaxIdleConnsPerHost: maxConnections}
	s.client.Timeout = hang
	for deadline := time.Now().Add(listenTime); ; {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return s, c.Close()
		}
		if time.Now().After(deadline) {
			s.stop()
			return nil, fmt.Errorf("%s does not listen: %w", name, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// maxConnections is how many connections are kept for the next requests.
const maxConnections = 1024

// listenTime is how long a server may take to listen.
const listenTime = 30 * time.Second

// stop ends the server, which does not look at its input.
func (s *httpServer) stop() {
	s.cmd.Process.Kill()
	s.process.stop()
}

// post sends a message and returns the answer and the id of the session it
// opens, if it does.
func (s *httpServer) post(body []byte, header http.Header) (answer []byte, session string, err error) {
	res, answer, err := s.send(body, header)
	if err != nil {
		return nil, "", err
	}
	if res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s answered %s: %.300s", s.name, res.Status, answer)
	}
	return answer, res.Header.Get("Mcp-Session-Id"), err
}

// send sends a message and returns the response, whatever its status, and its
// body.
func (s *httpServer) send(message []byte, header http.Header) (*http.Response, []byte, error) {
	req, err := http.NewRequest(http.MethodPost, s.url, bytes.NewReader(message))
	if err != nil {
		return nil, nil, err
	}
	req.Header = header
	res, err := s.client.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.name, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	return res, body, err
}

// load sends the request of e over and over for d from inFlight connections,
// and measures what that takes.
func (s *httpServer) load(e era, inFlight int, d time.Duration) (sample, error) {
	return s.loads(slices.Repeat([]era{e}, inFlight), d)
}

// loads is load with a connection for each of some requests.
func (s *httpServer) loads(each []era, d time.Duration) (sample, error) {
	cpu, err := treeCPU(s.pid())
	if err != nil {
		return sample{}, err
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		took  []time.Duration
		wrong error
		start = time.Now()
	)
	for _, e := range each {
		wg.Go(func() {
			mine, err := s.loop(e, start.Add(d))
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
			if err != nil {
				wrong = err
			}
		})
	}
	wg.Wait()
	if wrong != nil {
		return sample{}, wrong
	}
	result := newSample(time.Since(start), took)
	after, err := treeCPU(s.pid())
	if err != nil {
		return sample{}, err
	}
	result.cpu = (after - cpu) / time.Duration(len(took))
	result.rss, err = treeRSS(s.pid())
	return result, err
}

// loop sends a request over and over until the time has come, at least once.
func (s *httpServer) loop(e era, until time.Time) (took []time.Duration, err error) {
	for len(took) == 0 || time.Now().Before(until) {
		begin := time.Now()
		answer, _, err := s.post(e.req.append(nil, int(s.id.Add(1))), e.header)
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
		if !bytes.Contains(answer, e.answer) {
			return nil, fmt.Errorf("%s answered %.300s", s.name, answer)
		}
	}
	return took, nil
}
