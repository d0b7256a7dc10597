package textfile_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/textfile"
)

const (
	russian = "Съешь же ещё этих мягких французских булок, да выпей чаю.\nВсе счастливые семьи похожи друг на друга.\n"
	nihongo = "吾輩は猫である。名前はまだ無い。\nどこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所で\n"
	chinese = "学而时习之，不亦说乎？有朋自远方来，不亦乐乎？\n人不知而不愠，不亦君子乎？这是一个测试文件。\n"
	french  = "Où est passé le garçon? Déjà vu: « naïveté » à l’œuvre.\nÇa coûte 5 €, c’est cher.\n"
)

func charset(t testing.TB, name string) textfile.Charset {
	t.Helper()
	cs, err := textfile.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func TestDecode(t *testing.T) {
	for _, tc := range []struct {
		name, charset, raw, want, used string
	}{
		{"empty", "", "", "", "utf-8"},
		{"utf-8", "", "grüß\r\n", "grüß\r\n", "utf-8"},
		{"utf-8 bom", "", "\xEF\xBB\xBFx", "x", "utf-8"},
		{"only a bom", "", "\xEF\xBB\xBF", "", "utf-8"},
		{"utf-16le bom, utf-8 asked", "", "\xFF\xFEg\x00\xFC\x00\n\x00", "gü\n", "utf-16le"},
		{"utf-16be bom, utf-8 asked", "utf-8", "\xFE\xFF\x00g\x00\xFC", "gü", "utf-16be"},
		{"utf-32le bom, utf-8 asked", "", "\xFF\xFE\x00\x00g\x00\x00\x00", "g", "utf-32le"},
		{"utf-32be bom, utf-8 asked", "", "\x00\x00\xFE\xFF\x00\x01\xF6\x00", "😀", "utf-32be"},
		{"utf-16 asked, big-endian bom", "utf-16", "\xFE\xFF\x00a", "a", "utf-16be"},
		{"utf-16 asked, no bom, big", "utf-16", "\x00a\x00b", "ab", "utf-16be"},
		{"utf-16 asked, no bom, little", "utf-16", "a\x00b\x00", "ab", "utf-16le"},
		{"utf-16le asked, bom stripped", "utf-16le", "\xFF\xFEa\x00", "a", "utf-16le"},
		{"utf-16le without bom", "utf-16le", "=\xD8\x00\xDE", "😀", "utf-16le"},
		{"utf-32 no bom", "utf-32", "\x00\x00\x00a", "a", "utf-32be"},
		{"genuine U+FFFD in utf-16", "utf-16le", "a\x00\xFD\xFF", "a\uFFFD", "utf-16le"},
		{"genuine U+FFFD in utf-8", "", "a\uFFFD", "a\uFFFD", "utf-8"},
		{"genuine U+FFFD in gb18030", "gb18030", "\x84\x31\xA4\x37", "\uFFFD", "gb18030"},
		{"latin-1 takes any byte", "latin-1", "\xE9\x80", "é\u0080", "iso-8859-1"},
		{"windows-1252", "cp1252", "\x80 \x93caf\xE9\x94", "€ “café”", "windows-1252"},
		{"other charset keeps its word over a bom", "latin-1", "\xFF\xFEa", "ÿþa", "iso-8859-1"},
		{"shift_jis", "sjis", "\x93\xFA\x96\x7B", "日本", "shift_jis"},
		{"iso-2022-jp", "iso-2022-jp", "\x1B$BF|K\\\x1B(B\n", "日本\n", "iso-2022-jp"},
		{"gbk", "gbk", "\xC4\xE3\xBA\xC3", "你好", "gbk"},
		{"koi8-r", "koi8-r", "\xF0\xD2\xC9", "При", "koi8-r"},
		{"cp437", "cp437", "\xC9\xCD\xBB", "╔═╗", "ibm437"},
		{"ebcdic", "cp037", "\xC1\x25\xC2", "A\nB", "ibm037"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, used, err := textfile.Decode([]byte(tc.raw), charset(t, tc.charset))
			if err != nil || string(text) != tc.want || used != tc.used {
				t.Fatalf("%q, %q, %v; want %q, %q", text, used, err, tc.want, tc.used)
			}
		})
	}
}

