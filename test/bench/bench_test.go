package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolserver/toolserver/wire/jsonrpc"
)

func TestParseStat(t *testing.T) {
	const line = "4711 (a (b) c) S 12 4711 4711 0 -1 4194560 1 2 3 4 150 50 700 300 20 0 1 0 99 8192 256 18446744073709551615 1 1"
	want := stat{pid: 4711, parent: 12, name: "a (b) c", cpu: 2 * time.Second, children: 10 * time.Second, pages: 256}
	if got, err := parseStat(line); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"", "4711", ") (", "4711 (a) S 12", "x (a) S 12 1 1 0 -1 1 1 2 3 4 5 6 7 8 9 0 1 0 99 8192 256 1"} {
		if got, err := parseStat(bad); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func TestTree(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	all, err := tree(os.Getpid())
	found := false
	for _, s := range all {
		found = found || s.pid == cmd.Process.Pid
	}
	if err != nil || !found {
		t.Errorf("child %d is not in %+v, %v", cmd.Process.Pid, all, err)
	}
	in.Close()
	cmd.Wait()
	if _, err := tree(cmd.Process.Pid); err == nil {
		t.Error("found a process that has ended")
	}
	before, err := treeCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for after := before; after == before; { // which takes time itself
		if after, err = treeCPU(os.Getpid()); err != nil || after < before {
			t.Fatalf("%v after %v, %v", after, before, err)
		}
	}
}

func TestAnswerID(t *testing.T) {
	for line, want := range map[string]int{
		`{"jsonrpc":"2.0","id":7,"result":{"id":8}}`:                                                           7,
		`{"result":{"content":[{"type":"text","text":"some long text, \"id\":9"}]},"jsonrpc":"2.0","id":12}`:   12,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a long message"}}`: -1,
		`{"jsonrpc":"2.0","id":null,"error":{}}`:                                                               -1,
	} {
		got, ok := answerID([]byte(line))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %d; want %d", line, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	var order string
	measure := func(name string, d ...time.Duration) target {
		return target{name, func() (sample, error) {
			order += name
			s := sample{cpu: d[0]}
			d = d[1:]
			return s, nil
		}}
	}
	c, err := compare(3, []target{measure("a", 10, 40, 20), measure("b", 5, 10, 20)})
	if err != nil || order != "abbaab" {
		t.Errorf("measured %s, %v", order, err)
	}
	if m, r, least := c.median("a", cpu), c.ratio("a", "b", cpu), c.least("a", cpu); m != 20 || r != 2 || least != 10 {
		t.Errorf("median %v, ratio %v, least %v; want 20, 2, 10", m, r, least)
	}
	if more := c.added("a", "b", cpu); more != 5 {
		t.Errorf("added %v; want 5", more)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of an even number is %v", got)
	}
}

// TestBefore sees to it that each server of ours, and no other, is measured
// beside itself as it was, with the same arguments, and the ratios are shown.
func TestBefore(t *testing.T) {
	l := lab{server: "new", programsBefore: map[string]string{"new": "old"}}
	both := l.withBefore([]contender{l.ours("ours", "dir", listTools), {name: "peer", argv: []string{"peer"}}})
	if len(both) != 3 || both[1].name != "ours before" || strings.Join(both[1].argv, " ") != "old serve --stdio dir" || both[1].req != listTools || both[2].name != "peer" {
		t.Errorf("%+v", both)
	}
	c := contest{names: []string{"ours", "ours before"}, samples: map[string][]sample{
		"ours": {{cpu: 4, p50: 4, rss: 1}}, "ours before": {{cpu: 2, p50: 4, rss: 2}},
	}}
	const want = "[ours CPU to before 2.00x ≤ 1.05x MISS ours p50 to before 1.00x ≤ 1.05x ok ours RSS to before 0.50x ≤ 1.05x ok]"
	if got := fmt.Sprint(asBefore(c, "ours")); got != want {
		t.Errorf("got %s", got)
	}
	if bars := append(asBefore(c, "peer"), lowest(c, "ours")...); bars != nil {
		t.Errorf("%v", bars)
	}
}

func TestRename(t *testing.T) {
	c := contest{names: []string{"a", "b"}, samples: map[string][]sample{"a": {{rss: 1}}, "b": {{rss: 2}}}}
	for _, name := range c.names {
		c.rename(name, name+"!")
	}
	if a, b := c.median("a!", rss), c.median("b!", rss); len(c.samples) != 2 || c.names[1] != "b!" || a != 1 || b != 2 {
		t.Errorf("%+v", c)
	}
}

func TestSourceText(t *testing.T) {
	for _, size := range []int{4 << 10, 1 << 20} {
		text := sourceText(size)
		quoted, err := json.Marshal(text)
		if err != nil || len(text) != size {
			t.Fatalf("%d bytes instead of %d, %v", len(text), size, err)
		}
		if share := float64(len(quoted)-2-size) / float64(size); share < 0.06 || share > 0.08 {
			t.Errorf("%d bytes: %.3f of them are escaped", size, share)
		}
	}
}

func TestAsking(t *testing.T) {
	old, stateless := echoing(legacy, "s__echo", `"hi"`), listing(modern, "x")
	if want := `,"method":"tools/call","params":{"name":"s__echo","arguments":{"message":"hi"}}}`; string(old.req) != want || !old.session || string(old.answer) != `"Echo: hi"` {
		t.Errorf("got %+v", old)
	}
	var list struct {
		Method string
		Params struct {
			Meta map[string]any `json:"_meta"`
		}
	}
	err := json.Unmarshal(stateless.req.append(nil, 1), &list)
	if err != nil || list.Method != "tools/list" || list.Params.Meta["io.modelcontextprotocol/protocolVersion"] != modern || stateless.header.Get("Mcp-Method") != "tools/list" || stateless.session {
		t.Errorf("got %+v, %v", stateless, err)
	}
	if got := echoing(modern, "s__echo", `"hi"`); got.header.Get("Mcp-Name") != "s__echo" || !json.Valid(got.req.append(nil, 1)) {
		t.Errorf("got %+v", got)
	}
}

// TestLoadBeside sees to it that others are in flight beside what is measured, and that all
// are answered in the end.
func TestLoadBeside(t *testing.T) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	t.Cleanup(func() { toServer.Close() })
	go func() {
		var held []string
		lines := bufio.NewScanner(in)
		for n := 0; lines.Scan(); n++ {
			id, _ := answerID(lines.Bytes())
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{}}`+"\n", id)
			if strings.Contains(lines.Text(), "slow") {
				held = append(held, answer)
				continue
			}
			if len(held) == 2 { // answered after those that came later
				answer += strings.Join(held, "")
				held = nil
			}
			io.WriteString(out, answer)
		}
	}()
	p := &process{name: "fake", in: toServer, out: jsonrpc.NewLineReader(fromServer, maxLine)}
	others := []beside{{req: call("slow", "{}"), pause: time.Hour}, {req: call("slow", "{}"), pause: time.Hour}}
	s, err := p.loadBeside(call("quick", "{}"), others, time.Millisecond)
	if err != nil || s.p50 == 0 || others[0].id != 0 || others[1].id != 0 {
		t.Errorf("%+v, %+v, %v", s, others, err)
	}
}

func TestMemoryOf(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		t.Skip("there is no /proc")
	}
	if m, err := memoryOf(os.Getpid()); err != nil || m.anonymous == 0 || m.rss < m.anonymous || m.rss < m.shared {
		t.Errorf("%+v, %v", m, err)
	}
}

// sessionServer opens sessions, and knows them until it is told to forget.
func sessionServer(t *testing.T, forgets bool) *httpServer {
	t.Helper()
	var opened atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch id := r.Header.Get("Mcp-Session-Id"); {
		case id == "":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(opened.Add(1)))
		case forgets:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return &httpServer{process: &process{name: "fake"}, url: s.URL}
}

func TestOpenMany(t *testing.T) {
	all, err := sessionServer(t, false).openMany(21)
	if err != nil || len(all) != 21 {
		t.Fatalf("%d sessions, %v", len(all), err)
	}
	seen := map[string]bool{}
	for i, o := range all {
		seen[o.header.Get("Mcp-Session-Id")] = true
		if i > 0 && o.used.Before(all[i-1].used) {
			t.Error("not in the order of use")
		}
	}
	if len(seen) != 21 {
		t.Errorf("%d different sessions", len(seen))
	}
	if _, err := sessionServer(t, true).openMany(21); err == nil {
		t.Error("opened sessions that are unknown")
	}
}

func TestUntilUnknown(t *testing.T) {
	ofAge := func(age time.Duration) []opened {
		return []opened{{header: httpHeader("1", "Mcp-Session-Id", "1"), used: time.Now().Add(-age)}}
	}
	if idle, err := sessionServer(t, true).untilUnknown(ofAge(2 * sessionTTL)); err != nil || idle < 2*sessionTTL {
		t.Errorf("%v, %v", idle, err)
	}
	if _, err := sessionServer(t, true).untilUnknown(ofAge(0)); err == nil || !strings.Contains(err.Error(), "before its time") {
		t.Errorf("a session that is gone too early: %v", err)
	}
	if _, err := sessionServer(t, false).untilUnknown(ofAge(2 * sessionTTL)); err == nil {
		t.Error("a session that never ends is gone")
	}
}

func TestBenchmarkResults(t *testing.T) {
	const out = "goos: linux\n" +
		"BenchmarkCallEcho-2   \t  155\t      7000 ns/op\t    2113 B/op\t      36 allocs/op\n" +
		"BenchmarkCallEchoes-2   \t  155\t      1 ns/op\t    2113 B/op\t      1 allocs/op\n" +
		"BenchmarkCallEcho-2   \t  155\t      9000.5 ns/op\t    2113 B/op\t      38 allocs/op\nPASS\n"
	c, allocs, err := benchmarkResults(out, "CallEcho")
	if err != nil || allocs != 37 || c.median("executor", p50) != 8000 {
		t.Errorf("got %v allocations, %+v, %v", allocs, c, err)
	}
	if _, _, err := benchmarkResults(out, "StartEcho"); err == nil {
		t.Error("read results that are not there")
	}
}

func TestTable(t *testing.T) {
	c := contest{names: []string{"ours", "peer"}, samples: map[string][]sample{
		"ours": {{cpu: 20 * time.Microsecond, rate: 10, rss: 3 << 20}}, "peer": {{cpu: time.Millisecond}},
	}}
	var tab table
	tab.add("work", c, atMost("CPU", 20_000, 10_000, nanos), atMost("b", 1, 1, number), atLeast("c", 2, 3, times))
	tab.note("n%d", 1)
	for markdown, want := range map[bool]string{
		false: "what  server  CPU      p50  per second  RSS      CPU to ours  bars\n" +
			"work  ours    20.0 µs       10          3.0 MiB               CPU 20.0 µs ≤ 10.0 µs MISS\n" +
			"      peer    1.00 ms                            50.00x       b 1 ≤ 1 ok\n" +
			"                                                              c 2.00x ≥ 3.00x MISS\n\nn1\n",
		true: "| what | server | CPU | p50 | per second | RSS | CPU to ours | bars |\n|---|---|---|---|---|---|---|---|\n" +
			"| work | ours | 20.0 µs | | 10 | 3.0 MiB | | CPU 20.0 µs ≤ 10.0 µs MISS |\n" +
			"| | peer | 1.00 ms | | | | 50.00x | b 1 ≤ 1 ok |\n" +
			"| | | | | | | | c 2.00x ≥ 3.00x MISS |\n\nn1\n",
	} {
		var b bytes.Buffer
		if markdown {
			tab.printMarkdown(&b)
		} else {
			tab.print(&b)
		}
		if b.String() != want {
			t.Errorf("got\n%s\nwant\n%s", b.String(), want)
		}
	}
}
