package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"toolserver/domain"
	"toolserver/osfile"
	"toolserver/sandbox"
	"toolserver/sandbox/process"
)

// The programs that read PDFs, of poppler.
const (
	pdfinfo   = "pdfinfo"
	pdftotext = "pdftotext"
)

// Programs returns those that a [Reader] has make text of files.
func Programs() []string { return []string{pdfinfo, pdftotext} }

// maxPDFText bounds the text of the pages that are read at once.
const maxPDFText = 4 << 20

// PDF is an open PDF.
type PDF struct {
	Total int // pages

	reader *Reader
	name   string
	file   *os.File
	copied bool
}

// OpenPDF opens a PDF for reading its pages. The error is as that of [Reader.Read].
func (r *Reader) OpenPDF(ctx context.Context, s Source) (*PDF, error) {
	p := &PDF{reader: r, name: s.Name, file: s.File}
	if p.file == nil {
		f, err := osfile.Unnamed()
		if err != nil {
			return nil, err
		}
		p.file, p.copied = f, true
		if _, err := io.Copy(f, io.NewSectionReader(s.R, 0, s.Size)); err != nil {
			p.Close()
			return nil, err
		}
	}
	info, _, err := p.filter(ctx, pdfinfo, "-")
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, "Pages:"); ok {
			p.Total, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	if err == nil && p.Total == 0 {
		err = p.bad("it has no pages")
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close frees what OpenPDF made.
func (p *PDF) Close() {
	if p.copied {
		p.file.Close()
	}
}

// Pages returns the text of pages, from the first to the last one, or of as many of them as could be
// read, and why there are no more: the last of those may be cut only if it is the only one.
func (p *PDF) Pages(ctx context.Context, first, last int) (pages []string, note string, err error) {
	text, note, err := p.filter(ctx, pdftotext, "-enc", "UTF-8", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), "-", "-")
	if err != nil {
		return nil, "", err
	}
	rest, whole := strings.CutSuffix(text, "\f")
	pages = strings.Split(rest, "\f")
	if !whole && len(pages) > 1 {
		pages = pages[:len(pages)-1]
	}
	for i, page := range pages {
		pages[i] = strings.ToValidUTF8(strings.TrimSpace(page), "\uFFFD")
	}
	return pages, note, nil
}

// whole returns the text of all pages, as far as it is bounded.
func (r *Reader) wholePDF(ctx context.Context, s Source) (Content, error) {
	p, err := r.OpenPDF(ctx, s)
	if err != nil {
		return Content{}, err
	}
	defer p.Close()
	pages, note, err := p.Pages(ctx, 1, p.Total)
	if err != nil {
		return Content{}, err
	}
	if strings.Join(pages, "") == "" {
		return Content{}, p.NoText(1, p.Total)
	}
	var b strings.Builder
	for i, page := range pages {
		fmt.Fprintf(&b, "## Page %d\n%s\n\n", i+1, page)
	}
	if note != "" {
		note = fmt.Sprintf("it has %d pages, and %s", p.Total, note)
	}
	return Content{Text: strings.TrimSuffix(b.String(), "\n\n"), Note: note}, nil
}

// NoText is the failure of pages without text.
func (p *PDF) NoText(first, last int) error {
	return &Failure{"no_text", fmt.Sprintf("%s: there is no text on %s of %d; what they show was probably scanned", p.name, PageRange(first, last), p.Total),
		"Look at them as images: make those with a command such as pdftoppm -png, and read them with read_file. Or have the text recognized, for instance with ocrmypdf."}
}

// PageRange names pages in a sentence.
func PageRange(first, last int) string {
	if first == last {
		return fmt.Sprintf("page %d", first)
	}
	return fmt.Sprintf("pages %d-%d", first, last)
}

// filter returns what a program makes of the file and, if that is not all, why.
func (p *PDF) filter(ctx context.Context, argv ...string) (text, note string, err error) {
	const kind = "PDF document"
	res, err := p.reader.filters.Run(ctx, sandbox.FilterRequest{
		Argv: argv, File: p.file, Output: maxPDFText, Principal: domain.SessionOf(ctx).Principal.ID,
	})
	if _, missing := errors.AsType[*sandbox.MissingProgramError](err); missing {
		return "", "", &Failure{"is_binary", fmt.Sprintf("%s is a %s, and %v, which makes text of it: apt-get install poppler-utils, or brew install poppler", p.name, kind, err),
			"Ask the user to install it where the server runs, and try again."}
	}
	if denied, ok := errors.AsType[*sandbox.DeniedError](err); ok {
		return "", "", &Failure{"denied", fmt.Sprintf("%s is a %s, of which %s makes text: %v", p.name, kind, argv[0], denied), "Read another file, or ask the operator."}
	}
	if errors.Is(err, process.ErrBusy) {
		return "", "", &Failure{"busy", p.name + ": " + err.Error(), "Try again later."}
	}
	if _, notStarted := errors.AsType[*process.StartError](err); notStarted {
		return "", "", &Failure{"sandbox_failed", fmt.Sprintf("%s is a %s, and %v", p.name, kind, err), "The person who runs the server installs poppler where other programs of the system are."}
	}
	if err != nil {
		return "", "", err
	}
	text, said := res.Stdout.Head(maxPDFText), res.Stderr.Head(4<<10)
	const fewer = "Read fewer pages at once, with limit, or another file."
	var failed error
	switch {
	case ctx.Err() != nil:
		failed, note = ctx.Err(), "the time of the call ended"
	case res.Canceled:
		return "", "", context.Canceled
	case res.TimedOut:
		note = fmt.Sprintf("%s did not end within %.0f s", argv[0], res.Duration.Seconds())
		failed = &Failure{domain.TimedOut, p.name + ": " + note, fewer}
	case res.Exceeded != "":
		note = fmt.Sprintf("%s used too much (%s) and was killed", argv[0], res.Exceeded)
		failed = &Failure{"too_large", p.name + ": " + note, fewer}
	case strings.Contains(said, "Incorrect password"):
		return "", "", &Failure{"is_binary", p.name + " is protected by a password", "Ask the user to save it without its password."}
	case res.Code == 3: // poppler's, for permissions
		return "", "", &Failure{"is_binary", p.name + " does not allow its text to be copied", "Ask the user for another copy of it."}
	case res.Code != 0:
		return "", "", p.bad(said)
	case res.Stdout.Total() > maxPDFText:
		note = fmt.Sprintf("only the first %d bytes of text were read", maxPDFText)
	}
	if failed != nil && strings.Trim(text, " \n\f") == "" {
		return "", "", failed
	}
	return text, note, nil
}

// bad is the failure of a PDF that poppler does not read.
func (p *PDF) bad(reason string) error {
	reason, _, _ = strings.Cut(strings.TrimSpace(reason), "\n")
	return &Failure{"is_binary", p.name + " is not a readable .pdf file: " + reason, "If it is another kind of file, give it the extension of that."}
}
