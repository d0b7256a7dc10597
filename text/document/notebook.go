package document

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/text/html"
)

// NotebookImage is an image among the outputs of a notebook.
type NotebookImage struct {
	Line int // of the text, from 1: the one that stands for it
	MIME string
	Data []byte
}

// maxImages bounds the bytes of all images that are kept of a notebook.
const maxImages = 32 << 20

// NotebookText returns the text of a Jupyter notebook (nbformat 3 and 4): its cells in order,
// code in a fenced block and its outputs in another, of errors the trace. A line
// "[image N: type]" stands for an image. The error is as that of [Text].
func NotebookText(r io.ReaderAt, size int64, limits Limits) (string, []NotebookImage, error) {
	limits = limits.orDefault()
	if size > limits.Unpacked {
		return "", nil, &LimitError{What: "bytes in a notebook", Max: limits.Unpacked}
	}
	var file notebookFile
	data := make([]byte, size)
	_, err := r.ReadAt(data, 0)
	if err == nil || err == io.EOF {
		err = json.Unmarshal(data, &file)
	}
	if _, odd := errors.AsType[*json.UnmarshalTypeError](err); odd { // a member that is of no use then
		err = nil
	}
	cells := file.Cells
	for _, sheet := range file.Worksheets {
		cells = append(cells, sheet.Cells...)
	}
	if err == nil && file.Cells == nil && file.Worksheets == nil {
		err = errors.New("it has no cells")
	}
	n := notebook{budget: newBudget(limits), language: cmp.Or(file.Metadata.Language.Name, file.Metadata.Kernel.Language)}
	for _, c := range cells {
		n.cell(c)
	}
	return n.assemble(), n.images, readError("ipynb", cmp.Or(err, n.full))
}

// notebookFile is what a notebook has, in nbformat 4 and, where that is different, 3.
type notebookFile struct {
	Cells      []cell `json:"cells"`
	Worksheets []struct {
		Cells []cell `json:"cells"`
	} `json:"worksheets"` // of version 3
	Metadata struct {
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
	} `json:"metadata"`
}

// notebook is a notebook being read.
type notebook struct {
	budget
	language string
	blocks   []block
	images   []NotebookImage
	kept     int // bytes of images
}

// block is a piece of the text. Code gets its fence at the end, because the language of a
// notebook follows its cells.
type block struct {
	text  string
	code  bool
	image int // its number, from 1; 0 if it is none
}

// lines is text that is a string or a list of strings.
type lines string

func (l *lines) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = lines(one)
		return nil
	}
	var many []string
	if json.Unmarshal(b, &many) == nil {
		*l = lines(strings.Join(many, ""))
	}
	return nil // another type is of no use
}

// cell is a cell, in nbformat 4 and, where that is different, 3.
type cell struct {
	Type    string   `json:"cell_type"`
	Source  lines    `json:"source"`
	Input   lines    `json:"input"` // of version 3, as Level
	Level   int      `json:"level"`
	Outputs []output `json:"outputs"`
}

// output is an output of a cell of code.
type output struct {
	Text      lines            `json:"text"`
	Data      map[string]lines `json:"data"`
	PNG       lines            `json:"png"` // of version 3, as JPEG
	JPEG      lines            `json:"jpeg"`
	Name      string           `json:"ename"`
	Value     string           `json:"evalue"`
	Traceback []string         `json:"traceback"`
}

func (n *notebook) cell(c cell) {
	source := string(c.Source + c.Input)
	if c.Type == "heading" {
		source = strings.Repeat("#", min(max(c.Level, 1), 6)) + " " + source
	}
	n.add(block{text: source, code: c.Type == "code"})
	text := ""
	for _, o := range c.Outputs {
		if mime, data := o.image(); data != "" {
			n.addOutput(text)
			n.image(mime, data)
			text = ""
			continue
		}
		text += o.text()
	}
	n.addOutput(text)
}

// image returns the image of an output, in base64.
func (o *output) image() (mime, data string) {
	for _, mime := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		if data := o.Data[mime]; data != "" {
			return mime, string(data)
		}
	}
	if o.PNG != "" {
		return "image/png", string(o.PNG)
	}
	return "image/jpeg", string(o.JPEG)
}

// text returns the text of an output.
func (o *output) text() string {
	switch text := o.Text + o.Data["text/plain"]; {
	case len(o.Traceback) > 0:
		return colors().ReplaceAllString(strings.Join(o.Traceback, "\n"), "") + "\n"
	case o.Name != "":
		return o.Name + ": " + o.Value + "\n"
	case text != "":
		return strings.TrimSuffix(colors().ReplaceAllString(string(text), ""), "\n") + "\n"
	case o.Data["text/markdown"] != "":
		return string(o.Data["text/markdown"]) + "\n"
	case o.Data["text/html"] != "":
		return html.Text(string(o.Data["text/html"]), html.Options{SkipMarked: true}) + "\n"
	}
	return ""
}

// colors are the escape sequences that traces are coloured with.
var colors = lazyregexp.New(`\x1b\[[0-9;]*m`)

func (n *notebook) image(mime, encoded string) {
	encoded = strings.Join(strings.Fields(encoded), "")
	data, err := base64.StdEncoding.DecodeString(encoded)
	what := fmt.Sprintf("[image %d: %s]", len(n.images)+1, mime)
	if n.kept += len(data); err != nil || n.kept > maxImages {
		what, data = fmt.Sprintf("[image %d: %s, not shown]", len(n.images)+1, mime), nil
	}
	n.images = append(n.images, NotebookImage{MIME: mime, Data: data})
	n.add(block{text: what, image: len(n.images)})
}

func (n *notebook) addOutput(text string) {
	if strings.TrimSpace(text) != "" {
		n.add(block{text: html.Fenced("output", text)})
	}
}

// fenceRoom is what a fence and the line between two blocks take at most, unless the text
// has long runs of backticks.
const fenceRoom = 50

func (n *notebook) add(b block) {
	if strings.TrimSpace(b.text) != "" && n.take(2*len(b.text)-len(strings.ReplaceAll(b.text, "`", ""))+fenceRoom) {
		n.blocks = append(n.blocks, b)
	}
}

// assemble puts the blocks together, and sets the lines of images.
func (n *notebook) assemble() string {
	var out strings.Builder
	line := 1
	language := ""
	if len(n.language) <= fenceRoom/2 && !strings.ContainsAny(n.language, " `\n") {
		language = n.language
	}
	for i, b := range n.blocks {
		text := strings.Trim(b.text, "\n")
		if b.code {
			text = html.Fenced(language, text)
		}
		if i > 0 {
			out.WriteString("\n\n")
			line += 2
		}
		if b.image > 0 {
			n.images[b.image-1].Line = line
		}
		out.WriteString(text)
		line += strings.Count(text, "\n")
	}
	return strings.ToValidUTF8(out.String(), "\uFFFD")
}
