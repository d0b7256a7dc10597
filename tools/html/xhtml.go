package html

import (
	"strings"

	"golang.org/x/net/html"
)

// FromXHTML returns XHTML as HTML: an empty tag such as <script src="x"/> closes its element in the one and opens it in the other.
func FromXHTML(src string) string {
	var out strings.Builder
	from, offset := 0, 0
	z := html.NewTokenizer(strings.NewReader(src))
	z.AllowCDATA(true)
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		raw := z.Raw()
		offset += len(raw)
		if kind != html.SelfClosingTagToken {
			continue
		}
		z.NextIsNotRawText()
		if name, _ := z.TagName(); !void(string(name)) {
			out.WriteString(src[from : offset-len("/>")])
			out.WriteString("></" + string(name) + ">")
			from = offset
		}
	}
	if from == 0 {
		return src
	}
	out.WriteString(src[from:])
	return out.String()
}
