package files

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/text/textfile"
	"github.com/toolserver/toolserver/tools/files/content"
)

// pageBytes is what an ordinary page has at least: no more pages are read at once than
// there is room for if all have so little.
const pageBytes = 1000

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
func (c *reading) pdf(ctx context.Context, src content.Source) (domain.ToolResult, error) {
	total, err := c.contents.PageCount(ctx, src)
	if err != nil {
		return domain.ToolResult{}, err
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
	read, note, err := c.contents.Pages(ctx, src, first, last)
	if err != nil {
		return domain.ToolResult{}, err
	}
	shown, end := c.pages(read, first)
	if first > 1 || end < total || note != "" {
		shown += fmt.Sprintf("\n[Showed %s of %d.", content.PageRange(first, end), total)
		if end < first+len(read)-1 {
			note = "" // what is missing comes after what did not fit here
		} else if note != "" {
			shown += " No more was read because " + note + "."
		}
		if end < total {
			shown += " To read on: " + c.next(textfile.Window{Start: first, End: end, NextOffset: end + 1})
		}
		shown += "]"
	}
	res := domain.Text(shown)
	res.Meta = &pdfMeta{c.path, c.file.Info.Size, total, first, end, end < total || note != "", "pdf"}
	return res, nil
}

// pages returns as many pages as an answer has room for, but at least one, and the number of
// the last one. The first has the number n.
func (c *reading) pages(pages []string, n int) (shown string, end int) {
	var out []byte
	for _, page := range pages {
		body := []byte(page)
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
