package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/domain"
)

// link leads to a call.
func link(v *visit, id, label string) node {
	return el("a", attr("href", v.base+"call/"+id), text(label))
}

// call shows why a call was decided as it was, and what would be decided today.
func (v *visit) call() {
	var data struct {
		Call      record.Entry
		Changes   []string
		Today     domain.Explanation
		Undecided bool // then Today only says why
	}
	if err := v.run(&data, "log", "explain", "--", v.r.PathValue("id")); err != nil && data.Call.ID == "" {
		v.fail(http.StatusNotFound, err)
		return
	}
	e, today := &data.Call, verdict(&data.Today)
	if data.Undecided {
		today = p(data.Today.Reason)
	}
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
			"Client", e.Client, "Sizes", fmt.Sprintf("%d bytes of arguments, %d bytes of result", e.ArgsBytes, e.ResultBytes), "Asked",
			strings.Join(strings.Fields(string(e.Asked)), " ")}, touched...)...),
		group(refusals...), h2("The same call today"), today)
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
	_ = v.run(&tools, "tools", "--all") // with those of others; v.problem says it
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
	args := append(append([]string{"explain"}, flags(v, "as", "groups")...), name) // what follows the name are arguments of the tool
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(cmp.Or(strings.TrimSpace(v.r.FormValue("arguments")), "{}")), &given); err != nil {
		v.problem = "The arguments are not a JSON object: " + err.Error()
		return nil
	}
	for key, raw := range given {
		schema, ok := tools[i].InputSchema.Properties[key]
		if !ok {
			v.problem = name + " has no argument " + key + "."
			return nil
		}
		value := string(raw)
		var is struct{ Type json.RawMessage }
		_ = json.Unmarshal(schema, &is) // true and false say nothing
		if first := map[string]byte{`"string"`: '"', `"array"`: '[', `"object"`: '{'}[string(is.Type)]; first != 0 && raw[0] != first {
			v.problem = key + " has to be of the type " + strings.Trim(string(is.Type), `"`) + "."
			return nil
		} else if first == '"' {
			_ = json.Unmarshal(raw, &value) // the command line has it without quotes
		}
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
