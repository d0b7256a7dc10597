package textfile_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/textfile"
)

func TestLookup(t *testing.T) {
	for _, tc := range []struct{ want, names string }{
		{"utf-8", ""}, {"utf-8", "UTF8"}, {"utf-8", "utf_8"}, {"utf-8", "utf-8-sig"}, {"utf-8", "csUTF8"},
		{"utf-16", "UTF-16"}, {"utf-16le", "utf-16le"}, {"utf-16le", "UTF_16_LE"}, {"utf-16be", "utf-16be"},
		{"utf-32", "utf-32"}, {"utf-32le", "utf-32-le"}, {"utf-32be", "UTF-32BE"},
		{"us-ascii", "ascii"}, {"us-ascii", "ANSI_X3.4-1968"},
		{"iso-8859-1", "latin-1"}, {"iso-8859-1", "Latin_1"}, {"iso-8859-1", "iso8859-1"},
		{"iso-8859-1", "ISO_8859-1:1987"}, {"iso-8859-1", "csISOLatin1"}, {"iso-8859-1", "iso-ir-100"},
		{"iso-8859-15", "latin-9"}, {"iso-8859-6-e", "ISO-8859-6-E"},
		{"windows-1252", "cp1252"}, {"windows-1252", "windows_1252"}, {"windows-1251", "x-cp1251"},
		{"windows-874", "tis-620"}, {"windows-874", "dos-874"},
		{"macintosh", "mac-roman"}, {"x-mac-cyrillic", "mac_cyrillic"},
		{"ibm437", "cp437"}, {"ibm850", "850"}, {"ibm037", "cp037"}, {"ibm866", "cp866"},
		{"ibm00858", "cp858"}, {"ibm1047", "cp1047"}, {"ibm01140", "cp1140"}, {"utf-8", "cp65001"}, {"big5", "cp950"},
		{"shift_jis", "ms932"}, {"euc-kr", "uhc"}, {"x-mac-cyrillic", "x-mac-ukrainian"}, {"iso-8859-9", "latin5"},
		{"koi8-r", "koi8_r"}, {"koi8-u", "KOI8-U"},
		{"shift_jis", "sjis"}, {"shift_jis", "cp932"}, {"shift_jis", "Shift-JIS"}, {"shift_jis", "windows-31j"},
		{"euc-jp", "ujis"}, {"iso-2022-jp", "iso2022_jp"}, {"gbk", "gb2312"}, {"gbk", "cp936"},
		{"gb18030", "GB18030"}, {"big5", "big5-hkscs"}, {"euc-kr", "cp949"}, {"euc-kr", "ks_c_5601-1987"},
	} {
		cs, err := textfile.Lookup(tc.names)
		if err != nil || cs.Name() != tc.want {
			t.Errorf("Lookup(%q) = %q, %v; want %q", tc.names, cs.Name(), err, tc.want)
			continue
		}
		if again, err := textfile.Lookup(cs.Name()); err != nil || again != cs {
			t.Errorf("Lookup(%q) is not the charset of that name", cs.Name())
		}
	}
}

// nearestIn returns the name that an error proposes, or "".
func nearestIn(err error) string {
	_, rest, _ := strings.Cut(err.Error(), "did you mean ")
	name, _ := strconv.Unquote(strings.TrimSuffix(rest, "?"))
	return name
}

func TestLookupUnknown(t *testing.T) {
	for name, nearest := range map[string]string{
		"utf-9":         "utf-8",
		"windows-12522": "windows-1252",
		"shiftjs":       "shift_jis",
		"klingon":       "",
		"\xff\x00":      "",
		"utf-7":         "utf-8", // registered, but nothing decodes it
		"iso-2022-kr":   "iso-2022-jp",
	} {
		_, err := textfile.Lookup(name)
		if err == nil {
			t.Errorf("Lookup(%q): no error", name)
			continue
		}
		if got := nearestIn(err); got != nearest {
			t.Errorf("Lookup(%q): nearest %q, want %q", name, got, nearest)
		}
	}
}

func FuzzLookup(f *testing.F) {
	for _, name := range []string{"", "utf-8", "latin-1", "cp437", "sjis", "x", "UTF-16", "replacement", "\x80", "iso-8859-6-e"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		cs, err := textfile.Lookup(name)
		if err != nil {
			near := nearestIn(err)
			if near == "" {
				return
			}
			if cs, err = textfile.Lookup(near); err != nil {
				t.Fatalf("the nearest name is unknown too: %v", err)
			}
		}
		if again, err := textfile.Lookup(cs.Name()); err != nil || again != cs {
			t.Fatalf("%q: canonical name %q stands for %q, %v", name, cs.Name(), again.Name(), err)
		}
	})
}
