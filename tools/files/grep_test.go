package files_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/fakes/walktest"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

func TestGrep(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, deny("secret"))
	b.put(t, "a.go", "package a\nfunc One() {}\n\n// one two\nfunc Two() {}\n", "sub/b.go", "x\none\r\ny\n", "sub/c.txt", "ONE and one\n",
		"bin", "one\x00one\n", ".hidden", "one\n", "secret/k", "one\n", "ignored.log", "one\n", "sub/x.log", "one\n", ".git/HEAD", "x\n", ".gitignore", "*.log\n/out/\n", "out/d/o.txt", "output\n",
		"long", strings.Repeat("x", 3000)+"needle"+strings.Repeat("y", 3000)+"\n", "latin", "caf\xE9 au lait\n", "dot.star", "a.*b\n")
	b.run(t, "grep", []tooltest.Case{
		{Name: "content", Args: `{"pattern":"one"}`, Exact: "a.go:4:// one two\nsub/b.go:2:one\nsub/c.txt:1:ONE and one",
			Check: hasMeta(`{"matches":3,"files":3,"searched":6,"truncated":false}`)},
		{Name: "ignore case", Args: `{"pattern":"ONE","ignore_case":true,"glob":"*.go"}`, Exact: "a.go:2:func One() {}\na.go:4:// one two\nsub/b.go:2:one"},
		{Name: "files", Args: `{"pattern":"one","mode":"files"}`, Exact: "a.go\nsub/b.go\nsub/c.txt", Check: hasMeta(`{"matches":3,"files":3,"searched":6,"truncated":false}`)},
		{Name: "count", Args: `{"pattern":"^func","mode":"count"}`, Exact: "a.go:2"},
		{Name: "context", Args: `{"pattern":"^func","context":1,"path":"a.go"}`,
			Exact: "a.go-1-package a\na.go:2:func One() {}\na.go-3-\na.go-4-// one two\na.go:5:func Two() {}"},
		{Name: "groups", Args: `{"pattern":"package|y","context":1,"glob":"*.go"}`, Exact: "a.go:1:package a\na.go-2-func One() {}\n--\nsub/b.go-2-one\nsub/b.go:3:y"},
		{Name: "groups in a file", Args: `{"pattern":"package|Two","context":1,"path":"a.go"}`,
			Exact: "a.go:1:package a\na.go-2-func One() {}\n--\na.go-4-// one two\na.go:5:func Two() {}"},
		{Name: "glob of a path", Args: `{"pattern":"one","glob":"sub/*.txt"}`, Exact: "sub/c.txt:1:ONE and one"},
		{Name: "directory", Args: `{"pattern":"one","path":"sub/"}`, Exact: "sub/b.go:2:one\nsub/c.txt:1:ONE and one"},
		{Name: "absolute", Args: `{"pattern":"ONE","path":"` + b.dir + `/sub/c.txt"}`, Exact: b.dir + "/sub/c.txt:1:ONE and one"},
		{Name: "hidden", Args: `{"pattern":"one","include_hidden":true,"mode":"files"}`, Exact: ".hidden\na.go\nsub/b.go\nsub/c.txt"},
		{Name: "hidden by its name", Args: `{"pattern":"one","glob":".hid*"}`, Exact: ".hidden:1:one"},
		{Name: "ignored", Args: `{"pattern":"one","gitignore":false,"glob":"*.log"}`, Exact: "ignored.log:1:one\nsub/x.log:1:one"},
		{Name: "ignored file itself", Args: `{"pattern":"one","path":"ignored.log"}`, Exact: "ignored.log:1:one"},
		{Name: "in an ignored directory", Args: `{"pattern":"output","path":"out/d"}`, Exact: "out/d/o.txt:1:output"},
		{Name: "ignored from above", Args: `{"pattern":"one","path":"sub","glob":"*.log"}`, Want: "No matches"},
		{Name: "fixed", Args: `{"pattern":".*b","fixed_string":true}`, Exact: "dot.star:1:a.*b"},
		{Name: "not utf-8", Args: `{"pattern":"au lait"}`, Exact: "latin:1:caf\uFFFD au lait"},
		{Name: "limit", Args: `{"pattern":"one|func","max_results":2}`, Exact: "a.go:2:func One() {}\na.go:4:// one two\n[3 more matching lines; narrow the pattern, or raise max_results]",
			Check: hasMeta(`{"matches":5,"files":3,"searched":6,"truncated":true}`)},
		{Name: "limit reached exactly", Args: `{"pattern":"one","max_results":3}`, Exact: "a.go:4:// one two\nsub/b.go:2:one\nsub/c.txt:1:ONE and one"},
		{Name: "limit and context", Args: `{"pattern":"func","context":1,"max_results":1}`, Exact: "a.go-1-package a\na.go:2:func One() {}\na.go-3-\n[1 more matching line; narrow the pattern, or raise max_results]"},
		{Name: "limit of files", Args: `{"pattern":"one","mode":"files","max_results":1}`, Exact: "a.go\n[2 more files; narrow the pattern, or raise max_results]"},
		{Name: "none", Args: `{"pattern":"nowhere","path":"sub"}`, Exact: `No matches found for "nowhere" in sub (searched 2 files).`,
			Check: hasMeta(`{"matches":0,"files":0,"searched":2,"truncated":false}`)},
		{Name: "none in a file", Args: `{"pattern":"nowhere","path":"a.go"}`, Exact: `No matches found for "nowhere" in a.go (searched 1 file).`},
		{Name: "bad pattern", Args: `{"pattern":"a(b"}`, Wants: []string{"invalid pattern", "a(b"}, ErrorType: "invalid_pattern"},
		{Name: "look-around", Args: `{"pattern":"x(?=y)"}`, Want: "without look-around", ErrorType: "invalid_pattern"},
		{Name: "bad glob", Args: `{"pattern":"a","glob":"{a"}`, ErrorType: "invalid_pattern"},
		{Name: "missing", Args: `{"pattern":"a","path":"sub/b.rs"}`, Want: `did you mean sub/b.go? Call grep again with path="sub/b.go"`, ErrorType: "not_found"},
	})
	text := tooltest.Text(b.call(t, "grep", `{"pattern":"needle"}`))
	if len(text) > 600 || !strings.Contains(text, "xneedley") || !strings.HasSuffix(text, "[line cut]") {
		t.Errorf("a long line is not cut around its match: %d bytes: %s", len(text), text)
	}
	b.put(t, "many", strings.Repeat("hit\n", 5000))
	text = tooltest.Text(b.call(t, "grep", `{"pattern":"hit","max_results":3}`))
	if !strings.HasSuffix(text, "many:3:hit\n[4997 more matching lines; narrow the pattern, or raise max_results]") {
		t.Errorf("a file with many matches: %s", text)
	}
}

