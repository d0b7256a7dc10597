package files_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

// encodings of a text in the files that are searched.
var encodings = map[string]func(string) string{
	"plain":    func(s string) string { return s },
	"crlf":     func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"utf8mark": func(s string) string { return "\uFEFF" + s },
	"utf16le":  func(s string) string { return wide(s, false) },
	"utf16be":  func(s string) string { return wide(s, true) },
	"nul":      func(s string) string { return "\x00\x01\n" + s },
	"latin1":   func(s string) string { return strings.ReplaceAll(s, "é", "\xe9") },
	"long":     func(s string) string { return s + strings.Repeat("padding\n", 50_000) + s },
	"longwide": func(s string) string { return wide(s+strings.Repeat("padding\n", 50_000)+s, false) },
}

func wide(s string, big bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune("\uFEFF" + s)) {
		if high, low := byte(u>>8), byte(u); big {
			b.Write([]byte{high, low})
		} else {
			b.Write([]byte{low, high})
		}
	}
	return b.String()
}

// TestLikeRipgrep compares with rg: patterns, encodings, and files that are named or found. What
// differs: rg needs -U for a pattern of several lines, and finds the beginning of a file
// of which a NUL comes late.
func TestLikeRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("there is no rg")
	}
	b := newBench(t, declare.From[files.Options]{}, nil)
	const text = "first line\nfoo(bar) a[0]\nsecond café\n\nfunc main() {\n\tx := 1\n}\nlast line without end"
	for name, encode := range encodings {
		b.put(t, "dirs/"+name+"/f", encode(text))
		if !strings.HasPrefix(name, "long") {
			b.put(t, "all/"+name, encode(text))
		}
	}
	for _, pattern := range []string{
		"^first", "first", "line", "^", "$", `end$`, "café", "é", `foo\(bar\)`, "foo(bar)", `a\[0\]`, "FIRST", "x :=", `\bline\b`, `[^a-z]1`, `\s+x`, `^\s*$`, "nothing",
		`\{\n\tx`, `line\nfoo`, `(?s)main.*\}`, `café\n\nfunc`, `[\s\S]*second`, `end\n`, `\n`, `bar\)[^\n]*\nsecond`, `(?i)FUNC`,
	} {
		args := []string{"-n", "--no-heading", "--with-filename", "--sort=path", "--no-config", "--no-mmap", "--color=never"}
		if strings.Contains(pattern, `\n`) || strings.Contains(pattern, "(?s)") || strings.Contains(pattern, `[\s\S]`) {
			args = append(args, "-U")
		}
		for path := range strings.SplitSeq("all "+strings.Join(named(), " "), " ") {
			if strings.Contains(path, "long") && (strings.Contains(pattern, "s)") || strings.Contains(pattern, `\S`) || regexp.MustCompile(pattern).MatchString("padding\n")) {
				continue // all of it is too long for an answer
			}
			quoted, _ := json.Marshal(pattern)
			res := b.call(t, "grep", fmt.Sprintf(`{"pattern":%s,"path":%q,"max_results":10000,"gitignore":false}`, quoted, path))
			got := lines(tooltest.Text(res))
			command := exec.Command(rg, append(args, "-e", pattern, path)...)
			command.Dir = b.dir
			out, _ := command.Output() // whose status says whether there is anything
			if want := lines(string(out)); !slices.Equal(got, want) {
				t.Errorf("%s in %s:\n got %.600q\nwant %.600q", pattern, path, got, want)
			}
		}
	}
}

func named() (paths []string) {
	for name := range encodings {
		paths = append(paths, filepath.ToSlash(filepath.Join("dirs", name, "f")))
	}
	slices.Sort(paths)
	return paths
}

// lines returns what an answer found, in order, without its notes.
func lines(text string) (found []string) {
	for line := range strings.Lines(text) {
		line = strings.ToValidUTF8(strings.TrimRight(line, "\r\n"), "\uFFFD")
		switch {
		case strings.Contains(line, "binary file matches"):
			path, _, _ := strings.Cut(line, ":")
			line = path + ": binary file matches"
		case line == "", strings.HasPrefix(line, "["), strings.HasPrefix(line, "No matches"):
			continue
		}
		found = append(found, line)
	}
	slices.Sort(found)
	return found
}
