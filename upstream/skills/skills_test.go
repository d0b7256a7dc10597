package skills_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/upstream/skills"
	"github.com/toolserver/toolserver/wire/rawjson"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// entry returns an entry with two files, those of a nested directory first.
func entry(root string) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(`{"uri":"ROOT/SKILL.md","frontmatter":{"name":"refunds","description":"d","x":[1,{"y":null}]},"resources":[`+
		`{"uri":"ROOT/a/b.md","digest":"`+digest+`","size":3},{"uri":"ROOT/SKILL.md","digest":"`+digest+`","size":9}]}`, "ROOT", root))
}

func TestRead(t *testing.T) {
	for root, want := range map[string]string{
		"skill://refunds":                "s/refunds",
		"skill://acme/billing/refunds":   "s/acme/billing/refunds",
		"github://owner/repo/refunds":    "s/github:/owner/repo/refunds",
		"https://example.com/x/refunds":  "s/https:/example.com/x/refunds",
		"skill://toolserver/refunds":     "s/toolserver/refunds",
		"skill://s/refunds":              "s/s/refunds",
		"skill://github:/owner/refunds%": "s/github:/owner/refunds%",
	} {
		e, err := skills.Read("s", entry(root))
		if err != nil || e.Path != want || e.Skill.URI() != "skill://"+want+"/SKILL.md" {
			t.Errorf("%s: %s, %v", root, e.Path, err)
		}
		if len(e.Files) != 2 || e.Files[1].URI != "skill://"+want+"/a/b.md" || e.Own(e.Files[1].URI) != root+"/a/b.md" || e.Own("skill://"+want) != root {
			t.Errorf("%s: %v", root, e.Files)
		}
	}
}

// TestOdd has every member of an entry of every wrong kind, and missing: none of these is read, or the catalog leaves it out.
func TestOdd(t *testing.T) {
	wrong := []string{``, `null`, `true`, `7`, `-1`, `1.5`, `1e400`, `""`, `"x"`, `"skill://other/SKILL.md"`, `"../x"`, `[]`, `[7]`, `[null]`, `{}`, `{"name":7}`, `"dynamic "`}
	good := entry("skill://acme/refunds")
	tried := 0
	try := func(raw json.RawMessage, what string) {
		tried++
		e, err := skills.Read("s", raw)
		if err != nil {
			return
		}
		s := e.Skill
		s.Read = func(_ context.Context, _ string) (body []byte, mime string, err error) { return nil, "", nil }
		registry, err := domain.NewRegistry()
		if err != nil {
			t.Fatal(err)
		}
		registry.Register(domain.FixedSource("s", domain.Offer{Skills: []domain.Skill{s}}, nil))
		if len(registry.Catalog().Missing()) != 1 {
			t.Errorf("%s is offered: %s", what, raw)
		}
	}
	set := func(object json.RawMessage, name, value string) json.RawMessage {
		if object = rawjson.Without(object, name); value != "" {
			object = rawjson.With(object, name, json.RawMessage(value))
		}
		return object
	}
	for _, value := range wrong {
		if value != "" {
			try(json.RawMessage(value), "an entry")
		}
		for _, name := range []string{"uri", "frontmatter", "resources"} {
			try(set(good, name, value), name)
		}
		for _, name := range []string{"metadata", "compatibility"} {
			if value != "" && value != "{}" && !(name == "compatibility" && value[0] == '"' && value != `""`) {
				try(set(good, "frontmatter", string(set(rawjson.Member(good, "frontmatter"), name, value))), name)
			}
		}
		for _, name := range []string{"name", "description"} {
			if name != "description" || value != `"x"` && value != `"skill://other/SKILL.md"` && value != `"../x"` && value != `"dynamic "` {
				try(set(good, "frontmatter", string(set(rawjson.Member(good, "frontmatter"), name, value))), name)
			}
		}
		var files []json.RawMessage
		if err := json.Unmarshal(rawjson.Member(good, "resources"), &files); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"uri", "digest", "size"} {
			if name == "size" && value == "7" {
				continue
			}
			changed := slices.Clone(files)
			changed[0] = set(files[0], name, value)
			list, err := json.Marshal(changed)
			if err != nil {
				continue // 1e400
			}
			try(set(good, "resources", string(list)), name)
		}
		if value != "" {
			try(set(good, "resources", "["+value+"]"), "a file")
		}
	}
	twice := strings.Replace(string(good), "a/b.md", "SKILL.md", 1)
	for _, raw := range []string{twice, strings.Replace(string(good), "a/b.md", "../b.md", 1), strings.Replace(string(good), "a/b.md", "a/b.md?x", 1),
		strings.Replace(string(good), "a/b.md", "a//b.md", 1), strings.Replace(string(good), "a/b.md", "a b.md", 1),
		strings.ReplaceAll(string(good), "skill://acme", "skill:///acme"), strings.ReplaceAll(string(good), "acme/refunds", "acme/../refunds"),
		strings.Replace(string(good), digest, strings.ToUpper(digest), 1), strings.Replace(string(good), `"size":3`, `"size":16777217`, 1),
		strings.ReplaceAll(string(good), "acme/refunds", "acme/other"),
		strings.Replace(string(good), "a/b.md", "SKILL%2Emd", 1), strings.Replace(string(good), `acme/refunds/SKILL.md","digest`, `acme/refunds/SKILL%2Emd","digest`, 1),
		strings.Replace(string(good), `"name":"refunds"`, `"name":"refunds","name":"other"`, 1), strings.Replace(string(good), `"name":"refunds"`, `"name":"refunds","name":7`, 1),
		strings.Replace(string(good), "a/b.md", "%2e%2e/b.md", 1),
		strings.Replace(string(good), "a/b.md", "a%2Fb.md", 1), strings.Replace(string(good), "a/b.md", "a%00", 1), strings.Replace(string(good), "a/b.md", "a%", 1)} {
		try(json.RawMessage(raw), "an entry")
	}
	if tried < 120 {
		t.Errorf("only %d tried", tried)
	}
}

