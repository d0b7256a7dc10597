package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"
)

// part is one part of a page, as an answer has it.
type part struct {
	text                     string
	start, length, all, next int // next is 0 if there is none
}

// partOf reads an answer, whose words and _meta must agree.
func partOf(t *testing.T, a answer) (p part) {
	t.Helper()
	number := func(key string) int { n, _ := a.Result.Meta[key].(float64); return int(n) }
	p.start, p.length, p.all, p.next = number("start_index"), number("length"), number("total_length"), number("next_start_index")
	_, text, ok := strings.Cut(a.text(), "\n\n--- Content ---\n\n")
	if a.failed() || !ok || !utf8.ValidString(text) {
		t.Fatalf("got %.500s", a.text())
	}
	runes := []rune(text)
	if len(runes) < p.length {
		t.Fatalf("%d characters, want %d", len(runes), p.length)
	}
	rest := string(runes[p.length:])
	p.text = string(runes[:p.length])
	calls := p.next == p.start+p.length && strings.Contains(rest, fmt.Sprintf("start_index=%d", p.next))
	if ended := p.next == 0 && rest == ""; !calls && !ended {
		t.Fatalf("after %d characters from %d, with %d next: %q", p.length, p.start, p.next, rest)
	}
	if a.Result.Meta["truncated"] != (p.next != 0) {
		t.Fatalf("_meta is %v", a.Result.Meta)
	}
	return p
}

// join reads a page part by part.
func (c *toolClient) join(url string, maxChars int, more ...any) (whole string, parts int) {
	c.t.Helper()
	next := 0
	var b strings.Builder
	for {
		p := partOf(c.t, c.fetch(url, append([]any{"maxChars", maxChars, "start_index", next}, more...)...))
		if p.start != next || p.length > maxChars || p.next != 0 && p.length != maxChars {
			c.t.Fatalf("part from %d: %+v", next, p)
		}
		b.WriteString(p.text)
		parts++
		if p.next == 0 {
			if got := utf8.RuneCountInString(b.String()); got != p.all {
				c.t.Fatalf("%d characters, want %d", got, p.all)
			}
			return b.String(), parts
		}
		next = p.next
	}
}

// randomText has characters of every length, and what goes together in one
// glyph.
func randomText(random *rand.Rand, size int) string {
	pieces := []string{"a", "é", "日本", "😀", "👩‍👩‍👧", "\n", "e\u0301", " ", "🇩🇪", "long word ", "\t", "<", "&", "\u202e"}
	var b strings.Builder
	for range size {
		b.WriteString(pieces[random.IntN(len(pieces))])
	}
	return b.String()
}

// TestWebFetchParts reads pages part by part, in parts of any size: joined, they
// are the whole, although the page changes all the while.
func TestWebFetchParts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 35))
		text := randomText(random, 1+random.IntN(600))
		var served atomic.Int64
		changing := func(contentType, format string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				body(contentType, fmt.Sprintf(format, text, served.Add(1)))(w, r)
			}
		}
		site := serveSite(t, map[string]http.HandlerFunc{
			"/text": changing("text/plain; charset=utf-8", "%s!%d"), "/html": changing("text/html; charset=utf-8", "<p>%s<p>%d<ul><li>x<li>y</ul>"),
			"/json": changing("application/json", `["%[2]d", {"a": 9223372036854775808, "é": "😀", "c": [1, 2, 3]}]`),
		})
		c := openFetch(t, "", site)
		for _, path := range []string{"/text", "/html", "/json"} {
			for _, format := range []string{"text", "markdown", "raw"} {
				for _, size := range []int{1 + random.IntN(7), 10 + random.IntN(90), 1000, 50_000} {
					if size < 8 && (path != "/text" || format != "raw" && seed > 0) {
						continue // a call for each character takes a while
					}
					before := served.Load()
					joined, parts := c.join(site+path, size, "format", format)
					if n := served.Load() - before; n != 1 {
						t.Errorf("seed %d, %s: %d parts took %d requests", seed, path, parts, n)
					}
					if path == "/text" && joined != fmt.Sprintf("%s!%d", text, served.Load()) {
						t.Errorf("seed %d: parts of %d characters make another whole", seed, size)
					}
					// The same state of it in one part.
					if whole := partOf(t, c.fetch(site+path, "maxChars", 1_000_000, "start_index", 1, "format",
						format)); string([]rune(joined)[:1])+whole.text != joined {
						t.Errorf("seed %d, %s as %s: parts of %d characters make another whole", seed, path, format, size)
					}
				}
			}
		}
		c.ping()
	}
}

// TestWebFetchLength has results of 50,000 characters, as web_fetch promises,
// though those of other tools are shorter, unless the operator wants them so.
func TestWebFetchLength(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 8_500)
	site := serveSite(t, map[string]http.HandlerFunc{"/long": body("text/plain", text),
		"/wide": body("text/plain; charset=utf-8", strings.Repeat("日", 85_000))})
	for _, config := range []string{"", "limits: {max_result_chars: 60000}\n", "limits: {max_result_chars: 200000}\n"} {
		c := openFetch(t, config, site)
		for path, want := range map[string]string{"/long": text[:50_000], "/wide": strings.Repeat("日", 50_000)} {
			p := partOf(t, c.fetch(site+path))
			if p.text != want || p.next != 50_000 || p.all != 85_000 {
				t.Errorf("%q, %s: %d characters of %d", config, path, p.length, p.all)
			}
		}
		if whole, parts := c.join(site+"/long", 50_000); whole != text || parts != 2 {
			t.Errorf("%q: %d parts, %d characters", config, parts, len(whole))
		}
		if config == "limits: {max_result_chars: 200000}\n" {
			if p := partOf(t, c.fetch(site+"/long", "maxChars", 100_000)); p.text != text {
				t.Errorf("all of it: %d characters", p.length)
			}
		}
	}
	c := openFetch(t, "limits: {max_result_chars: 10000}\n", site)
	a := c.fetch(site + "/long")
	if n := utf8.RuneCountInString(a.text()); a.failed() || n > 10_000 || n < 9_000 || strings.Contains(a.text(), "read_large_result") {
		t.Errorf("with a limit of 10,000 characters there are %d: %.200s", n, a.text())
	}
	if p := partOf(t, a); p.length != len(p.text) || p.next != len(p.text) {
		t.Errorf("%d characters are said to be %d, and the next part to begin at %d", len(p.text), p.length, p.next)
	}
	if whole, parts := c.join(site+"/long", 9_000); whole != text || parts != 10 {
		t.Errorf("with a limit of 10,000 characters: %d parts, %d characters", parts, len(whole))
	}
	if p := partOf(t, c.fetch(site+"/long", "maxChars", 5_000)); p.text != text[:5_000] {
		t.Errorf("with maxChars there are %d characters", p.length)
	}
	c.ping()
}
