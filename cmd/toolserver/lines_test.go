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

var update = flag.Bool("update", false, "lower the numbers of testdata/columns.txt to what is there")

const (
	root    = "../.."
	columns = 160 // of a line; a tab is one
)

// outside are folders that are no part of the product.
var outside = []string{"build", "release", "test", "testdata", "node_modules"}

// deep says how many names of a path make its folder in the tables, where it is not one.
var deep = map[string]int{"cmd": 3, "domain": 2, "outbound": 2, "sandbox": 2, "text": 2, "tools": 2, "upstream": 2, "wire": 2}

// size is what is counted of a folder.
type size struct{ lines, long int }

// TestLines keeps testdata/lines.txt, how many lines of Go each folder may have.
func TestLines(t *testing.T) {
	const table = "testdata/lines.txt"
	sizes, all := product(t), 0
	for _, folder := range slices.Sorted(maps.Keys(sizes)) {
		all += sizes[folder].lines
	}
	sizes["all"] = size{lines: all}
	budget := readTable(t, table)
	for _, folder := range slices.Sorted(maps.Keys(sizes)) {
		lines := sizes[folder].lines
		switch most, ok := budget[folder]; {
		case !ok:
			t.Errorf("%s has %d lines, and no number in %s: add it there, in a commit that says what the folder is for", folder, lines, table)
		case lines > most:
			t.Errorf("%s has %d lines; %s allows %d. First look for what can go. If all is needed, raise the number in a commit that says why",
				folder, lines, table, most)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(budget)) {
		if _, ok := sizes[folder]; !ok {
			t.Errorf("%s has a number for %s, which has no Go: remove it", table, folder)
		}
	}
}

// TestColumns lets no folder have more lines that are too long to read than testdata/columns.txt
// says, which is nothing for most. The numbers only fall: -update lowers them.
func TestColumns(t *testing.T) {
	const table = "testdata/columns.txt"
	sizes, budget := product(t), readTable(t, table)
	var lowered strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(sizes)) {
		long := sizes[folder].long
		if most := budget[folder]; long > most {
			t.Errorf("%s has %d lines of more than %d columns; %s allows %d: wrap them", folder, long, columns, table, most)
		}
		if left := min(long, budget[folder]); left > 0 {
			fmt.Fprintf(&lowered, "%6d %s\n", left, folder)
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, table), []byte(lowered.String()), 0o644); err != nil {
			t.Fatal(err)
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

// product counts the Go of the product, by folder.
func product(t *testing.T) map[string]size {
	t.Helper()
	sizes := map[string]size{}
	for path, source := range sources(t) {
		names := strings.Split(path, "/")
		names = names[:len(names)-1]
		folder := strings.Join(names[:min(len(names), max(1, deep[names[0]]))], "/")
		counted := sizes[folder]
		for line := range bytes.Lines(source) {
			counted.lines++
			if utf8.RuneCount(bytes.TrimRight(line, "\r\n")) > columns {
				counted.long++
			}
		}
		sizes[folder] = counted
	}
	return sizes
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
