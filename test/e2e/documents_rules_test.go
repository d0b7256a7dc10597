//go:build linux

package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// documentsThatSay returns a document of each kind of reader that says a text.
func documentsThatSay(t *testing.T, text string) map[string][]byte {
	t.Helper()
	zipped := func(entries ...string) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := 0; i < len(entries); i += 2 {
			w, err := z.Create(entries[i])
			must(t, err)
			_, err = w.Write([]byte(entries[i+1]))
			must(t, err)
		}
		must(t, z.Close())
		return b.Bytes()
	}
	const types = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`
	return map[string][]byte{
		"a.txt": []byte(text),
		"a.pdf": pdfOf("BT /F 12 Tf 20 200 Td (" + text + ") Tj ET"),
		"a.docx": zipped("[Content_Types].xml", types, "word/document.xml",
			`<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>`+text+`</w:t></w:r></w:p></w:body></w:document>`),
		"a.odt": zipped("mimetype", "application/vnd.oasis.opendocument.text", "content.xml",
			`<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text><text:p>`+text+`</text:p></office:text></office:body></office:document-content>`),
		"a.ipynb": fmt.Appendf(nil, `{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{"cell_type":"markdown","metadata":{},"source":[%q]}]}`, text),
		"a.csv":   []byte("name,value\nit," + text + "\n"),
		"a.eml":   []byte("From: a@example.com\r\nTo: b@example.com\r\nSubject: s\r\n\r\n" + text + "\r\n"),
		"a.html":  []byte("<html><body><p>" + text + "</p></body></html>"),
	}
}

// TestDocumentRules holds what is made of documents to the rules that hold for text: of
// secrets, of paths and of protected names, through every door.
func TestDocumentRules(t *testing.T) {
	t.Parallel()
	const text = "it says " + secret + " here"
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			c := &client{door: d, kind: kindTool}
			c.start(t, withSecret+"tools: {read_file: {denied_paths: [private]}}\n")
			read := func(path string) response {
				t.Helper()
				if c.cli {
					return c.command(t, "call", "read_file", path, "--format", "text").wait()
				}
				return c.request(t, "tools/call", fmt.Sprintf(`"name":"read_file","arguments":{"path":%q,"format":"text"}`, path)).wait()
			}
			must(t, os.MkdirAll(filepath.Join(c.dir, "private"), 0o755))
			must(t, os.MkdirAll(filepath.Join(c.dir, ".ssh"), 0o755))
			for name, data := range documentsThatSay(t, text) {
				for _, path := range []string{name, "private/" + name, ".ssh/" + name} {
					must(t, os.WriteFile(filepath.Join(c.dir, path), data, 0o644))
				}
				if o := read(name); o.code != 0 || !strings.Contains(o.text, "it says [redacted] here") {
					t.Errorf("%s: %v", name, o)
				}
				for _, dir := range []string{"private", ".ssh"} {
					if o := read(dir + "/" + name); strings.Contains(o.text, "it says") || !strings.Contains(o.text, "denied") && !strings.Contains(o.text, "protected") {
						t.Errorf("%s/%s: %v", dir, name, o)
					}
				}
			}
			c.silent(t)
		})
	}
}

// slowPDF is one that pdftotext works at for longer than a test waits.
func slowPDF() []byte {
	var text strings.Builder
	text.WriteString("BT /F 1 Tf ")
	for i := range 3_000_000 {
		fmt.Fprintf(&text, "1 0 0 1 %d %d Tm (w%d) Tj ", i%300, i/300%300, i)
	}
	return pdfOf(text.String() + "ET")
}

// TestDocumentEnds has a PDF take longer than a client waits, than the time limit, and than
// the server lives. Nothing of it is left, and the next one is read.
func TestDocumentEnds(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "slow.pdf"), slowPDF(), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "fast.pdf"), pdf(1), 0o644))
	reads := func() bool { // somebody, for this test's server
		return len(processes(t, "cwd", func(cwd string) bool {
			at, _ := os.Readlink(cwd)
			exe, _ := os.Readlink(filepath.Join(filepath.Dir(cwd), "exe"))
			return at == dir && filepath.Base(exe) == "pdftotext"
		})) > 0
	}
	slow := map[string]any{"path": "slow.pdf"}
	over := func(s *toolClient, how string) {
		t.Helper()
		eventually(t, "nobody reads it after "+how, func() bool { return !reads() })
		const want = "## Page 1\nnumber 1 of many"
		eventually(t, "the next one is read after "+how, func() bool { return s.call("read_file", map[string]any{"path": "fast.pdf"}).text() == want })
	}
	s := start(t, dir)
	p := s.begin("read_file", slow)
	eventually(t, "the PDF is read", reads)
	p.cancel()
	over(s, "cancel")
	s.begin("read_file", slow)
	eventually(t, "the PDF is read", reads)
	s.kill()
	eventually(t, "nobody reads it after the server's end", func() bool { return !reads() })
	config := filepath.Join(t.TempDir(), "c.yaml")
	must(t, os.WriteFile(config, []byte("working_directory: "+dir+"\nlimits: {timeout: 1s}\n"), 0o600))
	s = start(t, "--config", config)
	if a := s.call("read_file", slow); a.Error == nil || a.Error.Code != outOfTime {
		all, _ := json.Marshal(a)
		t.Errorf("past the time limit: %s", all)
	}
	over(s, "the time limit")
}
