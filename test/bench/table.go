package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is what a run prints.
type table struct {
	rows  [][]string
	notes []string
}

var header = []string{"what", "server", "CPU", "p50", "per second", "RSS", "CPU to ours", "bars"}

// add adds a comparison of which the first target is ours. The bars go beside
// it, one a line.
func (t *table) add(what string, c contest, bars ...bar) {
	ours := c.names[0]
	for _, name := range c.names {
		bars = append(bars, asBefore(c, name)...)
	}
	for i, name := range c.names {
		row := []string{what, name}
		for _, f := range []struct {
			m metric
			u unit
		}{{cpu, nanos}, {p50, nanos}, {rate, number}, {rss, mebi}} {
			cell := ""
			if v := c.median(name, f.m); v > 0 {
				cell = f.u(v)
			}
			row = append(row, cell)
		}
		ratio := ""
		if i > 0 && c.median(ours, cpu) > 0 && c.median(name, cpu) > 0 {
			ratio = times(c.ratio(name, ours, cpu))
		}
		row = append(row, ratio)
		if i < len(bars) {
			row = append(row, bars[i].String())
		} else {
			row = append(row, "")
		}
		t.rows = append(t.rows, row)
		what = ""
	}
	for i := len(c.names); i < len(bars); i++ {
		t.rows = append(t.rows, []string{"", "", "", "", "", "", "", bars[i].String()})
	}
}

// note adds a remark below the table.
func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// print writes the table as text.
func (t *table) print(w io.Writer) {
	rows := append([][]string{header}, t.rows...)
	widths := make([]int, len(header))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		if n > 1 && row[0] != "" {
			fmt.Fprintln(w)
		}
		var cells []string
		for i, cell := range row {
			cells = append(cells, cell+strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "  "), " "))
	}
	t.printNotes(w)
}

// printMarkdown writes the table as Markdown.
func (t *table) printMarkdown(w io.Writer) {
	fmt.Fprintf(w, "| %s |\n%s|\n", strings.Join(header, " | "), strings.Repeat("|---", len(header)))
	for _, row := range t.rows {
		for _, cell := range row {
			fmt.Fprint(w, strings.TrimRight("| "+cell, " "), " ")
		}
		fmt.Fprintln(w, "|")
	}
	t.printNotes(w)
}

func (t *table) printNotes(w io.Writer) {
	for _, note := range t.notes {
		fmt.Fprintln(w, "\n"+note)
	}
}
