package document_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolserver/toolserver/text/document"
)

func TestCSVRows(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"empty", "", ""},
		{"commas", "a,b\n1,\"x, \"\"y\"\"\"\n", "a\tb\n1\tx, \"y\""},
		{"semicolons", "a;b\n1,5;2,5\n", "a\tb\n1,5\t2,5"},
		{"tabs", "a, b\tc\r\n1\t2\r\n", "a, b\tc\n1\t2"},
		{"bars", "a|b\n1|2", "a\tb\n1\t2"},
		{"one column", "a\nb\n", "a\nb"},
		{"told", "sep=|\na,b|c\n", "a,b\tc"},
		{"line breaks in a cell", "a,b\n\"two\nlines\",\"t\tt\"\n", "a\tb\ntwo lines\tt t"},
		{"empty cells and rows", "a,,c,\n,,\n\n,b\n", "a\t\tc\n\n\tb"},
		{"quotes that are none", "a,5\" x\nc\"d,e\n", "a\t5\" x\nc\"d\te"},
		{"never closed", "a,b\n\"x,y\n", "a\tb\nx,y"},
	} {
		if got, err := document.CSVRows(tc.src, document.Limits{}); err != nil || got != tc.want {
			t.Errorf("%s: got  %q %v\nwant %q", tc.name, got, err, tc.want)
		}
	}
	text, err := document.CSVRows(strings.Repeat("a,b\n", 1000), document.Limits{Text: 100})
	if limit, ok := errors.AsType[*document.LimitError](err); !ok || limit.Max != 100 || len(text) > 100 || !strings.HasPrefix(text, "a\tb\n") {
		t.Errorf("%q %v", text, err)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("a,b\n\"c\nd\";e\n")
	f.Add("sep=\n\"")
	f.Fuzz(func(t *testing.T, src string) {
		text, _ := document.CSVRows(src, document.Limits{Text: 1 << 16})
		if len(text) > 1<<16 || !utf8.ValidString(text) {
			t.Fatalf("%d bytes: %.100q", len(text), text)
		}
	})
}

func BenchmarkCSVRows(b *testing.B) {
	src := strings.Repeat("alpha,1.5,2024-01-01,\"be, ta\"\n", 1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := document.CSVRows(src, document.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
