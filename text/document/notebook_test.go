package document_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/document"
)

func TestNotebookText(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("picture"))
	four := `{"cells":[{"cell_type":"markdown","source":["# Title\n","text"]},
 {"cell_type":"code","source":"print('` + "```" + `')","outputs":[{"output_type":"stream","name":"stdout","text":["a\n","b\n"]},{"output_type":"execute_result","data":{"text/plain":"42","text/html":"<b>42</b>"}},
  {"output_type":"display_data","data":{"image/png":"` + png + `\n","text/plain":"<Figure>"}},{"output_type":"error","ename":"E","evalue":"v","traceback":["\u001b[0;31mE\u001b[0m","line"]}]},
 {"cell_type":"code","source":[],"outputs":[{"data":{"text/html":"<p>only <b>html</b></p>"}},{"data":{"image/png":"%%%"}}]},{"cell_type":"raw","source":"end"}],
 "metadata":{"language_info":{"name":"python"}},"nbformat":4}`
	three := `{"nbformat":3,"metadata":{"name":1},"worksheets":[{"cells":[{"cell_type":"heading","level":2,"source":"H"},{"cell_type":"code","input":["x"],"outputs":[{"output_type":"pyout","text":["1"],"png":"` + png + `"},{"output_type":"pyerr","ename":"E","evalue":"v"}]}],"metadata":{}}]}`
	for _, tc := range []struct{ name, file, want string }{
		{"version 4", four, "# Title\ntext\n\n````python\nprint('```')\n````\n\n```output\na\nb\n42\n```\n\n[image 1: image/png]\n\n```output\nE\nline\n```\n\n```output\nonly html\n```\n\n[image 2: image/png, not shown]\n\nend"},
		{"version 3", three, "## H\n\n```\nx\n```\n\n[image 1: image/png]\n\n```output\nE: v\n```"},
	} {
		got, images, err := document.NotebookText(strings.NewReader(tc.file), int64(len(tc.file)), document.Limits{})
		if err != nil || got != tc.want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", tc.name, err, got, tc.want)
		}
		line := strings.Count(got[:strings.Index(got, "[image 1")], "\n") + 1
		if len(images) == 0 || images[0].Line != line || string(images[0].Data) != "picture" {
			t.Errorf("%s: images %+v, want one at line %d", tc.name, images, line)
		}
	}
}

func TestNotebookFailures(t *testing.T) {
	long := `{"cells":[` + strings.Repeat(`{"cell_type":"markdown","source":"words of a cell"},`, 1000) + `{}]}`
	for _, tc := range []struct{ name, file, want string }{
		{"empty", "", "unexpected end of JSON"},
		{"no JSON", "hello", "not a readable .ipynb file"},
		{"no cells", "{}", "no cells"},
		{"cells of another type", `{"cells":3}`, "no cells"},
		{"cut", long[:500], "unexpected end of JSON"},
		{"deep", `{"cells":` + strings.Repeat("[", 1<<20), "not a readable .ipynb file"},
		{"text", long, "2000 bytes of text"},
	} {
		_, _, err := document.NotebookText(strings.NewReader(tc.file), int64(len(tc.file)), document.Limits{Text: 2000})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func FuzzNotebook(f *testing.F) {
	f.Add([]byte(`{"cells":[{"cell_type":"code","source":["x"],"outputs":[{"data":{"image/png":"aaaa"}}]}],"metadata":{"kernelspec":{"language":"r"}}}`))
	f.Add([]byte(`{"worksheets":[{"cells":[{"cell_type":"heading","level":-1,"source":"x"}]}]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		check(t, func(r io.ReaderAt, size int64, l document.Limits) (string, error) {
			text, images, err := document.NotebookText(r, size, l)
			for _, i := range images {
				if i.Line > strings.Count(text, "\n")+1 {
					t.Fatalf("image at line %d of %q", i.Line, text)
				}
			}
			return text, err
		}, file)
	})
}

func BenchmarkNotebookText(b *testing.B) {
	file := []byte(`{"cells":[` + strings.Repeat(`{"cell_type":"code","source":["a = 1\n","b"],"outputs":[{"text":["1\n"]}]},`, 1000) + `{}],"metadata":{}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := document.NotebookText(bytes.NewReader(file), int64(len(file)), document.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
