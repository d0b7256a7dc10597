package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/text/encoding/unicode"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/text/document"
	"github.com/toolserver/toolserver/text/textdiff"
	"github.com/toolserver/toolserver/text/textfile"
)

type editInput struct {
	Path   string `json:"path" min:"1" max:"4096"`
	Edits  []edit `json:"edits" min:"1" max:"200"`
	DryRun bool   `json:"dry_run" default:"false"`
}

func (editInput) Words() string { return arguments }

type edit struct {
	OldText    string `json:"old_text" min:"1"`
	NewText    string `json:"new_text"`
	ReplaceAll bool   `json:"replace_all" default:"false"`
}

// editMeta is the _meta of an edit.
type editMeta struct {
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	SizeBytes    int    `json:"size_bytes"` // afterwards
	Encoding     string `json:"encoding"`
	DryRun       bool   `json:"dry_run"`
}

// maxEdit bounds a file that is edited, in bytes.
const maxEdit = 16 << 20

func editFile(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "Edit file", Target: []string{"path", "dry_run"},
		Description: "Replace exact pieces of a text file, all or none, and return a unified diff. Keeps line endings, encoding and permissions. " +
			"If a text is not found, the answer shows the closest place.",
		Annotations: domain.Annotations{Destructive: true},
		View:        "diff", Ability: "change parts of files",
	}, fileTool.edit)
}

func (t fileTool) edit(ctx context.Context, in editInput) (domain.ToolResult, error) {
	for i, e := range in.Edits {
		if e.OldText == e.NewText {
			return domain.ToolResult{}, domain.InvalidArgument("edit_file", fmt.Sprintf("edits[%d]", i),
				"has the same old_text and new_text: leave it out, or give the text you want in new_text")
		}
	}
	// Also a dry run is refused where the edit would be.
	info, err := t.writes.Stat(in.Path)
	if err != nil {
		return domain.ToolResult{}, err
	}
	unlock, err := t.writing().lock(ctx, info.Real)
	if err != nil {
		return domain.ToolResult{}, err
	}
	defer unlock()
	old, err := t.readWhole(in.Path)
	if err != nil {
		return domain.ToolResult{}, err
	}
	decoded, err := decodeText(in.Path, old.raw)
	if err != nil {
		return domain.ToolResult{}, err
	}
	text, replacements, err := applyEdits(in.Path, decoded.text, in.Edits)
	if err != nil {
		return domain.ToolResult{}, err
	}
	content, err := decoded.encode(text)
	if err != nil {
		return domain.ToolResult{}, err
	}
	if !in.DryRun && text != decoded.text {
		if err := t.commitEdit(ctx, in.Path, old, content); err != nil {
			return domain.ToolResult{}, err
		}
	}
	res := domain.Text(t.editAnswer(in, decoded.text, text))
	res.Meta = editMeta{in.Path, replacements, len(content), decoded.charset, in.DryRun}
	return res, nil
}

func (t fileTool) editAnswer(in editInput, before, after string) string {
	if before == after {
		return "No change: the edits leave " + in.Path + " as it is."
	}
	diff := textdiff.Unified(in.Path, before, after, t.options.MaxChars-markerRoom-len(in.Path))
	if in.DryRun {
		return "Dry run, nothing was written:\n" + diff
	}
	return diff
}

// wholeFile is the content of a file and where it is.
type wholeFile struct {
	raw  []byte
	real string
}

// readWhole reads a file that is to be edited.
func (t fileTool) readWhole(path string) (wholeFile, error) {
	f, err := t.reads.Open(path)
	if err != nil {
		return wholeFile{}, err
	}
	defer f.Close()
	var b bytes.Buffer
	b.Grow(int(min(f.Info.Size, maxEdit)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(f, maxEdit+1))
	if size := max(n, f.Info.Size); size > maxEdit {
		return wholeFile{}, failed("too_large", fmt.Sprintf("%s has %d bytes; at most %d can be edited", path, size, maxEdit),
			"Edit it with a program, such as sed, in bash.")
	}
	return wholeFile{b.Bytes(), f.Info.Real}, err
}

// commitEdit writes content, unless the file is no longer what was read.
func (t fileTool) commitEdit(ctx context.Context, path string, old wholeFile, content []byte) error {
	if len(content) > maxContent {
		return failed("too_large", fmt.Sprintf("the edits would make %s larger than %d bytes; nothing was written", path, maxContent), "Write less at a time.")
	}
	_, err := t.writes.Replace(path, content, pathguard.ReplaceOptions{Before: func(real string) error {
		// The content decides: size and time miss a change of the same length
		// within one tick of the file system's clock.
		now, err := t.readWhole(path)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || real != old.real || now.real != old.real || !bytes.Equal(now.raw, old.raw) {
			return failed("conflict", path+" was changed by somebody else while it was being edited; nothing was written",
				"Read the file again and make the edits on what it is now.")
		}
		return nil
	}})
	return err
}

// encodedText is the text of a file that can be written back: unchanged, it
// makes the same bytes again.
type encodedText struct {
	text    string // UTF-8 without byte order mark, line ends as in the file
	bom     string // of utf-8
	charset string // utf-8, utf-16le or utf-16be
}

// decodeText returns the text of a file in UTF-8, or in UTF-16 with a byte order mark.
func decodeText(path string, raw []byte) (encodedText, error) {
	const replace, convert = "Use write_file with content_base64 to replace the whole file.",
		"Convert the file to utf-8 first, or replace the whole file with write_file."
	if t := document.Detect(path, "", raw); t.Kind != document.Other {
		return encodedText{}, failed("is_binary", fmt.Sprintf("%s is not a text file (%s), and cannot be edited", path, t.Name), replace)
	}
	text, charset, err := textfile.Decode(raw, textfile.Charset{})
	if binary, ok := errors.AsType[*textfile.BinaryError](err); ok {
		return encodedText{}, failed("is_binary",
			fmt.Sprintf("%s is a binary file (NUL byte at byte %d), and cannot be edited", path, binary.Offset), replace)
	}
	if bad, ok := errors.AsType[*textfile.DecodeError](err); ok {
		return encodedText{}, failed("decode_error", fmt.Sprintf("%s is not valid %s at byte %d; only utf-8 and utf-16 with a byte order mark can be edited",
			path, bad.Charset, bad.Offset), convert)
	}
	e := encodedText{text: string(text), charset: charset}
	switch {
	case charset == "utf-16le", charset == "utf-16be":
	case charset != "utf-8":
		return encodedText{}, failed("decode_error",
			fmt.Sprintf("%s is in %s, and only utf-8 and utf-16 with a byte order mark can be edited", path, charset), convert)
	case bytes.HasPrefix(raw, []byte("\xEF\xBB\xBF")):
		e.bom = string(raw[:3])
	}
	return e, err
}

// encode returns the bytes of a file with another text.
func (e encodedText) encode(text string) ([]byte, error) {
	switch e.charset {
	case "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes([]byte(text))
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().Bytes([]byte(text))
	}
	return []byte(e.bom + text), nil
}
