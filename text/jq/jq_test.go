package jq_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/text/jq"
)

// TestMain lets the test binary be a child.
func TestMain(m *testing.M) {
	if code, isChild := jq.RunChild(); isChild {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestSelect(t *testing.T) {
	for _, test := range []struct{ program, value, want, wrong string }{
		{program: ".", value: `{"b":1.50,"a":"x"}`, want: `{"a":"x","b":1.50}`},
		{program: ".[].name", value: `[{"name":"a\nb"},{"name":null},{"name":12345678901234567890}]`, want: "a\nb\nnull\n12345678901234567890"},
		{program: "map(select(.n > 1) | .n)", value: `[{"n":1},{"n":2}]`, want: `[2]`},
		{program: "empty", value: `1`},
		{program: `"é" | test("É"; "i")`, value: `1`, want: "true"},
		{program: ".a[]", value: `{"a":"text"}`, wrong: `select failed: cannot iterate over: string ("text")`},
		{program: "error(\"no\")", value: `1`, wrong: "select failed: error: no"},
		{program: "env, $ENV", value: `1`, want: "{}\n{}"},
		{program: "input", value: `1`, wrong: "t: select is no program of jq: input(s)/0 is not allowed"},
		{program: ".", value: `{`, wrong: "select applies to results that are JSON; this is not. All: x"},
	} {
		got, wrong := selected(t, t.Context(), test.program, test.value)
		if got != test.want || (wrong != "") != (test.wrong != "") || !strings.HasPrefix(wrong, test.wrong) {
			t.Errorf("%s of %s: %q, %s", test.program, test.value, got, wrong)
		}
	}
}

func TestCheck(t *testing.T) {
	for program, want := range map[string]string{
		".a | .b[]?": "", "": "is no program of jq: missing query",
		".a | | .b":          `is no program of jq: unexpected token "|" at byte 6`,
		".a[":                `is no program of jq: unexpected EOF at byte 4`,
		"nothing(1)":         "is no program of jq: function not defined: nothing/1",
		"$x":                 "is no program of jq: variable not defined: $x",
		`import "a" as a; .`: "is no program of jq: ",
	} {
		err := jq.Check(program)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", program, err, want)
		}
	}
}

// TestBounds runs programs that would never end, or take all memory.
func TestBounds(t *testing.T) {
	double := strings.Repeat("[.,.]|", 40)
	for program, want := range map[string]string{
		"[range(1e12)] | length":                          "takes more than",
		`"x" * 1e9 | length`:                              "takes more than",
		double + ".":                                      "takes more than",
		double + "tojson | length":                        "takes more than",
		"def f: [., .] | f; f":                            "takes more than",
		`reduce range(1e12) as $i ("xx"; . + .) | length`: "takes more than",
		`range(1e12) | "x" * 100000`:                      "outputs more than 16 MiB",
	} {
		if got, wrong := selected(t, t.Context(), program, "null"); !strings.HasPrefix(wrong, "select "+want) && !strings.HasPrefix(wrong, "select took too long") {
			t.Errorf("%s: %.100q, %s; want %q", program, got, wrong, want)
		}
	}
	for _, program := range []string{"def f: f; f", double + "first(recurse(if . == [] then empty else . end) | select(. == 1))"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, wrong := selected(t, ctx, program, "[]"); !strings.HasPrefix(wrong, "select took too long") {
			t.Errorf("%s: %s", program, wrong)
		}
		cancel()
	}
}

// selected returns what a program selects, or what is wrong.
func selected(t *testing.T, ctx context.Context, program, value string) (text, wrong string) {
	t.Helper()
	r, err := jq.New(os.Args[0]).Select(ctx, "t", program, []byte(value), func() string { return "All: x" })
	switch {
	case err != nil:
		return "", err.Error()
	case r.IsError:
		return "", r.Content[0].Text
	}
	return r.Content[0].Text, ""
}
