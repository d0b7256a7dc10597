package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "lower the numbers of testdata/lines.txt to what is there")

const root = "../.."

// outside are folders that are no part of the product.
var outside = []string{"build", "release", "test", "testdata", "node_modules"}

// deep says how many names of a path make its folder in the tables, where it is not one.
var deep = map[string]int{"cmd": 3, "domain": 2, "outbound": 2, "sandbox": 2, "text": 2, "tools": 2, "upstream": 2, "wire": 2}

// TestLines keeps testdata/lines.txt, how many lines of Go each folder may have. It is raised by
// hand, in a commit that says why; -update lowers it to what is there and a hundredth more.
func TestLines(t *testing.T) {
	const table = "testdata/lines.txt"
	lines, all := product(t), 0
	for _, n := range lines {
		all += n
	}
	lines["all"] = all
	budget := readTable(t, table)
	var lowered strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(lines)) {
		n := lines[folder]
		most, ok := budget[folder]
		switch {
		case !ok:
			t.Errorf("%s has %d lines, and no number in %s: add it there, in a commit that says what the folder is for", folder, n, table)
		case n > most:
			t.Errorf("%s has %d lines; %s allows %d. First look for what can go. If all is needed, raise the number in a commit that says why",
				folder, n, table, most)
		}
		fmt.Fprintf(&lowered, "%6d %s\n", min(most, n+n/100+1), folder)
	}
	for _, folder := range slices.Sorted(maps.Keys(budget)) {
		if _, ok := lines[folder]; !ok {
			t.Errorf("%s has a number for %s, which has no Go: remove it", table, folder)
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, table), []byte(lowered.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestColumns lets no line be too long to read.
func TestColumns(t *testing.T) {
	const columns = 160 // a tab is one
	for name, source := range sources(t) {
		n := 0
		for line := range bytes.Lines(source) {
			if n++; utf8.RuneCount(bytes.TrimRight(line, "\r\n")) > columns {
				t.Errorf("%s:%d has more than %d columns: wrap it", name, n, columns)
			}
		}
	}
}

// TestTags lets no struct tag have more keys than a reader sees at once. What a field means, and
// what else people call it, can be in a text: see structschema.Described.
func TestTags(t *testing.T) {
	const most = 5
	key := regexp.MustCompile(`(^| )\w+:"(\\.|[^"\\])*"`)
	for path, content := range sources(t) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil {
				return true
			}
			tag, err := strconv.Unquote(field.Tag.Value)
			if keys := key.FindAllString(tag, -1); err != nil || len(keys) > most {
				t.Errorf("%v: the tag has %d keys (%v); %d is the most", files.Position(field.Tag.Pos()), len(keys), err, most)
			}
			return true
		})
	}
}

// product counts the lines of Go of the product, by folder.
func product(t *testing.T) map[string]int {
	t.Helper()
	lines := map[string]int{}
	for name, source := range sources(t) {
		names := strings.Split(name, "/")
		names = names[:len(names)-1]
		lines[strings.Join(names[:min(len(names), max(1, deep[names[0]]))], "/")] += bytes.Count(source, []byte("\n"))
	}
	return lines
}

// sources returns the files of Go of the product, without tests, by their paths with slashes.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if slices.Contains(outside, name) || path != root && strings.HasPrefix(name, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(relative)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// readTable reads a file of lines "number folder".
func readTable(t *testing.T, name string) map[string]int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]int{}
	for line := range strings.Lines(string(content)) {
		var number int
		var folder string
		if _, err := fmt.Sscanf(line, "%d %s\n", &number, &folder); err != nil {
			t.Fatalf("%s: %q is no number and folder: %v", name, line, err)
		}
		table[folder] = number
	}
	return table
}
