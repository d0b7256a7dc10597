package console

import (
	"slices"

	"github.com/toolserver/toolserver/approval"
)

// approvals shows what waits for a person.
func (v *visit) approvals() {
	all, err := v.Desk.List(v.r.Context())
	if err != nil {
		v.problem = err.Error()
	}
	slices.Reverse(all)
	waiting := slices.DeleteFunc(slices.Clone(all), func(r approval.Request) bool { return !r.Waiting() })
	decided := slices.DeleteFunc(all, func(r approval.Request) bool { return r.Decision == nil })
	answer := func(value, label string) node { return button(label, attr("name", "answer"), attr("value", value)) }
	v.show("Approvals",
		when(len(waiting) == 0, p("Nothing waits. A call comes here if a person has to agree to it and its client cannot ask (approvals.enabled).")),
		each(waiting, func(r approval.Request) node {
			who := r.Principal
			if r.Client != "" {
				who += " with " + r.Client
			}
			return el("section", h2(r.Tool), p(who, ", until ", at(r.Expires), when(r.Second, el("b", text("; a second person has to agree")))),
				pre("What is asked", r.Text),
				v.post("approvals/"+r.ID, class("row"), answer(approval.Once, "Allow once"), when(r.Scope != "", answer(approval.Session, "Allow for the session")),
					answer(approval.No, "Do not allow"), answer(approval.Never, "Never")))
		}),
		when(len(decided) > 0, h2("Decided"), table("Decided", []string{"Tool", "Of", "Decision", "By", "At", ""}, each(decided, func(r approval.Request) node {
			used := map[bool]string{true: ", used"}[r.Used]
			return tr("", r.Tool, r.Principal, r.Decision.Answer+used, r.Decision.By, at(r.Decision.At), v.post("approvals/"+r.ID, answer("forget", "Forget")))
		}))))
}

// decide takes what a person has decided, or forgets it.
func (v *visit) decide() {
	id, answer := v.r.PathValue("id"), v.r.PostFormValue("answer")
	if answer == "forget" {
		v.did(v.Desk.Forget(v.r.Context(), id), "approvals")
		return
	}
	v.did(v.Desk.Decide(v.r.Context(), id, answer, v.who), "approvals")
}
