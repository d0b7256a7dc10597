package frontmatter_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/frontmatter"
)

func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"---\nname: a\ndescription: b\n---\nBody\n":                        `{"name":"a","description":"b"}`,
		"---\r\nname: a\r\n---\r\nBody":                                    `{"name":"a"}`,
		"---\nname: a\n---":                                                `{"name":"a"}`,
		"---\nx: |\n  one\n  two\ny: >\n  one\n  two\nz: \"a\\tb\"\n---\n": `{"x":"one\ntwo\n","y":"one two\n","z":"a\tb"}`,
		"---\na: 1\nb: -1.5\nc: true\nd: null\ne:\nf: yes\ng: 2024-01-31\nh: [x, {y: z}]\n'2': x\n---\n": `{"a":1,"b":-1.5,"c":true,"d":null,"e":null,"f":"yes",` +
			`"g":"2024-01-31","h":["x",{"y":"z"}],"2":"x"}`,
		"---\nmetadata:\n  version: \"1.0\"\n  é: ü\n--- \n---\n": `{"metadata":{"version":"1.0","é":"ü"}}`,
		"\ufeff---\nname: a\n---\n":                               "byte order mark",
		"---\nname: \xff\n---\n":                                  "not UTF-8",
		"name: a\n":                                               "does not begin",
		"":                                                        "does not begin",
		"---\nname: a\n":                                          "does not end",
		"---\n---\n":                                              "is empty",
		"---\n- a\n---\n":                                         "no mapping",
		"---\ntext\n---\n":                                        "no mapping",
		"---\na: [\n---\n":                                        "not valid YAML",
		"---\na: 1\na: 2\n---\n":                                  "already defined",
		"---\na: &x 1\nb: *x\n---\n":                              "anchor",
		"---\n1: x\n---\n":                                        "key that is no text",
		"---\n<<: {a: b}\n---\n":                                  "key that is no text",
		"---\na: 010\n---\n":                                      "do not agree",
		"---\na: 0x1f\n---\n":                                     "do not agree",
		"---\na: .inf\n---\n":                                     "do not agree",
		"---\na: !foo b\n---\n":                                   "kind that JSON",
		"---\na: !!binary YQ==\n---\n":                            "kind that JSON",
		"---\na: b\n...\nc: d\n---\n":                             "more than one document",
		"---\na: " + strings.Repeat("[", 30) + strings.Repeat("]", 30) + "\n---\n": "too deep",
		"---\na: [" + strings.Repeat("x,", 3000) + "]\n---\n":                      "too many items",
		"---\na: " + strings.Repeat("x", 70<<10) + "\n---\n":                       "does not end",
	} {
		got, err := frontmatter.Of([]byte(text))
		if err == nil && !frontmatter.Same(got, json.RawMessage(want)) || err != nil && (strings.HasPrefix(want, "{") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60q: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestSame(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{`{"a":1,"b":"x"}`, `{ "b":"\u0078","a":1.0}`}: true,
		{`{"a":1}`, `{"a":"1"}`}:                       false,
		{`{"a":1}`, `{"a":1,"b":null}`}:                false,
		{`{`, `{`}:                                     false,
	} {
		if got := frontmatter.Same([]byte(pair[0]), []byte(pair[1])); got != want {
			t.Errorf("%v: %t", pair, got)
		}
	}
}

// FuzzOf checks that nothing in a file does harm, and that what is read is a JSON object.
func FuzzOf(f *testing.F) {
	for _, seed := range []string{"name: a\nb: [1, {c: d}]", "a: |\n  x", "? a\n: b", "a: &x [*x]", "<<: *a", "!!map {a: !!str 1}", "a: \"\\x00\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := frontmatter.Of([]byte("---\n" + text + "\n---\n"))
		var object map[string]any
		if err == nil && (json.Unmarshal(got, &object) != nil || object == nil) {
			t.Errorf("%q: %s", text, got)
		}
		if err == nil && !frontmatter.Same(got, got) {
			t.Errorf("%q: %s is not itself", text, got)
		}
	})
}
