package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/usage"
)

const (
	chartWidth, chartHeight = 640, 160
	minDays, maxDays        = 14, 92
	maxRows                 = 50
)

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
	byDay := sums(counts, func(k used) string { return k.Day }, price)
	slices.SortFunc(byDay, func(a, b sum) int { return strings.Compare(b.Name, a.Name) })
	calls, failed, seconds := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, s := range byDay {
		calls[s.Name], failed[s.Name], seconds[s.Name] = s.Calls, s.Failed, s.Millis/1000
	}
	said := "Of the calls in the record. Tokens are estimated from the sizes of arguments and results."
	if !first.IsZero() {
		said = strings.Replace(said, "record.", "record, which goes back to "+at(first)+".", 1)
	}
	inner := []node{p(said),
		get("Price", field("Price of a million tokens", "price", strconv.FormatFloat(price, 'f', -1, 64), attr("type", "number"), attr("min", "0"),
			attr("step", "any")), button("Show")),
		el("div", class("charts"), bars("Calls a day", days, calls), bars("Failed calls a day", days, failed), bars("Seconds a day", days, seconds))}
	list := func(by string, rows []sum) {
		heads := []string{by, "Calls", "Failed", "Milliseconds", "Bytes in", "Bytes out", "Tokens", "Money"}
		shown := rows[:min(len(rows), maxRows)]
		inner = append(inner, h2(by), cut(len(shown), len(rows)), table("Usage by "+strings.ToLower(by), heads, each(shown, func(s sum) node {
			return tr("", s.Name, s.Calls, s.Failed, s.Millis, s.In, s.Out, s.Tokens, s.Money)
		})))
	}
	list("Day", byDay)
	list("Tool", sums(counts, func(k used) string { return k.Tool }, price))
	list("Principal", sums(counts, func(k used) string { return k.Principal }, price))
	v.show("Usage", inner...)
}

// sum is a line of a table of usage.
type sum struct {
	Name string
	usage.Count
	Tokens int64 // about; of arguments and results
	Money  string
}

// bytesPerToken is what a token of English and code takes, about.
const bytesPerToken = 4

// sums adds counts up by a name, the largest first. Price is that of a million tokens.
func sums(counts map[used]usage.Count, name func(used) string, price float64) []sum {
	all := map[string]usage.Count{}
	for key, n := range counts {
		n.Add(all[name(key)])
		all[name(key)] = n
	}
	var rows []sum
	for at, n := range all {
		tokens := (n.In + n.Out) / bytesPerToken
		rows = append(rows, sum{at, n, tokens, fmt.Sprintf("%.2f", float64(tokens)*price/1e6)})
	}
	slices.SortFunc(rows, func(a, b sum) int { return cmp.Or(cmp.Compare(b.Calls, a.Calls), strings.Compare(a.Name, b.Name)) })
	return rows
}

// bars draws what is counted of each of some days. The table beside it says the same to those who do not see it.
func bars(title string, days []string, values map[string]int64) node {
	most := int64(0)
	for _, n := range values {
		most = max(most, n)
	}
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }
	width, height := float64(chartWidth)/float64(max(len(days), 1)), float64(chartHeight)
	label := func(at float64, anchor, day string) node {
		return el("text", attr("x", number(at)), attr("y", number(height+20)), attr("text-anchor", anchor), text(day))
	}
	inner := []node{attr("viewBox", fmt.Sprintf("0 0 %d %d", chartWidth, chartHeight+26)), attr("role", "img"), attr("aria-label", title), el("title",
		text(title))}
	for i, day := range days {
		tall := float64(values[day]) / float64(max(most, 1)) * (height - 24)
		inner = append(inner, el("rect", attr("x", number(float64(i)*width+1)), attr("y", number(height-tall)), attr("width", number(max(width-2, 1))),
			attr("height", number(tall)), el("title", text(fmt.Sprintf("%s: %d", day, values[day])))))
	}
	inner = append(inner, el("text", attr("x", "2"), attr("y", "16"), text("at most "+strconv.FormatInt(most, 10))), el("line", attr("x1", "0"), attr("y1",
		number(height)), attr("x2", number(chartWidth)), attr("y2", number(height))))
	if len(days) > 0 {
		inner = append(inner, label(0, "start", days[0]))
	}
	if len(days) > 1 {
		inner = append(inner, label(chartWidth, "end", days[len(days)-1]))
	}
	return el("figure", el("svg", inner...), el("figcaption", text(title)))
}

// daysUntil returns the days until today of which something is counted, at most the last of them.
func daysUntil(now time.Time, counts map[used]usage.Count) (days []string) {
	counted := map[string]bool{}
	for key := range counts {
		counted[key.Day] = true
	}
	first := slices.Min(append(slices.Collect(maps.Keys(counted)), now.Format(time.DateOnly)))
	for n := range maxDays {
		day := now.AddDate(0, 0, -n).Format(time.DateOnly)
		days = append(days, day)
		if day <= first && n+1 >= minDays {
			break
		}
	}
	slices.Reverse(days)
	return days
}
