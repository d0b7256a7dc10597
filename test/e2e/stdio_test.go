package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// maxMessage is the default limit of a message.
const maxMessage = 64 << 20

// fill sends so many bytes of a text that is never in memory as a whole: building such texts
// would hold up all other tests, and the services that they have in this process.
func (w *wire) fill(size int) {
	block := strings.Repeat("x", 1<<20)
	for ; size > 0; size -= len(block) {
		w.write(block[:min(size, len(block))])
	}
}

// pad sends a ping whose line has a size, without its end.
func (w *wire) pad(id string, size int) {
	before, after, _ := strings.Cut(request(id, "ping", `{"pad":"..."}`), "...")
	w.write(before)
	w.fill(size - len(before) - len(after))
	w.write(after)
}

// TestStdioFraming checks what is a line, and that each gets its answer.
func TestStdioFraming(t *testing.T) {
	t.Parallel()
	ping := request("1", "ping", "{}")
	text := func(input string) func(*wire) { return func(w *wire) { w.write(input) } }
	padded := func(size int) func(*wire) { return func(w *wire) { w.pad("7", size); w.write("\n" + ping) } }
	const long = maxMessage + 16<<20
	for _, test := range []struct {
		name  string
		input func(*wire)
		want  []string // ids and codes
	}{
		{"no input", text(""), nil},
		{"last line without newline", text(ping), []string{"1 0"}},
		{"last line with carriage return only", text(ping + "\r"), []string{"1 0"}},
		{"blank lines", text("\n \n\r\n\t\n \r\n" + ping + "\n\n\n"), []string{"1 0"}},
		{"CRLF", text(ping + "\r\n" + request("2", "ping", "{}") + "\r\n"), []string{"1 0", "2 0"}},
		{"much over the limit", func(w *wire) { w.fill(long); w.write("\n" + ping + "\n") }, []string{"null -32600", "1 0"}},
		{"much over the limit, of JSON", padded(long), []string{"7 -32600", "1 0"}},
		{"much over the limit, twice", func(w *wire) { w.fill(long); w.write("\n"); w.fill(long); w.write("\n" + ping) }, []string{"null -32600", "null -32600", "1 0"}},
		{"much over the limit, as the last line", func(w *wire) { w.write(ping + "\n"); w.fill(long) }, []string{"1 0", "null -32600"}},
		{"just under the limit", padded(maxMessage - 1), []string{"7 0", "1 0"}},
		{"the limit", padded(maxMessage), []string{"7 0", "1 0"}},
		{"over the limit", padded(maxMessage + 1), []string{"7 -32600", "1 0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, r := range playing(t, test.input, t.TempDir()) {
				got = append(got, fmt.Sprintf("%s %d", r.ID, r.code()))
			}
			slices.Sort(got) // a long message may be overtaken
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q; want %q", got, test.want)
			}
		})
	}
}

// TestStdioBytewise sends a message a few bytes at a time.
func TestStdioBytewise(t *testing.T) {
	w := open(t, binary(), t.TempDir())
	line := request(`"é😀"`, "ping", "{}") + "\r\n"
	for i := range len(line) {
		w.write(line[i : i+1])
	}
	if r := w.receive(); string(r.ID) != `"é😀"` || r.Error != nil {
		t.Errorf("got %s", r.Raw)
	}
}

// TestStdioIDs checks that ids come back byte by byte, whatever is asked.
func TestStdioIDs(t *testing.T) {
	w := open(t, binary(), t.TempDir())
	for _, id := range []string{
		`"a"`, `""`, `" "`, `"1"`, `"null"`, `"<a>&b"`, `"é😀"`, `"\u0061"`, `"\u00e9\ud83d\ude00"`, `"\/\\\"\n\u0000"`,
		`0`, `-0`, `-1`, `1.0`, `1.50`, `1e3`, `1E+3`, `9007199254740993`, `-9007199254740993`, `18446744073709551616`,
		`123456789012345678901234567890`, `1e999`,
		`"` + strings.Repeat("x", 1<<10) + `"`, `"` + strings.Repeat(`\u0061`, 100) + `"`, `1` + strings.Repeat("0", 1<<10-1),
	} {
		for _, line := range []string{
			request(id, "ping", "{}"),
			request(id, "no/such", "{}"),
			request(id, "tools/call", `{"name":"echo","arguments":{"message":"x"}}`),
			request(id, "tools/call", `{"name":"no_such_tool"}`),
			bash(id, "true"),
			modern(request(id, "tools/call", `{"name":"echo","arguments":{"message":"x"}}`)),
			modern(request(id, "ping", `{"x":1}`)),
			modern(request(id, "server/discover", `{"x":1}`)),
		} {
			w.send(line)
			if r := w.receive(); string(r.ID) != id {
				t.Errorf("%.300s\n is answered with %.300s", line, r.Raw)
			}
		}
	}
}

