package anthropic

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"testing"
)

func TestDollars(t *testing.T) {
	for _, c := range []struct{ cents, want string }{
		{"123.78912", "1.2378912"}, {"0.4", "0.004"}, {"40", "0.4"}, {"186", "1.86"}, {"100", "1"}, {"100.00", "1"}, {"0", "0"}, {"-0.0", "0"},
		{"-0.4", "-0.004"}, {"-12345", "-123.45"}, {"+5", "0.05"}, {".5", "0.005"}, {"5.", "0.05"}, {"007.50", "0.075"},
		{"1e2", "1"}, {"1E+2", "1"}, {"1.5e3", "15"}, {"1e-3", "0.00001"}, {"12345678901234567890123.4567", "123456789012345678901.234567"},
		{"9007199254740993", "90071992547409.93"}, {"1e400", "1" + strings.Repeat("0", 398)},
		{"", ""}, {"-", ""}, {".", ""}, {"abc", ""}, {"1,5", ""}, {"1.2.3", ""}, {"--1", ""}, {"+-1", ""}, {" 1", ""}, {"1 ", ""}, {"0x10",
			""}, {"NaN", ""},
		{"Infinity", ""}, {"1e", ""}, {"e5", ""}, {"1e401", ""}, {"1e99999999999999999999", ""}, {"1e-401", ""}, {"1_000", ""}, {"١",
			""}, {"1e5e5", ""},
		{strings.Repeat("9", maxDigits+1), ""},
	} {
		got := ""
		if d := parseDecimal(c.cents); d != nil {
			got = d.shift(-2).text(0)
		}
		if got != c.want {
			t.Errorf("%s cents are %q dollars; want %q", c.cents, got, c.want)
		}
	}
}

func TestTotal(t *testing.T) {
	for _, c := range []struct {
		cents []string
		want  string
	}{
		{nil, "0.00"}, {[]string{"40"}, "0.40"}, {[]string{"0.1", "0.2"}, "0.003"}, {[]string{"100", "-100"}, "0.00"},
		{[]string{"1e20", "0.00000001"}, "1000000000000000000.0000000001"}, {[]string{"-1", "0.5"}, "-0.005"}, {[]string{"99", "1"}, "1.00"},
	} {
		var total decimal
		for _, cents := range c.cents {
			total.add(parseDecimal(cents).shift(-2))
		}
		if got := total.text(2); got != c.want {
			t.Errorf("%v: total %s; want %s", c.cents, got, c.want)
		}
	}
}

var plainNumber = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

// FuzzMoney compares the arithmetic with that of math/big.
func FuzzMoney(f *testing.F) {
	for _, s := range []string{"123.78912", "-0.4", "1e2", "12345678901234567890.5", "1e-400", ".5", "5.", "abc", "+1"} {
		f.Add(s, "0.4")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var total decimal
		exact := new(big.Rat)
		for _, text := range []string{a, b, a} {
			d := parseDecimal(text)
			if d == nil {
				continue
			}
			if !plainNumber.MatchString(text) {
				t.Fatalf("%q was taken for a number", text)
			}
			want, ok := new(big.Rat).SetString(text)
			if !ok {
				t.Fatalf("%q is a number to us alone", text)
			}
			want.Quo(want, big.NewRat(100, 1))
			usd := d.shift(-2)
			compare(t, text, usd.text(0), want)
			compare(t, text, usd.text(2), want)
			total.add(usd)
			exact.Add(exact, want)
		}
		compare(t, "the total", total.text(2), exact)
	})
}

func compare(t *testing.T, what, got string, want *big.Rat) {
	t.Helper()
	if !json.Valid([]byte(got)) {
		t.Fatalf("%s: %q is no JSON number", what, got)
	}
	if r, ok := new(big.Rat).SetString(got); !ok || r.Cmp(want) != 0 {
		t.Fatalf("%s: got %s; want %s", what, got, want.FloatString(50))
	}
}
