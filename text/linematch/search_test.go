package linematch_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/linematch"
)

// shortReader gives one to seven bytes at a time.
type shortReader struct{ rest []byte }

func (r *shortReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rest[:min(len(r.rest), 1+len(r.rest)%7)])
	r.rest = r.rest[n:]
	return n, nil
}

func show(r linematch.Result) string {
	var b strings.Builder
	for _, l := range r.Lines {
		sep, cut := "-", ""
		if l.Match {
			sep = ":"
		}
		if l.Cut {
			cut = "~"
		}
		fmt.Fprintf(&b, "%d%s%s%s|", l.Number, sep, l.Text, cut)
	}
	return b.String()
}

func TestSearch(t *testing.T) {
	const text = "one\ntwo x\nthree\r\nfour\nfive x\nsix x\nseven\neight\nnine"
	for _, c := range []struct {
		name    string
		pattern string
		opt     linematch.SearchOptions
		want    string
		matches int
		stopped bool
	}{
		{"plain", "x", linematch.SearchOptions{}, "2:two x|5:five x|6:six x|", 3, false},
		{"none", "zzz", linematch.SearchOptions{Before: 2}, "", 0, false},
		{"last line", "nine", linematch.SearchOptions{Before: 1, After: 3}, "8-eight|9:nine|", 1, false},
		{"first line", "one", linematch.SearchOptions{Before: 3}, "1:one|", 1, false},
		{"before", "x", linematch.SearchOptions{Before: 1}, "1-one|2:two x|4-four|5:five x|6:six x|", 3, false},
		{"after", "x", linematch.SearchOptions{After: 1}, "2:two x|3-three|5:five x|6:six x|7-seven|", 3, false},
		{"both overlap", "x", linematch.SearchOptions{Before: 2, After: 2}, "1-one|2:two x|3-three|4-four|5:five x|6:six x|7-seven|8-eight|", 3, false},
		{"limit", "x", linematch.SearchOptions{MaxMatches: 2, After: 2}, "2:two x|3-three|4-four|5:five x|6-six x|7-seven|", 2, true},
		{"count", "x", linematch.SearchOptions{CountOnly: true, Before: 1}, "", 3, false},
		{"cut at start", "four|t", linematch.SearchOptions{MaxText: 2}, "2:tw~|3:th~|4:fo~|8:ht~|", 4, false},
		{"every line", "", linematch.SearchOptions{MaxMatches: 2}, "1:one|2:two x|", 2, true},
	} {
		for _, size := range []int64{0, int64(len(text))} {
			m, err := linematch.Compile(c.pattern, linematch.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := m.Searcher()
			for range 2 { // a searcher is used again
				r, err := s.Search(&shortReader{[]byte(text)}, size, c.opt)
				if got := show(r); err != nil || got != c.want || r.Matches != c.matches || r.Stopped != c.stopped {
					t.Errorf("%s: %q %d %v %v, want %q %d %v", c.name, got, r.Matches, r.Stopped, err, c.want, c.matches, c.stopped)
				}
			}
		}
	}
}

func search(t *testing.T, pattern string, opt linematch.SearchOptions, r io.Reader) linematch.Result {
	t.Helper()
	m, err := linematch.Compile(pattern, linematch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := m.Searcher().Search(r, 0, opt)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestSearchAcrossBuffers(t *testing.T) {
	var b strings.Builder
	var want []string
	for i := 1; i <= 40_000; i++ { // 1 MB: several buffers, a match near each border
		fmt.Fprintf(&b, "line %06d filler filler", i)
		if i%777 == 0 {
			b.WriteString(" hit")
			for n := i - 2; n <= i+2; n++ {
				sep, hit := "-", ""
				if n == i {
					sep, hit = ":", " hit"
				}
				want = append(want, fmt.Sprintf("%d%sline %06d filler filler%s|", n, sep, n, hit))
			}
		}
		b.WriteString("\n")
	}
	got := show(search(t, "hit$", linematch.SearchOptions{Before: 2, After: 2}, strings.NewReader(b.String())))
	if got != strings.Join(want, "") {
		t.Errorf("got %d bytes, want %d", len(got), len(strings.Join(want, "")))
	}
}

func TestLongLines(t *testing.T) {
	const mib = 1 << 20
	filler := strings.Repeat("abcdefgh", mib/8)
	for _, c := range []struct{ name, text, want string }{
		{"within the limit", filler[:mib/2] + "hit" + "\nnext hit\n", "1:defghhit~|2:next hit|"},
		{"in the first piece", "hit" + filler + filler + filler + "\nhit", "1:hitabcde~|2:hit|"},
		{"in a later piece", filler + filler + filler[8:] + "hit" + filler + "\nx\nhit", "1:ghhitabc~|3:hit|"},
		{"in each piece", strings.Repeat(filler+"hit"+filler, 4) + "\nhit", "1:hitabcde~|2:hit|"},
		{"nowhere", filler + filler + filler + "\n", ""},
	} {
		got := show(search(t, "hit", linematch.SearchOptions{MaxText: 8}, strings.NewReader(c.text)))
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		n := search(t, "hit", linematch.SearchOptions{CountOnly: true}, strings.NewReader(c.text)).Matches
		if n != strings.Count(c.want, ":") {
			t.Errorf("%s: counted %d", c.name, n)
		}
	}
}

func TestBinary(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"text hit\n", false}, {"a\x00hit", true},
		{strings.Repeat("x", 8191) + "\x00hit", true}, {strings.Repeat("x", 8192) + "\x00hit", false},
	} {
		r := search(t, "hit", linematch.SearchOptions{}, strings.NewReader(c.text))
		if r.Binary != c.want || (r.Matches == 0) != c.want {
			t.Errorf("%d bytes: binary %v, %d matches", len(c.text), r.Binary, r.Matches)
		}
	}
}

func TestSearchReturnsTheReadersError(t *testing.T) {
	m, err := linematch.Compile("hit", linematch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	broken := io.MultiReader(strings.NewReader("hit\n"), brokenReader{})
	if _, err := m.Searcher().Search(broken, 0, linematch.SearchOptions{}); err != io.ErrClosedPipe {
		t.Errorf("got %v", err)
	}
	if _, err := m.Searcher().Search(idleReader{}, 0, linematch.SearchOptions{}); err != io.ErrNoProgress {
		t.Errorf("got %v", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{"a(b", "missing closing )"},
		{"ab[z-a]", `"z-a" at character 4`},
		{"x*+?{2}**", "invalid nested repetition"},
		{"(?=x)", "without look-around"},
		{`(a)\1`, "and back-references"},
		{strings.Repeat("a", 5000), "the most is 4096"},
		{strings.Repeat(`\pL{900}`, 30), "too large"},
		{"a\xff", "invalid UTF-8"},
	} {
		_, err := linematch.Compile(c.pattern, linematch.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: got %v, want %q", c.pattern, err, c.want)
		}
	}
	if _, err := linematch.Compile("a(b", linematch.Options{FixedString: true}); err != nil {
		t.Error(err)
	}
}
