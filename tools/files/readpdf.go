package files

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/sandbox/process"
	"toolserver/tools/files/document"
	"toolserver/tools/files/textfile"
)

// The programs that read PDFs, of poppler.
const (
	pdfinfo   = "pdfinfo"
	pdftotext = "pdftotext"
)

const (
	// maxPDFText bounds the text of the pages that are read at once.
	maxPDFText = 4 << 20
	// pageBytes is what an ordinary page has at least: no more pages are read at once than
	// there is room for if all have so little.
	pageBytes = 1000
)

// pdfMeta is the _meta of a PDF.
type pdfMeta struct {
	Path       string `json:"path"`
	SizeBytes  int64  `json:"size_bytes"`
	TotalPages int    `json:"total_pages"`
	StartPage  int    `json:"start_page"`
	EndPage    int    `json:"end_page"`
	Truncated  bool   `json:"truncated"`
	Format     string `json:"format"`
}

// pdf returns pages of a PDF, which offset and limit count. Only those are read, so that the
// last pages of a long document cost as much as the first. A page is not divided: if one
// alone is too long for an answer, the executor keeps the rest.
func (c *reading) pdf(ctx context.Context, t document.Type) (domain.ToolResult, error) {
	info, err := c.filter(ctx, t, pdfinfo, "-")
	if err != nil {
		return domain.ToolResult{}, err
	}
	total := pageCount(info)
	if total == 0 {
		return domain.ToolResult{}, c.badPDF("it has no pages")
	}
	first := 1
	if c.in.Offset != nil {
		if first = *c.in.Offset; first < 0 {
			first += total + 1
		}
		first = max(first, 1)
	}
	if first > total {
		return domain.Failure("out_of_range", fmt.Sprintf("%s: offset %d is past the last page, %d", c.path, first, total),
			fmt.Sprintf("Choose an offset of at most %d, or a negative one to count from the end.", total)), nil
	}
	last := min(total, first+c.room()/pageBytes)
	if c.in.Limit != nil {
		last = min(last, first+*c.in.Limit-1)
	}
	text, err := c.filter(ctx, t, pdftotext, "-enc", "UTF-8", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), "-", "-")
	if err != nil {
		return domain.ToolResult{}, err
	}
	if strings.TrimSpace(text) == "" {
		return domain.Failure("no_text", fmt.Sprintf("%s: there is no text on %s of %d; what they show was probably scanned", c.path, pages(first, last), total),
			"Look at them as images: make those with a command such as pdftoppm -png, and read them with read_file. Or have the text recognized, for instance with ocrmypdf."), nil
	}
	shown, end := c.pages(text, first)
	if first > 1 || end < total {
		shown += fmt.Sprintf("\n[Showed %s of %d.", pages(first, end), total)
		if end < total {
			shown += " To read on: " + c.next(textfile.Window{Start: first, End: end, NextOffset: end + 1})
		}
		shown += "]"
	}
	res := domain.Text(shown)
	res.Meta = &pdfMeta{c.path, c.file.Info.Size, total, first, end, end < total, "pdf"}
	return res, nil
}

// pages returns as many pages of text, which ends each with a form feed, as an answer has room
// for, but at least one, and the number of the last one. The first has the number n.
func (c *reading) pages(text string, n int) (shown string, end int) {
	var out []byte
	for page := range strings.SplitSeq(strings.TrimSuffix(text, "\f"), "\f") {
		body := []byte(strings.ToValidUTF8(strings.TrimSpace(page), "\uFFFD"))
		if len(body) == 0 {
			body = []byte("[no text]")
		} else if c.in.LineNumbers {
			body, _ = textfile.Numbered(body, 1, math.MaxInt)
		}
		title := fmt.Sprintf("## Page %d\n", n)
		if len(out) > 0 {
			title = "\n" + title
		}
		if len(out) > 0 && len(out)+len(title)+len(body) >= c.room() {
			break
		}
		out = append(append(append(out, title...), body...), '\n')
		end = n
		n++
	}
	return strings.TrimSuffix(string(out), "\n"), end
}

// pages names pages in a sentence.
func pages(first, last int) string {
	if first == last {
		return fmt.Sprintf("page %d", first)
	}
	return fmt.Sprintf("pages %d-%d", first, last)
}

// pageCount returns what pdfinfo says.
func pageCount(info string) int {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, "Pages:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(value))
			return n
		}
	}
	return 0
}

// filter returns what a program makes of the file.
func (c *reading) filter(ctx context.Context, t document.Type, argv ...string) (string, error) {
	res, err := c.held.Filters().Run(ctx, sandbox.FilterRequest{
		Argv: argv, File: c.file.File, Output: maxPDFText, Principal: domain.SessionOf(ctx).Principal.ID,
	})
	if _, missing := errors.AsType[*sandbox.MissingProgramError](err); missing {
		return "", failed("is_binary", fmt.Sprintf("%s is a %s, and %v, which makes text of it: apt-get install poppler-utils, or brew install poppler", c.path, t.Name, err),
			"Ask the user to install it where the server runs, and call read_file again.")
	}
	if denied, ok := errors.AsType[*sandbox.DeniedError](err); ok {
		return "", failed("denied", fmt.Sprintf("%s is a %s, of which %s makes text: %v", c.path, t.Name, argv[0], denied), "Read another file, or ask the operator.")
	}
	if errors.Is(err, process.ErrBusy) {
		return "", failed("busy", c.path+": "+err.Error(), "Try again later.")
	}
	if _, notStarted := errors.AsType[*process.StartError](err); notStarted {
		return "", failed("sandbox_failed", fmt.Sprintf("%s is a %s, and %v", c.path, t.Name, err), "The person who runs the server installs poppler where other programs of the system are.")
	}
	if err != nil {
		return "", err
	}
	said := res.Stderr.Head(4 << 10)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case res.Canceled:
		return "", context.Canceled
	case res.TimedOut:
		return "", failed(domain.TimedOut, fmt.Sprintf("%s: %s did not end within %.0f s", c.path, argv[0], res.Duration.Seconds()), "Read fewer pages at once, with limit.")
	case res.Exceeded != "":
		return "", failed("too_large", fmt.Sprintf("%s: %s used too much (%s) and was killed", c.path, argv[0], res.Exceeded), "Read fewer pages at once, with limit, or another file.")
	case strings.Contains(said, "Incorrect password"):
		return "", failed("is_binary", c.path+" is protected by a password", "Ask the user to save it without its password.")
	case res.Code == 3: // poppler's, for permissions
		return "", failed("is_binary", c.path+" does not allow its text to be copied", "Ask the user for another copy of it.")
	case res.Code != 0:
		return "", c.badPDF(said)
	}
	return res.Stdout.Head(maxPDFText), nil
}

// badPDF is the failure of a PDF that poppler does not read.
func (c *reading) badPDF(reason string) error {
	reason, _, _ = strings.Cut(strings.TrimSpace(reason), "\n")
	return failed("is_binary", c.path+" is not a readable .pdf file: "+reason, "If it is another kind of file, give it the extension of that.")
}
