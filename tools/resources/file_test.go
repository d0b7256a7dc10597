package resources_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
)

func TestReadFile(t *testing.T) {
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "root.txt"), []byte("of a root"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(p *sandbox.Policy) { p.Roots = []string{elsewhere} })
	const png, pdf, zip, noise = "\x89PNG\r\n\x1a\n\x00\x00", "%PDF-1.7\n\x00", "PK\x03\x04\x00", "\x00\x01\x02\xff"
	const latin = "Stra\xdfe und Geb\xe4ude, gr\xfc\xdfe aus K\xf6ln\n"
	b.put(t, "README.md", "# Read me\n", "empty", "", "docs/a b.txt", "space", "docs/100%.txt", "percent", "docs/ä.json", "{}", "main.go", "package x\r\n",
		"bom.txt", "\xef\xbb\xbfbom", "wide.csv", "\xff\xfea\x00,\x00b\x00", "latin.txt", latin, "a#b?c", "signs",
		"p.png", png, "p.dat", png, "paper.pdf", pdf, "report.docx", zip, "a.zip", zip, "noise.bin", noise, "noise.txt", noise, "noise.md", "\x00a\x00b\x00c\x00\n\x00d")
	b.link(t, "inside", "docs/a b.txt")
	tests := []struct {
		name, uri, mime, text, data string
	}{
		{"relative", "file:///README.md", "text/markdown", "# Read me\n", ""},
		{"absolute", b.absolute("README.md"), "text/markdown", "# Read me\n", ""},
		{"one more slash", "file:////README.md", "text/markdown", "# Read me\n", ""},
		{"absolute with one more slash", strings.Replace(b.absolute("README.md"), "///", "////", 1), "text/markdown", "# Read me\n", ""},
		{"absolute in a root", "file://" + filepath.ToSlash(elsewhere) + "/root.txt", "text/plain", "of a root", ""},
		{"empty", "file:///empty", "text/plain", "", ""},
		{"space encoded", "file:///docs/a%20b.txt", "text/plain", "space", ""},
		{"space as it is", "file:///docs/a b.txt", "text/plain", "space", ""},
		{"slash encoded", "file:///docs%2Fa%20b.txt", "text/plain", "space", ""},
		{"absolute with encoded slashes", "file:///" + strings.ReplaceAll(b.absolute("README.md")[len("file:///"):], "/", "%2F"), "text/markdown", "# Read me\n", ""},
		{"first slash encoded, too", "file:///" + strings.ReplaceAll(filepath.ToSlash(filepath.Join(b.dir, "README.md")), "/", "%2f"), "text/markdown", "# Read me\n", ""},
		{"percent", "file:///docs/100%25.txt", "text/plain", "percent", ""},
		{"not ASCII", "file:///docs/%C3%A4.json", "application/json", "{}", ""},
		{"not ASCII as it is", "file:///docs/ä.json", "application/json", "{}", ""},
		{"signs", "file:///a%23b%3Fc", "text/plain", "signs", ""},
		{"dots that stay inside", "file:///docs/../README.md", "text/markdown", "# Read me\n", ""},
		{"link inside", "file:///inside", "text/plain", "space", ""},
		{"line ends stay", "file:///main.go", "text/x-go", "package x\r\n", ""},
		{"byte order mark", "file:///bom.txt", "text/plain", "bom", ""},
		{"utf-16", "file:///wide.csv", "text/csv", "a,b", ""},
		{"windows-1252", "file:///latin.txt", "text/plain; charset=windows-1252", "", latin},
		{"utf-16 without a mark", "file:///noise.md", "text/markdown; charset=utf-16be", "", "\x00a\x00b\x00c\x00\n\x00d"},
		{"image", "file:///p.png", "image/png", "", png},
		{"image by its bytes", "file:///p.dat", "image/png", "", png},
		{"pdf", "file:///paper.pdf", "application/pdf", "", pdf},
		{"docx", "file:///report.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "", zip},
		{"zip", "file:///a.zip", "application/zip", "", zip},
		{"binary", "file:///noise.bin", "application/octet-stream", "", noise},
		{"binary called text", "file:///noise.txt", "application/octet-stream", "", noise},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := read(t, b.exec, test.uri)
			if err != nil || c.Text != test.text || string(c.Data) != test.data || (c.Data != nil) != (test.data != "") || c.MIMEType != test.mime {
				t.Errorf("%s: %+v, %v", test.uri, c, err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	b := newBench(t, func(p *sandbox.Policy) {
		p.Tools["read_file"] = sandbox.ToolPolicy{DeniedPaths: []string{filepath.Join(p.WorkingDirectory, "secret")}}
	})
	b.put(t, "in.txt", "in", "docs/a.txt", "a", "secret/key", "TOP SECRET", "../outside/out.txt", "TOP SECRET", "../work-evil/x", "TOP SECRET")
	b.link(t, "out", "../outside", "out.txt", "../outside/out.txt", "key", "secret/key", "dangling", "nowhere", "loop", "loop")
	rule := "denied by the rule " + b.dir + "/secret"
	const outside, denied = "outside the allowed paths", "denied"
	tests := []struct {
		uri, want, errorType string
	}{
		{"file:///none.txt", "none.txt does not exist, and /none.txt is outside the allowed paths (allowed: " + b.dir + ")", denied},
		{b.absolute("none.txt"), b.dir + "/none.txt does not exist", ""},
		{b.absolute("in.txt/x"), "does not exist: a part of it is a file", ""},
		{"file:///dangling", "dangling does not exist", denied},
		{b.absolute("dangling"), "dangling does not exist", ""},
		{"file:///docs", "docs is a directory, not a regular file", ""},
		{"file:///docs/", "docs/ is a directory", ""},
		{b.absolute("docs"), "docs is a directory", ""},
		{"file:///.", ". is a directory", ""},
		{"file:///loop", "loop is a loop of symbolic links", ""},
		{"file:///%00", "NUL byte", ""},
		{"file:///" + strings.Repeat("x", 5000), "longer than", ""},
		{"file:///secret/key", "secret/key is " + rule, denied},
		{"file:///secret/none", "secret/none is " + rule, denied},
		{"file:///secret%2fkey", rule, denied},
		{b.absolute("secret/key"), rule, denied},
		{b.absolute("secret/none"), rule, denied},
		{"file:///key", rule, denied},
		{"file:///docs/../secret/key", rule, denied},
		{"file:///out/out.txt", outside, denied},
		{"file:///out.txt", outside, denied},
		{b.absolute("out.txt"), outside, denied},
		{"file:///../outside/out.txt", outside, denied},
		{"file:///%2e%2e/outside/out.txt", outside, denied},
		{"file:///..%2foutside%2fout.txt", outside, denied},
		{b.absolute("") + "/../outside/out.txt", outside, denied},
		{b.absolute("../outside/out.txt"), outside, denied},
		{b.absolute("../work-evil/x"), outside, denied},
		{"file:///etc/passwd", "/etc/passwd is " + outside, denied},
		{"file:////etc/passwd", "/etc/passwd is " + outside, denied},
		{"file:///../../../../../../../../etc/passwd", outside, denied},
		{"file:///proc/self/environ", outside, denied},
		{"file:///..", outside, denied},
	}
	for _, test := range tests {
		e := refused(t, b.exec, test.uri)
		errorType, _ := e.Data["error_type"].(string)
		if e.Code != domain.CodeResourceNotFound || errorType != test.errorType || !strings.Contains(e.Message, test.want) {
			t.Errorf("%.200s: %d %q: %.300s; want %q: %s", test.uri, e.Code, errorType, e.Message, test.errorType, test.want)
		}
		if strings.Contains(e.Message, "TOP") {
			t.Errorf("%s leaks: %s", test.uri, e.Message)
		}
	}
	if e := refused(t, b.exec, "file:///"); !strings.Contains(e.Message, "no resource") {
		t.Error(e)
	}
}

// TestWholeSystemAllowed reads relative paths although every absolute one is
// allowed.
func TestWholeSystemAllowed(t *testing.T) {
	b := newBench(t, func(p *sandbox.Policy) { p.Roots = []string{string(filepath.Separator)} })
	b.put(t, "toolserver-test.txt", "relative")
	for _, uri := range []string{"file:///toolserver-test.txt", b.absolute("toolserver-test.txt")} {
		if c, err := read(t, b.exec, uri); err != nil || c.Text != "relative" {
			t.Errorf("%s: %+v, %v", uri, c, err)
		}
	}
	if e := refused(t, b.exec, "file:///toolserver-none.txt"); e.Message != "/toolserver-none.txt does not exist" {
		t.Error(e)
	}
}

func TestLargeFiles(t *testing.T) {
	const most = 10 << 20
	b := newBench(t, nil)
	b.put(t, "most.txt", strings.Repeat("x", most), "over.txt", strings.Repeat("x", most+1), "huge.bin", "")
	if err := os.Truncate(filepath.Join(b.dir, "huge.bin"), 1<<40); err != nil {
		t.Skip(err)
	}
	if c, err := read(t, b.exec, "file:///most.txt"); err != nil || len(c.Text) != most {
		t.Errorf("%d bytes, %v", len(c.Text), err)
	}
	for _, uri := range []string{"file:///over.txt", "file:///huge.bin"} {
		e := refused(t, b.exec, uri)
		if want := `read_file(path="` + uri[len("file:///"):] + `", offset=1)`; e.Data["error_type"] != "too_large" || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v %s; want %s", uri, e.Data, e.Message, want)
		}
	}
}

// TestSameAsReadFile holds the resource to what the tool says of the same paths.
func TestSameAsReadFile(t *testing.T) {
	b := newBench(t, nil)
	b.put(t, "a.txt", "text\n", "docs/a.txt", "a")
	for _, path := range []string{"a.txt", "docs", "../x", b.dir + "/none"} {
		res, err := b.exec.Call(t.Context(), call.ExecuteToolCommand{Tool: "read_file", Arguments: []byte(`{"path":"` + path + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		tool := []byte(res.Content[0].Text)
		c, err := read(t, b.exec, "file:///"+strings.TrimPrefix(path, "/"))
		if err != nil {
			c.Text = err.Error()
		}
		if !bytes.HasPrefix(tool, []byte(c.Text)) {
			t.Errorf("%s: read_file says %q, the resource %q", path, tool, c.Text)
		}
	}
}
