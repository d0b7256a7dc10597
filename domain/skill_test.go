package domain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// newSkill returns a skill of so many files, each of which has its address as its text.
func newSkill(path string, files int) Skill {
	name := path[strings.LastIndex(path, "/")+1:]
	s := Skill{Path: path, Frontmatter: json.RawMessage(`{"name":"` + name + `","description":"x"}`)}
	for i := range files {
		uri := s.URI()
		if i > 0 {
			uri = fmt.Sprintf("%sd/%03d", s.under(), i)
		}
		s.Files = append(s.Files, SkillFile{URI: uri, Digest: Digest([]byte(uri)), Size: int64(len(uri))})
	}
	s.Read = func(_ context.Context, uri string) ([]byte, string, error) { return []byte(uri), "", nil }
	return s
}

// TestSkillPages bounds the files of a page, and never splits an entry.
func TestSkillPages(t *testing.T) {
	r, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	var o Offer
	for i := range 10 {
		o.Skills = append(o.Skills, newSkill(fmt.Sprintf("s%d", i), MaxSkillFiles))
	}
	r.Register(FixedSource("skills", o, nil))
	var sizes []int
	for cursor := ""; ; {
		page, next, err := r.Catalog().ListSkills(Principal{}, cursor)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page))
		if cursor = next; cursor == "" {
			break
		}
	}
	if !slices.Equal(sizes, []int{4, 4, 2}) {
		t.Errorf("pages of %v skills", sizes)
	}
}

// TestSkillAddresses has files of skills before whatever else has their addresses, and withholds those of other servers under all of these.
func TestSkillAddresses(t *testing.T) {
	r, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := newSkill("refunds", 2), newSkill("up/refunds", 2)
	theirs.Origins = []string{"skill://refunds/", "mcp://up/skill://refunds/"}
	raw := func(context.Context, Location) (ToolResult, error) { return ToolResult{}, nil }
	r.Register(FixedSource("skills", Offer{Skills: []Skill{ours, theirs}, Resources: []Resource{
		{Template: "mcp://up/skill://{+path}", Alias: "skill://{+path}", Name: "up__all", ReadRaw: raw},
		{URI: "mcp://up/", Name: "up__*", Linked: func(string, string) bool { return false }, ReadRaw: raw},
	}}, nil))
	read := func(uri string) string {
		found, at, err := r.Catalog().FindResource(Principal{Groups: []string{"guests"}}, uri)
		if err != nil {
			return "none"
		}
		res, err := found.ReadRaw(t.Context(), at)
		if err != nil {
			return err.Error()
		}
		if len(res.Content) == 0 {
			return found.Name
		}
		return res.Content[0].Text
	}
	check := func(when string, want map[string]string) {
		t.Helper()
		for uri, text := range want {
			if got := read(uri); got != text {
				t.Errorf("%s: %s is %s; want %s", when, uri, got, text)
			}
		}
	}
	check("all", map[string]string{
		"skill://refunds/SKILL.md": "skill://refunds/SKILL.md", "skill://up/refunds/d/001": "skill://up/refunds/d/001", "skill://other/x": "up__all",
		"mcp://up/skill://refunds/SKILL.md": "up__all", "mcp://up/else": "up__*",
	})
	r.Configure(Settings{Skills: map[string]Override{"up/refunds": {Groups: []string{"staff"}}}})
	check("withheld", map[string]string{
		"skill://refunds/SKILL.md": "skill://refunds/SKILL.md", "skill://up/refunds/d/001": "up__all", "mcp://up/skill://refunds/SKILL.md": "none",
		"mcp://up/skill://refunds/%53KILL.md": "none", "skill://refunds/d/009": "none", "mcp://up/else": "none",
	})
}
