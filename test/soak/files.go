//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folder is one client's, who alone writes there and so knows what it holds.
type folder struct {
	path  string              // as the server knows it
	lines map[string][]string // of each file
}

func (f *folder) make(dir, name string) error {
	f.path, f.lines = name, map[string][]string{}
	return os.Mkdir(filepath.Join(dir, name), 0o755)
}

func (f *folder) content(name string) string { return strings.Join(f.lines[name], "\n") + "\n" }

func (f *folder) names() []string { return slices.Sorted(maps.Keys(f.lines)) }

// file returns one of the files, of which the first call of all makes one.
func (c *client) file() (string, error) {
	if len(c.lines) == 0 {
		if err := c.writeFile(); err != nil {
			return "", err
		}
	}
	names := c.names()
	return names[c.rng.IntN(len(names))], nil
}

func (c *client) writeFile() error {
	name := fmt.Sprintf("f%d.txt", c.rng.IntN(8))
	var lines []string
	for range 1 + c.rng.IntN(1<<c.rng.IntN(10)) {
		lines = append(lines, line(c.rng, c.soak.number()))
	}
	_, existed := c.lines[name]
	c.lines[name] = lines
	content := c.content(name)
	res, err := c.call("write_file", map[string]any{"path": c.path + "/" + name, "content": content})
	if err != nil {
		return err
	}
	var got struct {
		Path    string
		Bytes   int
		Created bool
	}
	if err := json.Unmarshal(res.StructuredContent, &got); err != nil {
		return err
	}
	if got.Path != c.path+"/"+name || got.Bytes != len(content) || got.Created == existed {
		return fmt.Errorf("writing %d bytes to %s/%s, existing %t, was answered with %+v", len(content), c.path, name, existed, got)
	}
	return nil
}

func (c *client) readFile() error {
	name, err := c.file()
	if err != nil {
		return err
	}
	res, err := c.call("read_file", map[string]any{"path": c.path + "/" + name})
	if err != nil {
		return err
	}
	return difference(res.text(), c.content(name))
}

func (c *client) editFile() error {
	name, err := c.file()
	if err != nil {
		return err
	}
	lines := c.lines[name]
	i := c.rng.IntN(len(lines))
	before, after := lines[i], line(c.rng, c.soak.number())
	edits := []any{map[string]any{"old_text": before, "new_text": after}}
	res, err := c.call("edit_file", map[string]any{"path": c.path + "/" + name, "edits": edits})
	if err != nil {
		return err
	}
	lines[i] = after
	if text := res.text(); !strings.Contains(text, "\n-"+before+"\n+"+after+"\n") {
		return fmt.Errorf("replacing %q with %q in %s/%s was answered with %.500q", before, after, c.path, name, text)
	}
	return nil
}

// grep looks for the word that one line begins with.
func (c *client) grep() error {
	name, err := c.file()
	if err != nil {
		return err
	}
	i := c.rng.IntN(len(c.lines[name]))
	word, _, _ := strings.Cut(c.lines[name][i], " ")
	res, err := c.call("grep", map[string]any{"pattern": "^" + word + " ", "path": c.path})
	if err != nil {
		return err
	}
	return difference(res.text(), fmt.Sprintf("%s/%s:%d:%s", c.path, name, i+1, c.lines[name][i]))
}

func (c *client) searchFiles() error {
	if _, err := c.file(); err != nil {
		return err
	}
	res, err := c.call("search_files", map[string]any{"pattern": "*.txt", "path": c.path})
	if err != nil {
		return err
	}
	var got struct{ Matches []string }
	if err := json.Unmarshal(res.StructuredContent, &got); err != nil {
		return err
	}
	return c.compareNames(got.Matches)
}

// listDirectory calls the tool that is not always there.
func (c *client) listDirectory() error {
	r := callOf(switched, map[string]any{"path": c.path})
	a, err := c.ask(r)
	if err != nil {
		return err
	}
	if a.Error != nil {
		if a.Error.Code != -32004 {
			return fmt.Errorf("%s: %s", r, a)
		}
		c.soak.tally.add("calls", "  switched off then")
		return nil
	}
	var got struct {
		StructuredContent struct{ Entries []struct{ Path string } }
	}
	if err := json.Unmarshal(a.Result, &got); err != nil {
		return err
	}
	var paths []string
	for _, e := range got.StructuredContent.Entries {
		paths = append(paths, e.Path)
	}
	return c.compareNames(paths)
}

func (c *client) compareNames(got []string) error {
	var want []string
	for _, name := range c.names() {
		want = append(want, c.path+"/"+name)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("got %q instead of %q", got, want)
	}
	return nil
}
