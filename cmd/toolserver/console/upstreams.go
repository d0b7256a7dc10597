package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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
	var inner, changed []node
	counts, _, _ := v.feed.used() // without a record, there are none
	asked := map[string]bool{}
	seenBy := func(by string, raw json.RawMessage) {
		var servers []upstreamSeen
		if json.Unmarshal(raw, &servers) != nil || len(servers) == 0 {
			return
		}
		heads := []string{"Server", "State", "Since", "Tools", "Left out", "In flight", "Failures", "Calls", "Failed", "Mean", "What is wrong"}
		inner = append(inner, h2("Seen by "+by), table("Servers seen by "+by, heads, each(servers, func(s upstreamSeen) node { return seenUpstream(v, s, counts) })))
		for _, s := range servers {
			if s.Changed > 0 && !asked[s.Name] {
				asked[s.Name] = true
				changed = append(changed, pins(v, s.Name))
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
	v.show("Other servers", get("Connect", hide("check", "1"), button("Connect to each now")), group(inner...), group(changed...))
}

// changes returns what of a server differs from its pins, and the digest of that.
func changes(v *visit, server string) (changed []upstream.Difference, digest string, err error) {
	var d struct{ Changed []upstream.Difference }
	err = v.run(&d, "upstream", "approve", "--", server)
	all, _ := json.Marshal(d.Changed) // it was JSON
	return d.Changed, fmt.Sprintf("%x", sha256.Sum256(all)), err
}

// pins shows what of a server differs from its pins, to be pinned.
func pins(v *visit, server string) node {
	changed, digest, _ := changes(v, server) // v.problem says it
	return group(h2(server+": changed since it was pinned"), v.post("upstreams/approve", hide("server", server), hide("seen", digest),
		each(changed, func(d upstream.Difference) node {
			return el("fieldset", el("legend", el("label", el("input", attr("type", "checkbox"), attr("name", "tool"), attr("value", d.Tool)), text(" "+d.Tool))),
				each(d.Members, func(m upstream.Member) node {
					return pre("Change of "+m.Name+" of "+d.Tool, textdiff.Unified(m.Name, readable(m.Before), readable(m.Now), math.MaxInt))
				}))
		}), button("Pin the chosen ones as shown")))
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
	if _, digest, err := changes(v, v.r.PostFormValue("server")); err == nil && digest != v.r.PostFormValue("seen") {
		v.fail(http.StatusConflict, errors.New("the server has changed its tools again: go back, load the page again, and look at what it shows"))
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
