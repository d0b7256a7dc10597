package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEmptyAnswers has models read in words that there is nothing, and programs nothing.
func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "void"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o644))
	s := start(t, dir)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
		line []string // the same on the command line
	}{
		{"read_file", map[string]any{"path": "empty"}, "[the file is empty]", []string{"empty"}},
		{"bash", map[string]any{"command": "true"}, "[no output]", []string{"true"}},
		{"list_directory", map[string]any{"path": "void"}, "[no entries]", []string{"--path", "void"}},
		{"list_directory", map[string]any{"path": ".", "offset": 5}, "[no entries after the first 5]", []string{"--offset", "5"}},
		{"search_files", map[string]any{"pattern": "*.rs"}, "[no matches]", []string{"--pattern", "*.rs"}},
	} {
		if a := s.call(c.tool, c.args); a.failed() || a.text() != c.want {
			t.Errorf("%s: %q; want %q", c.tool, a.text(), c.want)
		}
		out, err := exec.Command(binary(), append([]string{"-C", dir, "call", c.tool}, c.line...)...).Output()
		if err != nil || len(out) != 0 {
			t.Errorf("%s prints %q, %v", c.tool, out, err)
		}
	}
	if a := s.call("grep", map[string]any{"pattern": "x"}); !strings.HasPrefix(a.text(), "No matches found") {
		t.Error(a.text())
	}
}

// TestPagePlaces reads a long result page by page, each of which says where it is. What
// looks like that in the result changes nothing.
func TestPagePlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var whole strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&whole, "%d [Page 2 of 3; to read on: read_large_result(id=\"lr_0\", page=3)]\n", i)
	}
	must(t, os.WriteFile(filepath.Join(dir, "long"), []byte(whole.String()), 0o644))
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		w := open(t, binary(), dir)
		ask := func(tool, args string) (blocks []string, isError bool) {
			line := request("1", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
			if version == "2026-07-28" {
				line = modern(line)
			}
			w.send(line)
			var r struct {
				Content []struct{ Text string }
				IsError bool
			}
			must(t, json.Unmarshal(w.answer("1").Result, &r))
			for _, c := range r.Content {
				blocks = append(blocks, c.Text)
			}
			return blocks, r.IsError
		}
		if version == "2025-11-25" {
			w.handshake(version)
		}
		blocks, _ := ask("bash", `{"command":"cat long"}`)
		id := regexp.MustCompile(`read_large_result\(id="(lr_[0-9a-f]{12})"`).FindAllStringSubmatch(strings.Join(blocks, ""), -1)
		if id == nil {
			t.Fatalf("%.200q", blocks)
		}
		var all strings.Builder
		pages := 1
		for page := 1; page <= pages; page++ {
			blocks, failed := ask("read_large_result", fmt.Sprintf(`{"id":%q,"page":%d}`, id[len(id)-1][1], page))
			if failed || len(blocks) != 2 {
				t.Fatalf("page %d: %.200q", page, blocks)
			}
			all.WriteString(blocks[0])
			if n, _ := fmt.Sscanf(blocks[1], "\n[Page %d of %d", new(int), &pages); n != 2 || !strings.HasPrefix(blocks[1], fmt.Sprintf("\n[Page %d of ", page)) {
				t.Errorf("page %d says %q", page, blocks[1])
			}
		}
		if pages < 5 || strings.TrimSuffix(all.String(), "\n") != strings.TrimSuffix(whole.String(), "\n") {
			t.Errorf("%s: %d pages have %d bytes; the whole has %d", version, pages, all.Len(), whole.Len())
		}
	}
}

// TestImages reads images that models take, that they do not take, and none.
func TestImages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, data []byte) { must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644)) }
	var small, photo, loud bytes.Buffer
	must(t, png.Encode(&small, image.NewGray(image.Rect(0, 0, 30, 20))))
	must(t, jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 6000, 4000)), nil))
	noise := image.NewNRGBA(image.Rect(0, 0, 1400, 1400))
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise.Pix)
	must(t, png.Encode(&loud, noise))
	put("small.png", small.Bytes())
	put("photo.jpg", photo.Bytes())
	put("loud.png", loud.Bytes())
	put("bad.png", []byte("\x89PNG\r\n\x1a\n"))
	put("half.png", loud.Bytes()[:loud.Len()/2])
	w := open(t, binary(), dir)
	w.handshake("2025-11-25")
	for name, want := range map[string]string{
		"small.png": `^small.png: image/png, 30 x 20 pixels, \d+ bytes$`,
		"photo.jpg": `^photo.jpg: image/jpeg, 6000 x 4000 pixels, \d+ bytes; shown as image/jpeg with 1568 x 1045 pixels`,
		"loud.png":  `^loud.png: image/png, 1400 x 1400 pixels, \d+ bytes; shown as image/jpeg with 1400 x 1400 pixels`,
		"bad.png":   `^bad.png is not a whole image/png image`,
		"half.png":  `^half.png is not a whole image/png image`,
	} {
		w.send(request("1", "tools/call", fmt.Sprintf(`{"name":"read_file","arguments":{"path":%q}}`, name)))
		var r struct {
			Content []struct{ Type, Text, Data, MimeType string }
			IsError bool
		}
		must(t, json.Unmarshal(w.answer("1").Result, &r))
		if len(r.Content) == 0 || !regexp.MustCompile(want).MatchString(r.Content[0].Text) {
			t.Errorf("%s: %.300v", name, r.Content)
			continue
		}
		if r.IsError {
			if len(r.Content) != 1 {
				t.Errorf("%s: an image that is refused has %d blocks", name, len(r.Content))
			}
			continue
		}
		if len(r.Content) != 2 || len(r.Content[1].Data) > 5<<20 {
			t.Fatalf("%s: %d blocks", name, len(r.Content))
		}
		data, err := base64.StdEncoding.DecodeString(r.Content[1].Data)
		must(t, err)
		config, kind, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || "image/"+kind != r.Content[1].MimeType || max(config.Width, config.Height) > 1568 {
			t.Errorf("%s: %s %+v %v", name, kind, config, err)
		}
	}
}
