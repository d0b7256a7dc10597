package html

import (
	"cmp"
	"strings"

	"golang.org/x/net/html"
)

// startFormula writes a formula as its author spelled it out, in TeX if so, or else in one line.
func (r *renderer) startFormula() {
	r.keepApart()
	if r.kind == html.StartTagToken && r.closes("math") {
		tree := plainTree(r.src[r.offset:r.ends["math"]], false)
		r.text([]byte(cmp.Or(tex(tree), r.attr("alttext"), formula(tree))))
		r.keepApart()
		r.skipElement()
	}
}

// tex returns the TeX that annotates a formula, or "".
func tex(tree *html.Node) string {
	for n := range tree.Descendants() {
		if n.Data == "annotation" && strings.Contains(strings.ToLower(attr(n, "encoding")), "tex") && n.FirstChild != nil {
			return n.FirstChild.Data
		}
	}
	return ""
}

// formula returns what is in an element of MathML, its symbols set apart.
func formula(n *html.Node) string {
	if n.Type == html.TextNode {
		return strings.Join(strings.Fields(n.Data), " ")
	}
	var parts []string
	for c := range n.ChildNodes() {
		if part := formula(c); part != "" || len(parts) > 0 && c.Type == html.ElementNode {
			parts = append(parts, part)
		}
	}
	part := func(i int) string { // grouped if it is more than a symbol
		if i >= len(parts) || parts[i] == "" || !strings.ContainsAny(parts[i], " ^_/") {
			return strings.Join(parts[min(i, len(parts)):min(i+1, len(parts))], "")
		}
		return "(" + parts[i] + ")"
	}
	switch n.Data {
	case "annotation", "annotation-xml", "mphantom", "none":
		return ""
	case "mfrac":
		return part(0) + "/" + part(1)
	case "msup", "mover":
		return part(0) + "^" + part(1)
	case "msub", "munder":
		return part(0) + "_" + part(1)
	case "msubsup", "munderover":
		return part(0) + "_" + part(1) + "^" + part(2)
	case "msqrt":
		return "√(" + strings.Join(parts, " ") + ")"
	case "mroot":
		return part(1) + "√(" + strings.Join(parts[:min(1, len(parts))], "") + ")"
	case "mfenced":
		return cmp.Or(attr(n, "open"), "(") + strings.Join(parts, ", ") + cmp.Or(attr(n, "close"), ")")
	case "mtr":
		return strings.Join(parts, ", ") + ";"
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// saidTwice reports whether an element draws a formula that stands beside it in TeX or MathML, for KaTeX or MathJax.
func (r *renderer) saidTwice() bool {
	class := r.attr("class")
	return strings.HasPrefix(class, "katex-html") || strings.HasPrefix(class, "MathJax") && r.mathScripts
}

// reading puts what is read of characters (ruby) in brackets, where its author has not.
func (r *renderer) reading() {
	if r.bracket {
		r.text([]byte{')'})
	}
	end := r.kind == html.EndTagToken
	r.bracket = r.name == "rt" && !end && !r.bracketsOwn
	r.bracketsOwn = r.name != "ruby" && (r.bracketsOwn || r.name == "rp")
	if r.bracket {
		r.text([]byte{'('})
	}
}