// TestGrepAgainstRipgrep compares the answers with those of ripgrep over a tree
// of source files.
// TestGrepInstead has patterns that were meant otherwise, and files that are not plain text.
func TestGrepInstead(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, "a.txt", "foo(bar) a[0] $x f( c++ a.b\n", "bin", "\x00foo\n", "marked", "\uFEFFfirst\n", "wide", "\xff\xfef\x00i\x00r\x00s\x00t\x00")
	const there = "The text is there literally: call grep again with fixed_string: true."
	b.run(t, "grep", []tooltest.Case{
		{Name: "call", Args: `{"pattern":"foo(bar)"}`, Want: there},
		{Name: "index", Args: `{"pattern":"a[0]"}`, Want: there},
		{Name: "variable", Args: `{"pattern":"$x"}`, Want: there},
		{Name: "operator", Args: `{"pattern":"c++","ignore_case":true}`, Want: "give fixed_string: true", ErrorType: "invalid_pattern"},
		{Name: "unbalanced", Args: `{"pattern":"f("}`, Want: "give fixed_string: true", ErrorType: "invalid_pattern"},
		{Name: "not there", Args: `{"pattern":"baz(x)"}`, Exact: `No matches found for "baz(x)" in . (searched 3 files).` + "\n[1 binary file not searched]"},
		{Name: "basic syntax", Args: `{"pattern":"foo\\|bar"}`, Want: "In RE2 alternatives are a|b"},
		{Name: "look-behind", Args: `{"pattern":"(?<=x)y"}`, Want: "without look-around", ErrorType: "invalid_pattern"},
		{Name: "marks", Args: `{"pattern":"^first$"}`, Exact: "marked:1:first\nwide:1:first"},
		{Name: "binary", Args: `{"pattern":"foo","path":"bin"}`, Exact: "bin: binary file matches"},
		{Name: "binary, counted", Args: `{"pattern":"foo","path":"bin","mode":"count"}`, Exact: "bin:1"},
		{Name: "lines", Args: `{"pattern":"\\(bar\\)[^\\n]*\\n","context":1}`, Exact: "a.txt:1:foo(bar) a[0] $x f( c++ a.b"},
	})
	b.put(t, "large.txt", strings.Repeat("x\n", 9<<20)+"y\nz\n")
	b.run(t, "grep", []tooltest.Case{
		{Name: "in pieces", Args: `{"pattern":"y\\nz"}`, Exact: "large.txt:9437185:y\nlarge.txt:9437186:z"},
	})
}

func TestGrepAgainstRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep is not installed")
	}
	b := newBench(t, declare.From[files.Options]{}, nil)
	if err := walktest.Build(b.dir, 2000); err != nil {
		t.Fatal(err)
	}
	registry, err := domain.NewRegistry(b.tools["grep"])
	if err != nil {
		t.Fatal(err)
	}
	whole := call.NewExecutor(registry, call.NewResultStore(0), domain.Settings{Limits: domain.Limits{MaxResultChars: 10 << 20}}, nil)
	b.put(t, ".gitignore", "*.json\n/dir0001/\n", "dir0002/.gitignore", "!*.json\n*.py\n")
	for _, c := range []struct {
		args  string
		flags []string
	}{
		{`"pattern":"needleLiteral|fooXYZbar"`, []string{"-e", "needleLiteral|fooXYZbar"}},
		{`"pattern":"needleLiteral","context":2`, []string{"-C2", "-e", "needleLiteral"}},
		{`"pattern":"2024-0[0-9]","ignore_case":true,"context":1`, []string{"-i", "-C1", "-e", "2024-0[0-9]"}},
		{`"pattern":"response handler","mode":"files"`, []string{"-l", "-e", "response handler"}},
		{`"pattern":"^\\tfunc .*nil","mode":"count"`, []string{"-c", "-e", "^\tfunc .*nil"}},
		{`"pattern":"return nil","glob":"*.go"`, []string{"-g", "*.go", "-e", "return nil"}},
		{`"pattern":"return nil error","gitignore":false`, []string{"--no-ignore", "-e", "return nil error"}},
	} {
		flags := append([]string{"--no-heading", "-n", "--sort=path", "--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--no-messages"}, c.flags...)
		if slices.Contains(c.flags, "-c") || slices.Contains(c.flags, "-l") {
			flags = slices.DeleteFunc(flags, func(f string) bool { return f == "-n" })
		}
		cmd := exec.Command(rg, flags...)
		cmd.Dir, cmd.Stdin = b.dir, nil
		cmd.Args = append(cmd.Args, "./")
		want, err := cmd.Output()
		if err != nil {
			t.Fatalf("rg %q: %v", flags, err)
		}
		want = bytes.ReplaceAll(append([]byte("\n"), want...), []byte("\n./"), []byte("\n"))
		res, err := whole.Call(t.Context(), call.ExecuteToolCommand{Tool: "grep", Arguments: json.RawMessage(`{` + c.args + `,"max_results":10000}`)})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := sortedGroups(tooltest.Text(res)), sortedGroups(string(want)); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %d groups %.600q\nwant %d groups %.600q", c.args, len(got), got, len(want), want)
		}
	}
}

// sortedGroups returns the parts between "--" lines; without any, the lines.
// ripgrep orders directories otherwise.
func sortedGroups(s string) []string {
	sep := "\n"
	if strings.Contains(s, "\n--\n") {
		sep = "\n--\n"
	}
	list := strings.Split(strings.Trim(s, "\n"), sep)
	slices.Sort(list)
	return list
}
