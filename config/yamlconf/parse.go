package yamlconf

import (
	"bytes"
	_ "embed"
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
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > MaxFile {
		return nil, newError(file, 1, 1, "the file is larger than 1 MiB")
	}
	if at := invalidText(data); at >= 0 {
		line, column := position(data, at)
		return nil, newError(file, line, column, fmt.Sprintf("the file is not plain UTF-8 text: byte 0x%02x", data[at]))
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	err := parseNext(d, &first)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		err = parseNext(d, &second)
	}
	switch {
	case err == nil:
		return nil, newError(file, second.Line, second.Column, "a second document starts here; the file must hold one (remove the line ---)")
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(file, data, err)
	case len(first.Content) == 0:
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

// invalidText returns the offset of the first byte that is no text in UTF-8, or
// -1. The parser notices as well, but does not say where.
func invalidText(data []byte) int {
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
	line, text := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, after, ok := strings.Cut(rest, ": "); ok {
			line, _ = strconv.Atoi(number)
			text = after
		}
	}
	if rest, ok := strings.CutPrefix(text, "unknown anchor '"); ok {
		name := strings.TrimSuffix(rest, "' referenced")
		if at := bytes.Index(data, []byte("*"+name)); at >= 0 {
			line, column := position(data, at)
			return newError(file, line, column, fmt.Sprintf("no anchor &%s before this alias", clip(name)))
		}
	}
	text, grammar := explain(text)
	if grammar {
		line++ // yaml.v3's grammar counts lines from 0, its scanner from 1
	}
	lines := bytes.Split(data, []byte{'\n'})
	line = min(max(line, 1), len(lines))
	for i := max(line-2, 0); i <= min(line, len(lines)-1); i++ { // also the neighbours
		body := bytes.TrimLeft(lines[i], " \t")
		if tab := bytes.IndexByte(lines[i][:len(lines[i])-len(body)], '\t'); tab >= 0 && len(body) > 0 {
			return newError(file, i+1, tab+1, "a tab indents this line; YAML allows only spaces")
		}
	}
	here := lines[line-1]
	return newError(file, line, len(here)-len(bytes.TrimLeft(here, " "))+1, "invalid YAML: "+text)
}

// syntax has a line for each of the commonest messages of yaml.v3: what reports it, the message and a better
// one, with tabs between them.
//
//go:embed syntax.txt
var syntax string

// explain rewrites a message of yaml.v3; one that syntax does not have stays. It reports
// whether the message comes from its grammar.
func explain(text string) (better string, grammar bool) {
	for line := range strings.Lines(syntax) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); f[1] == text {
			return f[2], f[0] == "grammar"
		}
	}
	return oneLine(text), false
}