func TestUndecodable(t *testing.T) {
	encoded := func(name, text string) string {
		return string(encode(t, name, text))
	}
	for _, tc := range []struct {
		name, charset, raw string
		offset             int64
		likely             string
	}{
		{"windows-1252", "", encoded("cp1252", french), 1, "windows-1252"},
		{"windows-1251", "", encoded("cp1251", strings.Repeat(russian, 3)), 0, "windows-1251"},
		{"koi8-r", "", encoded("koi8-r", strings.Repeat(russian, 3)), 0, "koi8-r"},
		{"shift_jis", "", encoded("sjis", strings.Repeat(nihongo, 3)), 0, "shift_jis"},
		{"euc-jp", "", encoded("euc-jp", strings.Repeat(nihongo, 3)), 0, "euc-jp"},
		{"gbk", "", encoded("gbk", strings.Repeat(chinese, 3)), 2, "gbk"},
		{"after 100 KiB of ASCII", "", strings.Repeat("plain text\n", 10000) + encoded("koi8-r", strings.Repeat(russian, 3)), 110000, "koi8-r"},
		{"bom shifts the offset", "", "\xEF\xBB\xBFab\xE9 caf\xE9", 5, "windows-1252"},
		{"truncated sequence", "", "abc\xE2\x82", 3, "windows-1252"},
		{"surrogate in utf-8", "", "a\xED\xA0\x80", 1, "windows-1252"},
		{"utf-8 read as ascii", "ascii", "na\xC3\xAFve \xE2\x82\xAC", 2, "utf-8"},
		{"lone surrogate", "utf-16le", "a\x00\x00\xD8b\x00", 2, ""},
		{"odd length", "utf-16be", "\x00a\x00", 2, ""},
		{"bad trail byte", "sjis", "\x93\xFA\x82\x20", 2, "windows-1252"},
		{"bad byte after genuine U+FFFD", "gb18030", "\x84\x31\xA4\x37a\xFF", 5, "windows-1252"},
		{"compressed", "", strings.Repeat("\x1f\x8b\x08\x01\x02\x03\xff\xfe\x05\x06\x07\x91\x12", 50), 1, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := textfile.Decode([]byte(tc.raw), charset(t, tc.charset))
			var bad *textfile.DecodeError
			if !errors.As(err, &bad) {
				t.Fatalf("error %v, want a DecodeError", err)
			}
			if bad.Offset != tc.offset || bad.Likely != tc.likely {
				t.Errorf("offset %d, likely %q; want %d, %q", bad.Offset, bad.Likely, tc.offset, tc.likely)
			}
			if bad.Likely == "" {
				return
			}
			if _, _, err := textfile.Decode([]byte(tc.raw), charset(t, bad.Likely)); err != nil {
				t.Errorf("the advice does not work: %v", err)
			}
		})
	}
}

func TestGuess(t *testing.T) {
	for _, tc := range []struct{ charset, text, want string }{
		{"cp1252", "café", "windows-1252"},
		{"cp1252", "Grüße aus München\n", "windows-1252"},
		{"cp1252", "El niño comió piña en el jardín mañana.\n", "windows-1252"},
		{"cp1252", "naïve “quoted” text – dash\n", "windows-1252"},
		{"cp1252", "// Autor: José Müller\nint main() { return 0; }\n", "windows-1252"},
		{"cp1251", "Привет, мир\n", "windows-1251"},
		{"koi8-r", "Привет, мир\n", "koi8-r"},
		{"sjis", "こんにちは世界\n", "shift_jis"},
		{"euc-jp", "こんにちは世界\n", "euc-jp"},
		{"utf-8", "naïve", "utf-8"},
		{"utf-8", "", ""},
		{"utf-8", "\x01\x02\x03\x04", ""},
	} {
		if got := textfile.Guess(encode(t, tc.charset, tc.text)); got != tc.want {
			t.Errorf("%s %q: %q, want %q", tc.charset, tc.text, got, tc.want)
		}
	}
}

