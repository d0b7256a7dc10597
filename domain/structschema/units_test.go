package structschema_test

import (
	"math"
	"testing"

	"github.com/toolserver/toolserver/domain/structschema"
)

func TestParseBytes(t *testing.T) {
	for _, test := range []struct {
		in   string
		want structschema.Bytes // -1: refused
		text string             // "" as in
	}{
		{"0", 0, ""}, {"1", 1, ""}, {"1023", 1023, ""}, {"1KiB", 1024, ""}, {"10MiB", 10 << 20, ""}, {"3GiB", 3 << 30, ""}, {"2TiB", 2 << 40, ""},
		{"10MB", 10_000_000, "10000000"}, {"1kB", 1000, "1000"}, {"5 mib", 5 << 20, "5MiB"}, {"7B", 7, "7"}, {"1.5GiB", 3 << 29, "1536MiB"},
		{"0.3kb", 300, "300"}, {"8388607TiB", 8388607 << 40, ""}, {"9223372036854775807", math.MaxInt64, ""},
		{"", -1, ""}, {"MiB", -1, ""}, {"10M", -1, ""}, {"10Mi", -1, ""}, {"-1", -1, ""}, {"+1", -1, ""}, {"1.5", -1, ""}, {".5MB", -1, ""},
		{"1.MB", -1, ""}, {"1e3MB", -1, ""}, {"5  MB", -1, ""}, {"5 ", -1, ""}, {"1MBMB", -1, ""}, {"0x10", -1, ""}, {"1_000", -1, ""},
		{"8388608TiB", -1, ""}, {"9223372036854775808", -1, ""}, {"99999999.5TiB", -1, ""}, {"1iB", -1, ""}, {"1kmB", -1, ""},
	} {
		got, err := structschema.ParseBytes(test.in)
		switch {
		case test.want < 0:
			if err == nil {
				t.Errorf("%q: got %v; want an error", test.in, got)
			}
			continue
		case err != nil || got != test.want:
			t.Errorf("%q: got %d, %v; want %d", test.in, got, err, test.want)
		}
		text := test.text
		if text == "" {
			text = test.in
		}
		if got.String() != text {
			t.Errorf("%q: shown as %s; want %s", test.in, got, text)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, seed := range []string{"10MiB", "1.5 GB", "0", "9223372036854775807", "1e9MB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := structschema.ParseBytes(text)
		if err != nil {
			return
		}
		if again, err := structschema.ParseBytes(b.String()); err != nil || again != b || b < 0 {
			t.Errorf("%q is %d, shown as %s, read as %d, %v", text, b, b, again, err)
		}
	})
}
