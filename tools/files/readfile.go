package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/text/document"
	"github.com/toolserver/toolserver/text/textfile"
	"github.com/toolserver/toolserver/tools/files/content"
)

type readInput struct {
	Path        string `json:"path" min:"1" max:"4096"`
	Offset      *int   `json:"offset" min:"-1000000000" max:"1000000000"`
	Limit       *int   `json:"limit" min:"1" max:"1000000000"`
	LineNumbers bool   `json:"line_numbers" default:"false"`
	Encoding    string `json:"encoding" default:"utf-8" max:"100"`
	Format      string `json:"format,omitempty" enum:"text|raw"`
}

func (readInput) Words() string { return arguments }

func readFile(t fileTool) domain.Tool {
	r := &fileReader{fileTool: t, contents: content.NewReader(t.held.Filters()), settings: declare.Of[ReadSettings](t.toolset.settings, t.name)}
	r.made.MaxSize, r.made.MaxAge, r.made.Renew = 32<<20, 10*time.Minute, true
	return define(t, domain.Tool{
		Title: "Read file", Target: []string{"path"},
		Description: "Read a file or a part of it: text, PDF, Office, OpenDocument, EPUB, notebooks, mail, images. " +
			"A long answer ends with the call that reads on.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Ability:     "read text, PDF, Office and other documents, and images",
	}, func(_ fileTool, ctx context.Context, in readInput) (domain.ToolResult, error) { return r.run(ctx, in) })
}

// ReadSettings are the settings of read_file.
type ReadSettings struct {
	SearchParents bool `yaml:"search_parents"`
}

// fileReader is the tool read_file.
type fileReader struct {
	fileTool
	settings ReadSettings
	contents *content.Reader
	made     share.Store[string, content.Content] // of long documents
}

// readMeta is the _meta of text that was read.
type readMeta struct {
	Path       string    `json:"path"`
	SizeBytes  int64     `json:"size_bytes"`
	TotalLines lineCount `json:"total_lines,omitzero"`
	AtLeast    int       `json:"total_lines_at_least,omitempty"` // of a document that was not read to its end
	Incomplete string    `json:"incomplete,omitempty"`           // why it was not
	StartLine  int       `json:"start_line"`                     // 0 if there are no lines; negative ones count from the end
	EndLine    int       `json:"end_line"`
	Truncated  bool      `json:"truncated"`
	Encoding   string    `json:"encoding"`         // what the text was decoded from
	Format     string    `json:"format,omitempty"` // of a document that was made text
}

// lineCount is how many lines a file has, or -1 if that is not known.
type lineCount int

// IsZero tells encoding/json to leave out what is not known.
func (n lineCount) IsZero() bool { return n < 0 }

// reading is one call of read_file.
type reading struct {
	*fileReader
	in   readInput
	file *pathguard.File
	path string // as the caller gave it, or where it was found
	cs   textfile.Charset
	head []byte // how the file begins
	all  bool   // head is all of it
}

func (r *fileReader) run(ctx context.Context, in readInput) (domain.ToolResult, error) {
	cs, err := textfile.Lookup(in.Encoding)
	if err != nil {
		return domain.ToolResult{}, domain.InvalidArgument("read_file", "encoding", "is not known: "+err.Error())
	}
	f, path, err := r.open(in.Path)
	if err != nil {
		return domain.ToolResult{}, err
	}
	defer f.Close()
	call := reading{fileReader: r, in: in, file: f, path: path, cs: cs}
	if err := call.begin(); err != nil {
		return ioFailure(path, err), nil
	}
	t := call.kind()
	if t.Kind == document.Other {
		return call.text(ctx)
	}
	src := content.Source{Name: path, Type: t, R: f, Size: f.Info.Size, File: f.File, Charset: cs, Runs: call.runs(ctx)}
	switch t.Kind {
	case document.Image:
		return call.image(ctx, src)
	case document.PDF:
		return call.pdf(ctx, src)
	case document.Binary:
		return call.refuse(ctx, t), nil
	}
	return call.document(ctx, src)
}

// kind returns what the file is to be read as. Of files that are text themselves, models edit
// HTML and CSV, so that these are what they are unless their text is asked for. Nobody
// edits notebooks or mail by hand.
func (c *reading) kind() document.Type {
	t := document.Detect(c.path, "", c.head)
	if t.Kind == document.Other && len(c.head) > 0 && c.in.Format != "raw" {
		t = document.DetectText(c.path, c.head)
		if (t.Kind == document.HTML || t.Kind == document.CSV) && c.in.Format == "" {
			t = document.Type{}
		}
	}
	return t
}

