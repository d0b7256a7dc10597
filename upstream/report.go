package upstream

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/toolserver/toolserver/domain"
)

// Report says how a server is.
type Report struct {
	Name        string   `json:"name"`
	Transport   string   `json:"transport"`
	Status      Status   `json:"status"`
	Reason      string   `json:"reason,omitempty"` // why it failed, also while it is tried again
	Since       string   `json:"since,omitempty"`
	NextTry     string   `json:"next_try,omitempty"`
	Protocol    string   `json:"protocol,omitempty"`
	Server      any      `json:"server,omitempty"`       // its name and version
	Says        string   `json:"instructions,omitempty"` // what the server tells models
	Tools       int      `json:"tools"`
	Resources   int      `json:"resources"`
	Prompts     int      `json:"prompts"`
	Missing     int      `json:"missing"`               // items that are left out
	Repaired    []string `json:"repaired,omitempty"`    // items of which something is left out that clients do not accept
	Changed     int      `json:"changed"`               // tools that differ from their pins
	InFlight    int      `json:"in_flight"`             // requests
	Connections int      `json:"connections,omitempty"` // of single callers
	Starts      int      `json:"starts"`
	Failures    int      `json:"failures"` // in a row
	Problems    []string `json:"problems,omitempty"`

	groups []string
	level  string
}

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

// Report returns how the server is.
func (s *Server) Report() Report { return s.report(s.links.main) }

func (s *Server) report(l *link) Report {
	r := l.report()
	for _, l := range s.links.all() {
		r.InFlight += int(l.relays.inFlight.Load())
		r.Connections++
	}
	r.Connections-- // that of all callers
	s.offers.report(&r)
	return r
}

// report returns how a connection is.
func (l *link) report() Report {
	s := l.server
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Report{
		Name: s.name, Transport: s.settings.transport(), Status: l.status, Since: l.since.UTC().Format(time.RFC3339),
		Starts: l.starts, Failures: l.fails, Problems: slices.Clone(l.broken), groups: s.settings.Groups, level: s.settings.ComplianceLevel,
	}
	if l.reason != nil {
		r.Reason = l.reason.Error()
	}
	if l.status == StatusFailed || l.status == StatusSignIn {
		r.NextTry = l.next.UTC().Format(time.RFC3339)
	}
	return r
}

// report completes how a server is by what it offers.
func (o *offers) report(r *Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r.Protocol, r.Says, r.Problems = o.catalog.Protocol, o.catalog.Instructions, append(r.Problems, o.problems...)
	if o.catalog.Info != nil {
		r.Server = o.catalog.Info
	}
	r.Repaired, r.Changed = o.repairs, len(o.pins)
	r.Tools, r.Resources = len(o.offered.Tools), max(0, len(o.offered.Resources)-1)
	r.Prompts, r.Missing = len(o.offered.Prompts), len(o.offered.Missing)
}

// ReportFor returns how the server is to a principal, who may have a connection of their own.
func (s *Server) ReportFor(principal string) Report {
	if l := s.links.known(principal); l != nil {
		return s.report(l)
	}
	r := s.report(s.links.main)
	if s.oauth != nil && s.settings.perPrincipal() && principal != "" {
		if now, err := s.oauth.Status(principal); err != nil || !now.SignedIn {
			r.Status, r.Reason = StatusSignIn, "upstream "+s.name+" requires a sign-in of each caller"
		}
	}
	return r
}
