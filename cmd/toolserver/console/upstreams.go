package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/text/textdiff"
	"github.com/toolserver/toolserver/upstream"
	"github.com/toolserver/toolserver/usage"
)

// upstreamSeen is another server as one that runs sees it.
type upstreamSeen struct {
	upstream.Report
	Left []domain.Missing `json:"left_out"`
}

// upstreams shows other servers: as the servers that run see them, or, on request, after connecting to each.
func (v *visit) upstreams() {
	var inner []node
	counts, _, _ := v.feed.used() // without a record, there are none
	changes := map[string][]upstream.Difference{}
	seenBy := func(by string, raw json.RawMessage) {
		var servers []upstreamSeen
		if json.Unmarshal(raw, &servers) != nil || len(servers) == 0 {
			return
		}
		heads := []string{"Server", "State", "Since", "Tools", "Left out", "In flight", "Failures", "Calls", "Failed", "Mean", "What is wrong"}
		inner = append(inner, h2("Seen by "+by), table("Servers seen by "+by, heads, each(servers, func(s upstreamSeen) node { return seenUpstream(v, s, counts) })))
		for _, s := range servers {
			var d struct{ Changed []upstream.Difference }
			if s.Changed > 0 && changes[s.Name] == nil && v.run(&d, "upstream", "approve", "--", s.Name) == nil {
				changes[s.Name] = d.Changed
			}
		}
	}
	if v.r.FormValue("check") != "" {
		var now json.RawMessage
		_ = v.run(&now, "upstream", "list", "--timeout=20s")
		seenBy("this page, just now", now)
	}
	for _, s := range v.snapshots(v.r.Context()) {
		seenBy(s.By, s.Upstreams)
	}
	if len(inner) == 0 {
		inner = append(inner, p("No server that runs has other servers behind it."))
	}
	for server, changed := range changes {
		inner = append(inner, h2(server+": changed since it was pinned"), v.post("upstreams/approve", hide("server", server),
			each(changed, func(d upstream.Difference) node {
				return el("fieldset", el("legend", el("label", el("input", attr("type", "checkbox"), attr("name", "tool"), attr("value", d.Tool)), text(" "+d.Tool))),
					each(d.Members, func(m upstream.Member) node {
						return pre("Change of "+m.Name, textdiff.Unified(m.Name, readable(m.Before), readable(m.Now), math.MaxInt))
					}))
			}), button("Pin the chosen ones as shown")))
	}
	v.show("Other servers", append([]node{get("Connect", hide("check", "1"), button("Connect to each now"))}, inner...)...)
}

func seenUpstream(v *visit, s upstreamSeen, counts map[used]usage.Count) node {
	var n usage.Count
	for key, c := range counts {
		if strings.HasPrefix(key.Tool, upstream.OfferedName(s.Name, "")) {
			n.Add(c)
		}
	}
	wrong := []node{text(s.Reason)}
	if s.Status != upstream.StatusReady && v.Login != nil {
		wrong = append(wrong, v.post("upstreams/sign-in", hide("server", s.Name), button("Sign in")))
	}
	more := func(what string) { wrong = append(wrong, el("br"), text(what)) }
	for _, problem := range s.Problems {
		more(problem)
	}
	for _, repaired := range s.Repaired {
		more("repaired: " + repaired)
	}
	for _, m := range domain.Joined(s.Left) {
		more("left out: " + string(m.Kind) + " " + m.Name + ": " + m.Reason)
	}
	mean := ""
	if n.Calls > 0 {
		mean = milliseconds(float64(n.Millis) / float64(n.Calls))
	}
	return tr(string(s.Status), group(text(s.Name+" "), el("small", text(s.Transport+" "+s.Protocol))), string(s.Status), s.Since, s.Tools, s.Missing, s.InFlight,
		s.Failures, n.Calls, n.Failed, mean, group(wrong...))
}

// readable returns JSON as people read it: a text as its lines, anything else indented.
func readable(raw json.RawMessage) string {
	var b bytes.Buffer
	written := ""
	switch {
	case raw == nil:
		return ""
	case json.Unmarshal(raw, &written) == nil:
		return written + "\n"
	case json.Indent(&b, raw, "", "  ") != nil:
		return string(raw) + "\n"
	}
	return b.String() + "\n"
}

// approvePins pins the tools of a server that a person has seen the changes of.
func (v *visit) approvePins() {
	if v.r.PostFormValue("server") == "" || len(v.r.PostForm["tool"]) == 0 {
		v.fail(http.StatusUnprocessableEntity, errors.New("choose the tools to pin"))
		return
	}
	var said any
	v.did(v.run(&said, append([]string{"upstream", "approve", "--yes", "--", v.r.PostFormValue("server")}, v.r.PostForm["tool"]...)...), "upstreams")
}

// signInTo has the browser sign in to another server.
func (v *visit) signInTo() {
	address, err := v.Login(v.r.PostFormValue("server"))
	if err != nil {
		v.fail(http.StatusUnprocessableEntity, err)
		return
	}
	v.note()
	v.show("Sign in", p("The server waits ten minutes for it, on the machine it runs on: ", el("a", attr("href", address), attr("rel", "noreferrer"),
		text(address))))
}
