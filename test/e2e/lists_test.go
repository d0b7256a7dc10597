package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestListsAreWhole reads a directory and a search page by page, in a server with ordinary
// results and one with the shortest: each page has the same entries in both of its forms,
// and all pages together have every entry once.
func TestListsAreWhole(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1000, 40_000} {
		config, dir := configured(t, fmt.Sprintf("limits: {max_result_chars: %d}\n", limit))
		must(t, os.Mkdir(filepath.Join(dir, "many"), 0o755))
		var want []string
		for i := range 3000 {
			name := fmt.Sprintf("file%04d%s.txt", i, strings.Repeat("ü", i%20))
			want = append(want, name)
			touch(t, filepath.Join(dir, "many", name))
		}
		slices.Sort(want)
		s := start(t, "--config", config)
		for tool, most := range map[string]string{"list_directory": "max_entries", "search_files": "max_results"} {
			var got []string
			for next := 0; ; {
				a := s.call(tool, map[string]any{"path": "many", most: 10_000, "offset": next})
				if a.failed() || a.Result.StructuredContent["result_id"] != nil || strings.Contains(a.text(), "read_large_result") {
					t.Fatalf("%s at %d: %.300s", tool, next, a.text())
				}
				names := namesOf(t, a.Result.StructuredContent)
				if said := strings.Count(a.text(), "file"); said != len(names) {
					t.Errorf("%s at %d: %d entries in the text, %d in structured content", tool, next, said, len(names))
				}
				got = append(got, names...)
				n, more := a.Result.StructuredContent["next_offset"].(float64)
				last := a.Result.Content[len(a.Result.Content)-1].Text
				if strings.Contains(last, fmt.Sprintf("call again with offset=%d]", len(got))) != more {
					t.Fatalf("%s: next_offset %v, and the text ends with %.200q", tool, n, last)
				}
				if !more {
					break
				}
				next = int(n)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s with %d characters: %d entries in all; want %d", tool, limit, len(got), len(want))
			}
		}
	}
}

// joined returns the text of an answer, with what says how to go on.
func joined(a answer) (text string) {
	for _, c := range a.Result.Content {
		text += c.Text
	}
	return text
}

// listCall calls a tool that lists, and returns the text and the structured content.
type listCall func(args map[string]any) (text string, structured map[string]any)

// pages reads a list to its end and returns its texts without what says how to go on, and the
// structured content of each page. No page is longer than most characters, or twice that as
// data, or is a pointer to the rest.
func (call listCall) pages(t *testing.T, args map[string]any, most int) (texts []string, pages []map[string]any) {
	t.Helper()
	args = maps.Clone(args)
	for next := 0.0; ; {
		args["offset"] = next
		all, structured := call(args)
		data, err := json.Marshal(structured)
		must(t, err)
		if structured == nil || structured["result_id"] != nil || utf8.RuneCountInString(all) > most || utf8.RuneCount(data) > 2*most {
			t.Fatalf("at %v: %d characters, %d as data: %.500s, %.500s", next, len(all), len(data), all, data)
		}
		text, how, more := strings.Cut(all, "\n[entries ")
		texts, pages = append(texts, text), append(pages, structured)
		following, ok := structured["next_offset"].(float64)
		if ok != more || more && !strings.Contains(how, fmt.Sprintf("there are more: call again with offset=%d", int(following))) {
			t.Fatalf("at %v: next_offset %v, and the text ends with %q", next, following, how)
		}
		if next = following; !ok {
			return texts, pages
		}
	}
}

// entriesOf returns the values that entries of a list in structured content have for a member.
func entriesOf(pages []map[string]any, list, member string) (all []string) {
	for _, page := range pages {
		entries, _ := page[list].([]any)
		for _, e := range entries {
			all = append(all, fmt.Sprint(e.(map[string]any)[member]))
		}
	}
	return all
}

// namesOf returns the names in the structured content of a list.
func namesOf(t *testing.T, structured map[string]any) (names []string) {
	t.Helper()
	b, err := json.Marshal(structured)
	must(t, err)
	var list struct {
		Entries []struct{ Name string }
		Matches []string
	}
	must(t, json.Unmarshal(b, &list))
	for _, e := range list.Entries {
		names = append(names, e.Name)
	}
	for _, m := range list.Matches {
		names = append(names, filepath.Base(m))
	}
	return names
}

// TestThousandFiles bounds what the commonest list costs: a line with a name and a size for
// each file, where 22,000 characters are 9,000 tokens.
func TestThousandFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 1000 {
		touch(t, filepath.Join(dir, fmt.Sprintf("file%04d.txt", i)))
	}
	a := start(t, dir).call("list_directory", map[string]any{})
	if n := strings.Count(a.text(), "\n") + 1; n != 1000 || len(a.text()) > 16_000 {
		t.Errorf("%d lines with %d characters", n, len(a.text()))
	}
}

// TestPlaces has the instructions name where the client may work, as the policy is then.
func TestPlaces(t *testing.T) {
	t.Parallel()
	config, dir := configured(t, "")
	must(t, os.Mkdir(filepath.Join(dir, "two"), 0o755))
	told := func(w *wire) string {
		w.send(modern(request("9", "server/discover", `{"x":1}`)))
		var r struct{ Instructions, CacheScope string }
		must(t, json.Unmarshal(w.answer("9").Result, &r))
		if r.CacheScope != "private" || len(r.Instructions) > 2000 {
			t.Errorf("%+v", r)
		}
		return r.Instructions
	}
	for policy, want := range map[string]string{
		"roots: [two]\ntools: {write_file: {allowed_paths: [output]}}\n": fmt.Sprintf("Relative paths start at %s. Files can be read in: %[1]s, %[1]s/two; written in: %[1]s/output. Commands can also write in $TMPDIR.", dir),
		"": fmt.Sprintf("Relative paths start at %s. Files can be read and written in: %[1]s.", dir),
		"tools: {bash: {enabled: false}, execute_command: {enabled: false}, write_file: {allowed_paths: []}}\n": "written in: no directory.",
	} {
		reconfigure(t, config, policy)
		w := open(t, binary(), "--config", config)
		if got := told(w); !strings.Contains(got, want) {
			t.Errorf("%q: %s", policy, got)
		}
		w = open(t, binary(), "--config", config)
		w.send(initializeMessage("2025-11-25"))
		if got := string(w.answer("0").Result); !strings.Contains(got, strings.ReplaceAll(want, "\"", "\\\"")) {
			t.Errorf("%q: %s", policy, got)
		}
	}
}
