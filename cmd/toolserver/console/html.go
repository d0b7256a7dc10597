package console

import (
	"cmp"
	"fmt"
	"strings"

	"maragu.dev/gomponents"

	"github.com/toolserver/toolserver/domain/call"
)

// This file has what pages are made of. Text is escaped as HTML, and what people cannot see in it is spelled out: it is
// by others.

type node = gomponents.Node

func el(name string, children ...node) node { return gomponents.El(name, children...) }

func attr(name string, value ...string) node { return gomponents.Attr(name, value...) }

func class(name string) node { return attr("class", name) }

func id(name string) node { return attr("id", name) }

func group(nodes ...node) node { return gomponents.Group(nodes) }

// text is a text of others, on one line.
func text(s string) node { return gomponents.Text(call.Visible(s)) }

// lines is a text of others with its lines.
func lines(s string) node {
	var b strings.Builder
	for line := range strings.Lines(s) {
		whole := strings.TrimSuffix(line, "\n")
		b.WriteString(strings.ReplaceAll(call.Visible(whole), `\u0009`, "\t") + line[len(whole):])
	}
	return gomponents.Text(b.String())
}

// when returns nodes if something holds.
func when(holds bool, nodes ...node) node {
	if !holds {
		return nil
	}
	return group(nodes...)
}

// each returns a node for each of some values.
func each[T any](all []T, make func(T) node) node { return gomponents.Map(all, make) }

// of makes a node of a value: a node, a text or a number.
func of(value any) node {
	switch v := value.(type) {
	case nil:
		return nil
	case node:
		return v
	case string:
		return text(v)
	}
	return text(fmt.Sprint(value))
}

func p(values ...any) node { return wrap("p", values...) }

func code(s string) node { return el("code", text(s)) }

func wrap(name string, values ...any) node {
	var inner []node
	for _, v := range values {
		inner = append(inner, of(v))
	}
	return el(name, inner...)
}

func h2(title string) node { return el("h2", text(title)) }

// scrolls is something that can be wider than the window, which the keyboard can scroll.
func scrolls(name, label string, inner ...node) node {
	return el(name, append([]node{class("wide"), attr("tabindex", "0"), attr("role", "region"), attr("aria-label", label)}, inner...)...)
}

func pre(label string, s string) node { return scrolls("pre", label, lines(s)) }

// table is a table with the label as its name. A head that is empty is that of buttons.
func table(label string, heads []string, body node) node {
	return scrolls("div", label, el("table", el("thead", el("tr", each(heads, func(h string) node {
		if h == "" {
			return el("th", attr("scope", "col"), el("span", class("hidden"), text("Do")))
		}
		return el("th", attr("scope", "col"), text(h))
	}))), el("tbody", body)))
}

// tr is a row with a cell for each value.
func tr(of string, values ...any) node {
	row := []node{when(of != "", class(of))}
	for _, v := range values {
		row = append(row, wrap("td", v))
	}
	return el("tr", row...)
}

// cut says of a list that it is not all of it.
func cut(shown, all int) node {
	return when(shown < all, el("p", text(fmt.Sprintf("The first %d of %d.", shown, all))))
}

// pairs is a list of names and what each has; names without anything are left out.
func pairs(values ...any) node {
	var inner []node
	for i := 0; i+1 < len(values); i += 2 {
		if values[i+1] != "" && values[i+1] != nil {
			inner = append(inner, wrap("dt", values[i]), wrap("dd", values[i+1]))
		}
	}
	return el("dl", inner...)
}

// codes are texts, each as it was written.
func codes(all []string) any {
	if len(all) == 0 {
		return nil
	}
	return each(all, func(s string) node { return group(code(s), gomponents.Text(" ")) })
}

// post is a form that does something.
func (v *visit) post(action string, inner ...node) node {
	return el("form", append([]node{attr("method", "post"), attr("action", v.base+action)}, inner...)...)
}

// get is a form that asks this page for something.
func get(label string, inner ...node) node {
	return el("form", append([]node{attr("method", "get"), class("row"), attr("aria-label", label)}, inner...)...)
}

func button(label string, attributes ...node) node {
	return el("button", append(attributes, text(label))...)
}

func hide(name, value string) node {
	return el("input", attr("type", "hidden"), attr("name", name), attr("value", value))
}

func field(label, name, value string, attributes ...node) node {
	return el("label", text(label+" "), el("input", append(attributes, attr("name", name), attr("value", value))...))
}

// choice is a field with one of some values.
func choice(label, name, value string, values []string) node {
	return el("label", text(label+" "), el("select", attr("name", name), each(values, func(s string) node {
		return el("option", attr("value", s), when(s == value, attr("selected")), text(cmp.Or(s, "any")))
	})))
}
