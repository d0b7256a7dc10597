package anthropic

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
)

func TestDollars(t *testing.T) {
	for _, c := range []struct{ cents, want string }{
		{"123.78912", "1.2378912"}, {"0.4", "0.004"}, {"40", "0.4"}, {"186", "1.86"}, {"100", "1"}, {"100.00", "1"}, {"0", "0"}, {"-0.0", "0"},
		{"-0.4", "-0.004"}, {"-12345", "-123.45"}, {"+5", "0.05"}, {".5", "0.005"}, {"5.", "0.05"}, {"007.50", "0.075"},
		{"1e2", "1"}, {"1E+2", "1"}, {"1.5e3", "15"}, {"1e-3", "0.00001"}, {"12345678901234567890123.4567", "123456789012345678901.234567"},
		{"9007199254740993", "90071992547409.93"}, {"1e399", "1" + strings.Repeat("0", 397)},
		{"", ""}, {"-", ""}, {".", ""}, {"abc", ""}, {"1,5", ""}, {"1.2.3", ""}, {"--1", ""}, {"+-1", ""}, {" 1", ""}, {"1 ", ""}, {"0x10",
			""}, {"NaN", ""},
		{"Infinity", ""}, {"1e", ""}, {"e5", ""}, {"1e400", ""}, {"1e99999999999999999999", ""}, {"1e-400", ""}, {"1_000", ""}, {"١",
			""}, {"1e5e5", ""},
		{strings.Repeat("9", 401), ""},
	} {
		got := ""
		if usd := parseCents(c.cents); usd != nil {
			got = decimalText(usd, 0)
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
		var total big.Rat
		for _, cents := range c.cents {
			total.Add(&total, parseCents(cents))
		}
		if got := decimalText(&total, 2); got != c.want {
			t.Errorf("%v: total %s; want %s", c.cents, got, c.want)
		}
	}
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

func TestRewrite(t *testing.T) {
	for _, c := range []struct{ name, in, want, total, note string }{
		{"cost", `{"currency":"USD","amount":"123.78912","model":null}`, `{"currency":"USD","amount_usd":1.2378912,"model":null}`, "1.2378912", ""},
		{"number", `{"estimated_cost":{"currency":"USD","amount":186}}`, `{"estimated_cost":{"currency":"USD","amount_usd":1.86}}`, "1.86", ""},
		{"amount first", `{"amount":"0.4","currency":"USD"}`, `{"amount_usd":0.004,"currency":"USD"}`, "0.004", ""},
		{"space", "[ { \"currency\" : \"usd\" , \"amount\" : \"40\" } ,\n2 ]", `[{"currency":"usd","amount_usd":0.4},2]`, "0.40", ""},
		{"escapes", `{"\u0061mount":"4\u0030","currency":"\u0055SD"}`, `{"amount_usd":0.4,"currency":"\u0055SD"}`, "0.40", ""},
		{"no currency", `{"amount":"40"}`, `{"amount":"40"}`, "0.00", ""},
		{"no amount", `{"currency":"USD"}`, `{"currency":"USD"}`, "0.00", ""},
		{"both levels", `{"currency":"USD","amount":"1","x":[{"currency":"USD","amount":-2}]}`,
			`{"currency":"USD","amount_usd":0.01,"x":[{"currency":"USD","amount_usd":-0.02}]}`, "-0.01", ""},
		{"order and digits", `{"z":12345678901234567890,"a":1.50,"m":"é\n<"}`, `{"z":12345678901234567890,"a":1.50,"m":"é\n<"}`, "0.00", ""},
		{"other currency", `{"currency":"EUR","amount":"40"}`, `{"currency":"EUR","amount":"40"}`, "0.00", `(1, such as "EUR")`},
		{"null currency", `{"currency":null,"amount":"40"}`, `{"currency":null,"amount":"40"}`, "0.00", `(1, such as null)`},
		{"garbage", `[{"currency":"USD","amount":"n/a"},{"currency":"USD","amount":null}]`,
			`[{"currency":"USD","amount":"n/a"},{"currency":"USD","amount":null}]`, "0.00", `(2, such as "n/a")`},
		{"an object", `{"currency":"USD","amount":{"currency":"USD","amount":"1"}}`,
			`{"currency":"USD","amount":{"currency":"USD","amount_usd":0.01}}`, "0.01", `not a number (1`},
		{"taken", `{"currency":"USD","amount":"1","amount_usd":2}`, `{"currency":"USD","amount":"1","amount_usd":2}`, "0.00", "not a number (1"},
		{"empty", `[{},[]]`, `[{},[]]`, "0.00", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a amounts
			got, err := a.rewrite(nil, []byte(c.in), 0)
			if err != nil || string(got) != c.want {
				t.Errorf("got  %s\nwant %s, error %v", got, c.want, err)
			}
			if total := decimalText(&a.total, 2); total != c.total {
				t.Errorf("total %s; want %s", total, c.total)
			}
			notes := strings.Join(a.notes(), "\n")
			if (notes == "") != (c.note == "") || !strings.Contains(notes, c.note) {
				t.Errorf("notes %q; want %q", notes, c.note)
			}
		})
	}
}

// TestRewriteDeep checks that nesting costs neither stack nor time.
func TestRewriteDeep(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 400) + strings.Repeat("]}", 400)
	got, err := new(amounts).rewrite(nil, []byte(deep), 0)
	if err != nil || string(got) != deep {
		t.Errorf("changed, error %v", err)
	}
}

