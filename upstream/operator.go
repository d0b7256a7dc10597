package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/upstream/oauth"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// StatusDisabled is the state of a server that configuration disables, in reports.
const StatusDisabled Status = "disabled"

// Disabled is the report of a server that configuration disables.
func Disabled(name string, s Settings) Report {
	return Report{Name: name, Transport: s.transport(), Status: StatusDisabled, groups: s.Groups, level: s.ComplianceLevel}
}

// Allowed reports whether a principal may use the server.
func (r *Report) Allowed(access domain.Access, p domain.Principal) bool {
	return access.Allowed(p, &domain.Tool{Groups: r.groups, ComplianceLevel: r.level})
}

// Server returns the name under which configuration has the server.
func (s *Server) Server() string { return s.name }

// Settings returns what configuration says of the server.
func (s *Server) Settings() Settings { return s.settings }

// OAuth returns what signs in to the server; nil if it has nobody sign in.
func (s *Server) OAuth() *oauth.Client { return s.oauth }

// ReportFor returns how the server is to a principal, who may have a connection of their own.
func (s *Server) ReportFor(principal string) Report {
	s.mu.Lock()
	l := s.links[principal]
	s.mu.Unlock()
	if l != nil {
		return s.report(l)
	}
	r := s.report(s.main)
	if s.oauth != nil && s.settings.perPrincipal() && principal != "" {
		if now, err := s.oauth.Status(principal); err != nil || !now.SignedIn {
			r.Status, r.Reason = StatusSignIn, "upstream "+s.name+" requires a sign-in of each caller"
		}
	}
	return r
}

// Known reports whether the server has said once what it offers.
func (s *Server) Known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.catalog.empty()
}

// settleGrace is how long a program that has not answered in time may take to end.
const settleGrace = inputGrace + termGrace + time.Second

// Settle waits until the server is ready or has failed, for as long as its start may take, or
// until ctx ends; for the principal, where each has a connection of their own. A server that
// is connected to when it is needed is needed now.
func (s *Server) Settle(ctx context.Context, principal string) {
	l := s.linkOf(principal)
	ctx, cancel := context.WithTimeout(ctx, s.startLimit(false)+settleGrace)
	defer cancel()
	for {
		l.mu.Lock()
		status, changed := l.status, l.changed
		l.mu.Unlock()
		switch status {
		case StatusReady, StatusFailed, StatusSignIn, StatusClosed:
			s.settle(true) // which is about to be done
			return
		case StatusIdle:
			signal(l.wanted)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Ping returns how long the server takes to answer, once it is ready.
func (s *Server) Ping(ctx context.Context, principal string) (time.Duration, error) {
	l := s.linkOf(principal)
	c, err := l.ready(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = l.check(ctx, c)
	return time.Since(began), err
}

// MayOffer reports whether a tool of that name can be one of a server: it begins as the
// names of its tools do, or their aliases.
func MayOffer(server, name string) bool {
	prefix := clean(server) + "_"
	return strings.HasPrefix(name, prefix[:min(len(prefix), maxName-hashLength-1)])
}

// Differences returns how tools differ from their pins, by name. They are those of the
// newest list that is known.
func (s *Server) Differences() (all []Difference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.pins)) {
		all = append(all, s.pins[name])
	}
	return all
}

// Approve pins tools, by the server's own names, as they are in the list that
// [Server.Differences] is about. Programs that run notice it.
func (s *Server) Approve(tools []string) error {
	s.mu.Lock()
	c := s.catalog
	s.mu.Unlock()
	now := pins{}
	for _, raw := range c.Tools {
		name, err := rawjson.String(rawjson.Member(raw, "name"))
		if _, twice := now[name]; err == nil && !twice && slices.Contains(tools, name) {
			now[name] = newPin(raw)
		}
	}
	for _, name := range tools {
		if _, ok := now[name]; !ok {
			return fmt.Errorf("server %s lists no tool %q", s.name, brief.Name(name))
		}
	}
	if _, err := s.files.changePins(func(p pins) { maps.Copy(p, now) }); err != nil {
		return err
	}
	s.adopt(c)
	return nil
}

// ToolNames returns the names that the server gives its tools.
func (s *Server) ToolNames() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, raw := range s.catalog.Tools {
		if name, err := rawjson.String(rawjson.Member(raw, "name")); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// SecretName reports whether the value of a header or variable is secret, by its name.
func SecretName(name string) bool {
	return slices.ContainsFunc(secretNames[:], func(part string) bool { return strings.Contains(strings.ToLower(name), part) })
}

// Info is what a server says of itself.
type Info struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Info returns what the server says of itself.
func (r *Report) Info() (info Info) {
	if raw, ok := r.Server.(json.RawMessage); ok {
		_ = json.Unmarshal(raw, &info) // what is no name is none
	}
	return info
}

// The log entry of a line that the program of a server has written to standard error.
const (
	StderrMessage = "stderr"
	StderrKey     = "line"
)
