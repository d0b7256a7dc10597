package textfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/textfile"
)

func TestLines(t *testing.T) {
	const five = "one\ntwo\r\nthree\n\nfive"
	for _, tc := range []struct {
		name string
		text string
		rg   textfile.Range
		want textfile.Window
	}{
		{"all", five, textfile.Range{}, textfile.Window{Text: []byte(five), Start: 1, End: 5, TotalLines: 5}},
		{"first", five, textfile.Range{Limit: 1}, textfile.Window{Text: []byte("one\n"), Start: 1, End: 1, TotalLines: 5, More: true, NextOffset: 2}},
		{"middle keeps CRLF", five, textfile.Range{Offset: 2, Limit: 2}, textfile.Window{Text: []byte("two\r\nthree\n"), Start: 2, End: 3, TotalLines: 5, More: true, NextOffset: 4}},
		{"empty line", five, textfile.Range{Offset: 4, Limit: 1}, textfile.Window{Text: []byte("\n"), Start: 4, End: 4, TotalLines: 5, More: true, NextOffset: 5}},
		{"last", five, textfile.Range{Offset: 5}, textfile.Window{Text: []byte("five"), Start: 5, End: 5, TotalLines: 5}},
		{"exact limit", five, textfile.Range{Limit: 5, MaxBytes: math.MaxInt}, textfile.Window{Text: []byte(five), Start: 1, End: 5, TotalLines: 5}},
		{"byte bound", five, textfile.Range{MaxBytes: 10}, textfile.Window{Text: []byte("one\ntwo\r\n"), Start: 1, End: 2, TotalLines: 5, More: true, NextOffset: 3}},
		{"tail", five, textfile.Range{Offset: -2}, textfile.Window{Text: []byte("\nfive"), Start: 4, End: 5, TotalLines: 5}},
		{"tail of terminated file", "a\nb\nc\n", textfile.Range{Offset: -2}, textfile.Window{Text: []byte("b\nc\n"), Start: 2, End: 3, TotalLines: 3}},
		{"tail limited", "a\nb\nc\n", textfile.Range{Offset: -2, Limit: 1}, textfile.Window{Text: []byte("b\n"), Start: 2, End: 2, TotalLines: 3, More: true, NextOffset: 3}},
		{"tail of exactly all", "a\nb\nc\n", textfile.Range{Offset: -3}, textfile.Window{Text: []byte("a\nb\nc\n"), Start: 1, End: 3, TotalLines: 3}},
		{"tail of more than all", "a\nb", textfile.Range{Offset: math.MinInt}, textfile.Window{Text: []byte("a\nb"), Start: 1, End: 2, TotalLines: 2}},
		{"only line feeds", "\n\n\n", textfile.Range{Offset: -1}, textfile.Window{Text: []byte("\n"), Start: 3, End: 3, TotalLines: 3}},
		{"empty file", "", textfile.Range{}, textfile.Window{}},
		{"empty file's tail", "", textfile.Range{Offset: -5}, textfile.Window{}},
		{"old Mac", "a\rb\rc", textfile.Range{Offset: 1, Limit: 1}, textfile.Window{Text: []byte("a\rb\rc"), Start: 1, End: 1, TotalLines: 1}},
		{"long line", "a\n0123456789\nb\n", textfile.Range{Offset: 2, MaxBytes: 4}, textfile.Window{
			Text: []byte("0123 [line cut: 4 of its 11 bytes shown]\n"), Start: 2, End: 2, TotalLines: 3, More: true, NextOffset: 3, Cut: true}},
		{"long last line", "0123456789", textfile.Range{MaxBytes: 4}, textfile.Window{
			Text: []byte("0123 [line cut: 4 of its 10 bytes shown]\n"), Start: 1, End: 1, TotalLines: 1, Cut: true}},
		{"cut at a character", "€€€€", textfile.Range{MaxBytes: 8}, textfile.Window{
			Text: []byte("€€ [line cut: 6 of its 12 bytes shown]\n"), Start: 1, End: 1, TotalLines: 1, Cut: true}},
		{"no room for a character", "€\nb", textfile.Range{MaxBytes: 1}, textfile.Window{
			Text: []byte(" [line cut: 0 of its 4 bytes shown]\n"), Start: 1, End: 1, TotalLines: 2, More: true, NextOffset: 2, Cut: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.want.Charset = "utf-8"
			got, err := textfile.Lines(strings.NewReader(tc.text), int64(len(tc.text)), textfile.Charset{}, tc.rg)
			if err != nil {
				t.Fatal(err)
			}
			if g, w := fmt.Sprintf("%+v %q", got, got.Text), fmt.Sprintf("%+v %q", tc.want, tc.want.Text); g != w {
				t.Errorf("got  %s\nwant %s", g, w)
			}
			if bom := "\xEF\xBB\xBF" + tc.text; !got.Cut && len(tc.text) > 0 {
				same, err := textfile.Lines(strings.NewReader(bom), int64(len(bom)), textfile.Charset{}, tc.rg)
				if err != nil || string(same.Text) != string(got.Text) || same.Start != got.Start {
					t.Errorf("with a byte order mark: %+v, %v", same, err)
				}
			}
		})
	}
}