// begin reads the start of the file: one byte more than is shown whole tells that it is longer. It goes by what is read and not by
// the size, which is 0 for files that the kernel makes up as they are read.
func (c *reading) begin() error {
	most, n := c.options.MaxChars+1, 0
	if size := c.file.Info.Size; size > 0 {
		most = int(min(int64(most), size))
	}
	buf := make([]byte, most)
	for n < len(buf) {
		m, err := c.file.Read(buf[n:])
		n += m
		if err != nil && err != io.EOF {
			return err
		}
		if err == io.EOF || m == 0 || int64(n) == c.file.Info.Size {
			c.all = true
			break
		}
	}
	c.head = buf[:n]
	return nil
}

// text returns the file as text: whole if that is asked for and fits, else a
// window of it.
func (c *reading) text(ctx context.Context) (domain.ToolResult, error) {
	src := source{size: int64(len(c.head)), fileSize: max(c.file.Info.Size, int64(len(c.head)))}
	if !c.all {
		src.r, src.size = content.Until{Context: ctx, R: c.file}, src.fileSize
		return c.window(ctx, src)
	}
	if c.in.Offset == nil && c.in.Limit == nil && !c.in.LineNumbers {
		text, charset, err := textfile.Decode(c.head, c.cs)
		if err != nil {
			return c.unreadable(ctx, err)
		}
		if n := countLines(text); len(text) <= c.options.MaxChars {
			return c.answer(ctx, text, textfile.Window{Charset: charset, Start: min(1, n), End: n, TotalLines: n}, src), nil
		}
	}
	src.r = bytes.NewReader(c.head)
	return c.window(ctx, src)
}

// countLines returns how many lines text has; the last one may lack its end.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte{'\n'})
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// open opens the file to read and tells its path, which is the caller's unless
// it was found above the working directory.
func (r *fileReader) open(path string) (*pathguard.File, string, error) {
	f, err := r.reads.Open(path)
	if err == nil || !r.settings.SearchParents || !isNotFound(err) || !filepath.IsLocal(path) {
		return f, path, err
	}
	for dir := r.work; ; {
		if _, repository := r.reads.Stat(filepath.Join(dir, ".git")); repository == nil {
			return nil, path, err
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil, path, err
		}
		dir = up
		found := filepath.Join(dir, path)
		if f, err := r.reads.Open(found); err == nil {
			return f, found, nil
		}
	}
}

func isNotFound(err error) bool {
	e, ok := errors.AsType[*pathguard.Error](err)
	return ok && e.Kind == pathguard.KindNotFound
}

// unreadable answers for a file that cannot be read as text in the encoding asked for.
func (c *reading) unreadable(ctx context.Context, err error) (domain.ToolResult, error) {
	if _, told := errors.AsType[*content.Failure](err); told || ctx.Err() != nil {
		return domain.ToolResult{}, err
	}
	if binary, ok := errors.AsType[*textfile.BinaryError](err); ok {
		if binary.Likely == "" {
			return c.refuse(ctx, document.Type{}), nil
		}
		return domain.Failure("is_binary", c.path+" is "+err.Error(), "Call "+c.callWith(binary.Likely)+"."), nil
	}
	if decode, ok := errors.AsType[*textfile.DecodeError](err); ok {
		hint := "Read another file, or " + document.Type{}.Advice(c.path, c.runs(ctx)) + "."
		if decode.Likely != "" {
			hint = "Call " + c.callWith(decode.Likely) + "."
		}
		return domain.Failure("decode_error", c.path+" is "+err.Error(), hint), nil
	}
	if past, ok := errors.AsType[*textfile.PastEndError](err); ok {
		return domain.Failure("out_of_range", c.path+": "+err.Error(),
			fmt.Sprintf("Choose an offset of at most %d, or a negative one to count from the end.", max(past.Total, 1))), nil
	}
	return ioFailure(c.path, err), nil
}

func (c *reading) callWith(encoding string) string {
	return fmt.Sprintf("read_file(path=%q, encoding=%q%s)", c.path, encoding, c.formatArgument())
}

// formatArgument is the argument format of a further call.
func (c *reading) formatArgument() string {
	if c.in.Format == "" {
		return ""
	}
	return fmt.Sprintf(", format=%q", c.in.Format)
}

// refuse answers for a file that is not shown as text.
func (c *reading) refuse(ctx context.Context, t document.Type) domain.ToolResult {
	message := document.Refusal(c.path, max(c.file.Info.Size, int64(len(c.head))), t, c.runs(ctx))
	return domain.Failure("is_binary", message, "Do what the message says, or read another file.")
}

// runs returns what reports whether a command can be suggested: one that the caller may run, with a program that is there.
func (c *reading) runs(ctx context.Context) func(command string) bool {
	return func(command string) bool {
		program, _, _ := strings.Cut(command, " ")
		return c.shell.Finds(program) && call.Permits(ctx, bash, domain.Arguments{"command": command})
	}
}

// ioFailure answers for a file that was opened and cannot be read to its end.
func ioFailure(path string, err error) domain.ToolResult {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err // the path is that of the disk, and the message has the caller's
	}
	return domain.Failure("io_error", path+" cannot be read: "+err.Error(), "Try again, or tell the operator.")
}
