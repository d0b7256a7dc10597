package jsonrpc

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

func isTooLong(err error) bool {
	_, ok := errors.AsType[*TooLongError](err)
	return ok
}

func TestSkimmer(t *testing.T) {
	long := strings.Repeat(`x\"{}[],:`, 1000)
	for msg, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":2}}`:                         `1`,
		`{"method":"m","params":{"id":2,"x":"` + long + `"},"jsonrpc":"2.0","id":"a\"b"}`: `"a\"b"`,
		" { \"method\" : \"m\" , \"p\" : [ {\"id\":3} , \"id\" ] , \"id\" : -1.5e3 } ":    `-1.5e3`,
		`{"i\u0064":7,"method":"m"}`:                                    `7`,
		`{"id":1,"id":2,"method":"m"}`:                                  `2`,
		`{"` + long + `":1,"id":1,"method":"m"}`:                        `1`,
		`{"id":1,"result":{"method":"m"}}`:                              ``, // a response
		`{"method":"m","params":{"id":1}}`:                              ``, // a notification
		`[{"id":1,"method":"m"}]`:                                       ``,
		`["id":1,"method":"m"]`:                                         ``,
		`{"id":{"a":1},"method":"m"}`:                                   ``,
		`{"id":null,"method":"m"}`:                                      ``,
		`{"id":1x,"method":"m"}`:                                        ``,
		`{"id":1,"method":"m"`:                                          ``, // cut off
		`{"id":"` + strings.Repeat("x", maxSkimmed) + `","method":"m"}`: ``,
		strings.Repeat("x", 1000):                                       ``,
		`}}}{"id":1,"method":"m"}`:                                      ``,
		``:                                                              ``,
	} {
		for _, step := range []int{1, 7, len(msg) + 1} {
			var s Skimmer
			for part := range slices.Chunk([]byte(msg), step) {
				s.Write(part)
			}
			if got := string(s.ID()); got != want {
				t.Errorf("%.80s by %d: id %q; want %q", msg, step, got, want)
			}
		}
	}
}

func TestSkimmedResponse(t *testing.T) {
	for msg, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"method":"m","id":2}}`: `1`,
		`{"error":{"id":2},"id":"a"}`:                             `"a"`,
		` {"result":{},"id":null}`:                                `?`,
		`{"id":1,"result":{`:                                      `?`, // cut off
		`[{"id":1,"result":{}}]`:                                  `?`,
		`{"id":1,"method":"m"}`:                                   ``,
		`"id":1,"result":{}`:                                      ``,
		`at {"id":1,"result":{}}`:                                 ``,
	} {
		var s Skimmer
		s.Write([]byte(msg))
		id, maybe := s.Response()
		if maybe && id == nil {
			id = []byte("?")
		}
		if string(id) != want {
			t.Errorf("%s: %q; want %q", msg, id, want)
		}
	}
}

// FuzzSkimmer compares with the parser, on what that accepts.
func FuzzSkimmer(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":2,"a":["\\"]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"\"","id":"\u0000}","params":[]}`))
	f.Fuzz(func(t *testing.T, msg []byte) {
		var s Skimmer
		s.Write(msg)
		m, err := Parse(msg, nil)
		if err == nil && !m.Response && len(m.ID) < maxSkimmed && !bytes.Equal(s.ID(), m.ID) {
			t.Errorf("%q: id %q; want %q", msg, s.ID(), m.ID)
		}
	})
}
