package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var samples = []string{
	`null`, `true`, ` false `, `0`, `-0`, `-1.5e+10`, `12345678901234567890`, `""`, `"a"`, `"\u00e9\n\t\"\\\/"`,
	`"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\ud83d\ude00"`, `"é"`, "\"\xff\"", "\"\xe2\x82\"",
	`[]`, `[ ]`, `[1,2 , 3]`, `{}`, `{"a":{"b":[{}]}}`, `{"a":1,"a":2}`, "{\"\\u0061\":1, \"\xff\":2}",
	``, `[`, `[1`, `[1,]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `01`, `1.`, `.5`, `1e`, `+1`, `-`,
	`tru`, `nul`, `"`, `"\`, `"\u12`, `"\x"`, "\"\n\"", `1 2`, `[] []`, `{"a":1}}`, "\xef\xbb\xbf{}", `NaN`,
}

// reference decodes as encoding/json does.
func reference(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func checkDecode(t *testing.T, data []byte) {
	t.Helper()
	want, wantErr := reference(data)
	got, err := Decode(data)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: error %v; encoding/json says %v", data, err, wantErr)
	}
	if valid := Valid(data); (valid == nil) != (err == nil) {
		t.Fatalf("%q: Valid says %v, Decode %v", data, valid, err)
	}
	if err != nil {
		var at int
		if n, _ := fmt.Sscanf(err.Error(), "not JSON at byte %d: expected", &at); n != 1 || at < 0 || at > len(data) {
			t.Fatalf("%q: error %#v", data, err)
		}
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: got %#v; want %#v", data, got, want)
	}
	checkVisit(t, data, got)
}

// checkVisit checks that Object and Array see what Decode does.
func checkVisit(t *testing.T, data []byte, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		got := map[string]any{}
		err := Object(data, func(name, value []byte) error {
			member, err := Decode(value)
			got[text(name, false)] = member
			return err
		})
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("%q: Object saw %#v, error %v", data, got, err)
		}
	case []any:
		got := []any{}
		err := Array(data, func(value []byte) error {
			element, err := Decode(value)
			got = append(got, element)
			return err
		})
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("%q: Array saw %#v, error %v", data, got, err)
		}
	case string:
		if s, err := String(data); err != nil || s != v {
			t.Fatalf("%q: String gave %q, error %v", data, s, err)
		}
		var back string
		if err := json.Unmarshal(AppendString(nil, v), &back); err != nil || back != v {
			t.Fatalf("%q: written as %s, error %v", v, AppendString(nil, v), err)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, s := range samples {
		checkDecode(t, []byte(s))
	}
}

func TestAppendString(t *testing.T) {
	for _, s := range []string{"", "plain", "\"\\\n\r\t\b\f\x00\x1f\x7f", "é😀\u2028", "\xff", "a\xe2\x82", "<&>"} {
		want := string([]rune(s)) // U+FFFD for each wrong byte
		for _, b := range [][]byte{AppendString(nil, s), AppendString(nil, []byte(s))} {
			var got string
			if err := json.Unmarshal(b, &got); err != nil || got != want {
				t.Errorf("%q became %s, error %v", s, b, err)
			}
		}
	}
}

func TestMember(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{"a":1,"b":{"c":2}}`, `{"c":2}`}, {`{"b":1,"b":2}`, `2`}, {`{"\u0062":null}`, `null`}, {`{"a":1}`, ""}, {`{"b":1`, ""}, {`[]`, ""}, {"", ""},
	} {
		if got := Member([]byte(c.data), "b"); string(got) != c.want {
			t.Errorf("%s: %q; want %q", c.data, got, c.want)
		}
	}
}

func TestDepth(t *testing.T) {
	for depth, ok := range map[int]bool{MaxDepth: true, MaxDepth + 1: false, 1 << 20: false} {
		for _, pair := range []string{"[]", "{}"} {
			open, middle := string(pair[0]), ""
			if pair == "{}" {
				open = `{"a":`
				middle = "1"
			}
			data := []byte(strings.Repeat(open, depth) + middle + strings.Repeat(pair[1:], depth))
			if _, err := Decode(data); (err == nil) != ok {
				t.Errorf("%d of %s: %v", depth, pair, err)
			}
			if err := Valid(data); (err == nil) != ok {
				t.Errorf("%d of %s: %v", depth, pair, err)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Count(data, []byte("[")) >= MaxDepth || bytes.Count(data, []byte("{")) >= MaxDepth {
			return // encoding/json allows more depth
		}
		checkDecode(t, data)
	})
}

func BenchmarkDecode64KiB(b *testing.B) {
	data := AppendString(nil, strings.Repeat("0123456789ab\n", 5041))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendString64KiB(b *testing.B) {
	text := strings.Repeat("0123456789ab\n", 5041)
	buf := make([]byte, 0, 2*len(text))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendString(buf[:0], text)
	}
}

func TestDecodeMax(t *testing.T) {
	const text = `{"a":[1,{}],"b":null}`
	if _, err := DecodeMax([]byte(text), 5); err != nil {
		t.Error(err)
	}
	if _, err := DecodeMax([]byte(text), 4); err == nil || err.Error() != "more than 4 values" {
		t.Errorf("got %v", err)
	}
}

// TestValue reads some of a nested value, and steps over the rest.
func TestValue(t *testing.T) {
	const data = ` {"skipped":{"a":[1]},"list":[{"text":"a\n"},{"text":"b","more":[true]}, 3],"end":null} `
	var texts []string
	var list string
	err := Read([]byte(data), func(v Value) error {
		return v.Object(func(name []byte, v Value) error {
			if string(name) != "list" {
				return nil
			}
			err := v.Array(func(v Value) error {
				if v.Kind() != '{' {
					return nil
				}
				return v.Object(func(name []byte, v Value) (err error) {
					if string(name) == "text" {
						var text string
						text, err = v.String()
						texts = append(texts, text)
					}
					return err
				})
			})
			raw, _ := v.Raw()
			list = string(raw)
			return err
		})
	})
	if err != nil || !slices.Equal(texts, []string{"a\n", "b"}) || list != `[{"text":"a\n"},{"text":"b","more":[true]}, 3]` {
		t.Errorf("%q, %s, %v", texts, list, err)
	}
	for _, broken := range []string{``, `{`, `{"a":}`, `{"a":tru}`, `{"a":[1,]}`, `{"a":1} x`} {
		if err := Read([]byte(broken), func(v Value) error { return v.Object(func([]byte, Value) error { return nil }) }); err == nil {
			t.Errorf("%s is read", broken)
		}
	}
}