// TestStdioBatches checks that batches are served in the one version that has
// them, and refused in all others.
func TestStdioBatches(t *testing.T) {
	batch := "[" + request("1", "ping", "{}") + `,{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},{"x":1},` +
		bash(`"\u0062"`, "sleep 0.1; echo done") + "]"
	t.Run("2025-03-26", func(t *testing.T) {
		w := open(t, binary(), t.TempDir())
		w.handshake("2025-03-26")
		w.send(batch)
		var answers []wireLine
		if r := w.receive(); json.Unmarshal(r.Raw, &answers) != nil {
			t.Fatalf("got %s", r.Raw)
		}
		got := map[string]int{}
		for _, a := range answers {
			got[string(a.ID)] = a.code()
		}
		if code, ok := got[`"\u0062"`]; len(answers) != 3 || got["1"] != 0 || got["null"] != -32600 || !ok || code != 0 {
			t.Errorf("got %v", got)
		}
		w.send(`[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`) // has no answer
		for input, code := range map[string]int{"[]": -32600, "[1": -32700, strings.Repeat("[", 100_000): -32700} {
			w.send(input)
			if r := w.receive(); string(r.ID) != "null" || r.code() != code {
				t.Errorf("%.20s is answered with %s; want %d", input, r.Raw, code)
			}
		}
		w.ping()
	})
	for _, version := range []string{"", "2024-11-05", "2025-06-18", "2025-11-25"} {
		t.Run("not "+version, func(t *testing.T) {
			w := open(t, binary(), t.TempDir())
			if version != "" {
				w.handshake(version)
			}
			w.send(batch)
			if r := w.receive(); string(r.ID) != "null" || r.code() != -32600 {
				t.Errorf("got %s", r.Raw)
			}
			w.ping()
		})
	}
}

// TestStdioMalformed checks that what is no request gets the error that
// JSON-RPC has for it, and that the session lives on.
func TestStdioMalformed(t *testing.T) {
	deep := func(open, middle, end string) string {
		return strings.Repeat(open, 100_000) + middle + strings.Repeat(end, 100_000)
	}
	digits := strings.Repeat("9", 100_000)
	w := open(t, binary(), t.TempDir())
	for _, test := range []struct {
		name, input, id string
		code            int
	}{
		{"not JSON", `{oops`, "null", -32700},
		{"a word", `hello`, "null", -32700},
		{"truncated string", `{"jsonrpc":"2.0","id":1,"method":"pi`, "null", -32700},
		{"truncated object", `{"jsonrpc":"2.0","id":1,"method":"ping"`, "null", -32700},
		{"two messages on a line", request("1", "ping", "{}") + request("2", "ping", "{}"), "null", -32700},
		{"deep arrays", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":` + deep("[", "", "]") + `}}`, "null", -32700},
		{"deep objects", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + deep(`{"x":`, "1", "}") + `}`, "null", -32700},
		{"deep and unclosed", strings.Repeat("[", 100_000), "null", -32600},
		{"deep and unclosed objects", strings.Repeat(`{"x":`, 100_000), "null", -32700},
		{"NUL", "\x00", "null", -32700},
		{"NUL in a string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\x00ng\"}", "null", -32700},
		{"NUL after a message", request("1", "ping", "{}") + "\x00", "null", -32700},
		{"NUL, escaped", request("1", "tools/call", `{"name":"\u0000"}`), "1", -32001},
		{"not UTF-8", "\xff\xfe{}", "null", -32700},
		{"not UTF-8 in a string", request("1", "tools/call", "{\"name\":\"\xc3\x28\"}"), "null", -32700},
		{"half a surrogate pair", request("1", "tools/call", `{"name":"\ud83d"}`), "1", -32001},
		{"duplicate id", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, "2", 0},
		{"duplicate method", `{"jsonrpc":"2.0","id":1,"method":"no/such","method":"ping"}`, "1", 0},
		{"duplicate argument", request("1", "tools/call", `{"name":"read_file","arguments":{"path":"a","path":7}}`), "1", -32602},
		{"huge number", request("1", "tools/call", `{"name":"bash","arguments":{"command":"true","timeout":1e400}}`), "1", -32602},
		{"long number", request("1", "tools/call", `{"name":"bash","arguments":{"command":"true","timeout":`+digits+`}}`), "1", -32602},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1", -32600},
		{"jsonrpc a number", `{"jsonrpc":2.0,"id":1,"method":"ping"}`, "1", -32600},
		{"no jsonrpc", `{"id":1,"method":"ping"}`, "1", -32600},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", -32600},
		{"object id", `{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, "null", -32600},
		{"array id", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, "null", -32600},
		{"true id", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, "null", -32600},
		{"no method", `{"jsonrpc":"2.0","id":1}`, "1", -32600},
		{"empty object", `{}`, "null", -32600},
		{"unknown method", request("1", "no/such", "{}"), "1", -32601},
		{"params a string", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}`, "1", -32602},
		{"params an array", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, "1", -32602},
		{"method a number", `{"jsonrpc":"2.0","id":1,"method":7}`, "1", -32600},
		{"only a number", `7`, "null", -32600},
		{"only a string", `"x"`, "null", -32600},
		{"only null", `null`, "null", -32600},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.send(test.input)
			if r := w.receive(); string(r.ID) != test.id || r.code() != test.code {
				t.Errorf("got id %s, code %d: %.300s; want id %s, code %d", r.ID, r.code(), r.Raw, test.id, test.code)
			}
			w.ping()
		})
	}
	for _, silent := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/no_such"}`, cancel("12345"), cancel("{}"),
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
	} {
		w.send(silent)
		w.ping()
	}
	if len(w.before) > 0 {
		t.Errorf("what has no answer is answered with %s", w.before[0].Raw)
	}
}
