package document_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/document"
)

// pptx makes a presentation of slides, given as what is in their tree of shapes.
func pptx(t testing.TB, slides ...string) []byte {
	t.Helper()
	list, rels := "", []string{}
	parts := []string{}
	for i, shapes := range slides {
		n := string(rune('1' + i))
		list += `<p:sldId id="25` + n + `" r:id="s` + n + `"/>`
		rels = append(rels, "s"+n+" slide slides/slide"+n+".xml")
		root := `<p:sld>`
		if strings.HasPrefix(shapes, "hidden:") {
			root, shapes = `<p:sld show="0">`, shapes[len("hidden:"):]
		}
		parts = append(parts, "ppt/slides/slide"+n+".xml", root+`<p:cSld><p:spTree>`+shapes+`</p:spTree></p:cSld></p:sld>`,
			"ppt/slides/_rels/slide"+n+".xml.rels", relsXML("n notesSlide ../notesSlides/notesSlide"+n+".xml", "link hyperlink https://example.org/", "d diagramData ../diagrams/data1.xml", "loop slide slide"+n+".xml"))
	}
	return pack(t, append([]string{
		"ppt/presentation.xml", `<p:presentation><p:sldIdLst>` + list + `<p:sldId id="1" r:id="lost"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", relsXML(rels...),
		"ppt/notesSlides/notesSlide1.xml", `<p:notes><p:cSld><p:spTree>` + shape("sldNum", "1") + shape("body", "Say hello", "and wait") + `</p:spTree></p:cSld></p:notes>`,
		"ppt/notesSlides/notesSlide2.xml", `<p:notes><p:cSld><p:spTree>` + shape("sldNum", "2") + shape("body") + `</p:spTree></p:cSld></p:notes>`,
	}, parts...)...)
}

// shape makes a placeholder of a type with paragraphs.
func shape(kind string, paragraphs ...string) string {
	body := ""
	for _, text := range paragraphs {
		body += `<a:p><a:r><a:rPr lang="en"/><a:t>` + text + `</a:t></a:r></a:p>`
	}
	return `<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:nvPr><p:ph type="` + kind + `"/></p:nvPr></p:nvSpPr><p:txBody>` + body + `</p:txBody></p:sp>`
}

func TestPptxText(t *testing.T) {
	file := pptx(t,
		shape("title", "Plan")+
			`<p:sp><p:txBody><a:p><a:r><a:t>one</a:t></a:r><a:r><a:t> line</a:t></a:r></a:p><a:p><a:pPr lvl="1"/><a:r><a:t>deeper</a:t></a:r></a:p><a:p/></p:txBody></p:sp>`+
			`<p:grpSp><p:sp><p:txBody><a:p><a:r><a:rPr><a:hlinkClick r:id="link"/></a:rPr><a:t>site</a:t></a:r><a:br/><a:fld type="x"><a:t>field</a:t></a:fld></a:p></p:txBody></p:sp></p:grpSp>`+
			`<p:pic><p:nvPicPr><p:cNvPr id="4" name="p" descr="A cat &amp; a dog"/></p:nvPicPr></p:pic>`+shape("sldNum", "1")+shape("ftr", "ACME"),
		`hidden:<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>k</a:t></a:r></a:p><a:p><a:r><a:t>k2</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p/></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>v</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>`+
			`<mc:AlternateContent><mc:Choice>`+shape("body", "new")+`</mc:Choice><mc:Fallback>`+shape("body", "old")+`</mc:Fallback></mc:AlternateContent>`)
	const want = `## Slide 1
Plan
one line
  deeper
site (https://example.org/)
field
[image: A cat & a dog]
### Notes
Say hello
and wait

## Slide 2 (hidden)
k k2		v
new`
	got, err := pptxText(bytes.NewReader(file), int64(len(file)), document.Limits{})
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}

// A diagram has its text in a part of its own.
func TestPptxDiagram(t *testing.T) {
	file := pack(t, "ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="s"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", relsXML("s slide slides/slide1.xml"),
		"ppt/slides/slide1.xml", `<p:sld><p:cSld><p:spTree/></p:cSld></p:sld>`,
		"ppt/slides/_rels/slide1.xml.rels", relsXML("d diagramData ../diagrams/data1.xml"),
		"ppt/diagrams/data1.xml", `<dgm:dataModel><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>step</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>`)
	got, err := pptxText(bytes.NewReader(file), int64(len(file)), document.Limits{})
	if want := "## Slide 1\nstep"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestPptxLimit(t *testing.T) {
	file := pptx(t, strings.Repeat(shape("body", "word"), 1000))
	text, err := pptxText(bytes.NewReader(file), int64(len(file)), document.Limits{Text: 500})
	if limit, ok := errors.AsType[*document.LimitError](err); !ok || limit.Max != 500 || len(text) > 500 || !strings.HasPrefix(text, "## Slide 1\nword\n") {
		t.Errorf("%d bytes begin with %.30q, error %v", len(text), text, err)
	}
}

func FuzzPptx(f *testing.F) {
	f.Add([]byte(shape("title", "Plan") + `<a:tbl><a:tr><a:tc><a:p><a:r><a:t>x</a:t></a:r></a:p></a:tc></a:tr></a:tbl>`))
	f.Add([]byte(`<p:sp><p:txBody><a:p><a:pPr lvl="99"/><a:r><a:rPr><a:hlinkClick r:id="link"/></a:rPr></a:r></a:p></p:sp>`))
	f.Fuzz(func(t *testing.T, shapes []byte) {
		file := pptx(t, string(shapes))
		check(t, pptxText, file)
	})
}

func BenchmarkPptxText(b *testing.B) {
	file := pptx(b, strings.Repeat(shape("body", "A paragraph of a slide with some words in it", "and another one")+
		`<a:tbl><a:tr><a:tc>`+`<a:p><a:r><a:t>left</a:t></a:r></a:p>`+`</a:tc><a:tc><a:p><a:r><a:t>right</a:t></a:r></a:p></a:tc></a:tr></a:tbl>`, 100))
	measure(b, pptxText, file)
}