func TestPinned(t *testing.T) {
	a := entry("skill://refunds")
	b := json.RawMessage(strings.NewReplacer(`{"uri":"skill://refunds/a/b.md","digest":"`+digest+`","size":3},`, "",
		`"size":9}]`, `"size":9},{"uri":"skill://refunds/a/b.md","digest":"`+digest+`","size":3}]`).Replace(string(a)))
	if x, y := skills.Pinned("s", a), skills.Pinned("s", b); string(a) == string(b) || string(x) != string(y) || len(x) < 100 {
		t.Errorf("%s\n%s", x, y)
	}
	for _, odd := range []string{`7`, `null`, `{}`, `{"resources":7}`, `[]`, `"x"`} {
		if p := skills.Pinned("s", json.RawMessage(odd)); p != nil {
			t.Errorf("%s: %s", odd, p)
		}
	}
}

func TestVerify(t *testing.T) {
	e, err := skills.Read("s", entry("skill://refunds"))
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		"---\nname: refunds\ndescription: d\nx: [1, {y: null}]\n---\n":       true,
		"---\nx:\n- 1\n- y:\ndescription: d\nname: refunds\n---\nText.\n":    true,
		"---\nname: refunds\ndescription: other\nx: [1, {y: null}]\n---\n":   false,
		"---\nname: refunds\ndescription: d\n---\n":                          false,
		"---\nname: refunds\ndescription: d\nx: [1, {y: null}]\nz: 1\n---\n": false,
		"---\nname: refunds\ndescription: d\nx: [\"1\", {y: null}]\n---\n":   false,
		"# no frontmatter": false,
		"":                 false,
	} {
		raw := rawjson.With(json.RawMessage("{}"), "text", rawjson.AppendString(nil, text))
		body, _, err := e.File("skill://s/refunds/SKILL.md", []domain.Content{{URI: "skill://s/refunds/SKILL.md", Raw: raw}})
		if (err == nil) != ok || ok && string(body) != text {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestChildren(t *testing.T) {
	e, err := skills.Read("s", json.RawMessage(`{"uri":"skill://a/refunds/SKILL.md","frontmatter":{},"resources":"dynamic"}`))
	if err != nil || !e.Dynamic {
		t.Fatal(e, err)
	}
	page := `{"resources":[{"uri":"skill://a/refunds/x/y.md","name":"why","mimeType":"text/markdown"},{"uri":"skill://a/refunds/x/z","mimeType":"inode/directory"},` +
		`{"uri":"skill://a/refunds/x/../y"},{"uri":"skill://a/refunds/x"},{"uri":"skill://b/x/y"},{"uri":7},7,null,{},{"uri":"skill://a/refunds/x/.."},{"uri":"skill://a/refunds/x/"}],"nextCursor":"2"}`
	got, next := e.Children("skill://s/a/refunds/x", json.RawMessage(page))
	if next != "2" || len(got) != 2 || got[0].URI != "skill://s/a/refunds/x/y.md" || got[0].Name != "why" || got[1].URI != "skill://s/a/refunds/x/z" || got[1].Name != "z" {
		t.Errorf("%v", got)
	}
	for _, odd := range []string{`{}`, `7`, `{"resources":7}`, `{"resources":null}`} {
		if got, next := e.Children("skill://s/a/refunds", json.RawMessage(odd)); got != nil || next != "" {
			t.Errorf("%s: %v", odd, got)
		}
	}
}
