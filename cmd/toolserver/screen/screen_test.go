package screen

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain/call"
)

func TestFit(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{{"hello", 5, "hello"}, {"hello", 4, "hell"}, {"日本語", 5, "日本"}, {"日本語", 1, ""}, {"é", 1, "é"}, {"x", 0, ""}, {"", 3, ""}} {
		if got := Fit(test.text, test.columns); got != test.want {
			t.Errorf("%q in %d: %q", test.text, test.columns, got)
		}
	}
}

func TestLine(t *testing.T) {
	for _, test := range []struct {
		now   call.Progress
		after time.Duration
		want  string
	}{
		{call.Progress{Message: "bash"}, 700 * time.Millisecond, `\ 0:00  bash`},
		{call.Progress{Done: 5, Message: "a\x1b[2Jb"}, 61 * time.Second, `- 1:01  a\u001b[2Jb`},
		{call.Progress{Done: 1 << 30, Total: 4 << 30, Bytes: true, Message: "copied 1.0 GB"}, 10 * time.Second, "[#####---------------]  25%  102.4 MB/s  0:30 left  copied 1.0 GB"},
		{call.Progress{Done: 3, Total: 8, Message: "3 of 8 servers"}, 5 * time.Second, "[#######-------------]  38%  0:05  3 of 8 servers"},
		{call.Progress{Done: 50, Total: 100}, 5 * time.Second, "[##########----------]  50%  10/s  0:05 left  "},
		{call.Progress{Done: 0, Total: 100}, time.Second, "[--------------------]   0%  0:01  "},
		{call.Progress{Done: 9, Total: 8}, time.Second, `- 0:01  `},
		{call.Progress{Done: -9, Total: 8}, time.Second, `- 0:01  `},
	} {
		got := line(test.now, test.after)
		if test.now.Total > 0 && test.now.Done >= 0 && test.now.Done <= test.now.Total {
			if got != test.want {
				t.Errorf("%+v: %q; want %q", test.now, got, test.want)
			}
		} else if got[1:] != test.want[1:] {
			t.Errorf("%+v: %q; want %q", test.now, got, test.want)
		}
	}
}

// TestNoTerminal has nothing shown where there is no terminal.
func TestNoTerminal(t *testing.T) {
	var b *Bar
	for _, out := range []any{new(strings.Builder), (*os.File)(nil)} {
		if _, _, ok := Size(out); ok {
			t.Errorf("%T has a size", out)
		}
	}
	if b = NewBar(new(strings.Builder), nil); b != nil {
		t.Error("there is a bar")
	}
	printed := false
	b.Pause(true)
	b.Above(func() { printed = true })
	b.Stop()
	if !printed {
		t.Error("what is to be printed is not")
	}
}