func TestLinesPastEnd(t *testing.T) {
	for text, total := range map[string]int{"a\nb\n": 2, "a\nb": 2, "": 0, "a": 1} {
		_, err := textfile.Lines(strings.NewReader(text), int64(len(text)), textfile.Charset{}, textfile.Range{Offset: 5})
		var past *textfile.PastEndError
		if !errors.As(err, &past) || past.Total != total || past.Offset != 5 {
			t.Errorf("%q: %v, want offset 5 past %d lines", text, err, total)
		}
	}
}

func TestLinesCharsets(t *testing.T) {
	text := strings.Repeat(russian+"short\r\n", 40)
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	for _, name := range []string{"utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be", "koi8-r", "cp1251", "sjis", "gb18030"} {
		if name == "sjis" || name == "cp037" {
			text = strings.Repeat(nihongo, 60)
			lines = strings.SplitAfter(text, "\n")
			lines = lines[:len(lines)-1]
		}
		raw := encode(t, name, text)
		cs := charset(t, name)
		for _, rg := range []textfile.Range{{Offset: 1, Limit: 7}, {Offset: 50, Limit: 20}, {Offset: -30, Limit: 10}, {Offset: -1}} {
			w, err := textfile.Lines(bytes.NewReader(raw), int64(len(raw)), cs, rg)
			if err != nil {
				t.Errorf("%s %+v: %v", name, rg, err)
				continue
			}
			if want := strings.Join(lines[w.Start-1:w.End], ""); string(w.Text) != want || w.TotalLines != len(lines) {
				t.Errorf("%s %+v: lines %d-%d of %d are %.80q", name, rg, w.Start, w.End, w.TotalLines, w.Text)
			}
		}
	}
}

// U+0A0A and U+0D0A hold the byte of a line feed and are not one.
func TestLinesUTF16FalseLineFeeds(t *testing.T) {
	const text = "\u0A0A\u0D0A\n\u0A0D\u0A00\nx\u0A0A"
	for _, name := range []string{"utf-16le", "utf-16be"} {
		raw := encode(t, name, text)
		for offset, want := range map[int]string{1: "\u0A0A\u0D0A\n", 2: "\u0A0D\u0A00\n", 3: "x\u0A0A", -1: "x\u0A0A", -2: "\u0A0D\u0A00\n"} {
			w, err := textfile.Lines(bytes.NewReader(raw), int64(len(raw)), charset(t, name), textfile.Range{Offset: offset, Limit: 1})
			if err != nil || string(w.Text) != want || w.TotalLines != 3 {
				t.Errorf("%s offset %d: %q of %d, %v", name, offset, w.Text, w.TotalLines, err)
			}
		}
	}
}

func TestLinesUndecodable(t *testing.T) {
	text := "fine\nfine too\ncaf\xE9\nfine\n"
	_, err := textfile.Lines(strings.NewReader(text), int64(len(text)), textfile.Charset{}, textfile.Range{Offset: 2})
	var bad *textfile.DecodeError
	if !errors.As(err, &bad) || bad.Offset != 17 || bad.Likely != "windows-1252" {
		t.Errorf("got %v, want byte 17", err)
	}
	if w, err := textfile.Lines(strings.NewReader(text), int64(len(text)), textfile.Charset{}, textfile.Range{Offset: 4}); err != nil || string(w.Text) != "fine\n" {
		t.Errorf("lines around it: %q, %v", w.Text, err)
	}
	odd := "\xFF\xFEa\x00\n\x00b"
	_, err = textfile.Lines(strings.NewReader(odd), int64(len(odd)), textfile.Charset{}, textfile.Range{Offset: -1})
	if !errors.As(err, &bad) || bad.Offset != 6 || bad.Charset != "utf-16le" {
		t.Errorf("half a code unit: %v", err)
	}
	_, err = textfile.Lines(strings.NewReader("a\x00"), 2, textfile.Charset{}, textfile.Range{})
	var binary *textfile.BinaryError
	if !errors.As(err, &binary) {
		t.Errorf("binary: %v", err)
	}
}