// FuzzRewrite checks that what comes out is what went in but for amounts, and that
// the total is their sum.
func FuzzRewrite(f *testing.F) {
	for _, s := range []string{
		`{"currency":"USD","amount":"123.78912"}`, `[{"amount":186,"currency":"usd","x":[{}]}]`, `{"currency":"EUR","amount":1}`,
		`{"currency":"USD","amount":"1","amount":"2"}`, `{"a":1,"a":2}`, ` {"\u0061mount":"1e2" , "currency":"USD"}`, `"x"`, `1e5`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		in = bytes.TrimSpace(in)
		if !json.Valid(in) || bytes.Count(in, []byte("[")) > 100 || bytes.Count(in, []byte("{")) > 20 || repeats(in) {
			return
		}
		var a amounts
		got, err := a.rewrite(nil, in, 0)
		if err != nil || !json.Valid(got) {
			t.Fatalf("%q: %q, error %v", in, got, err)
		}
		sum := new(big.Rat)
		want := expect(decode(t, in), 0, sum)
		if have := decode(t, got); !reflect.DeepEqual(have, want) {
			t.Fatalf("%q:\n got %#v\nwant %#v", in, have, want)
		}
		compare(t, string(in), decimalText(&a.total, 2), sum)
	})
}

// repeats reports whether an object has a name twice, which encoding/json would
// hide.
func repeats(in []byte) bool {
	d := json.NewDecoder(bytes.NewReader(in))
	type level struct {
		object bool
		name   bool
		seen   map[string]bool
	}
	var open []level
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1].object {
			top := &open[n-1]
			if top.name = !top.name; top.name {
				name := token.(string)
				if top.seen[name] {
					return true
				}
				top.seen[name] = true
				continue
			}
		}
		if delim, ok := token.(json.Delim); ok {
			open = append(open, level{object: delim == '{', seen: map[string]bool{}})
		}
	}
}

func decode(t *testing.T, data []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// expect is what rewriting v comes to, in the plainest way, with numbers that are
// amounts in lowest terms.
func expect(v any, depth int, sum *big.Rat) any {
	if depth > maxDepth {
		return v
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = expect(v[i], depth+1, sum)
		}
	case map[string]any:
		usd := dollarsOf(v)
		for name, member := range v {
			v[name] = expect(member, depth+1, sum)
		}
		if usd != nil {
			delete(v, "amount")
			v["amount_usd"] = json.Number(decimalText(usd, 0))
			sum.Add(sum, usd)
		}
	}
	return v
}

func dollarsOf(object map[string]any) *big.Rat {
	currency, _ := object["currency"].(string)
	if _, taken := object["amount_usd"]; taken || !strings.EqualFold(currency, "USD") {
		return nil
	}
	var text string
	switch amount := object["amount"].(type) {
	case string:
		text = amount
	case json.Number:
		text = amount.String()
	}
	return parseCents(text)
}