func TestErrorText(t *testing.T) {
	_, _, err := textfile.Decode([]byte("caf\xE9 cr\xE8me"), textfile.Charset{})
	want := `not valid utf-8 at byte 3; it looks like windows-1252: call read_file with encoding="windows-1252"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestBinary(t *testing.T) {
	wide := string(encode(t, "utf-16le", "The quick brown fox\n"))
	for _, tc := range []struct {
		name, charset, raw string
		offset             int64
		likely             string
	}{
		{"nul", "", "\x7fELF\x00\x00\x01\x02\x03", 4, ""},
		{"nul in latin-1", "latin-1", "ab\x00", 2, ""},
		{"last probed byte", "", strings.Repeat("x", 8191) + "\x00", 8191, ""},
		{"utf-16 without bom", "", wide, 1, "utf-16le"},
		{"utf-16be without bom", "", string(encode(t, "utf-16be", "The quick brown fox\n")), 0, "utf-16be"},
		{"utf-32 without bom", "", string(encode(t, "utf-32le", "The quick brown fox\n")), 1, "utf-32le"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := textfile.Decode([]byte(tc.raw), charset(t, tc.charset))
			var binary *textfile.BinaryError
			if !errors.As(err, &binary) || binary.Offset != tc.offset || binary.Likely != tc.likely {
				t.Fatalf("error %#v, want offset %d, likely %q", err, tc.offset, tc.likely)
			}
		})
	}
	late := strings.Repeat("x", 8192) + "\x00"
	if text, _, err := textfile.Decode([]byte(late), textfile.Charset{}); err != nil || string(text) != late {
		t.Errorf("a NUL after the probe is refused: %v", err)
	}
}

// flaky returns few bytes at a time, and err in the end.
type flaky struct {
	data string
	err  error
}

func (f flaky) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.data)) {
		return 0, f.err
	}
	return copy(p[:min(len(p), 3)], f.data[off:]), nil
}

func TestReaders(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct {
		name string
		r    io.ReaderAt
		size int64
		want string
		err  error
	}{
		{"short reads", flaky{"hello world", io.EOF}, 11, "hello world", nil},
		{"shrunk file", strings.NewReader("shrunk"), 100, "shrunk", nil},
		{"broken reader", flaky{"x", broken}, 5, "", broken},
		{"stuck reader", flaky{"x", nil}, 5, "", io.ErrNoProgress},
		{"negative size", nil, -1, "", nil},
	} {
		w, err := textfile.Lines(tc.r, tc.size, textfile.Charset{}, textfile.Range{})
		if !errors.Is(err, tc.err) || string(w.Text) != tc.want {
			t.Errorf("%s: %q, %v", tc.name, w.Text, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("grüß"), "utf-8")
	f.Add([]byte("\xFF\xFEa\x00\x00\xD8"), "utf-16")
	f.Add([]byte("\x84\x31\xA4\x37\xFF"), "gb18030")
	f.Add([]byte("\x1B$BF|K\\\x1B(B~{"), "iso-2022-jp")
	f.Add([]byte("~{<:Ky2;~}"), "hz")
	f.Add([]byte("\x88\x62\x88"), "big5")
	f.Fuzz(func(t *testing.T, raw []byte, name string) {
		cs, err := textfile.Lookup(name)
		if err != nil {
			return
		}
		text, _, err := textfile.Decode(raw, cs)
		if err == nil {
			if !bytes.Equal(bytes.ToValidUTF8(text, nil), text) {
				t.Fatalf("%q decoded as %s is not UTF-8: %q", raw, name, text)
			}
			return
		}
		var bad *textfile.DecodeError
		if errors.As(err, &bad) && (bad.Offset < 0 || bad.Offset >= int64(len(raw))) {
			t.Fatalf("offset %d in %d bytes", bad.Offset, len(raw))
		}
		if bad != nil && bad.Likely != "" {
			if _, err := textfile.Lookup(bad.Likely); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkDecode4KiB(b *testing.B) {
	raw := bytes.Repeat([]byte("a line of text, sixty-four bytes long, with a newline at the end\n"), 64)[:4096]
	b.ReportAllocs()
	b.SetBytes(4096)
	for b.Loop() {
		if _, _, err := textfile.Decode(raw, textfile.Charset{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadWindows1252(b *testing.B) {
	raw := bytes.Repeat([]byte("d\xE9j\xE0 vu, a line in windows-1252\n"), 2000)
	cs := charset(b, "cp1252")
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, _, err := textfile.Decode(raw, cs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := textfile.Lookup("cp1252"); err != nil {
			b.Fatal(err)
		}
	}
}
