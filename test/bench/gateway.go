package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// wire is how a client and a server speak.
type wire struct {
	http    bool
	version string
}

func (w wire) String() string {
	if w.http {
		return "HTTP " + w.version
	}
	return "stdio " + w.version
}

// wires are all that are measured.
var wires = [...]wire{{false, legacy}, {false, modern}, {true, legacy}, {true, modern}}

// endpoint is a server that is reached by one wire.
type endpoint struct {
	*process
	wire    wire
	http    *httpServer // nil over stdio
	session string      // of HTTP
	opened  bool
}

// reach starts a server. One that is reached over HTTP is given the address to listen on
// after argv, and has its endpoint at path.
func (l *lab) reach(ctx context.Context, dir, name string, w wire, path string, argv ...string) (*endpoint, error) {
	if !w.http {
		p, err := l.start(ctx, dir, name, argv...)
		if err != nil {
			return nil, err
		}
		e := &endpoint{process: p, wire: w}
		if w.version == legacy {
			if err := p.handshake(); err != nil {
				p.stop()
				return nil, err
			}
		}
		return e, nil
	}
	s, err := l.startHTTP(ctx, dir, name, argv...)
	if err != nil {
		return nil, err
	}
	s.url = strings.TrimSuffix(s.url, "/mcp") + path
	return &endpoint{process: s.process, wire: w, http: s}, nil
}

func (e *endpoint) stop() {
	if e.http != nil {
		e.http.stop()
		return
	}
	e.process.stop()
}

// readyTime is how long a gateway may take to have its upstreams ready.
const readyTime = 30 * time.Second

