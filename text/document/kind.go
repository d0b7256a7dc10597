package document

import (
	"cmp"
	_ "embed" // for the tables
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// Kind is what a file has to be read as.
type Kind int

// The kinds of files. Plain text, in whatever charset, is Other as long as its
// first bytes do not say otherwise.
const (
	Other Kind = iota // text, as far as the first bytes tell
	Docx              // for Text, as the next ones
	Xlsx
	Pptx
	OpenDocument
	Epub
	PDF      // for pdftotext(1), of poppler
	Notebook // for NotebookText
	Mail     // for mail.Text
	HTML     // text, or for html.Text
	CSV      // text, or for CSVRows
	Image    // for an image block
	Binary   // nothing here reads it, see Refusal
)

// Type is the type of a file.
type Type struct {
	Kind Kind
	MIME string // "" for Other
	Name string // for people, such as "PDF document"; "" for Other
	// Format is the extension by which it is known, such as "docx", if it goes by the name.
	Format string

	remedy string // of what is not shown
}

// HeadSize is how many bytes of a file [Detect] looks at.
const HeadSize = 512

const oleMagic = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"

// signature tells a type, as a row of kinds.txt.
type signature struct {
	at         int
	magic      string
	extensions []string // none for any
	Type
}

//go:embed kinds.txt
var kindTable string

//go:embed remedies.txt
var remedyTable string

// kindNames are the kinds as kinds.txt calls them.
const kindNames = "other docx xlsx pptx opendocument epub pdf notebook mail html csv image binary"

// types returns the types that Detect knows, and those that DetectText does.
var types = sync.OnceValue(func() (tables [2][]*signature) {
	text := 0
	for line := range strings.Lines(kindTable) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), " | ")
		if line == "text\n" {
			text = 1
		}
		if len(f) < 6 {
			continue
		}
		at, _ := strconv.Atoi(f[0])
		magic, _ := strconv.Unquote(`"` + f[1] + `"`)
		t := Type{Kind: Kind(slices.Index(strings.Fields(kindNames), f[3])), MIME: f[4], Name: f[5]}
		if len(f) > 6 {
			t.remedy = f[6]
		}
		t.Format, _, _ = strings.Cut(strings.TrimPrefix(f[2], "."), " ")
		tables[text] = append(tables[text], &signature{at, magic, strings.Fields(f[2]), t})
	}
	return tables
})

// Detect tells the type of a file by its name or media type, either of which may be empty, and its first [HeadSize]
// bytes. The bytes decide; the name only tells apart what is a zip archive or an OLE
// file underneath. So text called .pdf is text, and is read as such.
func Detect(name, mime string, head []byte) Type {
	h := string(head[:min(len(head), HeadSize)])
	return find(types()[0], name, mime, h, func(t Type) bool { return t.Kind != Binary || !printable(h) }) // text may begin like the others
}

// DetectText tells the type of a file that [Detect] takes for text, if its text is the source
// of what people see.
func DetectText(name string, head []byte) Type {
	return find(types()[1], name, "", string(head[:min(len(head), HeadSize)]), func(Type) bool { return true })
}

// find returns the first type whose signature a file has and that is accepted.
func find(table []*signature, name, mime, head string, accept func(Type) bool) Type {
	ext := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	for _, s := range table {
		named := len(s.extensions) == 0 || mime == s.MIME || slices.Contains(s.extensions, ext)
		if named && len(head) >= s.at && matches(head[s.at:], s.magic) && accept(s.Type) {
			return s.Type
		}
	}
	return Type{}
}

// matches reports whether h begins with magic, in which ? stands for any byte.
func matches(h, magic string) bool {
	if len(h) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != h[i] && magic[i] != '?' {
			return false
		}
	}
	return true
}

// printable tells whether h holds no control character except white space.
func printable(h string) bool {
	return !strings.ContainsFunc(h, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) })
}

// Refusal says that the file at name, of size bytes, cannot be shown as text, and what can be done instead. It is for
// the kind [Binary], and for [Other] files that turned out to be binary.
func Refusal(name string, size int64, t Type, runs func(command string) bool) string {
	advice := t.Advice(name, runs)
	if t.Name == "" {
		t.Name, t.MIME = "binary file", "application/octet-stream"
	}
	return fmt.Sprintf("%s cannot be shown as text (%s, %s, %d bytes): %s", name, t.Name, t.MIME, size, advice)
}

// Advice says what to do with the file at name, which is not shown: the first command that runs reports to run, with
// the tool bash.
func (t Type) Advice(name string, runs func(command string) bool) string {
	words := strings.Fields(cmp.Or(t.remedy, "look"))
	_, block, _ := strings.Cut(remedyTable, "\n"+words[0]+"\n\t")
	block, _, _ = strings.Cut(block, "\n\n")
	lines := strings.Split(block, "\n\t")
	last := len(lines) - 1
	for _, program := range words[min(2, len(words)):] {
		lines = slices.Insert(lines, last, program+" %s")
		last++
	}
	replace := strings.NewReplacer("%s", shellQuote(name), "%%", "%", "%f", strings.Join(words[1:min(2, len(words))], ""))
	for _, command := range lines[min(1, last):last] {
		if command = replace.Replace(command); runs(command) {
			return fmt.Sprintf("%s: call bash with command `%s`", lines[0], command)
		}
	}
	return replace.Replace(lines[last])
}

// shellQuote quotes a file name for bash, where it needs that. A name that begins with a dash is made a path.
func shellQuote(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + path.Clean(name)
	}
	if quoted, err := syntax.Quote(name, syntax.LangBash); err == nil {
		return quoted
	}
	return "FILE" // a name that no shell can say
}
