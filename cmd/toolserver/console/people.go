package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// people shows who can sign in with a token of the configuration, and a token that was just made.
func (v *visit) people(made madeToken) {
	type token struct {
		Name, ID, Expires string
		Groups, Scopes    []string
	}
	var data struct{ Tokens []token }
	_ = v.run(&data, "token", "list") // v.problem says it
	counts, _, _ := v.feed.used()     // without a record, there are none
	calls := map[string]int64{}
	for key, n := range counts {
		calls[key.Principal] += n.Calls
	}
	fresh := when(made.Token != "", el("section", attr("role", "status"), h2("A new token"), p("Copy it now. It is not shown again."), pre("Token", made.Token),
		when(made.File != "", p("Its hash is in ", made.File, "."))))
	v.show("People", fresh, h2("Tokens"),
		table("Tokens", []string{"Name", "Groups", "Scopes", "Expires", "ID", "Calls", ""}, each(data.Tokens, func(t token) node {
			id := "token:" + t.Name
			link := el("a", attr("href", v.base+"?"+url.Values{"principal": {id}}.Encode()), text(strconv.FormatInt(calls[id], 10)))
			change := group(v.post("people/rotate", hide("name", t.Name), button("Replace")),
				v.post("people/revoke", hide("name", t.Name), hide("id", t.ID), button("Revoke", class("danger"))))
			return tr("", t.Name, strings.Join(t.Groups, ", "), strings.Join(t.Scopes, ", "), t.Expires, code(t.ID), link, change)
		})),
		h2("New token"),
		v.post("people/new", class("row"), field("Name", "name", "", attr("required")), field("Groups", "groups", "", attr("placeholder", "a,b")),
			field("Scopes", "scopes", ""), field("Expires", "expires", "", attr("placeholder", "90d")), button("Make")))
}

type madeToken struct{ Token, File string }

// changePeople makes, replaces or revokes a token. One that is made is shown in the answer and nowhere else.
func (v *visit) changePeople() {
	do, name := v.r.PathValue("do"), v.r.PostFormValue("name")
	args := map[string][]string{
		"new": append(flags(v, "groups", "scopes", "expires"), "--", name), "rotate": {"--", name}, "revoke": {"--", name, v.r.PostFormValue("id")},
	}[do]
	if args == nil {
		v.fail(http.StatusNotFound, errors.New("there is no such thing to do"))
		return
	}
	var made madeToken
	if err := v.run(&made, append([]string{"token", do}, args...)...); do == "revoke" || err != nil {
		v.did(err, "people")
		return
	}
	v.note()
	v.r.URL.Path = "/people"
	v.people(made)
}
