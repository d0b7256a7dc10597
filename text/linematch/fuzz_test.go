package linematch_test

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/linematch"
)

// naive is what the package must agree with: regexp on each line.
func naive(re *regexp.Regexp, text []byte) []string {
	var found []string
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if re.Match(line) {
			found = append(found, string(line))
		}
	}
	return found
}

func scan(m *linematch.Matcher, text []byte) []string {
	var found []string
	s := m.Scanner()
	s.Reset(text)
	for {
		start, end, ok := s.Next()
		if !ok {
			return found
		}
		found = append(found, string(text[start:end]))
	}
}

func compareWithNaive(t *testing.T, pattern string, fold, fixed bool, text []byte) {
	t.Helper()
	m, err := linematch.Compile(pattern, linematch.Options{IgnoreCase: fold, FixedString: fixed})
	if err != nil || m.Across() || len(text) > 1 && (text[0] >= 0xfe || text[0] == 0xef) {
		return // it is of several lines, or may have a mark
	}
	if fixed {
		pattern = regexp.QuoteMeta(pattern)
	}
	if fold {
		pattern = "(?i)" + pattern
	}
	want := naive(regexp.MustCompile(pattern), text)
	if got := scan(m, text); !slices.Equal(got, want) {
		t.Fatalf("pattern %q in %q:\n got %q\nwant %q", pattern, text, got, want)
	}
	// The same over a reader that gives a few bytes at a time, and with counts.
	r, err := m.Searcher().Search(&shortReader{text}, 0, linematch.SearchOptions{CountOnly: true})
	if err != nil || !r.Binary && r.Matches != len(want) {
		t.Fatalf("pattern %q in %q: %d matches, want %d, %v", pattern, text, r.Matches, len(want), err)
	}
}

var seedPatterns = []string{
	"", "a", "foo", "foo|bar", `foo\w+bar`, `[0-9]{4}-[0-9]{2}`, `^$`, `^`, `$`, `\bfoo\b`, `\Boo`, `(?i)task`, `(?i)key|session`,
	`a$`, `^a`, `\r`, `a\r`, `.`, `..$`, `[^a]`, `\s`, `é`, `(?i)É`, `[à-ü]+x`, `\x{fffd}`, `\p{Greek}`, `\pL{3}`, `x*`, `(a|b)*c`,
	`(?:ab){2,3}`, `\Aa\z`, `(?s).a`, `(?m)^b$`, `(?U)a+`, `a(?i)b`, `(?i)a(?-i)B`, `foo$|^bar`, `\b`, `\B`, `((a))+`, `needle`, `a|b|c|d|e|f|g|h|i|j`,
	`ſ`, `(?i)ſ`, `(?i)K`, `(?i)s\b`, `(foo|qux)(bar|zap)`, `q[xyz]{2}`, `\w+@\w+\.com`, `^\s*func `, `TODO|FIXME`, `(?i:todo)`, `日本`, `日|本$`,
}

var seedTexts = []string{
	"", "\n", "a", "a\n", "a\r\n", "a\r", "\r\n\r\n", "\n\nfoo\n\n", "foo bar\nbarfoo\r\nFOO\n", "fooXbar\nfoo bar", "2024-07 x\n24-07\n",
	"task TASK taſk tasK\nKey Kelvin K\nseſſion\nSESSION", "é\nÉ\nà\xffx\n\xff\xfe\n", "αβγ\nabc\nab\xe2\x82\n", "a\rb\n\ra\n", "日本\n本日\n",
	"x@y.com\nxy.com\n", "  func main\nfunc\n", "todo\nToDo: x\nFIXME", "abab\nab\nababab\n", "foobar\nquxzap\nfoozap bar\nqux",
}

func TestSameAsRegexpOnEachLine(t *testing.T) {
	for _, p := range seedPatterns {
		for _, text := range seedTexts {
			for _, mode := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
				compareWithNaive(t, p, mode[0], mode[1], []byte(text))
				long := strings.Repeat("the quick brown fox\n", 50) + text + strings.Repeat("\njumps over", 20)
				compareWithNaive(t, p, mode[0], mode[1], []byte(long))
			}
		}
	}
}

func FuzzSameAsRegexpOnEachLine(f *testing.F) {
	for i, p := range seedPatterns {
		f.Add(p, i%2 == 0, i%5 == 0, []byte(seedTexts[i%len(seedTexts)]))
	}
	f.Fuzz(func(t *testing.T, pattern string, fold, fixed bool, text []byte) {
		if len(pattern) > 60 || len(text) > 2000 || strings.Contains(pattern, "00") {
			return // repetitions of hundreds only make the comparison slow
		}
		compareWithNaive(t, pattern, fold, fixed, text)
	})
}

// A pattern whose automaton has exponentially many states falls back to the
// program, and still finds the same.
func TestAutomatonThatExplodes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	text := make([]byte, 200_000)
	for i := range text {
		text[i] = "aaaaabbbbb\n"[r.IntN(11)]
	}
	for _, pattern := range []string{`a[ab]{16}b[ab]{3}a`, `(a|ab)(b|ba){12}`, `^[ab]*a[ab]{14}$`, `\ba[ab]{18}`} {
		compareWithNaive(t, pattern, false, false, text)
	}
}
