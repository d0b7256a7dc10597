package html_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/toolserver/toolserver/text/html"
)

const selectPage = `<html><head><title>t</title></head><body id=top class="a b">
<div class=x><p class=x>1<b>2</b></p><p lang=en>3</p></div>
<ul><li>a<li class=x data-v="p > q, r">b<li>c<ul><li>d</ul></ul>
<h2>h</h2><p>4</p><p>5</p><table><tr><td>6<td>7</table><noscript><i>8</i></noscript></body></html>`

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		selector, want string
		n              int
	}{
		{"h2", "<h2>h</h2>", 1},
		{"b, h2", "<b>2</b>\n<h2>h</h2>", 2},
		{".x", "<div class=\"x\"><p class=\"x\">1<b>2</b></p><p lang=\"en\">3</p></div>\n<li class=\"x\" data-v=\"p &gt; q, r\">b</li>", 2},
		{"div > p.x b", "<b>2</b>", 1},
		{"h2 + p", "<p>4</p>", 1},
		{"h2 ~ p", "<p>4</p>\n<p>5</p>", 2},
		{`li[data-v="p > q, r"]`, "<li class=\"x\" data-v=\"p &gt; q, r\">b</li>", 1},
		{"td:nth-child(2)", "<td>7</td>", 1},
		{"ul ul>li", "<li>d</li>", 1},
		{"p:not(.x):not(h2 + p), i", "<p lang=\"en\">3</p>\n<p>5</p>\n<i>8</i>", 3},
		{"p:contains('5')", "<p>5</p>", 1},
		{"nosuch", "", 0},
		{"title", "<title>t</title>", 1},
		{"li:has(ul) > ul", "<ul><li>d</li></ul>", 1},
	} {
		got, n, err := html.Select(selectPage, c.selector)
		if err != nil || n != c.n || strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(c.want), " ") {
			t.Errorf("Select %s = %q, %d, %v, want %q, %d", c.selector, got, n, err, c.want, c.n)
		}
	}
}

func TestSelectIsAsGoqueryFinds(t *testing.T) {
	doc := html.Parse(selectPage)
	for _, selector := range []string{"*", "body *", "body > *", "div p", "ul li", "li + li", "li ~ li", "li~li ul li", "div *", "html > body > ul > li + li",
		"p ~ table td", "p + p", "div + ul > li", ":first-child", "body p, body li"} {
		n := 0
		found := doc.Find(selector)
		found.Each(func(_ int, s *goquery.Selection) {
			if s.ParentsMatcher(goquery.Single(selector)).Length() == 0 || s.ParentsFiltered(selector).Length() == 0 {
				n++
			}
		})
		if _, got, err := html.Select(selectPage, selector); err != nil || got != n {
			t.Errorf("Select %s finds %d, %v; goquery %d", selector, got, err, n)
		}
	}
}

func TestSelectErrors(t *testing.T) {
	for _, selector := range []string{"", " ", "p[", "p >", "> p", "p,,b", ",", "::before", "p:nosuch", "p)", "\\", strings.Repeat("a ", 100), strings.Repeat("x", 2000)} {
		_, _, err := html.Select("<p>a", selector)
		var invalid *html.SelectorError
		if !errors.As(err, &invalid) {
			t.Errorf("Select %q: %v, want a SelectorError", selector, err)
		}
	}
}

// TestSelectDeepChain is about a selector that a matcher from right to left would try to fit in 10^40 ways.
func TestSelectDeepChain(t *testing.T) {
	src := strings.Repeat("<div>", 400) + "a"
	if _, n, err := html.Select(src, "nosuch "+strings.Repeat("div ", 25)); n != 0 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}
