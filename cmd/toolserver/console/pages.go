package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/audit"
	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/text/textdiff"
	"github.com/toolserver/toolserver/upstream"
	"github.com/toolserver/toolserver/usage"
)

// clip cuts a text after a number of runes.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func milliseconds(n float64) string {
	switch d := time.Duration(n * float64(time.Millisecond)); {
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(n, 'f', 1, 64) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(n, 'f', 0, 64) + " ms"
	default:
		return d.Round(time.Second).String()
	}
}

// at returns a time as people here write it.
func at(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// routes adds all pages, and what can be done on them.
func (c *Console) routes() {
	c.handle("GET /{$}", (*visit).now)
	c.handle("GET /events", (*visit).events)
	c.handle("POST /cancel", (*visit).cancel)
	c.handle("GET /approvals", (*visit).approvals)
	c.handle("POST /approvals/{id}", (*visit).decide)
	c.handle("GET /call/{id}", (*visit).call)
	c.handle("GET /policy", (*visit).policy)
	c.handle("GET /upstreams", (*visit).upstreams)
	c.handle("POST /upstreams/approve", (*visit).approvePins)
	c.handle("POST /upstreams/sign-in", (*visit).signInTo)
	c.handle("GET /people", func(v *visit) { v.people(nil) })
	c.handle("POST /people/{do}", (*visit).changePeople)
	c.handle("GET /usage", (*visit).usage)
	c.handle("GET /audit", (*visit).audit)
	c.handle("GET /clients", (*visit).clients)
	c.handle("POST /clients/install", (*visit).install)
	c.handle("POST /sign-out", func(v *visit) {
		if err := v.door.signOut(); err != nil {
			v.fail(http.StatusInternalServerError, err)
			return
		}
		v.note()
		http.SetCookie(v.w, v.door.cookie(cookieName, "", -1))
		v.who = ""
		v.show("Signed out", p("All browsers are signed out of this console."))
	})
	c.handle("/", func(v *visit) { v.fail(http.StatusNotFound, errors.New("there is no such page")) })
}

// run decodes what a command prints. What it printed before it failed counts, and the error is said at the top of the page.
func (v *visit) run(into any, args ...string) error {
	ctx, cancel := context.WithTimeout(v.r.Context(), runTime)
	defer cancel()
	out, err := v.Run(ctx, args...)
	if len(bytes.TrimSpace(out)) > 0 {
		if wrong := json.Unmarshal(out, into); wrong != nil && err == nil {
			err = fmt.Errorf("what %s prints cannot be read: %w", args[0], wrong)
		}
	}
	if err != nil {
		v.problem = err.Error()
	}
	return err
}

// flags returns those fields of the form of a page that are filled, as flags of a command.
func flags(v *visit, names ...string) (flags []string) {
	for _, name := range names {
		if value := v.r.FormValue(name); value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	return flags
}

// shownCalls is how many calls a page has.
const shownCalls = 100

// filterOf reads which calls are asked for.
func filterOf(r *http.Request) filter {
	return filter{r.FormValue("tool"), r.FormValue("principal"), r.FormValue("outcome"), r.FormValue("text")}
}

// now shows what runs and what was done. The rows of templates are what the script fills.
func (v *visit) now() {
	q, s := filterOf(v.r), v.state(v.r.Context())
	calls, next, err := v.feed.since(0, shownCalls, q.matches)
	if err != nil {
		v.problem = "The record cannot be read: " + err.Error()
	}
	slices.Reverse(calls)
	f := func(name string) node { return attr("data-f", name) }
	cancel := func(pid, id string) node {
		return el("td", v.post("cancel", hide("pid", pid), hide("id", id), button("Cancel")))
	}
	v.show("Now",
		el("p", id("status"), attr("role", "status"), attr("data-events", v.base+"events?after="+v.feed.stamp+"-"+strconv.Itoa(next)+"&"+v.r.URL.RawQuery),
			text(fmt.Sprintf("%d servers, %d clients", s.Processes, s.Clients))),
		el("noscript", p("Without script this page shows what was when it was loaded.")),
		h2("In flight"),
		table("In flight", []string{"Since", "Tool", "Principal", "Client", "Process", ""}, group(id("flight"), each(s.Running, func(c running) node {
			return el("tr", wrap("td", c.Since), wrap("td", c.Tool), wrap("td", c.Principal), wrap("td", c.Client), wrap("td", c.PID), cancel(strconv.Itoa(c.PID), c.ID))
		}))),
		el("template", id("running-row"), el("tr", el("td", f("since")), el("td", f("tool")), el("td", f("principal")), el("td", f("client")), el("td", f("pid")),
			cancel("", ""))),
		h2("Calls"),
		get("Calls", field("Tool", "tool", q.Tool), field("Principal", "principal", q.Principal),
			choice("Outcome", "outcome", q.Outcome, []string{"", "ok", "refused", "failed", "tool_error", "error", "input_required", "unfinished"}),
			field("Text", "text", q.Text), button("Show")),
		table("Calls", []string{"Time", "Tool", "About", "Outcome", "Took", "Principal", "Client"}, group(id("done"), each(calls, func(e record.Entry) node {
			r := rowOf(&e)
			return el("tr", class(r.Outcome), attr("data-id", r.ID), wrap("td", r.Time), el("td", link(v, r.ID, r.Tool)), wrap("td", r.About),
				el("td", el("b", text(r.Outcome)), text(" "+r.Why)), wrap("td", r.Took), wrap("td", r.Principal), wrap("td", r.Client))
		}))),
		el("p", id("none"), when(len(calls) > 0, attr("hidden")), text("No call matches, or the record is switched off (logging.record).")),
		el("template", id("done-row"), el("tr", el("td", f("time")), el("td", el("a", attr("data-href", v.base+"call/"), f("tool"))), el("td", f("about")),
			el("td", el("b", f("outcome")), text(" "), el("span", f("why"))), el("td", f("took")), el("td", f("principal")), el("td", f("client")))),
	)
}

// link leads to a call.
func link(v *visit, id, label string) node {
	return el("a", attr("href", v.base+"call/"+id), text(label))
}

// call shows why a call was decided as it was, and what would be decided today.
func (v *visit) call() {
	var data struct {
		Call    record.Entry
		Changes []string
		Today   domain.Explanation
	}
	if err := v.run(&data, "log", "explain", "--", v.r.PathValue("id")); err != nil && data.Call.ID == "" {
		v.fail(http.StatusNotFound, err)
		return
	}
	e := &data.Call
	touched := []any{}
	for _, values := range []map[string][]string{e.Target, e.Made} {
		for name, all := range values {
			touched = append(touched, name, codes(all))
		}
	}
	refusals := []node{}
	for i, r := range e.Refused {
		rule := cmp.Or(r.Rule, "no setting opens it")
		if r.Line != "" {
			rule += " (" + r.Line + ")"
		}
		change := ""
		if i < len(data.Changes) {
			change = data.Changes[i]
		}
		refusals = append(refusals, h2("Why it was refused"), pairs("Reason", r.Reason, "Rule", code(rule), "What would allow it", change))
	}
	v.show("Call "+e.ID,
		pairs(append([]any{"Tool", e.Tool, "Time", at(e.Time), "Outcome", e.Outcome + " " + e.ErrorType, "Took", milliseconds(e.Took), "Principal", e.Principal,
			"Client", e.Client, "Sizes", fmt.Sprintf("%d bytes of arguments, %d bytes of result", e.ArgsBytes, e.ResultBytes), "Asked", string(e.Asked)},
			touched...)...),
		group(refusals...), h2("The same call today"), verdict(&data.Today))
}

// verdict shows what would be decided, and why.
func verdict(e *domain.Explanation) node {
	return pairs("Verdict", el("b", text(inWords(e))), "Stopped by", e.Stopped, "Rule", e.Rule, "Reason", e.Reason, "Path", e.Path, "Runs", codes(e.Argv),
		"Reads", codes(e.Reads), "Writes", codes(e.Writes))
}

func inWords(e *domain.Explanation) string {
	switch {
	case e.Stopped != "":
		return "allowed by its text; the sandbox stops it"
	case e.Allowed:
		return "allowed"
	}
	return "denied"
}

// offered is a tool as tools --json has it.
type offered struct {
	Name        string
	InputSchema struct{ Properties map[string]json.RawMessage }
}

// policy shows what is in force, and what is decided on a call.
func (v *visit) policy() {
	var tools struct{ Tools []offered }
	_ = v.run(&tools, "tools") // v.problem says it
	names := []string{}
	for _, t := range tools.Tools {
		names = append(names, t.Name)
	}
	var decided, compared, checked node
	switch {
	case v.r.FormValue("tool") != "":
		if e := v.explain(tools.Tools, v.r.FormValue("tool")); e != nil {
			decided = el("section", attr("role", "status"), verdict(e))
		}
	case v.r.FormValue("against") != "":
		compared = v.compared(v.r.FormValue("against"))
	case v.r.FormValue("check") != "":
		var found struct {
			Findings []struct{ Level, What, Found string }
		}
		_ = v.run(&found, "check")
		v.problem = "" // findings say what fails
		checked = table("Findings", []string{"State", "What", "Found"}, each(found.Findings, func(f struct{ Level, What, Found string }) node {
			return tr(f.Level, f.Level, f.What, f.Found)
		}))
	}
	shown, err := v.Run(v.r.Context(), "config", "show", "--json=false")
	if err != nil {
		v.problem = err.Error()
	}
	v.show("Policy",
		h2("What would be decided"),
		get("Explain a call", choice("Tool", "tool", v.r.FormValue("tool"), names),
			el("label", class("grow"), text("Arguments, as a JSON object "), el("textarea", attr("name", "arguments"), attr("rows", "2"),
				attr("placeholder", `{"path": "/etc/passwd"}`), lines(v.r.FormValue("arguments")))),
			field("As", "as", v.r.FormValue("as"), attr("placeholder", "you")), field("In groups", "groups", v.r.FormValue("groups")), button("Explain")),
		decided,
		h2("What another configuration would decide"),
		get("Compare", field("File", "against", v.r.FormValue("against"), attr("required"), attr("placeholder", "/path/to/other.yaml")),
			button("Compare the last 1,000 calls")),
		compared,
		h2("What this machine enforces"), checked, when(checked == nil, get("Check", hide("check", "1"), button("Check"))),
		h2("The configuration in force"), pre("The configuration in force", string(shown)))
}

// compared shows what another configuration would decide differently.
func (v *visit) compared(file string) node {
	type differing struct {
		Call      record.Entry
		Now, Then domain.Explanation
	}
	var found struct {
		Calls   int
		Differs []differing
	}
	if v.run(&found, "log", "compare", "--", file) != nil {
		return nil
	}
	word := func(e domain.Explanation) string { return inWords(&e) + ": " + cmp.Or(e.Stopped, e.Reason) }
	return group(el("p", attr("role", "status"), text(fmt.Sprintf("%d of %d calls would be decided differently.", len(found.Differs), found.Calls))),
		when(len(found.Differs) > 0, table("Differences", []string{"Call", "About", "Now", "There"}, each(found.Differs, func(d differing) node {
			return tr("", link(v, d.Call.ID, d.Call.Tool), rowOf(&d.Call).About, word(d.Now), word(d.Then))
		}))))
}

// explain says what would be decided on a call. Only arguments that the tool has become flags of the command.
func (v *visit) explain(tools []offered, name string) *domain.Explanation {
	i := slices.IndexFunc(tools, func(t offered) bool { return t.Name == name })
	if i < 0 {
		v.problem = "There is no tool " + name + "."
		return nil
	}
	args := append([]string{"explain", name}, flags(v, "as", "groups")...)
	var given map[string]json.RawMessage
	if written := strings.TrimSpace(v.r.FormValue("arguments")); written != "" {
		if err := json.Unmarshal([]byte(written), &given); err != nil {
			v.problem = "The arguments are not a JSON object: " + err.Error()
			return nil
		}
	}
	for key, raw := range given {
		if _, ok := tools[i].InputSchema.Properties[key]; !ok {
			v.problem = name + " has no argument " + key + "."
			return nil
		}
		value := string(raw)
		_ = json.Unmarshal(raw, &value) // a text is one without quotes
		args = append(args, "--"+key+"="+value)
	}
	var e domain.Explanation
	if err := v.run(&e, args...); e.Reason == "" && e.Rule == "" {
		v.problem = fmt.Sprint(err)
		return nil
	}
	v.problem = "" // the verdict is what was asked for
	return &e
}

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

// people shows who can sign in with a token of the configuration, and a token that was just made.
func (v *visit) people(made *madeToken) {
	type token struct {
		Name, ID, Expires string
		Groups, Scopes    []string
	}
	var data struct{ Tokens []token }
	_ = v.run(&data, "token", "list") // v.problem says it
	var fresh node
	if made != nil {
		fresh = el("section", attr("role", "status"), h2("A new token"), p("Copy it now. It is not shown again."), pre("Token", made.Token), when(made.File != "",
			p("Its hash is in ", made.File, ".")))
	}
	v.show("People", fresh, h2("Tokens"),
		table("Tokens", []string{"Name", "Groups", "Scopes", "Expires", "ID", ""}, each(data.Tokens, func(t token) node {
			return tr("", group(text(t.Name+" "), el("a", attr("href", v.base+"?"+query("principal", t.Name)), text("calls"))), strings.Join(t.Groups, ", "),
				strings.Join(t.Scopes, ", "),
				t.Expires, code(t.ID), group(v.post("people/rotate", hide("name", t.Name), button("Replace")),
					v.post("people/revoke", hide("name", t.Name), hide("id", t.ID), button("Revoke", class("danger")))))
		})),
		h2("New token"),
		v.post("people/new", class("row"), field("Name", "name", "", attr("required")), field("Groups", "groups", "", attr("placeholder", "a,b")), field("Scopes",
			"scopes", ""),
			field("Expires", "expires", "", attr("placeholder", "90d")), button("Make")))
}

type madeToken struct{ Token, File string }

// changePeople makes, replaces or revokes a token. One that is made is shown in the answer and nowhere else.
func (v *visit) changePeople() {
	args := []string{"token", v.r.PathValue("do")}
	switch args[1] {
	case "new":
		args = append(append(args, flags(v, "groups", "scopes", "expires")...), "--", v.r.PostFormValue("name"))
	case "rotate":
		args = append(args, "--", v.r.PostFormValue("name"))
	case "revoke":
		args = append(args, "--", v.r.PostFormValue("name"), v.r.PostFormValue("id"))
	default:
		v.fail(http.StatusNotFound, errors.New("there is no such thing to do"))
		return
	}
	var made madeToken
	if err := v.run(&made, args...); args[1] == "revoke" || err != nil {
		v.did(err, "people")
		return
	}
	v.note()
	v.r.URL.Path = "/people"
	v.people(&made)
}

// usage shows what was used, of the calls that the record has.
func (v *visit) usage() {
	counts, first, err := v.feed.used()
	if err != nil {
		v.problem = "The record cannot be read: " + err.Error()
	}
	price, err := strconv.ParseFloat(v.r.FormValue("price"), 64)
	if err != nil || !(price >= 0 && price < 1e6) {
		price = 3
	}
	days := daysUntil(time.Now(), counts)
	calls, failed, seconds := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for key, n := range counts {
		calls[key.Day] += n.Calls
		failed[key.Day] += n.Failed
		seconds[key.Day] += n.Millis / 1000
	}
	said := "Of the calls in the record. Tokens are estimated from the sizes of arguments and results."
	if !first.IsZero() {
		said = strings.Replace(said, "record.", "record, which goes back to "+at(first)+".", 1)
	}
	inner := []node{p(said),
		get("Price", field("Price of a million tokens", "price", strconv.FormatFloat(price, 'f', -1, 64), attr("type", "number"), attr("min", "0"), attr("step",
			"any")), button("Show")),
		el("div", class("charts"), bars("Calls a day", days, calls), bars("Failed calls a day", days, failed), bars("Seconds a day", days, seconds))}
	byDay := sums(counts, func(k used) string { return k.Day }, price)
	slices.SortFunc(byDay, func(a, b sum) int { return strings.Compare(b.Name, a.Name) })
	for _, t := range []struct {
		by   string
		rows []sum
	}{{"Day", byDay}, {"Tool", sums(counts, func(k used) string { return k.Tool }, price)}, {"Principal", sums(counts,
		func(k used) string { return k.Principal }, price)}} {
		inner = append(inner, h2(t.by), table("Usage by "+strings.ToLower(t.by), []string{t.by, "Calls", "Failed", "Milliseconds", "Bytes in", "Bytes out",
			"Tokens", "Money"},
			each(t.rows[:min(len(t.rows), maxRows)], func(s sum) node {
				return tr("", s.Name, s.Calls, s.Failed, s.Millis, s.In, s.Out, s.Tokens, s.Money)
			})))
	}
	v.show("Usage", inner...)
}

// audit searches the audit, and says on request whether it was changed.
func (v *visit) audit() {
	args := append([]string{"audit", "show"}, flags(v, "principal", "tool", "type")...)
	ctx, cancel := context.WithTimeout(v.r.Context(), runTime)
	defer cancel()
	out, err := v.Run(ctx, append(args, "--since="+cmp.Or(v.r.FormValue("since"), "1d"))...)
	if err != nil {
		v.problem = err.Error()
	}
	var entries []audit.Entry
	for line := range bytes.Lines(out) {
		var e audit.Entry
		if json.Unmarshal(line, &e) == nil {
			entries = append(entries, e)
		}
	}
	entries = entries[max(0, len(entries)-keepCalls):]
	slices.Reverse(entries)
	var verified node
	if v.r.FormValue("verify") != "" && err == nil {
		var found struct {
			Intact  bool
			Problem string
		}
		err := v.run(&found, "audit", "verify")
		word := map[bool]string{true: "The audit is intact.", false: "The audit does not verify. "}[found.Intact && err == nil]
		verified = el("p", attr("role", "status"), el("b", text(word)), text(found.Problem))
	}
	v.show("Audit",
		get("Verify", hide("verify", "1"), button("Verify")), verified,
		get("Entries", field("Principal", "principal", v.r.FormValue("principal")), field("Tool", "tool", v.r.FormValue("tool")),
			field("Type", "type", v.r.FormValue("type"), attr("placeholder", "call.end")), field("Since", "since", v.r.FormValue("since"), attr("placeholder",
				"1d")), button("Show")),
		table("Entries", []string{"Number", "Time", "Type", "Principal", "What", "Outcome"}, each(entries, func(e audit.Entry) node {
			return tr(e.Outcome, e.Sequence, e.Time, e.Type, e.Principal, e.Name+" "+e.Detail, e.Outcome+" "+e.Error+" "+strings.Join(e.Rules, ", "))
		})))
}

// clients shows who is connected, and which programs of this machine start the server.
func (v *visit) clients() {
	type known struct {
		Client, Title, File     string
		Found, Installed, Works bool
	}
	var all []known
	_ = v.run(&all, "clients") // v.problem says it
	var connected []node
	for _, s := range v.snapshots(v.r.Context()) {
		for _, c := range s.Clients {
			connected = append(connected, tr("", c.Name+" "+c.Version, c.Protocol, c.Principal, strings.Join(c.Extensions, ", "), c.InFlight, s.By))
		}
	}
	v.show("Clients",
		h2("Connected"), table("Connected", []string{"Client", "Protocol", "Principal", "Extensions", "In flight", "Server"}, group(connected...)),
		when(len(connected) == 0, p("No client is connected.")),
		h2("On this machine"), table("On this machine", []string{"Client", "State", "File", ""}, each(all, func(k known) node {
			state, add := "not here", button("Install")
			switch {
			case k.Works:
				state = "works"
			case k.Installed:
				state, add = "has the entry, which does not start the server", button("Replace", attr("name", "replace"), attr("value", "1"))
			case k.Found:
				state = "found"
			}
			return tr("", k.Title, state, code(k.File), when(k.Found && !k.Works, v.post("clients/install", hide("client", k.Client), add)))
		})))
}

// install adds the server to a client.
func (v *visit) install() {
	var said []struct{ Problem string }
	args := []string{"install", "--", v.r.PostFormValue("client")}
	if v.r.PostFormValue("replace") != "" {
		args = slices.Insert(args, 1, "--force")
	}
	err := v.run(&said, args...)
	for _, s := range said {
		if err != nil && s.Problem != "" {
			err = errors.New(s.Problem)
		}
	}
	v.did(err, "clients")
}
