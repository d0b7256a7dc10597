package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/process"
)

// The programs that read PDFs, of poppler.
const (
	pdfinfo   = "pdfinfo"
	pdftotext = "pdftotext"
	pdfimages = "pdfimages"
)

// Programs returns those that a [Reader] has make text of files.
func Programs() []string { return []string{pdfinfo, pdftotext, pdfimages} }

// maxPDFText bounds the text of the pages that are read at once.
const maxPDFText = 4 << 20

// PageCount returns how many pages a PDF has. The error is as that of [Reader.Read].
func (r *Reader) PageCount(ctx context.Context, s Source) (n int, err error) {
	info, _, err := r.filter(ctx, s, pdfinfo, "-")
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, "Pages:"); ok {
			n, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	if err == nil && n == 0 {
		err = unreadable(s, "it has no pages")
	}
	return n, err
}

// Pages returns the text of pages, from the first to the last one, or of as many of them as could be
// read, and why there are no more: the last of those may be cut only if it is the only one.
func (r *Reader) Pages(ctx context.Context, s Source, first, last int) (pages []string, note string, err error) {
	text, note, err := r.filter(ctx, s, pdftotext, "-enc", "UTF-8", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), "-", "-")
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
	if strings.Join(pages, "") == "" && note == "" {
		return nil, "", r.noText(ctx, s, first, last)
	}
	return pages, note, nil
}

// wholePDF returns the text of all pages, as far as it is bounded.
func (r *Reader) wholePDF(ctx context.Context, s Source) (Content, error) {
	total, err := r.PageCount(ctx, s)
	if err != nil {
		return Content{}, err
	}
	pages, note, err := r.Pages(ctx, s, 1, total)
	if err != nil {
		return Content{}, err
	}
	for i, page := range pages {
		pages[i] = fmt.Sprintf("## Page %d\n%s", i+1, page)
	}
	if note != "" {
		note = fmt.Sprintf("it has %d pages, and %s", total, note)
	}
	return Content{Text: strings.Join(pages, "\n\n"), Note: note}, nil
}

// noText is the failure of pages without text.
func (r *Reader) noText(ctx context.Context, s Source, first, last int) error {
	why := fmt.Sprintf("has no text on %s", PageRange(first, last))
	list, _, err := r.filter(ctx, s, pdfimages, "-list", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), "-")
	switch {
	case err != nil: // of an older poppler
	case strings.Count(list, "\n") > 2: // below its head
		why += ", but images, as a scan has"
	default:
		why += " and no image, as if blank or drawn"
	}
	f := s.unshown("no_text", why)
	f.Message = strings.NewReplacer("FIRST", strconv.Itoa(first), "LAST", strconv.Itoa(last)).Replace(f.Message)
	return f
}

// PageRange names pages in a sentence.
func PageRange(first, last int) string {
	if first == last {
		return fmt.Sprintf("page %d", first)
	}
	return fmt.Sprintf("pages %d-%d", first, last)
}

// filter returns what a program makes of the file and, if that is not all, why.
func (r *Reader) filter(ctx context.Context, s Source, argv ...string) (text, note string, err error) {
	if s.File == nil {
		if s.File, err = osfile.Unnamed(""); err != nil {
			return "", "", err
		}
		defer s.File.Close()
		if _, err := io.Copy(s.File, io.NewSectionReader(s.R, 0, s.Size)); err != nil {
			return "", "", err
		}
	}
	const kind = "PDF document"
	res, err := r.filters.Run(ctx, sandbox.FilterRequest{
		Argv: argv, File: s.File, Output: maxPDFText, Principal: call.SessionOf(ctx).Principal.ID,
	})
	if _, missing := errors.AsType[*sandbox.MissingProgramError](err); missing {
		return "", "", &Failure{"is_binary", fmt.Sprintf("%s is a %s, and %v, which makes text of it: apt-get install poppler-utils, or brew install poppler", s.Name,
			kind, err),
			"Ask the user to install it where the server runs, and try again."}
	}
	if denied, ok := errors.AsType[*sandbox.DeniedError](err); ok {
		return "", "", &Failure{"denied", fmt.Sprintf("%s is a %s, of which %s makes text: %v", s.Name, kind, argv[0], denied),
			"Read another file, or ask the operator."}
	}
	if errors.Is(err, process.ErrBusy) {
		return "", "", &Failure{"busy", s.Name + ": " + err.Error(), "Try again later."}
	}
	if _, notStarted := errors.AsType[*process.StartError](err); notStarted {
		return "", "", &Failure{"sandbox_failed", fmt.Sprintf("%s is a %s, and %v", s.Name, kind, err),
			"The person who runs the server installs poppler where other programs of the system are."}
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
		failed = &Failure{call.TimedOut, s.Name + ": " + note, fewer}
	case res.Exceeded != "":
		note = fmt.Sprintf("%s used too much (%s) and was killed", argv[0], res.Exceeded)
		failed = &Failure{"too_large", s.Name + ": " + note, fewer}
	case strings.Contains(said, "Incorrect password"):
		return "", "", &Failure{"is_binary", s.Name + " is protected by a password", "Ask the user to save it without its password."}
	case res.Code == 3: // poppler's, for permissions
		return "", "", &Failure{"is_binary", s.Name + " does not allow its text to be copied", "Ask the user for another copy of it."}
	case res.Code != 0:
		return "", "", unreadable(s, said)
	case res.Stdout.Total() > maxPDFText:
		note = fmt.Sprintf("only the first %d bytes of text were read", maxPDFText)
	}
	if failed != nil && strings.Trim(text, " \n\f") == "" {
		return "", "", failed
	}
	return text, note, nil
}

// unreadable is the failure of a PDF that poppler does not read.
func unreadable(s Source, reason string) error {
	reason, _, _ = strings.Cut(strings.TrimSpace(reason), "\n")
	return &Failure{"is_binary", s.Name + " is not a readable .pdf file: " + reason, "If it is another kind of file, give it the extension of that."}
}
