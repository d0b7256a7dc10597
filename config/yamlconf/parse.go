package yamlconf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// MaxFile is the largest configuration file that is read.
const MaxFile = 1 << 20

// parse returns the root node of the only document in data, or nil for an
// empty one.
func parse(file string, data []byte) (*yaml.Node, *Error) {
	fail := func(line, column int, format string, args ...any) (*yaml.Node, *Error) {
		return nil, newError(file, line, column, fmt.Sprintf(format, args...))
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > MaxFile {
		return fail(1, 1, "the file is larger than 1 MiB")
	}
	if at := unreadable(data); at >= 0 {
		line, column := position(data, at)
		return fail(line, column, "the file is not plain UTF-8 text: byte 0x%02x", data[at])
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	err := parseNext(d, &first)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		err = parseNext(d, &second)
		if err == nil {
			return fail(second.Line, second.Column, "a second document starts here; the file must hold one (remove the line ---)")
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, syntaxError(file, data, err)
	}
	if len(first.Content) == 0 {
		return nil, nil
	}
	return first.Content[0], nil
}

// parseNext reads one document. The parser reports some of its own faults by
// panicking, which must not end the program that reads a file.
func parseNext(d *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return d.Decode(n)
}

// unreadable returns the offset of the first byte that is no text in UTF-8, or
// -1. The parser notices as well, but does not say where.
func unreadable(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		control := r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
		if control || r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

func position(data []byte, at int) (line, column int) {
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	return bytes.Count(data[:at], []byte{'\n'}) + 1, utf8.RuneCount(data[start:at]) + 1
}

// syntaxError gives the parser's error a place and words for the person who
// wrote the file. The column is that of the first character on the line.
func syntaxError(file string, data []byte, err error) *Error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, after, ok := strings.Cut(rest, ": "); ok {
			line, _ = strconv.Atoi(number)
			text = after
			if countsFromZero(text) {
				line++
			}
		}
	}
	if at, name, ok := unknownAnchor(data, text); ok {
		line, column := position(data, at)
		return newError(file, line, column, fmt.Sprintf("no anchor &%s before this alias", clip(name)))
	}
	lines := bytes.Split(data, []byte{'\n'})
	line = min(max(line, 1), len(lines))
	if tab, ok := tabLine(lines, line); ok {
		return newError(file, tab+1, bytes.IndexByte(lines[tab], '\t')+1, "a tab indents this line; YAML allows only spaces")
	}
	here := string(lines[line-1])
	column := len(here) - len(strings.TrimLeft(here, " ")) + 1
	return newError(file, line, column, "invalid YAML: "+explain(text))
}

// countsFromZero tells the messages of yaml.v3's grammar, whose line is one too
// low, from those of its scanner, whose line is right.
func countsFromZero(text string) bool {
	switch text {
	case "did not find expected node content", "did not find expected key", "did not find expected '-' indicator",
		"did not find expected ',' or ']'", "did not find expected ',' or '}'", "did not find expected <document start>":
		return true
	}
	return false
}

// explain rewrites the parser's commonest messages; others stay.
func explain(text string) string {
	switch text {
	case "did not find expected node content":
		return "a value is missing or a bracket is not closed"
	case "did not find expected key", "did not find expected '-' indicator":
		return "the indentation does not fit the block here"
	case "did not find expected ',' or ']'":
		return "a list opened with [ here is not closed, or a comma is missing"
	case "did not find expected ',' or '}'":
		return "a mapping opened with { here is not closed, or a comma is missing (quote text that holds { or })"
	case "mapping values are not allowed in this context":
		return "unexpected colon: check the indentation, or quote text that holds \": \""
	case "found character that cannot start any token":
		return "quote text that starts with @, ` or %"
	case "could not find expected ':'":
		return "a key without a colon, or a text that goes on in the next line without quotes"
	case "found unexpected end of stream":
		return "a quoted text is not closed"
	}
	return oneLine(text)
}

// unknownAnchor finds the alias of a message that names it without a place.
func unknownAnchor(data []byte, text string) (at int, name string, ok bool) {
	rest, ok := strings.CutPrefix(text, "unknown anchor '")
	if !ok {
		return 0, "", false
	}
	name = strings.TrimSuffix(rest, "' referenced")
	at = bytes.Index(data, []byte("*"+name))
	return at, name, at >= 0
}

// tabLine looks for a tab in the indentation of the line an error names and of
// its neighbours, and returns the index of the line that has it.
func tabLine(lines [][]byte, line int) (int, bool) {
	for i := max(line-2, 0); i <= min(line, len(lines)-1); i++ {
		body := bytes.TrimLeft(lines[i], " \t")
		if indent := lines[i][:len(lines[i])-len(body)]; len(body) > 0 && bytes.IndexByte(indent, '\t') >= 0 {
			return i, true
		}
	}
	return 0, false
}
