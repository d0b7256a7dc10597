package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// request is a JSON-RPC request without its beginning up to the id.
type request string

const (
	initialize  request = `,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	initialized         = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	listTools   request = `,"method":"tools/list","params":{}}`
)

// call returns the request to call a tool with arguments, which are JSON.
func call(tool, arguments string) request {
	return request(`,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`)
}

func (r request) append(b []byte, id int) []byte {
	b = strconv.AppendInt(append(b, `{"jsonrpc":"2.0","id":`...), int64(id), 10)
	return append(b, r...)
}

// hang is how much longer than planned a load may take.
const hang = 2 * time.Minute

// handshake initializes the session.
func (p *process) handshake() error {
	if _, err := p.once(initialize); err != nil {
		return err
	}
	_, err := p.in.Write([]byte(initialized))
	return err
}

// once sends one request and returns the line that answers it.
func (p *process) once(r request) ([]byte, error) {
	p.id++
	watch := time.AfterFunc(hang, func() { p.cmd.Process.Kill() })
	defer watch.Stop()
	if _, err := p.in.Write(append(r.append(nil, p.id), '\n')); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	for {
		line, id, err := p.answer()
		if err != nil || id == p.id {
			return line, err
		}
	}
}

// load sends a request over and over for d, inFlight at a time, and measures
// what that takes. An answer that is an error ends it.
func (p *process) load(r request, inFlight int, d time.Duration) (sample, error) {
	watch := time.AfterFunc(d+hang, func() { p.cmd.Process.Kill() })
	defer watch.Stop()
	sent := make(map[int]time.Time, inFlight)
	var out []byte
	send := func() error { // by itself, as clients do
		p.id++
		out = append(r.append(out[:0], p.id), '\n')
		sent[p.id] = time.Now()
		if _, err := p.in.Write(out); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		return nil
	}
	cpu, err := treeCPU(p.pid())
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	for range inFlight {
		if err := send(); err != nil {
			return sample{}, err
		}
	}
	var took []time.Duration
	for len(sent) > 0 {
		_, id, err := p.answer()
		if err != nil {
			return sample{}, err
		}
		since, ok := sent[id]
		if !ok {
			return sample{}, fmt.Errorf("%s answered request %d, which is not open", p.name, id)
		}
		delete(sent, id)
		took = append(took, time.Since(since))
		if time.Since(start) < d {
			if err := send(); err != nil {
				return sample{}, err
			}
		}
	}
	s := newSample(time.Since(start), took)
	after, err := treeCPU(p.pid())
	if err != nil {
		return sample{}, err
	}
	s.cpu = (after - cpu) / time.Duration(len(took))
	s.rss, err = treeRSS(p.pid())
	return s, err
}

func newSample(wall time.Duration, took []time.Duration) sample {
	slices.Sort(took)
	return sample{p50: took[len(took)/2], p99: took[len(took)*99/100], rate: float64(len(took)) / wall.Seconds()}
}

// answer reads up to the next answer, and returns it, valid until the next
// read, and its id.
func (p *process) answer() ([]byte, int, error) {
	line, id, err := p.next()
	if err == nil && (bytes.Contains(line, []byte(`"isError":true`)) || !bytes.Contains(line, []byte(`"result":`))) {
		return nil, 0, fmt.Errorf("%s answered %.300s", p.name, line)
	}
	return line, id, err
}

// next likewise reads an answer, which may be an error.
func (p *process) next() ([]byte, int, error) {
	for {
		line, err := p.out.Next()
		if err != nil {
			return nil, 0, fmt.Errorf("%s: reading an answer: %w", p.name, err)
		}
		if id, ok := answerID(line); ok { // and no notification
			return line, id, nil
		}
	}
}

// answerID returns the id of an answer, which servers write at its beginning or
// at its end.
func answerID(line []byte) (int, bool) {
	key := []byte(`"id":`)
	i := bytes.Index(line[:min(len(line), 40)], key)
	if i < 0 {
		if i = bytes.LastIndex(line, key); i < 0 {
			return 0, false
		}
	}
	rest := line[i+len(key):]
	end := bytes.IndexAny(rest, ",}")
	if end < 0 {
		return 0, false
	}
	id, err := strconv.Atoi(string(rest[:end]))
	return id, err == nil
}