func TestNumbered(t *testing.T) {
	for _, tc := range []struct {
		text  string
		first int
		want  string
	}{
		{"", 1, ""},
		{"a", 1, "     1\ta"},
		{"a\n\nb\r\n", 9, "     9\ta\n    10\t\n    11\tb\r\n"},
		{"a\nb", 9999999, "9999999\ta\n10000000\tb"},
		{"a\nb\n", -2, "    -2\ta\n    -1\tb\n"},
	} {
		if got, _ := textfile.Numbered([]byte(tc.text), tc.first, math.MaxInt); string(got) != tc.want {
			t.Errorf("%q from %d: %q, want %q", tc.text, tc.first, got, tc.want)
		}
	}
}

// FuzzLines checks that windows one after the other are the whole file, and
// that a tail is what a range from the front is.
func FuzzLines(f *testing.F) {
	f.Add([]byte("one\ntwo\r\n\nfour"), uint8(1), uint16(20), uint8(2), uint8(0))
	f.Add([]byte("\xEF\xBB\xBF€\n\n\n"), uint8(0), uint16(3), uint8(1), uint8(0))
	f.Add([]byte("\x00\x0A\x0A\x00\x00\x0A"), uint8(2), uint16(9), uint8(1), uint8(1))
	f.Add([]byte("a\x00\n\x00\n\x0Ab\x00"), uint8(1), uint16(300), uint8(2), uint8(2))
	f.Add([]byte("\x93\xFA\n\x96\x7B\n"), uint8(1), uint16(300), uint8(1), uint8(3))
	f.Add([]byte("a\n\x00\x00\x00\n"), uint8(1), uint16(300), uint8(1), uint8(4))
	names := []string{"utf-8", "utf-16be", "utf-16le", "sjis", "utf-32", "gb18030", "latin-1", "cp037", "big5"}
	f.Fuzz(func(t *testing.T, raw []byte, limit uint8, maxBytes uint16, back, enc uint8) {
		cs := charset(t, names[int(enc)%len(names)])
		whole, _, err := textfile.Decode(raw, cs)
		if err != nil {
			return
		}
		read := func(rg textfile.Range) (textfile.Window, error) {
			return textfile.Lines(bytes.NewReader(raw), int64(len(raw)), cs, rg)
		}
		bound := int(maxBytes%512) + 1
		var all []byte
		lines, cut := 0, false
		for offset := 1; ; {
			w, err := read(textfile.Range{Offset: offset, Limit: int(limit), MaxBytes: bound})
			if err != nil {
				t.Fatalf("offset %d: %v", offset, err)
			}
			if limit > 0 && w.End-w.Start+1 > int(limit) || !w.Cut && len(w.Text) > bound {
				t.Fatalf("over the bounds: %+v", w)
			}
			all, lines, cut = append(all, w.Text...), w.End, cut || w.Cut
			if !w.More {
				break
			}
			if w.NextOffset != w.End+1 {
				t.Fatalf("next %d after %d", w.NextOffset, w.End)
			}
			offset = w.NextOffset
		}
		if !cut && !bytes.Equal(all, whole) {
			t.Fatalf("windows make %q, the file is %q", all, whole)
		}
		n := int(back) + 1
		tail, err := read(textfile.Range{Offset: -n})
		if err != nil {
			t.Fatal(err)
		}
		if tail.TotalLines != lines || lines > 0 && tail.Start != max(1, lines-n+1) {
			t.Fatalf("the last %d of %d lines are %d-%d of %d", n, lines, tail.Start, tail.End, tail.TotalLines)
		}
		if lines > 0 && !cut && !bytes.HasSuffix(whole, tail.Text) {
			t.Fatalf("tail %q of %q", tail.Text, whole)
		}
	})
}