// await makes a call over and over until it is answered as it should be.
func (e *endpoint) await(x era) error {
	for deadline := time.Now().Add(readyTime); ; {
		err := e.once(x)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// once makes a call.
func (e *endpoint) once(x era) error {
	answer, err := []byte(nil), error(nil)
	if e.http == nil {
		answer, err = e.process.once(x.req)
	} else {
		if err := e.open(); err != nil {
			return err
		}
		answer, _, err = e.http.post(x.req.append(nil, int(e.http.id.Add(1))), e.with(x).header)
	}
	if err == nil && !bytes.Contains(answer, x.answer) {
		err = fmt.Errorf("%s answered %.300s", e.name, answer)
	}
	return err
}

// open begins the session, if there is to be one.
func (e *endpoint) open() error {
	if e.wire.version != legacy || e.opened {
		return nil
	}
	header := httpHeader(legacy)
	if err := e.http.open(header); err != nil {
		return err
	}
	e.session, e.opened = header.Get("Mcp-Session-Id"), true
	return nil
}

// with returns a request as it is in the session.
func (e *endpoint) with(x era) era {
	if e.session != "" {
		x.header = x.header.Clone()
		x.header.Set("Mcp-Session-Id", e.session)
	}
	return x
}

// load makes calls for d, inFlight at a time.
func (e *endpoint) load(x era, inFlight int, d time.Duration) (sample, error) {
	if e.http == nil {
		return e.process.load(x.req, inFlight, d)
	}
	return e.http.load(e.with(x), inFlight, d)
}

// source is where a gateway finds an upstream: a program to start, or an address.
type source struct {
	Argv []string          `json:"command,omitempty"`
	Env  map[string]string `json:"env,omitempty"`
	URL  string            `json:"url,omitempty"`
}

// upstream returns the command line of an upstream that speaks one protocol version.
func (l *lab) upstream(version string, flags ...string) []string {
	return append([]string{l.program(upstreamProgram), "-version", version}, flags...)
}

// source returns where an upstream is found that is a program, which is started if it is
// reached over HTTP. Stop ends it.
func (l *lab) source(ctx context.Context, dir string, w wire, argv []string) (s source, stop func(), err error) {
	if !w.http {
		return source{Argv: argv}, func() {}, nil
	}
	e, err := l.startHTTP(ctx, dir, "upstream", argv...)
	if err != nil {
		return s, nil, err
	}
	return source{URL: e.url}, e.stop, nil
}

// gateway is a server that offers the tools of an upstream.
type gateway struct {
	name string
	wire wire   // that it serves
	tool string // that echoes
	path string // of its endpoint
	argv []string
}

// toolserver returns the server under test with upstreams, and more in its configuration.
func (l *lab) toolserver(name, dir string, w wire, upstreams map[string]source, more string) (gateway, error) {
	servers, err := json.Marshal(upstreams)
	if err != nil {
		return gateway{}, err
	}
	state := filepath.Join(dir, "state")
	config, err := l.config(filepath.Join(filepath.Base(dir), strings.ReplaceAll(name, " ", "-")+".yaml"),
		fmt.Sprintf("state_directory: %s\ndiscovery: all\n%s\nmcp_servers: %s\n", state, more, servers))
	argv := []string{l.server, "serve", "--config", config, dir, "--stdio"}
	if w.http {
		argv = []string{l.server, "serve", "--config", config, dir, "--insecure-no-auth", "--http"}
	}
	return gateway{name, w, "up__echo", "/mcp", argv}, err
}

// Versions of the other gateways, as go.mod of test/bench/peers/tbxark and test/bench/peers/docker
// has them.
const (
	tbxarkVersion = "v0.43.2"
	dockerVersion = "v0.43.1"
)

// buildGateways builds the other gateways, which takes minutes the first time.
func (l *lab) buildGateways(ctx context.Context) error {
	for _, b := range []struct{ program, pkg string }{
		{"tbxark", "github.com/TBXark/mcp-proxy"}, {"docker", "github.com/docker/mcp-gateway/cmd/docker-mcp"},
	} {
		if err := goBuild(ctx, "test/bench/peers/"+b.program, l.program(b.program), b.pkg); err != nil {
			return err
		}
	}
	return nil
}

// peerGateways returns the other gateways that serve a wire, and reach an upstream by one.
// They speak no protocol version but the old one.
func (l *lab) peerGateways(dir string, client, up wire, s source) (all []gateway, err error) {
	if client.version != legacy || up.version != legacy {
		return nil, nil
	}
	if client.http {
		g, err := l.tbxark(dir, client, s)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	g, err := l.docker(dir, client, s)
	return append(all, g), err
}

// tbxark returns TBXark's mcp-proxy, which has its address in its configuration only.
func (l *lab) tbxark(dir string, client wire, s source) (gateway, error) {
	entry := map[string]any{"transportType": "streamable-http", "url": s.URL}
	if s.URL == "" {
		entry = map[string]any{"command": s.Argv[0], "args": s.Argv[1:]}
	}
	config, err := json.Marshal(map[string]any{
		"mcpProxy":   map[string]string{"baseURL": "http://ADDRESS", "addr": "ADDRESS", "name": "proxy", "version": "1", "type": "streamable-http"},
		"mcpServers": map[string]any{"up": entry},
	})
	if err != nil {
		return gateway{}, err
	}
	file, err := l.config(filepath.Join(filepath.Base(dir), "tbxark.json"), string(config))
	script := fmt.Sprintf(`sed "s/ADDRESS/$1/g" %s >%s && exec %s --config %s`, file, file+".1", l.program("tbxark"), file+".1")
	return gateway{"TBXark mcp-proxy", client, "echo", "/up/", []string{"sh", "-c", script, "sh"}}, err
}

// docker returns Docker's mcp-gateway as it works without Docker: with --static it starts
// socat to reach a server that it would start in a container. That is the upstream here.
func (l *lab) docker(dir string, client wire, s source) (gateway, error) {
	home := filepath.Join(dir, "docker")
	catalogs, bin := filepath.Join(home, ".docker/mcp/catalogs"), filepath.Join(home, "bin")
	for _, d := range []string{catalogs, bin} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return gateway{}, err
		}
	}
	server := map[string]any{"title": "up", "description": "up", "type": "server", "image": "example/up"}
	if s.URL != "" {
		server = map[string]any{"title": "up", "description": "up", "type": "remote", "remote": map[string]string{"url": s.URL, "transport_type": "streamable-http"}}
	} else if err := os.WriteFile(filepath.Join(bin, "socat"), []byte("#!/bin/sh\nexec "+strings.Join(s.Argv, " ")+"\n"), 0o755); err != nil {
		return gateway{}, err
	}
	catalog, err := json.Marshal(map[string]any{"registry": map[string]any{"up": server}})
	if err != nil {
		return gateway{}, err
	}
	file := filepath.Join(catalogs, "bench.yaml")
	script := fmt.Sprintf("HOME=%s PATH=%s:$PATH DOCKER_MCP_IN_CONTAINER=1 DOCKER_MCP_ALLOW_INSECURE_REMOTE_URLS=1 exec %s gateway run "+
		"--static --long-lived --servers up --catalog %s --secrets /dev/null --verify-signatures=false", home, bin, l.program("docker"), file)
	if client.http {
		script += ` --transport streaming --allow-unauthenticated --host "${1%:*}" --port "${1##*:}"`
	}
	return gateway{"docker mcp-gateway", client, "echo", "/mcp", []string{"sh", "-c", script, "sh"}}, os.WriteFile(file, catalog, 0o644)
}
