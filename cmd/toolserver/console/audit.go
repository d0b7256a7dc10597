package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/audit"
)

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
	all := len(entries)
	entries = entries[max(0, all-keepCalls):]
	slices.Reverse(entries)
	var verified node
	if v.r.FormValue("verify") != "" && err == nil {
		var found struct {
			Intact bool
			Fault  string
		}
		_ = v.run(&found, "audit", "verify") // v.problem says it
		if found.Fault != "" {
			v.problem = "" // only that the command failed
		}
		word := map[bool]string{true: "The audit is intact.", false: "The audit does not verify. "}[found.Intact]
		verified = el("p", attr("role", "status"), el("b", text(word)), text(found.Fault))
	}
	v.show("Audit",
		get("Verify", hide("verify", "1"), button("Verify")), verified,
		get("Entries", field("Principal", "principal", v.r.FormValue("principal")), field("Tool", "tool", v.r.FormValue("tool")),
			field("Type", "type", v.r.FormValue("type"), attr("placeholder", "call.end")),
			field("Since", "since", v.r.FormValue("since"), attr("placeholder", "1d")), button("Show")),
		cut(len(entries), all),
		table("Entries", []string{"Number", "Time", "Type", "Principal", "What", "Outcome"}, each(entries, func(e audit.Entry) node {
			return tr(e.Outcome, e.Sequence, e.Time, e.Type, e.Principal, e.Name+" "+e.Detail, e.Outcome+" "+e.Error+" "+strings.Join(e.Rules, ", "))
		})))
}
